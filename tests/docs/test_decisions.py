"""Decision notes have numbers of their own, and who names one names one that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "decisions"
NOTES = sorted(FOLDER.glob("[0-9]*.md"))
INDEX = FOLDER / "README.md"
_NAMED = re.compile(r"decisions/(\d{4})")
_NAMED_AMONG_NOTES = re.compile(r"(?<![\w.,-])(0\d{3})(?![\w.,]*\d)")


def number(note: Path) -> str:
    return note.name.partition("-")[0]


def named_numbers(text: str, *, among_notes: bool) -> set[str]:
    pattern = _NAMED_AMONG_NOTES if among_notes else _NAMED
    return set(pattern.findall(text))


def test_numbers_count_up_without_a_gap() -> None:
    assert [number(note) for note in NOTES] == [f"{place:04}" for place in range(1, len(NOTES) + 1)]


@pytest.mark.parametrize("note", NOTES, ids=lambda note: note.stem)
def test_a_note_is_titled_with_its_number(note: Path) -> None:
    titles = [line for line in note.read_text(encoding="utf-8").splitlines() if line.startswith("# ")]
    assert [title.startswith(f"# {number(note)} · ") for title in titles] == [True]


def test_the_index_lists_each_note_with_its_title() -> None:
    listed = re.findall(r"^- \[(\d{4} · .+)\]\((.+)\)$", INDEX.read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == [
        (note.read_text(encoding="utf-8").splitlines()[0].removeprefix("# "), note.name) for note in NOTES
    ]


def test_every_note_that_is_named_exists() -> None:
    """In code, in tests, in the papers, and by its bare number in other notes."""
    known = {number(note) for note in NOTES}
    places = [
        *(path for folder in ("loopkit", "tui", "notebook", "tests") for path in (ROOT / folder).rglob("*.py")),
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
    ]
    named = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in places
        for name in named_numbers(path.read_text(encoding="utf-8"), among_notes=path in NOTES)
    }
    assert ("loopkit/drivers/run.py", "0015") in named
    assert ("docs/decisions/0021-repeats-in-other-programs-sessions.md", "0009") in named
    assert {(place, name) for place, name in named if name not in known} == set()
