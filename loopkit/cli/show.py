"""Print the timeline of a recording, ours or a foreign session."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from loopkit.cli.output import print_json, print_toned, warn
from loopkit.errors import UserError

if TYPE_CHECKING:
    from loopkit.debugger.recorded import OpenedRun


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("file", metavar="FILE", help="a recording, or a session of another tool")
    parser.add_argument("--json", action="store_true", help="one JSON object: run, totals, iterations with their calls")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--iteration", type=int, metavar="N", help="one iteration in full, counted from 1")
    part.add_argument("--events", action="store_true", help="the events themselves, one a line")
    parser.add_argument(
        "--loop", metavar="PATH", default="root", help="whose iteration: path of a sub-agent (default: root)"
    )


def run(options: argparse.Namespace) -> int:
    """Print what was asked for."""
    from loopkit.debugger.recorded import open_recording

    with open_recording(options.file) as recorded:
        for notice in recorded.notices:
            warn(notice)
        if options.events:
            _show_events(recorded, as_json=options.json)
        elif options.iteration is not None:
            _show_iteration(recorded, options)
        elif options.json:
            from loopkit.debugger.report import run_report

            print_json(run_report(recorded.timeline, _run_id(recorded), recorded.source_format))
        else:
            _show_timeline(recorded)
    return 0


def _show_events(recorded: OpenedRun, *, as_json: bool) -> None:
    from loopkit.debugger.report import event_data, event_line

    if as_json:
        print_json([event_data(event) for event in recorded.events])
        return
    for event in recorded.events:
        print(event_line(event))


def _show_iteration(recorded: OpenedRun, options: argparse.Namespace) -> None:
    from loopkit.debugger.report import iteration_data, iteration_report

    loop = recorded.timeline.loops.get(options.loop)
    if loop is None:
        known = ", ".join(list(recorded.timeline.loops)[:20])
        raise UserError(f"there is no loop {options.loop!r} in {options.file}; there are {known or 'none'}")
    if not 1 <= options.iteration <= len(loop.iterations):
        number = len(loop.iterations)
        held = f"the iterations 1 to {number}" if number > 1 else "iteration 1 only" if number else "no iteration"
        raise UserError(f"{options.loop} of {options.file} has {held}")
    iteration = loop.iterations[options.iteration - 1]
    if options.json:
        print_json(iteration_data(iteration))
        return
    for line in iteration_report(iteration):
        print(line)


def _show_timeline(recorded: OpenedRun) -> None:
    from loopkit.debugger.report import heading, toned_report, totals_text

    print_toned([(heading(recorded.timeline, _run_id(recorded), recorded.source_format), "plain")])
    print_toned(toned_report(recorded.timeline))
    print_toned([(totals_text(recorded.timeline, recorded.source_format), "plain")])


def _run_id(recorded: OpenedRun) -> str | None:
    return recorded.header.run if recorded.header is not None else None
