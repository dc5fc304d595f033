"""Keeps secrets out of recordings: finds them by name, by value and by shape, and puts placeholders in their place."""
