"""Say what repeats in recordings and foreign sessions: loop detection on runs that are over, to tune it.

Detectors: identical batches, cycle, same call same result, repeated errors, repeated text, unknown tools.
Exit code: 0 nothing repeats, 1 something does, 2 a file can't be used.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from loopkit.cli.output import USAGE_ERROR, print_json, warn_of
from loopkit.errors import LoopkitError

if TYPE_CHECKING:
    from loopkit.debugger.detecting import Found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="recordings, or sessions of other tools")
    parser.add_argument(
        "--detectors", metavar="A,B", default="all", help="which ones, hyphens for spaces; default: all"
    )
    parser.add_argument("--threshold", metavar="N", type=int, default=3, help="repeats that are a loop; default: 3")
    parser.add_argument(
        "--polling", metavar="TOOL", action="append", default=[], help="count its repeats only while its results stay"
    )
    parser.add_argument("--ignore", metavar="TOOL", action="append", default=[], help="don't look at this tool's calls")
    parser.add_argument("--json", action="store_true", help="a JSON list, one object a file")


def run(options: argparse.Namespace) -> int:
    """Print what repeats in each file."""
    from loopkit.debugger.detecting import detect_file, detection_of
    from loopkit.debugger.display import one_line

    config = detection_of(options.detectors, options.threshold, polling=options.polling, ignored=options.ignore)
    code = 0
    results: list[dict[str, Any]] = []
    for file in options.files:
        try:
            found = detect_file(file, config)
        except (LoopkitError, OSError) as error:
            if options.debug:
                raise
            code = USAGE_ERROR
            results.append({"file": file, "found": None, "error": warn_of(error)})
            continue
        code = max(code, 1 if found else 0)
        results.append({"file": file, "found": [one.data() for one in found]})
        if not options.json:
            print(f"{one_line(file)}: {f'{len(found)} found' if found else 'nothing repeats'}")
            for one in found:
                print(f"  {_line(one)}")
    if options.json:
        print_json(results)
    return code


def _line(found: Found) -> str:
    from loopkit.debugger.display import one_line
    from loopkit.debugger.rows import warning_text

    agents = " › ".join(one_line(name, 30) for name in found.agents)
    calls = ", ".join(one_line(call.rpartition("/")[2], 20) for call in found.repetition.calls)
    return f"{agents} {found.iteration}: {warning_text(found.repetition)}; calls {calls}"
