"""What acts: tool definitions, their registry and the checks of their arguments."""
