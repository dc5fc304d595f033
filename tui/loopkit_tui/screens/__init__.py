"""What fills the terminal: home, a run, and the questions that a run asks."""
