"""The options that say which calls run without being asked about: `--approve`, or a policy of rules."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from loopkit.cli.output import warn
from loopkit.errors import UserError

if TYPE_CHECKING:
    from loopkit.debugger.policy_file import RulePolicy
    from loopkit.debugger.unattended import Approval

APPROVE = ("read-only", "reversible", "all", "none")
ASKED = 3


def add_policy(parser: argparse.ArgumentParser, approving: str, about: str) -> None:
    """Declare the options.

    Args:
        approving: the option that names a headless policy, such as `--approve`.
        about: which calls it is about.
    """
    parser.add_argument(
        approving,
        # not `approve`, which is an edit of a fork
        dest="unattended_approval",
        choices=APPROVE,
        help=f"{about} run: those of tools declared to only read (default), all but those declared irreversible, all, or none; "
        "the others are refused, and the model is told so",
    )
    parser.add_argument(
        "--policy", metavar="FILE", help="rules that decide (docs/policies.md); default: .loopkit/policy.toml, if there"
    )
    parser.add_argument(
        "--if-asked",
        choices=("stop", "deny"),
        default="stop",
        help="when the rules would ask a person: stop with exit code 3 (default), or deny the call and go on",
    )


def policy_given(options: argparse.Namespace, approving: str) -> Approval | RulePolicy:
    """Return what decides, and say on stderr which rules ask since they can't be used.

    Raises:
        UserError: both kinds are given, or the policy can't be read.
    """
    from loopkit.debugger.unattended import policy_for

    if options.unattended_approval is not None and options.policy is not None:
        raise UserError(f"{approving} and --policy both say which calls run: give one of them")
    found = options.unattended_approval or policy_for(options.policy)
    if found is None:
        return "read-only"
    if not isinstance(found, str):
        tell_broken(found)
    chosen: Approval | RulePolicy = found
    return chosen


def ended_by_asking(asked: Sequence[str], options: argparse.Namespace) -> int:
    """Say on stderr about which calls a person would have been asked, and return the exit code that this makes."""
    stopped = options.if_asked == "stop"
    for line in asked:
        warn(f"{line}: {'stopped' if stopped else 'denied'}")
    return ASKED if asked and stopped else 0


def tell_broken(policy: RulePolicy) -> None:
    """Say which rules of a policy ask because they can't be used."""
    for line in policy.broken:
        warn(line)
