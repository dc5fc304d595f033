"""The saved notebook's own picture of a run."""

from __future__ import annotations

from html.parser import HTMLParser

from loopkit.debugger.timeline import Timeline
from loopkit_notebook.static_html import static_html
from tests.notebook_widget.stories import HOSTILE, Story, finished_story, long_story


class Elements(HTMLParser):
    """Collects what a browser would build."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.extend(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_rows_and_what_they_open_to_are_there() -> None:
    """spec/faults.md f13."""
    page = Elements(static_html(Timeline(finished_story().events), "loopkit run fixer · finished"))
    for words in ("loopkit run fixer · finished", "read_file", 'path="a.txt"', "hello", "not that one", "complete"):
        assert words in page.text
    assert page.tags.count("tr") == 6
    assert "details" in page.tags


def test_it_needs_no_script_and_no_address() -> None:
    source = static_html(Timeline(finished_story().events), "x")
    assert "script" not in Elements(source).tags
    assert "http" not in source


def test_hostile_text_makes_no_element() -> None:
    """spec/faults.md f11."""
    story = finished_story(tool=HOSTILE, task=f"</pre>{HOSTILE}")
    page = Elements(static_html(Timeline(story.events), HOSTILE, copy_id="abc"))
    assert "img" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert HOSTILE in page.text


def test_big_payloads_are_cut_with_the_hidden_length() -> None:
    story = Story().ask("I look.", {"path": "a"}).run("x" * 1_000_000)
    source = static_html(Timeline(story.events), "x")
    assert len(source) < 50_000
    assert "…(+998,000 characters)" in source


def test_a_long_run_has_a_bounded_copy_that_says_so() -> None:
    source = static_html(Timeline(long_story(2_000).events), "x")
    assert "3,001 more rows" in source
    assert len(source) < 2_000_000
