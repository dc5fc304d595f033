"""What an iteration costs: CPU ratios to a floor measured in the same run, bytes and memory (spec/performance.md)."""
