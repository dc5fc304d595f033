"""What is kept: the event log on disk (DESIGN §3)."""
