"""Text of any size as lines: nothing is lost, nothing is slow."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from loopkit_tui.app import LoopkitApp
from loopkit_tui.painting import cut, fit, shortened, wrap
from loopkit_tui.widgets.document import Facts, Item, Labelled, Passage
from loopkit_tui.widgets.json_tree import parsed, tree_items
from tests.tui.screens import lines_of, run_screen
from tests.tui.stories import Story

WIDTH = 40
texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=300)


def drawn(item: Item, width: int = WIDTH) -> list[str]:
    return ["".join(text for text, _ in item.line(row, width)) for row in range(item.height(width))]


def by_itself(key: str, folded: bool) -> bool:
    return folded


def tree(value: Any, folded: Callable[[str, bool], bool] = by_itself) -> list[str]:
    return [line for item in tree_items(value, "t", folded) for line in drawn(item, 80)]


@given(texts, st.integers(0, 50))
def test_what_is_shortened_keeps_to_its_cells_and_to_its_end(text: str, width: int) -> None:
    short = shortened(text, width)
    assert cell_len(short) <= width
    assert short == text or width < 5 or text.endswith(short.rpartition("…")[2])


@given(texts, st.integers(2, 50))
def test_wrapped_rows_fit_and_lose_no_letter(text: str, width: int) -> None:
    rows = wrap(text, width)
    assert "".join(rows).replace(" ", "") == text.replace(" ", "")
    assert all(cell_len(row.rstrip(" ")) <= width for row in rows)


@given(texts, st.integers(0, 3))
def test_any_width_ends(text: str, width: int) -> None:
    """spec/faults.md e24"""
    assert "".join(wrap(text, width)).replace(" ", "") == text.replace(" ", "")


@given(texts, st.integers(0, 60))
def test_cut_and_fit_keep_to_their_cells(text: str, width: int) -> None:
    assert cell_len(cut(text, width)) <= width
    assert cell_len(fit(text, width)) == width


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "漢" * 100_000,
        "ab\u202e" * 30_000,
        "\n".join(f"line {n} " + "y" * (n % 200) for n in range(5_000)),
        "\n".join("tab\tand 漢字 " * 5 for _ in range(2_000)),
    ],
    ids=["one ascii line", "one wide line", "one line of escapes", "many lines", "many wide lines"],
)
def test_rows_of_a_large_text_fit_and_hold_all_of_it(text: str) -> None:
    """spec/faults.md e11, c17"""
    passage = Passage(text, indent=0)
    rows = drawn(passage)
    assert max(cell_len(row) for row in rows) <= WIDTH
    letters = "".join(rows).replace(" ", "").replace("\\u202e", "\u202e")
    assert letters == text.replace("\n", "").replace(" ", "").replace("\t", "")


@pytest.mark.parametrize(
    "text", ["x" * 1_000_000, "some code in a line of this length or so;\n" * 120_000, "漢字" * 500_000]
)
def test_five_megabytes_open_at_once(text: str) -> None:
    """spec/performance.md goal 14: a height is a division, so opening costs no wrapping."""
    began = time.process_time()
    passage = Passage(text)
    height = passage.height(60)
    passage.line(height - 1, 60)
    passage.line(height // 2, 60)
    assert time.process_time() - began < 1.0


@pytest.mark.anyio
async def test_a_large_result_opens_on_the_screen_and_its_end_is_one_key_away() -> None:
    """spec/faults.md e11"""
    story = Story()
    story.start("read it")
    (call,) = story.reply("", ("read_file", {"path": "big"}))
    story.run(call, "read_file", "start " + "0123456789 " * 100_000 + "the very end")
    app = LoopkitApp(story.session())
    async with app.run_test(size=(120, 40)) as pilot:
        began = time.process_time()
        await pilot.press("G")
        assert time.process_time() - began < 2.0
        await pilot.press("tab", "G")
        await pilot.pause()
        rows = "".join(line.strip() for line in lines_of(run_screen(app).detail))
        assert "theveryend" in rows.replace(" ", "").replace("▶", "")


def test_facts_go_on_in_the_next_line() -> None:
    facts = Facts(("one fact", "plain"), ("", "plain"), ("another fact", "plain"), ("漢" * 40, "plain"))
    rows = drawn(facts, 24)
    assert rows[0] == "one fact · another fact"
    assert all(cell_len(row) <= 24 for row in rows)


def test_words_beside_a_label_go_on_below_themselves_or_below_a_label_that_leaves_no_room() -> None:
    item = Labelled([("  name  ", "name")], "one two three four five six seven")
    assert [line.rstrip() for line in drawn(item, 40)] == ["  name  one two three four five six", "        seven"]
    assert [line.rstrip() for line in drawn(item, 20)] == [
        "  name",
        "    one two three",
        "    four five six",
        "    seven",
    ]


def test_json_is_a_tree_of_names_and_values() -> None:
    assert tree({"path": "a.txt", "n": 3, "deep": {"on": True, "none": None}, "empty": {}}) == [
        '    path  "a.txt"',
        "    n  3",
        "  ▾ deep  {2}",
        "      on  true",
        "      none  null",
        "    empty  {}",
    ]


def test_a_folded_node_says_how_much_it_holds() -> None:
    folded = tree({"items": [{"a": 1}, {"b": 2}], "code": "x\n" * 30}, lambda key, _: True)
    assert folded[0] == '  ▸ items  [2]  {"a": 1}'
    assert folded[1].startswith("  ▸ code  x x x")
    assert folded[1].endswith("…(+36)")


def test_a_text_of_several_lines_is_shown_as_lines() -> None:
    assert tree({"code": "def f():\n    return 1"})[1:] == ["    │ def f():", "    │     return 1"]


@pytest.mark.parametrize(
    "text", ["plain", "[1, 2", '{"a": 1, "a": 2}', "[" * 100_000, "3", '"x"', "", "{'a': 1}", "[" + "9" * 5_000 + "]"]
)
def test_what_a_tree_would_not_show_faithfully_stays_text(text: str) -> None:
    assert parsed(text) is None


def test_numbers_are_shown_as_they_were_written() -> None:
    """spec/faults.md a32"""
    assert tree(parsed('{"id": 2512292042121000001, "price": 1.10, "big": 1e400}')) == [
        "    id  2512292042121000001",
        "    price  1.10",
        "    big  1e400",
    ]


def test_a_large_list_is_folded_below_the_top_so_that_it_opens_at_once() -> None:
    value = json.loads(json.dumps({"rows": [{"n": n} for n in range(50_000)], "more": {"x": list(range(5_000))}}))
    began = time.process_time()
    lines = list(tree_items(value["more"], "t", by_itself))
    assert time.process_time() - began < 1.0
    assert len(lines) == 5_001
