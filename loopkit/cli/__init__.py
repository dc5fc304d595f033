"""The `loopkit` command: one module per subcommand, imported when it is asked for."""

from loopkit.cli.entry import main as main
