"""Open the debugger in the terminal.

TARGET is a recording (ours or a session of another tool), a folder of them, or an agent as path.py:name or
package.module:name, which is started and stops before its first tool call. Without a TARGET: the recordings at hand
and the bundled demo agent.

Set LOOPKIT_THEME to light on a light terminal; dark is the default.
"""

from __future__ import annotations

import argparse

from loopkit.errors import UserError

_EXTRA = "tui"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("target", metavar="TARGET", nargs="?", help="a recording, a folder, or an agent")
    parser.add_argument("--task", metavar="TEXT", help="what the agent is asked to do")
    parser.add_argument(
        "--policy",
        metavar="FILE",
        help="rules that decide before you are asked (docs/policies.md); default: .loopkit/policy.toml, if there",
    )


def run(options: argparse.Namespace) -> int:
    """Start the interface that is installed under the name `tui`."""
    from loopkit.debugger.display import one_line
    from loopkit.debugger.targets import find_target

    if options.target is not None:
        target = find_target(options.target)
        if options.task is not None and target.kind != "agent":
            raise UserError(f"--task is for an agent, and {one_line(options.target)} is a {target.kind}")
    elif options.task is not None:
        raise UserError("--task needs an agent: loopkit tui path.py:name --task TEXT")
    if options.policy is not None:
        if options.target is None or target.kind != "agent":
            raise UserError("--policy is for an agent: loopkit tui path.py:name --policy FILE")
        from loopkit.debugger.policy_file import load_policy

        load_policy(options.policy)
    from loopkit.cli.interfaces import start_interface

    return start_interface(_EXTRA, options.target, options.task, policy=options.policy)
