"""Says what is wrong with a recording: its sequence, damaged and torn lines, and what the format's schema doesn't allow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry

from loopkit.errors import RecordingDamaged
from loopkit.events import (
    FACT_CLASSES,
    ROOT,
    Event,
    LoopFailed,
    LoopFinished,
    RecordingEnded,
    Unrecognised,
)
from loopkit.recording.header import FORMAT
from loopkit.recording.lock import owner_of
from loopkit.recording.reader import CHANGED, Damage, PathLike, TornTail, newer, open_lines
from loopkit.recording.schema import shipped_schema
from loopkit.recording.sealing import opened
from loopkit.recording.upgrades import Upgrade, upgrade_from

LONGEST_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a recording.

    Args:
        line: 1-based number of the line.
        what: what is wrong with it, in one line; it may quote the recording.
    """

    line: int
    what: str


def check_recording(path: PathLike) -> list[Finding]:
    """Return everything that is wrong with a recording, in line order; nothing when it is sound.

    The unfinished last line of a recording that is being written is no finding.

    Raises:
        RecordingError: there is no recording at `path`, or it can't be read, in one line.
    """
    try:
        return list(_findings(Path(path)))
    except RecordingDamaged as error:
        return [Finding(error.line, error.reason)]


def notes_on(path: PathLike) -> list[str]:
    """Return what a person should know about a readable recording though nothing is wrong with it, a line each.

    Raises:
        RecordingError: there is no recording at `path`, or it can't be read, in one line.
    """
    owner = owner_of(Path(path))
    notes = [] if owner is None else [f"is being written by {owner}: others can only read it"]
    ended = early = ""
    strangers: set[str] = set()
    with open_lines(path) as (header, _, lines):
        if header.format < FORMAT:
            notes.append(f"is in the older format {header.format}, read as format {FORMAT}")
        for line in lines:
            match line.content:
                case Event(loop=loop, fact=LoopFinished() | LoopFailed()) if loop == ROOT:
                    ended = loop
                case Event(fact=RecordingEnded(reason)):
                    early = reason
                case Event(fact=Unrecognised(type_name) as fact) if not fact.ignorable:
                    strangers.add(type_name)
    if early:
        notes.append(f"ends before its run, which went on unrecorded since the disk took no more ({early})")
    elif not ended and owner is None:
        notes.append("does not hold the end of its run")
    if strangers:
        notes.append(
            f"holds types that this loopkit doesn't know, and so can't be replayed: {', '.join(sorted(strangers))}"
        )
    return notes


def _findings(path: Path) -> Iterator[Finding]:
    in_use = owner_of(path) is not None
    with open_lines(path) as (header, header_line, lines):
        if header.format > FORMAT:
            yield Finding(1, str(newer(path, header)))
            return
        upgrade = upgrade_from(header.format) or Upgrade()
        content, is_as_written = opened(header_line)
        if not is_as_written:
            yield Finding(1, CHANGED)
        yield from _misfits(1, "Header", upgrade.header(json.loads(content.decode("utf-8-sig"))))
        for line in lines:
            match line.content:
                case Damage(number, reason):
                    yield Finding(number, reason)
                case TornTail(number):
                    if not in_use:
                        yield Finding(number, line.content.what)
                case event:
                    if line.changed:
                        yield Finding(line.number, CHANGED)
                    definition = event.type if event.type in FACT_CLASSES else "UnknownEvent"
                    yield from _misfits(line.number, definition, upgrade.event(json.loads(opened(line.raw)[0])))


def _misfits(line: int, definition: str, data: Any) -> Iterator[Finding]:
    error = best_match(_validator(definition).iter_errors(data))
    if error is not None:
        what = f"{definition} does not fit the format at {error.json_path}: {error.message}"
        yield Finding(line, what if len(what) <= LONGEST_MESSAGE else what[: LONGEST_MESSAGE - 1] + "…")


@cache
def _validator(definition: str) -> Draft202012Validator:
    schema = {"$ref": f"#/$defs/{definition}", "$defs": shipped_schema()["$defs"]}
    return Draft202012Validator(schema, registry=Registry())
