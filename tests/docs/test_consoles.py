"""What the documents show of a terminal is what a terminal shows: every `console` block is run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from loopkit.cli import main

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CONSOLES: list[tuple[str, str, str]] = [
    (document.name, command, shown)
    for document in DOCUMENTS
    for block in re.findall(r"```console\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL)
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


@pytest.mark.parametrize(("document", "command", "shown"), CONSOLES, ids=[f"{d}: {c}" for d, c, _ in CONSOLES])
def test_a_command_prints_what_its_document_shows(
    document: str, command: str, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A document may stop before the output does, never show something else."""
    monkeypatch.chdir(ROOT)
    program, *words = shlex.split(command)
    assert program == "loopkit", f"{document} shows a command that is not loopkit's"
    main(words)
    assert capsys.readouterr().out.startswith(shown)


def test_there_are_consoles_to_check() -> None:
    assert CONSOLES
