"""What others kept: foreign session formats read into our events.

`detect.read_session` finds the format and returns a `session.ForeignSession`.
"""
