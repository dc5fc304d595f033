"""What is kept out of recordings, and what is not."""
