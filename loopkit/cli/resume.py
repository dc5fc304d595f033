"""Go on with a recording whose run was cut short, in the same file.

A request without an answer is made again. A call that had started and never ended is given up, and the model is told that it is
unknown whether it took effect; one whose tool is declared to read or to be idempotent runs again, and so does what
--run-again names. Exit codes are those of `run`.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout

from loopkit.cli.durability import add_durability
from loopkit.cli.outcome import report_outcome
from loopkit.cli.output import warn
from loopkit.cli.policy_options import add_policy, policy_given
from loopkit.cli.secret_options import add_secrets, secrets_given
from loopkit.cli.stopping import stopped_like_ctrl_c


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("file", metavar="FILE", help="an unfinished recording")
    parser.add_argument("--agent", metavar="AGENT", required=True, help="path.py:name or package.module:name")
    add_policy(parser, "--approve", "which tool calls from here on")
    parser.add_argument(
        "--run-again",
        metavar="CALL",
        action="append",
        default=[],
        help="a call that had started, such as root/3.1, runs once more; `all` for every one",
    )
    add_durability(parser)
    add_secrets(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def run(options: argparse.Namespace) -> int:
    """Go on with the run to its end."""
    from loopkit.debugger.recorded import open_recording
    from loopkit.debugger.runs import resume_file
    from loopkit.debugger.targets import load_agent

    approve = policy_given(options, "--approve")
    agent = load_agent(options.agent)
    before = open_recording(options.file).events
    with stopped_like_ctrl_c(f"stopped; what happened so far is in {options.file}"), redirect_stdout(sys.stderr):
        outcome = resume_file(
            options.file,
            agent,
            approve=approve,
            if_asked=options.if_asked,
            run_again="all" if "all" in options.run_again else options.run_again,
            durability=options.durability,
            secrets=secrets_given(options),
            tell=warn,
        )
    return report_outcome(outcome, options, approve, after=len(before))
