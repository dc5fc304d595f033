"""`python -m loopkit` is the `loopkit` command."""

import sys

from loopkit.cli import main

if __name__ == "__main__":
    sys.exit(main())
