"""What runs the core: live, replay and fork; the only place that starts tasks."""
