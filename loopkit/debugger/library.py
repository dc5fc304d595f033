"""The recordings at hand, one summary each; a file that can't be read is a line of its own, never an end (j5)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loopkit.debugger.recorded import LargeRun, OpenedRun, open_to_look
from loopkit.debugger.report import outcome_name, run_model
from loopkit.debugger.rows import outcome_text
from loopkit.debugger.totals import totals
from loopkit.errors import ImportFormatError, UserError
from loopkit.recording.header import SNIFFED_BYTES, Header, looks_like_recording
from loopkit.recording.reader import open_lines

_SUFFIXES = (".jsonl", ".json")
_QUICK_BYTES = 4_000_000
_BUNDLED = Path(__file__).resolve().parents[1] / "demo"


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One recording of a list; its strings are as recorded, and made safe where they are shown.

    Args:
        path: the file.
        when: when the run was started, in local time; the file's last change where the run does not say.
        run_id: the run's id, or None.
        iterations, calls: as in the totals of `loopkit show`.
        tokens: in and out; None when no answer reported any.
        cost: in US dollars, or None.
        outcome: a word for machines, such as `complete` or `unfinished`; `damaged` when nothing can be read.
        outcome_text: the same in words.
        damaged: what is wrong with the file, in one line, or None; the figures are then those of what can be read.
        parent: id of the run that this one was forked from, or None.
        forked_at: number of the last event taken over from the parent, or None.
        source_format: `loopkit`, or the name of a foreign format.
    """

    path: Path
    when: datetime
    run_id: str | None = None
    agent: str | None = None
    model: str | None = None
    iterations: int = 0
    calls: int = 0
    tokens: int | None = None
    cost: float | None = None
    outcome: str = "damaged"
    outcome_text: str = "damaged"
    warnings: int = 0
    errors: int = 0
    denied: int = 0
    edited: int = 0
    damaged: str | None = None
    parent: str | None = None
    forked_at: int | None = None
    source_format: str | None = None


def list_runs(folder: str | Path) -> list[RunSummary]:
    """Summarise the recordings of a folder, newest first; foreign sessions are listed too unless they are large.

    Args:
        folder: searched without its subfolders.

    Raises:
        UserError: the folder can't be read.
    """
    place = Path(folder)
    try:
        files = [path for path in place.iterdir() if path.suffix in _SUFFIXES and path.is_file()]
    except OSError as error:
        raise UserError(f"{place}: {error.strerror or error}") from None
    found = [summary for path in files if (summary := summarise(path)) is not None]
    return sorted(found, key=lambda run: (run.when, run.path.name), reverse=True)


def summarise(path: Path) -> RunSummary | None:
    """Summarise one file; None when it is neither a recording nor a session that loopkit knows."""
    try:
        stat = path.stat()
    except OSError:
        return None
    changed = datetime.fromtimestamp(stat.st_mtime, UTC).astimezone()
    try:
        if stat.st_size > _QUICK_BYTES and not _is_ours(path):
            return None
        with open_to_look(path) as recorded:
            if isinstance(recorded, LargeRun):
                recorded.read_all()
            return _summary(path, changed, recorded)
    except ImportFormatError as error:
        return RunSummary(path, changed, damaged=str(error)) if path.suffix == ".jsonl" else None
    except UserError as error:
        return RunSummary(path, changed, damaged=str(error))
    except Exception as error:  # noqa: BLE001  # whatever a broken file does to a reader, the others are still listed
        return RunSummary(path, changed, damaged=f"{type(error).__name__}: {error}")


