"""Reads the command line, starts one command and turns its errors into one line and an exit code (DESIGN §6).

Nothing heavy is imported here: help has to be instant.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn, cast

from loopkit import __version__
from loopkit.cli.output import USAGE_ERROR, warn_of
from loopkit.cli.stopping import Stopped
from loopkit.errors import LoopkitError

COMMANDS = {
    "tui": "open the debugger on a recording, a folder of them, an agent, or what is at hand",
    "run": "run an agent without a screen and record it",
    "attach": "debug a run of another process that is served (`run --serve`)",
    "resume": "go on with a recording whose run was cut short",
    "show": "print the timeline of a recording",
    "ls": "list the recordings of a folder",
    "stats": "figures over many recordings: outcomes, tokens, cost, where the time went",
    "replay": "check that recordings still go the same way",
    "fork": "go on from inside a recording with one thing changed",
    "diff": "say where two runs part",
    "policy": "try the rules that decide on calls: check, explain, test",
    "detect": "say what repeats in recordings",
    "check": "say whether recordings are sound",
}
INTERRUPTED = 130

_EPILOG = """\
exit codes: 0 fine, 1 it ran but the answer is no (diverged, damaged, not complete), 2 can't be used,
  3 a policy would have asked a person and nobody was there, 128 + the signal's number when a signal ended it: 130 Ctrl+C, 143 kill
environment: LOOPKIT_RECORDINGS (folder of recordings), LOOPKIT_CACHE (folder of what may be deleted),
  LOOPKIT_THEME (light or dark, for `tui`), LOOPKIT_TOKEN (of a port, for `attach` and `run --serve`), NO_COLOR
"""


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are one line that says where help is."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE_ERROR, f"loopkit: {message}; see `{self.prog} --help`\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Args:
        arguments: words after `loopkit`; by default those of the process.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = build_parser(next((word for word in words if not word.startswith("-")), None))
    options = parser.parse_args(words)
    if options.command is None:
        parser.print_help()
        return 0
    _never_fail_to_print()
    command = import_module(f"loopkit.cli.{options.command}")
    return _guarded(lambda: cast("int", command.run(options)), debug=options.debug)


def build_parser(chosen: str | None) -> argparse.ArgumentParser:
    """Build the parser; only the chosen command's own arguments are filled in.

    Args:
        chosen: the command on the command line, or None.
    """
    parser = OneLineParser(
        prog="loopkit",
        description="A debugger for LLM agents: step, approve, edit, record, replay.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"loopkit {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, allow_abbrev=False)
        command.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        if name == chosen:
            module = import_module(f"loopkit.cli.{name}")
            command.description = module.__doc__
            command.formatter_class = argparse.RawDescriptionHelpFormatter
            module.add_arguments(command)
    return parser


def _guarded(command: Callable[[], int], *, debug: bool) -> int:
    try:
        code = command()
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough; the interpreter must not complain of it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Stopped as stopped:
        if debug:
            raise
        return stopped.exit_code
    except KeyboardInterrupt:
        if debug:
            raise
        print("loopkit: interrupted", file=sys.stderr)
        return INTERRUPTED
    except (LoopkitError, OSError) as error:
        if debug:
            raise
        warn_of(error)
        return USAGE_ERROR
    return code


def _never_fail_to_print() -> None:
    """A terminal that can't show a character gets its escape instead of a traceback."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
