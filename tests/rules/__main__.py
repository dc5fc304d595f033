"""`python -m tests.rules` writes docs/rules.md anew."""

from tests.rules.listing import write

write()
