"""Align two runs and say where they part: a recording and its fork, two attempts at one task, or foreign sessions.

What differs is shown iteration by iteration, - as in the first file and + as in the second; tokens, cost and time stand
beside and make no difference. Exit code: 0 the same, 1 different, 2 one can't be used.
"""

from __future__ import annotations

import argparse

from loopkit.cli.output import print_json, print_toned, warn


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("left", metavar="A", help="the run that the other is compared with")
    parser.add_argument("right", metavar="B", help="the other run")
    parser.add_argument("--whole", action="store_true", help="cut nothing, and list what is the same too")
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(options: argparse.Namespace) -> int:
    """Print how the runs differ."""
    from loopkit.debugger.comparison import compare_runs
    from loopkit.debugger.comparison_report import comparison_data, comparison_lines
    from loopkit.debugger.recorded import open_recording

    left, right = open_recording(options.left), open_recording(options.right)
    for opened in (left, right):
        for notice in opened.notices:
            warn(f"{opened.path}: {notice}")
    compared = compare_runs(left, right)
    if options.json:
        print_json(comparison_data(compared))
    else:
        print_toned(comparison_lines(compared, whole=options.whole))
    return 0 if compared.same else 1
