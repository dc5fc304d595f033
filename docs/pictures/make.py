"""Takes the pictures of README and docs again: `python docs/pictures/make.py [NAME …]`, with Chromium at hand.

The terminal's pictures are the demo agent, driven by keys; the notebook's is a real JupyterLab.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from loopkit.debugger.demo import DEMO_TASK, demo_agent
from loopkit.debugger.runs import fork_file
from loopkit.debugger.session import Session
from loopkit.outcomes import Deny
from loopkit_tui.app import LoopkitApp
from loopkit_tui.screens.diff import DiffScreen
from tests.notebook_widget.lab import (
    CHROMIUM_ARGUMENTS,
    headless_browser,
    open_notebook,
    run_all,
    running_lab,
    write_notebook,
)
from tests.tui.screens import everything, run_screen, until

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUNDLED = ROOT / "loopkit" / "demo" / "flaky-test.jsonl"
SIZE = (120, 36)
CHROMIUM = os.environ.get("LOOPKIT_CHROMIUM", "/usr/bin/chromium")
NOTEBOOK = """
from loopkit.debugger.demo import DEMO_TASK, demo_agent
from loopkit_notebook import debug

debug(demo_agent(), DEMO_TASK, record="flaky-test.jsonl")
"""


def _png(svg: str, name: str) -> None:
    """Let Chromium draw what Textual exported, at twice its size; fonts come from this machine only."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(f'<body style="margin:0;background:#fff">{_without_web_fonts(svg)}</body>', encoding="utf-8")
        width, height = _size(svg)
        subprocess.run(
            [
                CHROMIUM,
                "--headless",
                *CHROMIUM_ARGUMENTS,
                "--hide-scrollbars",
                f"--user-data-dir={folder}/profile",
                f"--window-size={width},{height}",
                f"--screenshot={HERE / name}.png",
                page.as_uri(),
            ],
            check=True,
            capture_output=True,
        )


def _without_web_fonts(svg: str) -> str:
    start = svg.find("@font-face")
    while start >= 0:
        svg = svg[:start] + svg[svg.index("}", start) + 1 :]
        start = svg.find("@font-face")
    return svg


def _size(svg: str) -> tuple[int, int]:
    box = svg[svg.index('viewBox="') + 9 :].split('"', 1)[0].split()
    return round(float(box[2])), round(float(box[3])) + 4


async def _drive(
    session: Session | None,
    name: str,
    walk: Callable[[LoopkitApp, Any], Awaitable[None]],
    recordings: Path = Path("recordings"),
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        app = LoopkitApp(session, folder=Path(folder) if session is not None else recordings)
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause(0.5)
            await walk(app, pilot)
            await pilot.pause(0.3)
            svg = app.export_screenshot(title="loopkit")
        app.close_sessions()
    _png(svg, name)


async def _decide(app: LoopkitApp, pilot: Any, tool: str) -> None:
    """Approve until a call of a tool waits."""
    session = run_screen(app).session

    def next_call() -> str:
        return session.pending()[0].call if session.pending() else ""

    await until(pilot, next_call, "a call that waits")
    while (pending := session.pending()) and pending[0].name != tool:
        call = pending[0]
        session.approve(call.call, call.version)
        await until(pilot, lambda before=call.call: next_call() not in ("", before), f"the call after {call.name}")
    await pilot.pause(0.6)


def _demo(folder: str) -> Session:
    return Session.start(demo_agent(), DEMO_TASK, record=Path(folder) / "flaky-test.jsonl")


async def home() -> None:
    async def nothing(app: LoopkitApp, pilot: Any) -> None:
        await until(pilot, lambda: "stuck" in everything(app) or "mechanic" in everything(app), "the recordings")

    await _drive(None, "home", nothing)


async def timeline() -> None:
    async def walk(_: LoopkitApp, pilot: Any) -> None:
        for key in ("g", *(("right_square_bracket", "d") * 3)):
            await pilot.press(key)

    await _drive(Session.open(BUNDLED), "timeline", walk)


async def warning() -> None:
    async def walk(_: LoopkitApp, pilot: Any) -> None:
        for key in ("g", "right_square_bracket", "w"):
            await pilot.press(key)

    await _drive(Session.open(BUNDLED), "warning", walk)


async def approval() -> None:
    with tempfile.TemporaryDirectory() as folder:

        async def walk(app: LoopkitApp, pilot: Any) -> None:
            await _decide(app, pilot, "run_tests")

        await _drive(_demo(folder), "approval", walk)


async def edit() -> None:
    with tempfile.TemporaryDirectory() as folder:

        async def walk(app: LoopkitApp, pilot: Any) -> None:
            await _decide(app, pilot, "run_tests")
            await pilot.press("e")
            await pilot.pause(0.3)
            await pilot.press("down", "end", "left", "0", "0")

        await _drive(_demo(folder), "edit", walk)


def _family(folder: str) -> Path:
    """A recording, a fork of it, and a fork of that, in a folder that can be shown."""
    place = Path(folder)
    parent = place / BUNDLED.name
    shutil.copy(BUNDLED, parent)
    for call, reason, source, name in (
        ("root/1.2", "Look at the shop first.", parent, "look-first.jsonl"),
        ("root/2.1", "Not now.", place / "look-first.jsonl", "no-tests.jsonl"),
    ):
        fork_file(source, call, Deny(reason), demo_agent(delay=0), place / name, approve="all")
    return place


async def diff() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = await asyncio.to_thread(_family, folder)
        session = Session.open(place / "look-first.jsonl")

        async def walk(app: LoopkitApp, pilot: Any) -> None:
            await pilot.press("D")
            await until(pilot, lambda: isinstance(app.screen, DiffScreen), "the comparison")

        await _drive(session, "diff", walk)


async def what_if() -> None:
    async def walk(_: LoopkitApp, pilot: Any) -> None:
        for key in ("g", *(("right_square_bracket", "d") * 3), "F"):
            await pilot.press(key)

    await _drive(Session.open(BUNDLED), "what_if", walk)


async def search() -> None:
    async def walk(app: LoopkitApp, pilot: Any) -> None:
        await until(pilot, lambda: "stuck" in everything(app), "the recordings")
        await pilot.press("/")
        await pilot.pause(0.3)
        await pilot.press(*"failed", "enter")

    await _drive(None, "search", walk)


async def notebook() -> None:
    await asyncio.to_thread(_notebook)


def _notebook() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_notebook(folder / "demo.ipynb", NOTEBOOK.strip())
        with running_lab(folder) as address, headless_browser(CHROMIUM) as browser:
            page = open_notebook(browser, address, "demo.ipynb")
            run_all(page)
            for _ in range(2):
                approve = page.get_by_role("button", name="Approve", exact=True)
                approve.wait_for()
                page.wait_for_timeout(700)
                approve.click()
            page.get_by_text("run_tests").first.wait_for()
            page.wait_for_timeout(1500)
            page.locator(".jp-OutputArea").first.screenshot(path=str(HERE / "notebook.png"))


PICTURES = {
    "home": home,
    "timeline": timeline,
    "warning": warning,
    "approval": approval,
    "edit": edit,
    "diff": diff,
    "what_if": what_if,
    "search": search,
    "notebook": notebook,
}


def main() -> None:
    """Take the pictures that are named, or all."""
    # the home screen names its folder, which must not be one of this machine
    os.chdir(ROOT)
    for name in sys.argv[1:] or PICTURES:
        asyncio.run(PICTURES[name]())
        print(HERE / f"{name}.png")


if __name__ == "__main__":
    main()
