"""What docs/conditions.md says is what conditions understand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loopkit.cli import main
from loopkit.debugger.condition_text import read_condition
from loopkit.debugger.fields import FIELDS

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "conditions.md").read_text(encoding="utf-8")


def test_every_field_is_listed_as_it_is() -> None:
    listed = re.findall(r"^\| `([^`]+)` \| (.+) \| (.+) \| (.+) \|$", TEXT, re.MULTILINE)
    assert listed == [(name, known.kind, known.words, known.scope.name.lower()) for name, known in FIELDS.items()]


@pytest.mark.parametrize("condition", re.findall(r"--where '([^']+)'", TEXT))
def test_the_examples_can_be_read(condition: str) -> None:
    assert read_condition(str(read_condition(condition))) == read_condition(condition)


def test_the_refusal_is_printed_as_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (shown,) = re.findall(r"((?:^    .*\n)+)(?=\n## Fields)", TEXT, re.MULTILINE)
    assert main(["show", str(tmp_path / "any.jsonl"), "--where", 'tol == "run_tests"']) == 2
    assert capsys.readouterr().err == re.sub(r"^    ", "", shown, flags=re.MULTILINE)
