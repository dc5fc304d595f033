"""Forks stand behind what they were forked from, and no run is ever left out of a list."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from loopkit.debugger.library import RunSummary, fork_tree

WHEN = datetime(2026, 11, 30, tzinfo=UTC)


def run(name: str, run_id: str | None, parent: str | None = None) -> RunSummary:
    return RunSummary(Path(name), WHEN, run_id, parent=parent)


def names(runs: list[RunSummary]) -> list[tuple[int, str]]:
    return [(level, each.path.name) for level, each in fork_tree(runs)]


def test_forks_of_forks_are_indented_further() -> None:
    runs = [
        run("newest", "d"),
        run("fork of b", "e", "b"),
        run("b", "b", "a"),
        run("c", "c", "a"),
        run("a", "a"),
        run("fork of a stranger", "f", "not here"),
    ]
    assert names(runs) == [
        (0, "newest"),
        (0, "a"),
        (1, "b"),
        (2, "fork of b"),
        (1, "c"),
        (0, "fork of a stranger"),
    ]


def test_a_copy_of_the_parent_gets_no_second_set_of_forks() -> None:
    assert names([run("copy", "a"), run("a", "a"), run("fork", "b", "a")]) == [(0, "copy"), (1, "fork"), (0, "a")]


IDS = st.sampled_from(["a", "b", "c", "d", None])


@given(st.lists(st.tuples(IDS, IDS), max_size=8))
def test_every_run_is_listed_once_whatever_the_headers_say(pairs: list[tuple[str | None, str | None]]) -> None:
    """Headers are files' words: a run may name itself, or two may name each other."""
    runs = [run(str(place), *pair) for place, pair in enumerate(pairs)]
    listed = [each.path for _, each in fork_tree(runs)]
    assert sorted(listed) == sorted(each.path for each in runs)
