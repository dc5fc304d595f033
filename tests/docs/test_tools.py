"""What docs/tools.md tells people to do works, and the figures that it gives are those of the code."""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path

import pytest

from loopkit import ToolRetry, report_progress
from loopkit.cli import main
from loopkit.core.context_tools import TOKENS_PER_IMAGE
from loopkit.drivers import progress
from loopkit.tools import checks, output
from loopkit.tools import progress as words
from loopkit.tools.definition import make_tool

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")
PLAIN = re.sub(r"\s+", " ", TEXT)

SHOPS = """
left = [ConnectionError("busy")]

def ask(shop):
    if left:
        raise left.pop()
    return len(shop)

def chart(found):
    return b"\\x89PNG\\r\\n\\x1a\\n" + bytes(8) + (3).to_bytes(4, "big") + (2).to_bytes(4, "big")
"""


def test_the_agent_runs_as_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its model replaced by a script, its shops by two that don't exist, without the wait."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "agent", None)  # so that the module goes away again
    (code,) = re.findall(r"```python\n(# agent\.py\n.*?)```", TEXT, re.DOTALL)
    call = 'ToolCall("c", "prices", {"shops": ["leaf", "tin"]})'
    script = f'ScriptedProvider([{call}, "Done."])'
    code = code.replace('OpenAIChat("gpt-5-mini")', script).replace("OpenAIChat", "ScriptedProvider, ToolCall")
    Path("agent.py").write_text(code.replace("attempts=3", "attempts=3, base_delay=0") + SHOPS)

    assert main(["run", "agent.py:agent", "--task", "tea", "--record", "out.jsonl"]) == 0
    assert main(["replay", "out.jsonl", "--agent", "agent.py:agent"]) == 0
    capfd.readouterr()
    assert main(["show", "out.jsonl", "--json"]) == 0
    (shown,) = json.loads(capfd.readouterr().out)["iterations"][0]["calls"]
    assert shown["result"] == "tin is cheapest."
    assert shown["result_json"] == {"leaf": 4, "tin": 3}
    assert (shown["images"][0]["media_type"], shown["images"][0]["width"]) == ("image/png", 3)
    assert shown["failed_attempts"] == 1
    assert [said["text"] for said in shown["progress"]] == ["asking leaf", "asking leaf", "asking tin"]
    started = json.loads(Path("out.jsonl").read_text().splitlines()[1])
    assert (started["tools"][0]["side_effect"], started["tools"][0]["attempts"]) == ("read", 3)


@pytest.mark.parametrize("function", [report_progress, ToolRetry, make_tool])
def test_what_can_be_said_is_named(function: object) -> None:
    assert callable(function)
    for name in inspect.signature(function).parameters:
        if name not in ("function", "names", "name", "description", "polling"):
            assert re.search(rf"\b{name}\b", TEXT), name


@pytest.mark.parametrize(
    ("figure", "phrase"),
    [
        (progress.FIRST_AT_ONCE, "the first ten reports"),
        (1 / progress.SHORTEST_PAUSE, "at most four a second"),
        (progress.PART_OF_THE_TIME, "each hundredth of the time"),
        (words.MOST_CHARACTERS, "cut after 500 characters"),
        (output.MOST_IMAGES, "100 pictures"),
        (output.MOST_IMAGE_CHARACTERS, "30 million characters each"),
        (checks.MOST_CHARACTERS, "JSON of 10 million characters"),
        (checks.MOST_VALUES, "100,000 values"),
        (checks.DEEPEST, "100 levels"),
        (TOKENS_PER_IMAGE, "1,000 tokens"),
    ],
)
def test_figures_are_those_of_the_code(figure: float, phrase: str) -> None:
    amounts = {"ten": 10, "four": 4, "hundredth": 0.01, "30 million": 30_000_000, "10 million": 10_000_000}
    said = next((amount for word, amount in amounts.items() if word in phrase), None)
    if said is None:
        said = float(re.findall(r"[\d,]+", phrase)[0].replace(",", ""))
    assert said == figure
    assert phrase in PLAIN
