"""The regions that screens are made of; all draw lines themselves and cost what is visible."""
