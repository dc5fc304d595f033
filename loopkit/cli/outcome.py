"""How a run without a screen ended, as `run` and `resume` tell it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from loopkit.cli.output import USAGE_ERROR, print_json, warn_of
from loopkit.cli.policy_options import ended_by_asking
from loopkit.cli.refused import advise_on, refused_tools
from loopkit.errors import ProviderError, UserError

if TYPE_CHECKING:
    from loopkit.debugger.policy_file import RulePolicy
    from loopkit.debugger.runs import HeadlessOutcome
    from loopkit.debugger.unattended import Approval


def report_outcome(
    outcome: HeadlessOutcome, options: argparse.Namespace, approve: Approval | RulePolicy, after: int = 0
) -> int:
    """Print how a run ended, say what would have run otherwise, and return the exit code.

    Args:
        options: the command's own, with `json`, `if_asked` and `debug`.
        approve: what decided on its calls.
        after: number of the last event that was there before.
    """
    refused = refused_tools(outcome.path, after)
    data = {**_data(outcome), "refused": refused, "asked": list(outcome.asked)}
    if options.json:
        print_json(data)
    else:
        _print(data)
    if approve == "read-only":
        advise_on(refused, "--approve")
    asking = ended_by_asking(outcome.asked, options)
    if outcome.error is not None:
        if options.debug:
            raise outcome.error
        warn_of(outcome.error)
        return USAGE_ERROR if isinstance(outcome.error, (ProviderError, UserError)) else 1
    return asking or (0 if data["outcome"] == "complete" else 1)


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
