"""Files that the papers name are there (a reader tries them first)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAPERS = sorted(
    [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "recordings" / "README.md", *ROOT.glob("docs/**/*.md")]
)
OURS = ("docs", "loopkit", "notebook", "recordings", "tests", "tui")
# a name in code, with a folder of ours before it and a suffix behind it
_NAMED = re.compile(r"(?<![\w./*-])((?:\.\./)?(?:" + "|".join(OURS) + r")/[\w./-]*\.[a-z]+)\b(?![\w*/])")
_LINKED = re.compile(r"\]\((?!https?://|#)([^)#]+)")
_IN_BOLD_CODE = re.compile(r"^\*\*`([\w./-]+)`\*\*", re.MULTILINE)


def named_in(paper: Path) -> set[Path]:
    text = paper.read_text(encoding="utf-8")
    beside = {paper.parent / name for name in (*_LINKED.findall(text), *_IN_BOLD_CODE.findall(text))}
    return beside | {ROOT / name.removeprefix("../") for name in _NAMED.findall(text)}


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: str(paper.relative_to(ROOT)))
def test_each_file_that_is_named_exists(paper: Path) -> None:
    assert [str(place) for place in sorted(named_in(paper)) if not place.exists()] == []


def test_names_are_found_at_all() -> None:
    """The check above checks something: these are named in links, in code and in bold."""
    assert ROOT / "docs/screens.md" in named_in(ROOT / "README.md")
    assert ROOT / "loopkit/demo/flaky-test.jsonl" in named_in(ROOT / "README.md")
    assert ROOT / "recordings/stories/denied_call.py" in named_in(ROOT / "recordings" / "README.md")
    assert ROOT / "recordings" / "denied-call.jsonl" in named_in(ROOT / "recordings" / "README.md")


def test_each_page_of_the_docs_is_linked_from_the_readme() -> None:
    """A page that nobody finds is not there."""
    pages = set((ROOT / "docs").glob("*.md"))
    assert sorted(page.name for page in pages - named_in(ROOT / "README.md")) == []


def test_each_recording_has_its_story_told() -> None:
    told = {place.name for place in named_in(ROOT / "recordings" / "README.md")}
    assert {path.name for path in ROOT.glob("recordings/[a-z]*.jsonl")} <= told
