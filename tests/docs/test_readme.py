"""What the README tells people to do works."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from loopkit.cli import main
from loopkit.debugger.targets import load_agent
from tests.testing.projects import PLUGIN

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS: list[tuple[str, str]] = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
SHELL_LINES = [line.partition("  #")[0] for kind, text in BLOCKS if kind == "sh" for line in text.splitlines()]
LOOPKIT_LINES = [line for line in SHELL_LINES if line.startswith("loopkit ")]


def block(marker: str) -> str:
    """The one code block that holds `marker`."""
    (text,) = [text for kind, text in BLOCKS if kind == "python" and marker in text]
    return text


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the README's agent, its model replaced by a script."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    script = (
        'ScriptedProvider(lambda request: "Done." if len(request.messages) > 2 else ToolCall("c", "list_files", {}))'
    )
    text = re.sub(r"^model = .*$", f"model = {script}", block("# agent.py"), flags=re.MULTILINE)
    Path("agent.py").write_text(text.replace("OpenAIChat,", "ScriptedProvider, ToolCall,"))
    Path("recordings").mkdir()
    return tmp_path


@pytest.mark.usefixtures("workplace")
def test_the_agent_loads_as_it_is_printed() -> None:
    Path("printed.py").write_text(block("# agent.py"))
    agent = load_agent("printed.py:agent")
    assert agent.model == "gpt-5-mini"
    assert list(agent.registry.names) == ["list_files", "write_file"]


@pytest.fixture
def short_test(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with the README's test and the recording that it names."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    text = block("loopkit_replay")
    assert len([line for line in text.splitlines() if line.strip()]) <= 5
    (pytester.path / "test_readme.py").write_text(text)
    (name,) = re.findall(r"[\w/-]+\.jsonl", text)
    recording = pytester.path / name
    recording.parent.mkdir(parents=True)
    recording.write_bytes((ROOT / name).read_bytes())
    return pytester


def test_the_five_line_test_passes_as_it_is_printed(short_test: pytest.Pytester) -> None:
    short_test.runpytest_inprocess("-p", PLUGIN).assert_outcomes(passed=1)


def test_the_five_line_test_fails_when_a_prompt_changed(short_test: pytest.Pytester) -> None:
    (recording,) = short_test.path.rglob("*.jsonl")
    pattern = r'("role":"system","parts":\[\{"type":"Text","text":")'
    data, count = re.subn(pattern, r"\1Hurry. ", recording.read_text())
    assert count
    recording.write_text(data)
    result = short_test.runpytest_inprocess("-p", PLUGIN)
    result.assert_outcomes(failed=1)
    assert "system prompt" in result.stdout.str()


@pytest.mark.usefixtures("workplace")
def test_the_command_lines_do_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    """Run, replay, replay with live tools and fork, one after the other, in the folder that the agent lists."""
    lines = [line for line in LOOPKIT_LINES if not line.startswith("loopkit tui")]
    assert [line.split()[1] for line in lines] == ["run", "replay", "replay", "fork"]
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0, line
    assert capsys.readouterr().out.count(": same (") == 2


def test_each_make_target_exists() -> None:
    targets = [line.split()[1] for line in SHELL_LINES if line.startswith("make ")]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets == ["tui", "test"]
    assert [target for target in targets if f"\n{target}:" not in makefile] == []


@pytest.mark.parametrize("place", re.findall(r"^\| `([\w./]+)` \|", README, re.MULTILINE))
def test_each_place_exists(place: str) -> None:
    assert (ROOT / place).exists()
