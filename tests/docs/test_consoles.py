"""What the documents show of a terminal is what a terminal shows: every `console` block is run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from loopkit.cli import main
from loopkit.cli.entry import build_parser

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


LINES: list[tuple[str, str]] = [
    (document.name, line.partition("  #")[0])
    for document in DOCUMENTS
    for block in re.findall(r"```sh\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL)
    for line in block.splitlines()
    if line.startswith("loopkit ")
]


@pytest.mark.parametrize(("document", "line"), LINES, ids=[f"{d}: {line}" for d, line in LINES])
def test_a_command_of_a_document_is_one_that_exists(document: str, line: str) -> None:
    """Its options are read; whether it does what is said is what the tests of the command are for."""
    words = shlex.split(line)[1:]
    options = build_parser(words[0]).parse_args(words)
    assert options.command == words[0], document
