"""Looking at a screen as a person does: the words in its regions, and waiting until they are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.pilot import Pilot
from textual.widget import Widget

from loopkit_tui.screens.run import RunScreen

PATIENCE = 500


def lines_of(widget: Widget) -> list[str]:
    """What a widget draws, line by line."""
    return [widget.render_line(y).text.rstrip() for y in range(widget.size.height)]


def text_of(app: App[Any], selector: str) -> str:
    """What the widget of a selector draws."""
    return "\n".join(lines_of(app.screen.query_one(selector)))


def everything(app: App[Any]) -> str:
    """What all widgets of the screen draw that draw lines themselves."""
    drawing = app.screen.query("Bar, KeyBar, VirtualList, TextArea")
    return "\n".join("\n".join(lines_of(widget)) for widget in drawing if widget.size.height)


def run_screen(app: App[Any]) -> RunScreen:
    screen = app.screen
    assert isinstance(screen, RunScreen)
    return screen


def selected_line(app: App[Any]) -> str:
    """The timeline's line under the cursor."""
    timeline = run_screen(app).timeline
    return lines_of(timeline)[timeline.cursor - timeline.scroll_offset.y]


async def until(pilot: Pilot[Any], condition: Callable[[], object], what: str = "the expected state") -> None:
    """Wait for a condition, not for a time."""
    for _ in range(PATIENCE):
        if condition():
            return
        await pilot.pause(0.01)
    raise AssertionError(f"{what} did not come:\n{everything(pilot.app)}")
