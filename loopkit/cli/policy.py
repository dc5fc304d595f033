"""Try a policy before it decides (docs/policies.md).

check FILE lists its rules and what is wrong with them. explain FILE says which rule decides on one call. test FILE
RECORDING… says what it would have decided on each call of recordings or foreign sessions, beside what was decided.
Exit code: 1 when `check` finds a broken rule, 2 when the policy or a recording can't be read.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from loopkit.cli.output import print_json, warn
from loopkit.errors import UserError

if TYPE_CHECKING:
    from loopkit.debugger.policy_file import RulePolicy
    from loopkit.debugger.rules import Ruling


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser("check", help="list the rules, and what is wrong with them")
    explain = actions.add_parser("explain", help="say which rule decides on one call")
    test = actions.add_parser("test", help="say what it would have decided in recordings")
    for action in (check, explain, test):
        action.add_argument("policy", metavar="FILE", help="a policy")
        action.add_argument("--json", action="store_true", help="JSON instead of text")
    explain.add_argument("--tool", metavar="NAME", required=True, help="the tool that is called")
    explain.add_argument("--arguments", metavar="JSON", default="{}", help="its arguments (default: none)")
    explain.add_argument("--agent", metavar="NAME", default="agent", help="who calls it")
    explain.add_argument("--depth", metavar="N", type=int, default=0, help="levels of agents above it (default: 0)")
    explain.add_argument("--side-effect", choices=("read", "idempotent", "irreversible"), help="what it is declared as")
    test.add_argument("recordings", metavar="RECORDING", nargs="+", help="recordings or foreign sessions")


def run(options: argparse.Namespace) -> int:
    """Do one of the three."""
    from loopkit.debugger.policy_file import load_policy

    policy = load_policy(options.policy)
    if options.action == "check":
        return _check(policy, options)
    for line in policy.broken:
        warn(line)
    return _explain(policy, options) if options.action == "explain" else _test(policy, options)


def _check(policy: RulePolicy, options: argparse.Namespace) -> int:
    from loopkit.debugger.display import arguments_line, one_line

    if options.json:
        print_json(
            [{"rule": rule.name, "decide": rule.verdict, "broken": rule.broken or None} for rule in policy.rules]
        )
    else:
        for rule in policy.rules:
            conditions = {key: value for key, value in rule.data.items() if key in rule.tests}
            print(f"{rule.verdict:<6} {one_line(rule.name, 40)}  {arguments_line(conditions, 120)}".rstrip())
        print("ask    where no rule matches")
    for line in policy.broken:
        warn(line)
    return 1 if policy.broken else 0


def _explain(policy: RulePolicy, options: argparse.Namespace) -> int:
    from loopkit.debugger.arguments import read_arguments
    from loopkit.debugger.rules import Asked
    from loopkit.messages import ToolCall, ToolDefinition

    arguments, problems = read_arguments(options.arguments)
    if arguments is None:
        raise UserError(f"--arguments: {'; '.join(str(problem) for problem in problems)}")
    tool = ToolDefinition(options.tool, "", {}, options.side_effect)
    ruling = policy.judge(Asked(ToolCall("call", options.tool, arguments), tool, options.agent, options.depth))
    if options.json:
        print_json(_data(ruling))
    else:
        print(_words(ruling))
    return 0


def _test(policy: RulePolicy, options: argparse.Namespace) -> int:
    from loopkit.debugger.display import one_line
    from loopkit.debugger.policy_trial import try_policy

    tried = [(path, call) for path in options.recordings for call in try_policy(policy, path)]
    if options.json:
        print_json(
            [
                {"recording": path, "call": call.call, "tool": call.name, "agent": call.agent, "was": call.was}
                | _data(call.would)
                for path, call in tried
            ]
        )
        return 0
    for path, call in tried:
        place = f"{one_line(path, 60)}  " if len(options.recordings) > 1 else ""
        print(f"{place}{call.call}  {one_line(call.name, 40)}: {_words(call.would)}; was {one_line(call.was, 100)}")
    counted = [
        f"{sum(call.would.verdict == verdict for _, call in tried)} {verdict}" for verdict in ("allow", "ask", "deny")
    ]
    print(f"{len(tried)} calls: {', '.join(counted)}")
    return 0


def _words(ruling: Ruling) -> str:
    from loopkit.debugger.display import one_line

    by = f", by {one_line(ruling.rule, 60)!r}" if ruling.rule else ", as no rule matches"
    why = f" ({one_line(ruling.reason, 200)})" if ruling.reason else ""
    late = "" if ruling.deadline is None else f", then {ruling.then} after {ruling.deadline:g} s"
    return f"{ruling.verdict}{by}{why}{late}"


def _data(ruling: Ruling) -> dict[str, Any]:
    return {
        "verdict": ruling.verdict,
        "rule": ruling.rule or None,
        "reason": ruling.reason or None,
        "deadline": ruling.deadline,
        "then": None if ruling.deadline is None else ruling.then,
    }
