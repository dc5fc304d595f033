"""Whatever models and tools say, the screen shows words: no markup, no escapes, no crash."""

from __future__ import annotations

import pytest

from loopkit_tui.app import LoopkitApp
from tests.tui.screens import everything, lines_of, run_screen
from tests.tui.stories import odd

pytestmark = pytest.mark.anyio

MARKUP = ["[/", "[b +", '{"a":["x=1"]}', "[red]x[/red]", "[@click=app.quit]x[/]", "\\[", "[/b]]["]
ESCAPES = [
    "\x1b]52;c;aGk=\x1b\\",
    "\x1b]8;;http://x\x1b\\link",
    "\x1b[2J\x1b[6n",
    "\x9b6n \x9d0;t\x9c",
    "a\rb\x08c\x07d\x00",
    "\u202eabc\u202c \u2066x\u2069",
    "zero\u200bwidth\ufeff \u2028 \u2029 \x85",
    "lone \ud800 surrogate \udcb2",
    "tag \U000e0041",
]


def acts(character: str) -> bool:
    code = ord(character)
    return (
        code < 0x20
        or 0x7F <= code < 0xA0
        or character in "\u200b\u202a\u202b\u202c\u202d\u202e\u2028\u2029\u2066\u2067\u2068\u2069\ufeff"
        or 0xD800 <= code < 0xE000
        or 0xE0000 <= code < 0xE1000
    )


@pytest.mark.parametrize("text", [*MARKUP, *ESCAPES])
async def test_it_is_shown_and_nothing_else_happens(text: str) -> None:
    """spec/faults.md e1, e2, e6, e20"""
    app = LoopkitApp(odd(text).session(text))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("j", "j")
        drawn = everything(app)
        await pilot.press("2", "3")
        drawn += everything(app)
    assert not [character for character in drawn.replace("\n", "") if acts(character)]
    if text in MARKUP:
        assert drawn.count(text) > 5


@pytest.mark.parametrize("width", [80, 120])
async def test_wide_characters_keep_the_columns(width: int) -> None:
    """spec/faults.md e9"""
    text = "表 ❤️ 🇩🇪 e\u0301 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字"
    app = LoopkitApp(odd(text).session(text))
    async with app.run_test(size=(width, 30)) as pilot:
        await pilot.pause()
        timeline = run_screen(app).timeline
        for y in range(timeline.size.height):
            assert timeline.render_line(y).cell_length == timeline.size.width
        rights = [line for line in lines_of(timeline) if line.endswith((" s", "ms"))]
        assert len(rights) >= 3


async def test_one_cell_draws_nothing_and_breaks_nothing() -> None:
    """spec/faults.md e24"""
    app = LoopkitApp(odd("漢字 wide " * 50).session("漢字"))
    async with app.run_test(size=(80, 24)) as pilot:
        for size in ((1, 1), (3, 1), (2, 40), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.press("j")
        assert run_screen(app).timeline.size.width > 70
