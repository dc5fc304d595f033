"""What the detail pane says of a result that was made shorter (spec/loop.md 2, last row)."""

from __future__ import annotations

from loopkit import events as e
from loopkit.debugger.timeline import Timeline
from loopkit.messages import Image
from loopkit_tui.describing_calls import describe_call
from loopkit_tui.widgets.json_tree import Folds
from tests.tui.stories import Story


def drawn(story: Story, call: str) -> str:
    def as_it_is(key: str, folded: bool) -> bool:
        return folded

    folds: Folds = as_it_is
    items = describe_call(Timeline(story.events).calls[call], "", folds)
    return "\n".join(
        "".join(text for text, _ in item.line(row, 90)) for item in items for row in range(item.height(90))
    )


def test_original_and_what_the_model_got_stand_together() -> None:
    story = Story()
    story.start("look around")
    (call,) = story.reply("", ("read_file", {"path": "a.txt"}))
    story.run(call, "read_file", "the whole file", by="default")
    story.add(e.ROOT, e.ResultProcessed(call, "its gist", "processor"))
    story.add(e.ROOT, e.ResultProcessed(call, None, "cacher", e.Failure("OSError", "disk full")))
    story.add(e.ROOT, e.ResultsMasked((call,)))
    shown = drawn(story, call)
    places = [
        shown.index(words)
        for words in (
            "result, as the tool gave it",
            "the whole file",
            "what the model got, from result_processor",
            "its gist",
            "result_cacher raised OSError",
            "disk full",
            "left out of requests from iteration 1 on",
        )
    ]
    assert places == sorted(places)


def test_reports_of_a_call_on_its_way_stand_in_its_detail() -> None:
    """DESIGN §3: the newest twenty, and how many more there were."""
    story = Story()
    story.start("copy")
    (call,) = story.reply("", ("read_file", {"path": "a.txt"}))
    story.add(e.ROOT, e.ToolStarted(call))
    for number in range(25):
        story.add(e.ROOT, e.ToolProgressed(call, f"file {number}", number, 25, left_out=number == 24))
    shown = drawn(story, call)
    assert "6 reports more" in shown
    assert "24/25 · 96 % · file 24" in shown
    assert "file 4" not in shown.replace("file 14", "").replace("file 24", "")


def test_pictures_and_data_of_a_result_stand_in_its_detail() -> None:
    story = Story()
    story.start("look")
    (call,) = story.reply("", ("read_file", {"path": "a.png"}))
    story.add(e.ROOT, e.ToolStarted(call))
    story.add(e.ROOT, e.ToolReturned(call, "a dot", False, {"taste": "salt"}, (Image("image/png", "AAAA"),)))
    shown = drawn(story, call)
    assert "result as data" in shown
    assert "salt" in shown
    assert "image 1  image/png, 3 bytes" in shown
