"""List the recordings of a folder, newest first; forks stand behind what they were forked from."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from loopkit.cli.output import print_json, print_toned

if TYPE_CHECKING:
    from loopkit.debugger.library import RunSummary
    from loopkit.debugger.rows import Tone


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("folder", metavar="FOLDER", nargs="?", help="default: the recordings folder")
    parser.add_argument("--json", action="store_true", help="a JSON list, one object a run")


def run(options: argparse.Namespace) -> int:
    """Print one line a run."""
    from loopkit.debugger.library import bundled_recordings, list_runs
    from loopkit.debugger.targets import recordings_folder

    folder = Path(options.folder) if options.folder else recordings_folder()
    missing_default = not options.folder and not folder.is_dir()
    runs = [] if missing_default else list_runs(folder)
    if options.json:
        from loopkit.debugger.library import summary_data

        print_json([summary_data(run) for run in runs])
        return 0
    if not runs:
        print(f"no recordings in {folder}; `loopkit run AGENT --task TEXT` makes one")
        for path in bundled_recordings():
            print(f"bundled with loopkit: {path}")
        return 0
    print_toned(_table(runs))
    return 0


# the name comes early: the next command needs it, and a narrow terminal cuts the end
_COLUMNS = ("when", "file", "agent", "model", "it", "calls", "tok", "$", "outcome", "notes")
_RIGHT = {"it", "calls", "tok", "$"}
_WIDEST = {"agent": 24, "model": 24, "outcome": 32}


def _table(runs: list[RunSummary]) -> list[tuple[str, Tone]]:
    from loopkit.debugger.library import fork_tree
    from loopkit.debugger.report import pad, width

    tree = fork_tree(runs)
    rows = [_COLUMNS, *(_cells(run, level) for level, run in tree)]
    widths = [max(width(row[place]) for row in rows) for place in range(len(_COLUMNS))]
    lines: list[tuple[str, Tone]] = []
    tones: list[Tone] = ["muted", *(_tone(run) for _, run in tree)]
    for row, tone in zip(rows, tones, strict=True):
        cells = [
            " " * (size - width(cell)) + cell if name in _RIGHT else pad(cell, size)
            for name, cell, size in zip(_COLUMNS, row, widths, strict=True)
        ]
        lines.append(("  ".join(cells).rstrip(), tone))
    return lines


def _cells(run: RunSummary, level: int) -> tuple[str, ...]:
    from loopkit.debugger.display import one_line

    if run.damaged is not None:
        figures = ("-", "-", "-", "-")
    else:
        figures = (
            str(run.iterations),
            str(run.calls),
            _thousands(run.tokens),
            "-" if run.cost is None else f"{run.cost:.2f}",
        )
    return (
        run.when.strftime("%Y-%m-%d %H:%M"),
        ("  " * (level - 1) + "└ " if level else "") + one_line(run.path.name, 48),
        one_line(run.agent or "-", _WIDEST["agent"]),
        one_line(run.model or "-", _WIDEST["model"]),
        *figures,
        one_line(run.outcome_text, _WIDEST["outcome"]),
        _notes(run),
    )


def _notes(run: RunSummary) -> str:
    from loopkit.debugger.display import one_line

    if run.damaged is not None:
        return one_line(run.damaged, 100)
    marks = ((run.warnings, "⚠"), (run.errors, "✗"), (run.denied, "⊘"), (run.edited, "✎"))
    words = [f"{mark} {number}" for number, mark in marks if number]
    if run.parent is not None:
        words.append(f"⑂ at {run.forked_at}" if run.forked_at is not None else "⑂")
    if run.source_format not in (None, "loopkit"):
        words.append(run.source_format or "")
    return " ".join(words) or "-"


def _thousands(tokens: int | None) -> str:
    if tokens is None:
        return "-"
    return str(tokens) if tokens < 1000 else f"{tokens / 1000:.0f}k"


def _tone(run: RunSummary) -> Tone:
    if run.damaged is not None or run.outcome == "failed":
        return "bad"
    return "plain" if run.outcome in ("complete", "stop_condition") else "warning"
