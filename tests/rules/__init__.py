"""Which test covers which rule of the loop and which known fault; `make rules` writes the list."""
