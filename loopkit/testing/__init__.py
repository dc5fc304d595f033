"""What tests of agents use."""
