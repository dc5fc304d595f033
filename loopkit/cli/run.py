"""Run an agent without a screen and record it.

Prints the final answer, how the run ended and where its recording is. Exit code: 0 the agent completed, 1 it ended
another way (an error, a limit, a stop), 2 it can't be run, or its model can't be reached; 128 + the signal's number
when a signal ended it (130 Ctrl+C, 143 `kill`), its recording closed.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopkit.cli.durability import add_durability
from loopkit.cli.output import USAGE_ERROR, print_json, warn, warn_of
from loopkit.cli.refused import advise_on, refused_tools
from loopkit.cli.secret_options import add_redaction
from loopkit.cli.stopping import stopped_like_ctrl_c
from loopkit.errors import ProviderError, UserError

if TYPE_CHECKING:
    from loopkit.debugger.runs import HeadlessOutcome

APPROVE = ("read-only", "all", "none")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("agent", metavar="AGENT", help="path.py:name or package.module:name")
    parser.add_argument("--task", metavar="TEXT", required=True, help="what the agent is asked to do")
    parser.add_argument("--record", metavar="FILE", help="default: a new file in the recordings folder")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it is a recording")
    parser.add_argument(
        "--approve",
        choices=APPROVE,
        default=APPROVE[0],
        help="which tool calls run: those of tools declared to only read (default), all, or none; "
        "the others are refused, and the model is told so",
    )
    add_durability(parser)
    add_redaction(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def run(options: argparse.Namespace) -> int:
    """Run the agent to its end."""
    from loopkit.debugger.runs import run_headless
    from loopkit.debugger.targets import load_agent, new_recording_path

    agent = load_agent(options.agent)
    path = Path(options.record) if options.record else new_recording_path(agent.name)
    # what tools print must not stand between the lines of the answer
    with stopped_like_ctrl_c(f"stopped; what happened so far is in {path}"), redirect_stdout(sys.stderr):
        outcome = run_headless(
            agent,
            options.task,
            record=path,
            approve=options.approve,
            overwrite=options.overwrite,
            durability=options.durability,
            redacted=not options.no_redaction,
            tell=warn,
        )
    refused = refused_tools(outcome.path)
    data = {**_data(outcome), "refused": refused}
    if options.json:
        print_json(data)
    else:
        _print(data)
    if options.approve == APPROVE[0]:
        advise_on(refused, "--approve")
    if outcome.error is not None:
        if options.debug:
            raise outcome.error
        warn_of(outcome.error)
        return USAGE_ERROR if isinstance(outcome.error, (ProviderError, UserError)) else 1
    return 0 if data["outcome"] == "complete" else 1


def _data(outcome: HeadlessOutcome) -> dict[str, Any]:
    from loopkit.debugger.report import reason_name
    from loopkit.debugger.rows import reason_text
    from loopkit.debugger.totals import reported_tokens

    result, error = outcome.result, outcome.error
    reason = result.termination_reason if result is not None else None
    input_tokens, output_tokens = reported_tokens(None if result is None else result.subtree_usage)
    return {
        "outcome": reason_name(reason) if reason is not None else "failed",
        "outcome_text": reason_text(reason) if reason is not None else "failed",
        "error": None if error is None else {"type": type(error).__name__, "message": str(error)},
        "answer": result.response.text if result is not None and result.response is not None else None,
        "iterations": result.iterations if result is not None else None,
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "recording": None if outcome.path is None else str(outcome.path),
    }


def _print(data: dict[str, Any]) -> None:
    from loopkit.debugger.display import visible

    if data["answer"]:
        print(visible(data["answer"]))
        print()
    print(f"outcome    {data['outcome_text']}")
    if data["recording"] is not None:
        print(f"recording  {visible(data['recording'])}")
