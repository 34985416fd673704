"""Any registered gymnasium environment as a benchmark, by configuration."""
