"""Recordings that are cut, flipped, killed and starved: a little in every run of the tests, all of it on request."""