def fork_tree(runs: Sequence[RunSummary]) -> list[tuple[int, RunSummary]]:
    """Put forks behind the run that they were forked from; the others keep their order.

    Returns:
        runs with their level: 0 for one that is no fork or whose parent isn't among them.
    """
    # a copy of a recording has its id too; forks stand behind the first one
    first_of = {run.run_id: run for run in reversed(runs) if run.run_id is not None}
    forks: dict[Path, list[RunSummary]] = {}
    for run in runs:
        parent = first_of.get(run.parent) if run.parent is not None else None
        if parent is not None and parent is not run:
            forks.setdefault(parent.path, []).append(run)
    below = {run.path for group in forks.values() for run in group}
    ordered: list[tuple[int, RunSummary]] = []
    seen: set[Path] = set()
    # runs whose ids name one another in a circle have no top: they follow at the end, as they come
    for top in [*(run for run in runs if run.path not in below), *runs]:
        waiting = [(0, top)]
        while waiting:
            level, run = waiting.pop()
            if run.path not in seen:
                seen.add(run.path)
                ordered.append((level, run))
                waiting.extend((level + 1, fork) for fork in reversed(forks.get(run.path, [])))
    return ordered


def newest_first(tree: Sequence[tuple[int, RunSummary]]) -> list[tuple[int, RunSummary]]:
    """Order a fork tree by its families: those first in which something was started last, whoever of them it was."""
    families: list[list[tuple[int, RunSummary]]] = []
    for level, run in tree:
        if not level or not families:
            families.append([])
        families[-1].append((level, run))
    families.sort(key=lambda family: max(run.when for _, run in family), reverse=True)
    return [member for family in families for member in family]


def summary_data(run: RunSummary) -> dict[str, Any]:
    """Return a summary as a JSON object; the time is ISO 8601."""
    data = dataclasses.asdict(run)
    return {**data, "path": str(run.path), "when": run.when.isoformat(timespec="seconds")}


def recordings_in(places: Iterable[str | Path]) -> list[Path]:
    """Return the recordings of ours among files and in folders, their subfolders included, each once.

    Raises:
        UserError: a place isn't there, or a file that was named is no recording.
    """
    found: dict[Path, None] = {}
    for place in map(Path, places):
        if place.is_dir():
            found.update(dict.fromkeys(path for path in sorted(place.rglob("*.jsonl")) if _is_recording(path)))
        elif not place.exists():
            raise UserError(f"{place}: no such file or folder")
        elif not _is_recording(place):
            raise UserError(f"{place}: not a recording of loopkit's")
        else:
            found[place] = None
    return list(found)


def parent_of(path: Path) -> Path | None:
    """Return the recording in the same folder that a fork was made from; None for one that is no fork, or when it isn't there."""
    parent = _header_of(path)
    if parent is None or parent.parent is None:
        return None
    others = (other for other in sorted(path.parent.glob("*.jsonl")) if other != path)
    return next((other for other in others if (header := _header_of(other)) and header.run == parent.parent), None)


def _header_of(path: Path) -> Header | None:
    try:
        with open_lines(path) as (header, _, _):
            return header
    except UserError:
        return None


def bundled_recordings() -> list[Path]:
    """Return the recordings that come with the package."""
    return sorted(_BUNDLED.glob("*.jsonl"))


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return looks_like_recording(file.read(SNIFFED_BYTES))


def _is_recording(path: Path) -> bool:
    try:
        # a pipe would never end
        return path.is_file() and _is_ours(path)
    except OSError:
        return False


def _summary(path: Path, changed: datetime, recorded: OpenedRun) -> RunSummary:
    timeline, header = recorded.timeline, recorded.header
    counted = totals(timeline, recorded.source_format)
    known = counted.input_tokens is not None and counted.output_tokens is not None
    return RunSummary(
        path=path,
        when=_local_time(header.created) if header is not None else changed,
        run_id=header.run if header is not None else None,
        agent=timeline.root.agent if timeline.root else None,
        model=run_model(timeline.root),
        iterations=counted.iterations,
        calls=counted.tool_calls,
        tokens=(counted.input_tokens or 0) + (counted.output_tokens or 0) if known else None,
        cost=counted.cost,
        outcome=outcome_name(timeline.root),
        outcome_text=outcome_text(timeline.root) if timeline.root else "unfinished",
        warnings=counted.warnings,
        errors=counted.errors,
        damaged=recorded.damaged,
        denied=counted.denied,
        edited=counted.edited,
        parent=header.parent if header is not None else None,
        forked_at=header.fork_seq if header is not None else None,
        source_format=recorded.source_format,
    )


def _local_time(created: str) -> datetime:
    when = datetime.fromisoformat(created)
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone()
