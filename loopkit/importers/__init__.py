"""What others kept: foreign session formats read into our events."""
