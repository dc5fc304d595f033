"""The widget where it lives: JupyterLab in a real browser, driven by clicks and keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.notebook_widget.lab import (
    chromium_or_skip,
    headless_browser,
    open_notebook,
    run_all,
    running_lab,
    save,
    write_notebook,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

AGENT = '''
from loopkit import Agent, ScriptedProvider, ToolCall, tool
from loopkit_notebook import debug, view

ran = []

@tool
def read_file(path: str, lines: int = 10) -> str:
    """Read the first lines of a text file."""
    ran.append((path, lines))
    return f"{lines} lines of {path}"

def asking(text, *paths):
    return [text, *(ToolCall(f"c{at}", "read_file", {"path": path}) for at, path in enumerate(paths))]

def new_agent():
    script = [asking("I look at <img src=x onerror=alert(1)>.", "a.txt", "b.txt", "c.txt"), "All files are read."]
    return Agent(ScriptedProvider(script), tools=[read_file], name="fixer")
'''
RECORD = """
from loopkit.debugger.policy import ApproveAll
from loopkit.debugger.session import Session

recorded = Session.start(new_agent(), "read the files", record="recorded.jsonl", policy=ApproveAll())
assert recorded.wait(20)
recorded.close()
ran.clear()
"""


@dataclass(frozen=True)
class Lab:
    """A served folder and a browser."""

    folder: Path
    address: str
    browser: Browser

    def run_notebook(self, name: str, *cells: str) -> Page:
        write_notebook(self.folder / name, *cells)
        page = open_notebook(self.browser, self.address, name)
        run_all(page)
        return page


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    chromium = chromium_or_skip()
    folder = tmp_path_factory.mktemp("lab")
    with running_lab(folder) as address, headless_browser(chromium) as browser:
        yield Lab(folder, address, browser)


def labels(run: Locator) -> list[str]:
    return [" ".join(words.split()) for words in run.locator(".lk-row").all_inner_texts()]


def rows_with(run: Locator, mark: str) -> Locator:
    return run.locator(".lk-row", has=run.page.locator(f".lk-mark:text-is('{mark}')"))


def saved_html(notebook: Path) -> list[str]:
    cells: list[dict[str, Any]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell["outputs"]]
    return ["".join(output["data"]["text/html"]) for output in outputs if "text/html" in output.get("data", {})]


def test_a_run_is_looked_at_decided_on_by_clicking_and_kept_in_the_saved_notebook(lab: Lab) -> None:
    """The whole way of a person: a recorded run, then approve one call, edit one, deny one, save, reopen."""
    folder = lab.folder
    page = lab.run_notebook(
        "run.ipynb",
        AGENT + RECORD,
        'view("recorded.jsonl")',
        'widget = debug(new_agent(), "read the files", record="live.jsonl")\nwidget',
        'print("the kernel", "is free")',
    )
    recorded, live = page.locator(".loopkit-run").nth(0), page.locator(".loopkit-run").nth(1)

    live.get_by_text("3 pending").wait_for()
    page.locator(".jp-OutputArea-output", has_text="the kernel is free").wait_for()  # while the run waits
    recorded.locator(".lk-row").nth(6).wait_for()
    assert next(words for words in labels(recorded) if "read_file" in words).startswith('✓ read_file path="a.txt"')

    recorded.focus()
    page.keyboard.press("G")
    recorded.locator(".lk-selected", has_text="complete").wait_for()
    for key in "kdd":  # d, d is JupyterLab's own for "delete the cell"
        page.keyboard.press(key)
    recorded.locator(".lk-selected", has_text="All files are read.").wait_for()

    live.get_by_role("button", name="Approve").click()
    live.get_by_text("2 pending").wait_for()

    live.get_by_role("button", name="Edit …").click()
    editor, run_it = live.locator("textarea"), live.get_by_role("button", name="Run with these arguments")
    editor.fill('{"path": "other.txt", "lines": "x"}')
    problem = live.locator(".lk-problems li")
    problem.get_by_text("lines:").wait_for()
    assert run_it.is_disabled()
    editor.press("Control+Enter")
    editor.fill('{"path": "other.txt", "lines": ')
    problem.get_by_text("not JSON").wait_for()
    assert run_it.is_disabled()
    editor.fill('{"path": "other.txt", "lines": 3}')
    live.get_by_text("schema ✓").wait_for()
    run_it.click()
    live.get_by_text("1 pending").wait_for()

    live.get_by_role("button", name="Deny …").click()
    live.locator("textarea").fill("that one is private")
    live.get_by_role("button", name="Deny", exact=True).click()

    live.locator(".lk-finished").wait_for()
    rows_with(live, "■").wait_for()
    assert [rows_with(live, mark).count() for mark in "✓✎⊘"] == [1, 1, 1]
    assert 'path="other.txt", lines=3' in rows_with(live, "✎").inner_text()
    assert page.locator("img[src=x]").count() == 0, "text became HTML (spec/faults.md f11)"
    assert page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length") == 4, "a key hit a cell"

    copy = page.locator(".loopkit-static").nth(1)
    copy.filter(has_text="All files are read.").wait_for(state="attached")
    save(page)
    copies = saved_html(folder / "run.ipynb")
    assert len(copies) == 2
    for words in ("finished", "edited", "that one is private", "3 lines of other.txt", "All files are read."):
        assert words in copies[1], "the copy in the file must hold the whole run (spec/faults.md f13)"
    assert not copy.is_visible(), "the copy is hidden while the widget lives"

    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    page.reload()
    page.locator(".loopkit-static").nth(1).wait_for()
    error = page.get_by_text("model not found").first
    error.wait_for(state="attached")
    assert not error.is_visible()


def test_a_run_is_stepped_answered_and_stopped_and_big_results_are_fetched_on_demand(lab: Lab) -> None:
    page = lab.run_notebook(
        "step.ipynb",
        AGENT,
        'debug(new_agent(), "read the files", record="stepped.jsonl")',
    )
    live = page.locator(".loopkit-run")
    live.get_by_text("3 pending").wait_for()
    live.get_by_role("button", name="Step").click()

    live.get_by_role("button", name="Answer …").click()
    live.locator("textarea").fill("0123456789" * 1_000)
    live.get_by_role("button", name="Give this answer").click()
    for left in (1, 0):
        live.get_by_role("button", name="Approve").click()
        live.get_by_text(f"{left} pending" if left else "paused").first.wait_for()
    assert live.locator(".lk-paused").is_visible()

    rows_with(live, "✎").click()
    more = live.get_by_role("button", name="6,000 more characters")
    more.click()
    more.wait_for(state="detached")
    assert "0123456789" * 1_000 in live.locator(".lk-code").all_inner_texts()

    live.focus()
    page.keyboard.press("X")
    live.locator(".lk-stopped").wait_for()
    assert live.get_by_text("stepped.jsonl").is_visible()
