"""`loopkit tui` finds an interface by its entry point, and says what is missing."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from loopkit.cli import interfaces, main
from tests.cli.agents import failure_of, write_agent

started: list[tuple[Any, ...]] = []


def fake_main(target: str | None, task: str | None) -> int:
    """An interface that only remembers how it was started."""
    started.append((target, task))
    return 0


def install(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    points = [] if value is None else [EntryPoint("tui", value, interfaces.GROUP)]
    monkeypatch.setattr(interfaces, "entry_points", lambda **_: points)
    started.clear()


@pytest.fixture
def interface(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, f"{__name__}:fake_main")


@pytest.mark.usefixtures("interface")
def test_it_is_started_with_the_target_and_the_task() -> None:
    Path("runs").mkdir()
    Path("a.jsonl").touch()
    spec = write_agent()
    assert [main(words) for words in (["tui"], ["tui", "runs"], ["tui", "a.jsonl"], ["tui", spec, "--task", "go"])] == [
        0
    ] * 4
    assert started == [(None, None), ("runs", None), ("a.jsonl", None), (spec, "go")]


@pytest.mark.usefixtures("interface")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["gone.jsonl"], "there is no such file or folder"),
        (["a.jsonl", "--task", "go"], "--task is for an agent"),
        (["--task", "go"], "--task needs an agent"),
        (["", "--task", "go"], "nothing is named"),
    ],
)
def test_a_wrong_target_is_one_line(words: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.jsonl").touch()
    assert expected in failure_of(["tui", *words], capsys)
    assert started == []


@pytest.mark.parametrize("value", [None, "loopkit_interface_that_is_not_there.app:main"])
def test_a_missing_interface_says_how_to_install_it(
    value: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, value)
    assert "pip install 'loopkit[tui]'" in failure_of(["tui"], capsys)


def test_a_missing_dependency_of_the_interface_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("my_interface.py").write_text("import textual_that_is_not_there\n")
    monkeypatch.syspath_prepend(".")
    install(monkeypatch, "my_interface:main")
    line = failure_of(["tui"], capsys)
    assert "(there is no textual_that_is_not_there)" in line
    assert "pip install 'loopkit[tui]'" in line
