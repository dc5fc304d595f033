"""Check that recordings still go the same way.

Without --agent: against today's loop. With it: against today's prompts, tools, callbacks and configuration too.
A sub-agent is the tool that runs it: its own prompt and tools are compared only with --tools live.
Exit code: 0 all are the same, 1 one diverged (the first differing event is named), 2 one can't be used.
"""

from __future__ import annotations

import argparse
from typing import Any

from loopkit.cli.output import USAGE_ERROR, print_json, warn_of
from loopkit.errors import LoopkitError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="recordings")
    parser.add_argument("--agent", metavar="AGENT", help="path.py:name or package.module:name")
    parser.add_argument(
        "--tools", choices=("recorded", "live"), default="recorded", help="live: the agent's tools really run"
    )
    parser.add_argument("--json", action="store_true", help="a JSON list, one object a file")


def run(options: argparse.Namespace) -> int:
    """Replay each file and say how it went."""
    from loopkit.debugger.display import visible
    from loopkit.debugger.runs import replay_file
    from loopkit.debugger.targets import load_agent
    from loopkit.errors import UserError

    if options.tools == "live" and options.agent is None:
        raise UserError("--tools live needs the agent whose tools are run: --agent path.py:name")
    agent = load_agent(options.agent) if options.agent else None
    code = 0
    results: list[dict[str, Any]] = []
    for file in options.files:
        try:
            report = replay_file(file, agent=agent, tools=options.tools)
        except (LoopkitError, OSError) as error:
            if options.debug:
                raise
            code = USAGE_ERROR
            results.append({"file": file, "same": None, "error": warn_of(error)})
            continue
        code = max(code, 0 if report.same else 1)
        results.append({"file": file, **report.data()})
        if not options.json:
            print(visible(report.text()))
    if options.json:
        print_json(results)
    return code
