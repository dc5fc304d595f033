"""Go on from inside a recording with one thing changed, as a new recording that names its parent.

--at is the number of an event, or a call such as root/3.2 (short: 3.2). What came before it is copied: it costs
nothing again, and what its tools did to files and services is not done again, nor undone. The model answers live from
there.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopkit.cli.durability import add_durability
from loopkit.cli.output import warn, warn_of
from loopkit.cli.refused import advise_on, refused_tools
from loopkit.cli.secret_options import add_redaction, add_secrets, secrets_given
from loopkit.cli.stopping import stopped_like_ctrl_c
from loopkit.errors import LoopkitError, UserError

if TYPE_CHECKING:
    from loopkit.outcomes import ToolApproval

LATER_CALLS = ("read-only", "all", "none")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("file", metavar="FILE", help="the recording to go on from")
    parser.add_argument("--at", metavar="N|CALL", required=True, help="where: an event's number or a call")
    parser.add_argument("--agent", metavar="AGENT", required=True, help="path.py:name or package.module:name")
    parser.add_argument("-o", "--output", metavar="FILE", help="default: a new file in the recordings folder")
    parser.add_argument("--overwrite", action="store_true", help="replace the output if it is a recording")
    change = parser.add_mutually_exclusive_group(required=True)
    change.add_argument("--approve", action="store_true", help="the call runs as the model asked for it")
    change.add_argument("--deny", metavar="REASON", nargs="?", const="", help="the call does not run")
    change.add_argument("--arguments", metavar="JSON", help="the call runs with these arguments")
    change.add_argument("--result", metavar="TEXT", help="the model gets this text in the tool's place")
    parser.add_argument("--error", action="store_true", help="with --result: it is an error")
    parser.add_argument(
        "--later-calls",
        choices=LATER_CALLS,
        default=LATER_CALLS[0],
        help="which calls after the change run: those of tools declared to only read (default), all, or none",
    )
    add_durability(parser)
    add_redaction(parser)
    add_secrets(parser)


def run(options: argparse.Namespace) -> int:
    """Write the fork and print where it is."""
    edit = _edit(options)
    from loopkit.debugger.display import visible
    from loopkit.debugger.runs import fork_file
    from loopkit.debugger.targets import load_agent, new_recording_path

    agent = load_agent(options.agent)
    output = Path(options.output) if options.output else new_recording_path(f"{agent.name}-fork")
    try:
        with stopped_like_ctrl_c(f"stopped; what happened so far is in {output}"), redirect_stdout(sys.stderr):
            path = fork_file(
                options.file,
                _place(options.at),
                edit,
                agent,
                output,
                approve=options.later_calls,
                overwrite=options.overwrite,
                durability=options.durability,
                redacted=not options.no_redaction,
                secrets=secrets_given(options),
                tell=warn,
            )
    except (LoopkitError, OSError):
        raise
    except Exception as error:
        if options.debug:
            raise
        # raised by the agent's own code
        warn_of(error)
        return 1
    print(visible(str(path)))
    if options.later_calls == LATER_CALLS[0]:
        advise_on(refused_tools(path), "--later-calls")
    return 0


def _place(text: str) -> int | str:
    if text.isdecimal():
        return int(text)
    if "/" in text or "." not in text:
        return text
    return f"root/{text}"


def _edit(options: argparse.Namespace) -> ToolApproval:
    from loopkit.outcomes import Approve, Deny, Modify, Respond

    if options.error and options.result is None:
        raise UserError("--error goes with --result")
    if options.approve:
        return Approve()
    if options.deny is not None:
        return Deny(options.deny) if options.deny else Deny()
    if options.result is not None:
        return Respond(options.result, is_error=options.error)
    return Modify(_arguments(options.arguments))


def _arguments(text: str) -> dict[str, Any]:
    import json

    try:
        value = json.loads(text)
    except ValueError as error:
        raise UserError(f"--arguments is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise UserError(f'--arguments has to be a JSON object such as \'{{"path": "a.txt"}}\', not {text[:80]}')
    return value
