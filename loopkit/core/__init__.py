"""What must happen: the loop as a pure state machine (spec/loop.md)."""
