"""Print the timeline of a recording, ours or a foreign session."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING

from loopkit.cli.output import print_json, print_json_list, print_toned, warn
from loopkit.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from loopkit.debugger.conditions import Condition
    from loopkit.debugger.recorded import LargeRun, OpenedRun
    from loopkit.events import Event

_LOOK_SECONDS = 0.2
_MOST_IN_MEMORY = 100_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("file", metavar="FILE", help="a recording, or a session of another tool")
    parser.add_argument("--json", action="store_true", help="one JSON object: run, totals, iterations with their calls")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--iteration", type=int, metavar="N", help="one iteration in full, counted from 1")
    part.add_argument("--events", action="store_true", help="the events themselves, one a line")
    part.add_argument("--at", type=int, metavar="N", help="one event in full, by its number")
    part.add_argument("--search", metavar="TEXT", help="the events that hold words, wherever they stand in them")
    part.add_argument("--follow", action="store_true", help="the events, and those to come until the run ends")
    window = parser.add_mutually_exclusive_group()
    window.add_argument("--from", type=int, dest="first", metavar="N", help="with --events: those from a number on")
    window.add_argument("--last", type=int, metavar="N", help="with --events: the last N of them")
    parser.add_argument(
        "--where",
        metavar="CONDITION",
        help="only what a condition holds for, such as 'error or tool == \"run_tests\"'; with --events or --json the events",
    )
    parser.add_argument("--regex", action="store_true", help="what is searched for is a regular expression")
    parser.add_argument("--case", action="store_true", help="upper and lower case are not the same in a search")
    parser.add_argument(
        "--loop", metavar="PATH", default="root", help="whose iteration: path of a sub-agent (default: root)"
    )


def run(options: argparse.Namespace) -> int:
    """Print what was asked for."""
    from loopkit.debugger.recorded import LargeRun, open_recording, open_to_look

    if options.where is not None:
        return _show_where(options)
    if options.search is not None:
        return _search(options)
    if options.first is not None or options.last is not None:
        return _show_window(options)
    if options.at is not None or options.follow:
        return _show_stream(options)
    # the JSON object holds the whole run
    holds_all = options.json and not options.events and options.iteration is None
    if holds_all:
        _require_moderate(options.file)
    with (open_recording if holds_all else open_to_look)(options.file) as recorded:
        if isinstance(recorded, LargeRun):
            if options.events:
                return _show_stream(options)
            if options.iteration is None:
                return _show_large(recorded)
            recorded.read_all()
        for notice in recorded.notices:
            warn(notice)
        if options.events:
            _show_events(recorded, as_json=options.json)
        elif options.iteration is not None:
            _show_iteration(recorded, options)
        else:
            _show_timeline(recorded, as_json=options.json)
    return 0


def _show_events(recorded: OpenedRun, *, as_json: bool) -> None:
    from loopkit.debugger.report import event_data, event_line

    if as_json:
        print_json_list(map(event_data, recorded.events))
        return
    for event in recorded.events:
        print(event_line(event))


def _show_iteration(recorded: OpenedRun, options: argparse.Namespace) -> None:
    from loopkit.debugger.report import iteration_data, iteration_report

    loop = recorded.loop(options.loop)
    if loop is None:
        known = ", ".join(list(recorded.timeline.loops)[:20])
        raise UserError(f"there is no loop {options.loop!r} in {options.file}; there are {known or 'none'}")
    iteration = recorded.iteration(loop, options.iteration)
    if iteration is None:
        number = loop.iteration_count
        held = f"the iterations 1 to {number}" if number > 1 else "iteration 1 only" if number else "no iteration"
        raise UserError(f"{options.loop} of {options.file} has {held}")
    if options.json:
        print_json(iteration_data(iteration))
        return
    for line in iteration_report(iteration):
        print(line)


def _show_timeline(recorded: OpenedRun, *, as_json: bool) -> None:
    from loopkit.debugger.report import heading, run_report, toned_report, totals_text

    if as_json:
        print_json(run_report(recorded.timeline, _run_id(recorded), recorded.source_format))
        return
    print_toned([(heading(recorded.timeline, _run_id(recorded), recorded.source_format), "plain")])
    print_toned(toned_report(recorded.timeline))
    print_toned([(totals_text(recorded.timeline, recorded.source_format), "plain")])


def _show_large(recorded: LargeRun) -> int:
    """Print rows while the recording is read."""
    from loopkit.debugger.report import heading, toned_report, totals_text

    recorded.read_beginning()
    for notice in recorded.notices:
        warn(notice)
    told = len(recorded.notices)
    print_toned([(heading(recorded.timeline, _run_id(recorded), recorded.source_format), "plain")])
    print_toned(toned_report(recorded.timeline))
    recorded.read_all()
    for notice in recorded.notices[told:]:
        warn(notice)
    print_toned([(totals_text(recorded.timeline, recorded.source_format), "plain")])
    return 0


def _require_moderate(path: str) -> None:
    """The object of a whole run is made in memory, which takes several times the file's size."""
    size = os.stat(path).st_size if os.path.isfile(path) else 0
    if size > _MOST_IN_MEMORY:
        raise UserError(
            f"{path}: is {size / 1e6:,.0f} MB, and --json makes one object of the whole run; print its events with "
            f"--events --json, one iteration with --iteration N --json, or its figures with `loopkit stats --json`"
        )


