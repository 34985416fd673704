"""The benchmark contract, the episode loop and the fence around it."""
