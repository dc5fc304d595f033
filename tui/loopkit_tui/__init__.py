"""The terminal interface: one way to look at recorded runs and to steer live ones."""
