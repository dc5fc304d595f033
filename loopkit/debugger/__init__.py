"""The facade that every interface uses."""
