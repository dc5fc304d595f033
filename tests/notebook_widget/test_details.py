"""What stands behind a row."""

from __future__ import annotations

from loopkit import events as e
from loopkit.debugger.nodes import Row, RowKind
from loopkit.debugger.timeline import Timeline
from loopkit.messages import Image
from loopkit_notebook.details import cut, row_detail
from tests.notebook_widget.stories import Story, edited_story, finished_story


def rows_of(story: Story, kind: RowKind) -> list[Row]:
    return [row for row in Timeline(story.events).rows if row.kind is kind]


def sections_of(row: Row) -> dict[str, str]:
    return {section.name: section.text for section in row_detail(row).sections}


def test_a_call_shows_arguments_result_and_who_decided() -> None:
    approved, denied = rows_of(finished_story(), RowKind.CALL)
    assert sections_of(approved)["arguments"] == '{\n  "path": "a.txt"\n}'
    assert sections_of(approved)["result"] == "hello"
    assert dict(row_detail(approved).facts)["decided by"].startswith("person")
    assert sections_of(denied)["denied because"] == "not that one"


def test_an_edited_call_shows_both_versions() -> None:
    """spec/loop.md 4.3: the model's own arguments stay visible."""
    sections = sections_of(rows_of(edited_story(), RowKind.CALL)[0])
    assert "c.txt" in sections["arguments"]
    assert "a.txt" in sections["the model asked for"]


def test_every_kind_of_row_has_a_detail_with_safe_words() -> None:
    for row in Timeline(finished_story(task="go\x1b[2J").events).rows:
        detail = row_detail(row)
        assert detail.title
        assert detail.sections
        assert "\x1b" not in detail.title + str(detail.facts)


def test_a_cut_names_what_is_hidden() -> None:
    assert cut("abcdef", 0, 4) == ("abcd", 2)
    assert cut("abcdef", 4, 4) == ("ef", 0)


def test_a_cut_piece_is_safe() -> None:
    """spec/faults.md e6."""
    assert cut("a\x1b]52;c\u202eb", 0, 99)[0] == "a␛]52;c\\u202eb"


def test_a_warning_shows_the_calls_that_it_is_about() -> None:
    """spec/loop.md 6.5: each warning says what repeats, since when, and which calls."""
    story = Story()
    for path in ("a.txt", "b.txt", "a.txt"):
        story.ask("", {"path": path}).run("hello")
    story.ask("", {"path": "a.txt"})
    story.add(e.RepetitionDetected("same call same result", "read_file", 2, "warn", 1, ("root/1.1", "root/3.1")))
    sections = sections_of(rows_of(story, RowKind.WARNING)[0])
    assert sections["what repeats"] == "read_file 2×, same arguments and same result, since iteration 1"
    assert sections["the evidence"].splitlines() == [
        '1.1  read_file {"path": "a.txt"}',
        '3.1  read_file {"path": "a.txt"}',
    ]


def test_a_rewritten_result_shows_both_versions() -> None:
    """spec/loop.md 2, last row: the original stays visible."""
    story = Story()
    story.ask("", {"path": "a.txt"}).run("the whole file")
    story.add(e.ResultProcessed("root/1.1", "its gist", "extractor"))
    story.add(e.ResultsMasked(("root/1.1",)))
    sections = sections_of(rows_of(story, RowKind.CALL)[0])
    assert (sections["result"], sections["the model got"]) == ("the whole file", "its gist")
    assert sections["left out"] == "of requests from iteration 1 on"


def test_a_call_shows_its_reports() -> None:
    """DESIGN §3"""
    story = Story()
    story.ask("", {"path": "a.txt"})
    call = story.call(1)
    story.add(e.ToolStarted(call)).add(e.ToolProgressed(call, "reading", 1, 4))
    assert sections_of(rows_of(story, RowKind.CALL)[0])["progress"] == "1/4 · 25 % · reading"


def test_a_call_shows_pictures_and_data() -> None:
    story = Story()
    story.ask("", {"path": "a.png"})
    call = story.call(1)
    story.add(e.ToolStarted(call))
    story.add(e.ToolReturned(call, "a dot", False, {"taste": "salt"}, (Image("image/png", "AAAA"),)))
    sections = sections_of(rows_of(story, RowKind.CALL)[0])
    assert sections["images"] == "image/png, 3 bytes"
    assert sections["result as data"] == '{\n  "taste": "salt"\n}'
