"""The docs show real screens: each picture there is one that `docs/pictures/make.py` takes, and none lies about unused."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
README = DOCS.parent / "README.md"


def _shown(page: Path) -> set[Path]:
    return {(page.parent / target).resolve() for target in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page.read_text())}


def test_every_picture_is_there_and_shown() -> None:
    shown = _shown(DOCS / "screens.md") | _shown(README)
    assert shown == set((DOCS / "pictures").glob("*.png"))


def test_every_picture_is_one_that_can_be_taken_again() -> None:
    taken = re.findall(r'^    "(\w+)": \w+,$', (DOCS / "pictures" / "make.py").read_text(), re.MULTILINE)
    assert {path.stem for path in (DOCS / "pictures").glob("*.png")} == set(taken)
