"""The typed values that the stages share: config, work items, the run's manifest. No logic, no I/O."""