def _show_window(options: argparse.Namespace) -> int:
    """Print the events from a number on, or the last ones."""
    from loopkit.debugger.watching import window_of_events

    if not options.events:
        raise UserError("--from and --last go with --events")
    if any(number is not None and number < 1 for number in (options.first, options.last)):
        raise UserError("--from and --last take a number from 1 on")
    _print_stream(window_of_events(options.file, first=options.first, last=options.last), options)
    return 0


def _show_stream(options: argparse.Namespace) -> int:
    """Print events as they are read; what is to come is waited for only when it is followed."""
    from loopkit.debugger.report import event_data
    from loopkit.debugger.watching import event_numbered, follow_events, stream_events

    if options.at is not None:
        print_json(event_data(event_numbered(options.file, options.at)))
        return 0
    if options.json and options.events:
        print_json_list(map(event_data, _events_of(stream_events(options.file))))
        return 0
    _print_stream(follow_events(options.file) if options.follow else stream_events(options.file), options)
    return 0


def _events_of(items: Iterable[Event | str]) -> Iterator[Event]:
    for item in items:
        if isinstance(item, str):
            warn(item)
        else:
            yield item


def _print_stream(items: Iterable[Event | str | None], options: argparse.Namespace) -> bool:
    """Print events and what is wrong beside them; say whether there was an event."""
    from time import sleep

    from loopkit.debugger.report import event_data, event_line

    printed = False
    for item in items:
        if item is None:
            sys.stdout.flush()
            sleep(_LOOK_SECONDS)
        elif isinstance(item, str):
            warn(item)
        else:
            printed = True
            print(json.dumps(event_data(item)) if options.json else event_line(item))
    return printed


def _show_where(options: argparse.Namespace) -> int:
    """Print what a condition holds for: rows of the timeline, or events one a line; 1 when it holds for nothing."""
    from loopkit.debugger.condition_text import read_condition
    from loopkit.debugger.filtering import EventFilter, events_in
    from loopkit.debugger.watching import follow_events

    if options.at is not None or options.search is not None or options.iteration is not None:
        raise UserError("--where goes with --events, --follow and --json only")
    condition = read_condition(options.where)
    if options.follow:
        return 0 if _print_stream(EventFilter(condition).kept(follow_events(options.file)), options) else 1
    if options.events or options.json:
        return 0 if _print_stream(EventFilter(condition).kept(events_in(options.file, condition)), options) else 1
    return _show_rows_where(condition, options)


def _show_rows_where(condition: Condition, options: argparse.Namespace) -> int:
    from loopkit.debugger.filtering import RowFilter, events_in
    from loopkit.debugger.recorded import LargeRun, open_to_look
    from loopkit.debugger.report import toned_report

    with open_to_look(options.file) as recorded:
        if isinstance(recorded, LargeRun):
            recorded.read_all()
        for notice in recorded.notices:
            warn(notice)
        in_memory = not isinstance(recorded, LargeRun)
        events = (
            recorded.events
            if in_memory
            else (event for event in events_in(options.file, condition) if not isinstance(event, str))
        )
        found = RowFilter(condition, events)
        print_toned(toned_report(recorded.timeline, found.shows))
    return 0 if found.events else 1


def _search(options: argparse.Namespace) -> int:
    """Print what is found as soon as it is found; 1 when nothing is."""
    import dataclasses

    from loopkit.debugger.display import one_line
    from loopkit.debugger.searching import find_in

    code = 1
    for hit in find_in(options.file, options.search, regex=options.regex, any_case=options.case is False):
        code = 0
        if options.json:
            print(json.dumps(dataclasses.asdict(hit)))
            continue
        words = one_line(hit.before + hit.found + hit.after)
        print(f"{hit.seq:>6} {one_line(hit.loop)} {hit.iteration}  {one_line(hit.type)}.{one_line(hit.field)}: {words}")
    return code


def _run_id(recorded: OpenedRun) -> str | None:
    return recorded.header.run if recorded.header is not None else None
