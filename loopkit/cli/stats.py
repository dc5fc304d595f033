"""Figures over many recordings: outcomes, tokens, cost, where the time went, models, tools and warnings.

Each moment of a run counts once: for the model while one answers, else for a tool that runs, else for a person who is
waited for. --sql asks the tables runs, loops, requests, calls, warnings and events directly (DuckDB's SQL).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from loopkit.cli.output import print_json, print_toned

if TYPE_CHECKING:
    from loopkit.debugger.fleet import FleetStats, Table
    from loopkit.debugger.rows import Tone


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "places", metavar="PATH", nargs="*", help="recordings or folders (default: the recordings folder)"
    )
    parser.add_argument("--sql", metavar="QUERY", help="print what this query gives instead")
    parser.add_argument("--json", action="store_true", help="one JSON object; with --sql a list of rows")


def run(options: argparse.Namespace) -> int:
    """Print the figures."""
    from loopkit.debugger.fleet import Fleet
    from loopkit.debugger.library import recordings_in
    from loopkit.debugger.targets import recordings_folder
    from loopkit.errors import UserError

    places = options.places or [recordings_folder()]
    files = recordings_in(places)
    if not files:
        raise UserError(f"no recordings in {', '.join(map(str, places))}; `loopkit run AGENT --task TEXT` makes one")
    fleet = Fleet(files)
    if options.sql is not None:
        table = fleet.query(options.sql)
        if options.json:
            print_json(table.data())
        else:
            print_toned(_aligned(table))
        return 0
    stats = fleet.stats()
    if options.json:
        print_json(stats.data())
    else:
        print_toned(_report(stats))
    return 0


def _report(stats: FleetStats) -> Iterator[tuple[str, Tone]]:
    from loopkit.debugger.rows import count_text

    totals = stats.totals
    yield (
        f"{count_text(totals['runs'], 'run')}: " + ", ".join(f"{runs} {name}" for name, runs in stats.outcomes.rows),
        "plain",
    )
    words = [count_text(totals["iterations"], "iteration"), count_text(totals["tool_calls"], "call")]
    for name, singular in (("sub_agents", "sub-agent"), ("warnings", "warning"), ("errors", "error")):
        words += [count_text(totals[name], singular)] if totals[name] else []
    words += [f"{totals[name]} {name}" for name in ("denied", "edited") if totals[name]]
    yield ", ".join(words), "plain"
    yield _spent(totals), "plain"
    yield _time(totals), "plain"
    for title, table in (("models", stats.models), ("tools", stats.tools), ("warnings", stats.warnings)):
        if table.rows:
            yield "", "plain"
            yield title, "agent"
            yield from _aligned(table)


def _spent(totals: dict[str, Any]) -> str:
    from loopkit.debugger.rows import count_text

    at_least = "" if totals["tokens_complete"] else "at least "
    cost = f"${totals['known_cost']:.4f}"
    if totals["cost"] is None:
        unpriced = count_text(totals["unpriced_answers"], "answer")
        cost = f"{cost} and {unpriced} of unknown price" if totals["known_cost"] else "cost unknown"
    return f"{at_least}{totals['input_tokens'] or 0:,} tokens in, {totals['output_tokens'] or 0:,} out, {cost}"


def _time(totals: dict[str, Any]) -> str:
    from loopkit.debugger.rows import seconds_text

    whole = totals["seconds"] or 0.0
    kinds = (("model", "model"), ("tool", "tools"), ("person", "waiting for a person"), ("other", "else"))
    parts = []
    for kind, words in kinds:
        seconds = totals[f"{kind}_seconds"] or 0.0
        share = f" ({seconds / whole:.0%})" if whole else ""
        parts.append(f"{words} {seconds_text(seconds) or '0s'}{share}")
    return f"{seconds_text(whole) or '0s'}: " + ", ".join(parts)


def _aligned(table: Table) -> Iterator[tuple[str, Tone]]:
    from loopkit.debugger.report import pad, width

    rows = [tuple(name.replace("_", " ") for name in table.columns)]
    rows += [tuple(map(_cell, row)) for row in table.rows]
    widths = [max(width(row[place]) for row in rows) for place in range(len(table.columns))]
    right = [any(isinstance(row[place], int | float) for row in table.rows) for place in range(len(table.columns))]
    for number, row in enumerate(rows):
        cells = [
            " " * (size - width(cell)) + cell if to_right else pad(cell, size)
            for cell, size, to_right in zip(row, widths, right, strict=True)
        ]
        yield ("  " + "  ".join(cells)).rstrip(), "muted" if number == 0 else "plain"


def _cell(value: object) -> str:
    from loopkit.debugger.display import one_line

    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return one_line(str(value), 60)
