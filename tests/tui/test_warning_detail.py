"""What the detail pane says of a loop warning (spec/loop.md 6.5)."""

from __future__ import annotations

import pytest

from loopkit import events as e
from loopkit_tui.app import LoopkitApp
from tests.tui.screens import text_of
from tests.tui.stories import Story

pytestmark = pytest.mark.anyio


async def test_only_the_calls_that_repeat_are_the_evidence() -> None:
    story = Story()
    story.start("look around")
    repeated = []
    for number in range(4):
        (call,) = story.reply("", ("read_file", {"path": "same.txt"}))
        repeated.append(call)
        if number == 3:
            warning = e.RepetitionDetected("same call same result", "read_file", 3, "warn", 1, tuple(repeated[:3]))
            story.add(e.ROOT, warning)
        story.run(call, "read_file", "hello", by="default")
        (other,) = story.reply("", ("write_file", {"path": f"{number}.txt", "content": "x"}))
        story.run(other, "write_file", "done", by="default")
    story.finish()
    app = LoopkitApp(story.session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("]", "w")
        detail = text_of(app, "#detail")
    assert "read_file 3×, same arguments and same result, since iteration 1" in " ".join(detail.split())
    assert detail.count("✓ read_file") == 3
    assert "write_file" not in detail
