"""What `replay` offers about a run that went another way: keep it, record one step anew, or let it fail."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from loopkit.cli.output import warn_of
from loopkit.cli.secret_options import secrets_given
from loopkit.errors import LoopkitError, UserError

if TYPE_CHECKING:
    from loopkit.agent import Agent
    from loopkit.debugger.batch import ReplayOutcome


def add_mending_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what can be done about a divergence."""
    mend = parser.add_mutually_exclusive_group()
    mend.add_argument(
        "--accept", action="store_true", help="keep what the agent does today as a new recording; the old one stays"
    )
    mend.add_argument(
        "--re-record",
        metavar="STEP",
        help="the same, with one step live: a call such as 2.1, or the number of an event of an answer or a result",
    )
    mend.add_argument("--doctor", action="store_true", help="ask on the terminal what to do about each divergence")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="with --accept and --re-record (default: a new name beside the old one)"
    )


def refuse_contradictions(options: argparse.Namespace) -> None:
    """Refuse options that don't go together.

    Raises:
        UserError: in one line.
    """
    for name, done in (("tools", "run"), ("model", "asked")):
        if getattr(options, name) == "live" and options.agent is None:
            raise UserError(f"--{name} live needs the agent whose {name} is {done}: --agent path.py:name")
    mends = options.accept or options.re_record is not None
    if (mends or options.doctor) and options.agent is None:
        raise UserError("what an agent does today needs the agent: --agent path.py:name")
    if mends and (len(options.files) != 1 or Path(options.files[0]).is_dir()):
        raise UserError("--accept and --re-record take one recording at a time")
    if mends and (options.tools, options.model) != ("recorded", "recorded"):
        raise UserError("--accept and --re-record say themselves what is live: leave out --tools and --model")
    if options.output is not None and not mends:
        raise UserError("-o names the new recording of --accept or --re-record")
    if options.doctor and not somebody_is_there():
        raise UserError("--doctor asks on a terminal, and there is none: use --accept or --re-record")
    if options.doctor and (options.json or options.workers > 1):
        raise UserError("--doctor asks about one recording after the other: leave out --json and -n")


def somebody_is_there() -> bool:
    """Say whether questions reach a person."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def mend(options: argparse.Namespace) -> int:
    """Write the new recording and print where it is."""
    from loopkit.debugger.targets import load_agent

    agent, (file,) = load_agent(options.agent), options.files
    if options.accept:
        print(_accepted(file, agent, options))
    else:
        print(_re_recorded(file, agent, options.re_record, options))
    return 0


def ask_about(outcome: ReplayOutcome, options: argparse.Namespace) -> bool:
    """Ask what to do about a divergence that was shown; say whether it is settled."""
    from loopkit.debugger.targets import load_agent

    agent = load_agent(options.agent)
    while True:
        try:
            match _answer("[a]ccept today's run as a new recording, [r]ecord one step anew, or [f]ail? "):
                case "a" | "accept":
                    print(_accepted(outcome.file, agent, options))
                    return True
                case "r" | "record":
                    step = _answer("which step: a call such as 2.1, or an event's number? ")
                    print(_re_recorded(outcome.file, agent, step, options))
                    return True
                case "f" | "fail" | "":
                    return False
        except (LoopkitError, OSError) as error:
            warn_of(error)


def _answer(question: str) -> str:
    try:
        return input(question).strip().lower()
    except EOFError:
        print()
        return ""


def _accepted(file: str, agent: Agent, options: argparse.Namespace) -> str:
    from loopkit.debugger.display import visible
    from loopkit.debugger.mending import accept_file, free_name_beside

    out = options.output or free_name_beside(file, "accepted")
    return visible(str(accept_file(file, agent, out, backend=options.backend, secrets=secrets_given(options))))


def _re_recorded(file: str, agent: Agent, step: str, options: argparse.Namespace) -> str:
    from loopkit.debugger.display import visible
    from loopkit.debugger.mending import free_name_beside, re_record_file

    out = options.output or free_name_beside(file, "re-recorded")
    return visible(str(re_record_file(file, agent, step, out, backend=options.backend, secrets=secrets_given(options))))
