"""The embedded benchmark ``tabletop-v1``: blocks, a bowl, a gray zone and one arm, simulated by MuJoCo."""
