"""Run an agent without a screen and record it.

Prints the final answer, how the run ended and where its recording is. Exit code: 0 the agent completed, 1 it ended
another way (an error, a limit, a stop), 2 it can't be run, or its model can't be reached, 3 its policy would have
asked a person; 128 + the signal's number when a signal ended it (130 Ctrl+C, 143 `kill`), its recording closed.

With --serve, `loopkit attach` debugs it from another terminal, container or machine (docs/attach.md).
"""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopkit.cli.durability import add_durability
from loopkit.cli.outcome import report_outcome
from loopkit.cli.output import warn
from loopkit.cli.policy_options import add_policy, policy_given
from loopkit.cli.secret_options import add_redaction
from loopkit.cli.serving_options import add_serving, place_to_serve, tell_where
from loopkit.cli.stopping import stopped_like_ctrl_c

if TYPE_CHECKING:
    from loopkit.debugger.served_run import Alone


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("agent", metavar="AGENT", help="path.py:name or package.module:name")
    parser.add_argument("--task", metavar="TEXT", required=True, help="what the agent is asked to do")
    parser.add_argument("--record", metavar="FILE", help="default: a new file in the recordings folder")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it is a recording")
    add_policy(parser, "--approve", "which tool calls")
    add_serving(parser)
    add_durability(parser)
    add_redaction(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def run(options: argparse.Namespace) -> int:
    """Run the agent to its end."""
    from loopkit.debugger.targets import load_agent, new_recording_path

    approve = policy_given(options, "--approve")
    place = place_to_serve(options)
    agent = load_agent(options.agent)
    path = Path(options.record) if options.record else new_recording_path(agent.name)
    given: dict[str, Any] = {
        "record": path,
        "approve": approve,
        "overwrite": options.overwrite,
        "durability": options.durability,
        "redacted": not options.no_redaction,
        "tell": warn,
    }
    # what tools print must not stand between the lines of the answer
    with stopped_like_ctrl_c(f"stopped; what happened so far is in {path}"), redirect_stdout(sys.stderr):
        if place is None:
            from loopkit.debugger.runs import run_headless

            outcome = run_headless(agent, options.task, if_asked=options.if_asked, **given)
        else:
            from loopkit.debugger.served_run import run_served

            alone: Alone = options.unattended or "policy"
            network = options.serve_network
            outcome = run_served(agent, options.task, place, alone=alone, network=network, opened=tell_where, **given)
    return report_outcome(outcome, options, approve)
