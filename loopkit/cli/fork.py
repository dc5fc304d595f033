"""Go on from inside a recording with one thing changed, as a new recording that names its parent.

--at is the number of an event, a call such as root/3.2 (short: 3.2), or an iteration such as root/3. What came before it is
copied: it costs nothing again, and what its tools did to files and services is not done again, nor undone. The model
answers live from there, and today's prompt, tools and limits hold; what of them is new stands in the recording. A text
may be @FILE.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from pathlib import Path

from loopkit.cli.durability import add_durability
from loopkit.cli.fork_edits import add_edits, agent_of, edit_of
from loopkit.cli.output import warn, warn_of
from loopkit.cli.policy_options import add_policy, ended_by_asking, policy_given
from loopkit.cli.refused import advise_on, refused_tools
from loopkit.cli.secret_options import add_redaction, add_secrets, secrets_given
from loopkit.cli.stopping import stopped_like_ctrl_c
from loopkit.errors import LoopkitError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("file", metavar="FILE", help="the recording to go on from")
    parser.add_argument(
        "--at", metavar="N|CALL", required=True, help="where: an event's number, a call or an iteration"
    )
    parser.add_argument("--agent", metavar="AGENT", required=True, help="path.py:name or package.module:name")
    parser.add_argument("-o", "--output", metavar="FILE", help="default: a new file in the recordings folder")
    parser.add_argument("--overwrite", action="store_true", help="replace the output if it is a recording")
    add_policy(parser, "--later-calls", "which calls after the change")
    add_edits(parser)
    add_durability(parser)
    add_redaction(parser)
    add_secrets(parser)


def run(options: argparse.Namespace) -> int:
    """Write the fork and print where it is."""
    edit = edit_of(options)
    from loopkit.debugger.display import visible
    from loopkit.debugger.runs import fork_file
    from loopkit.debugger.targets import load_agent, new_recording_path

    approve = policy_given(options, "--later-calls")
    agent = agent_of(options, load_agent(options.agent))
    output = Path(options.output) if options.output else new_recording_path(f"{agent.name}-fork")
    asked: list[str] = []
    try:
        with stopped_like_ctrl_c(f"stopped; what happened so far is in {output}"), redirect_stdout(sys.stderr):
            path = fork_file(
                options.file,
                _place(options.at),
                edit,
                agent,
                output,
                approve=approve,
                if_asked=options.if_asked,
                overwrite=options.overwrite,
                durability=options.durability,
                redacted=not options.no_redaction,
                secrets=secrets_given(options),
                tell=warn,
                asked=asked.append,
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
    if approve == "read-only":
        advise_on(refused_tools(path), "--later-calls")
    return ended_by_asking(asked, options)


def _place(text: str) -> int | str:
    if text.isdecimal():
        return int(text)
    if "/" in text or "." not in text:
        return text
    return f"root/{text}"
