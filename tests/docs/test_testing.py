"""What docs/testing.md tells people to do works: its files are a project, recorded and replayed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loopkit import testing
from loopkit.testing import Trajectory
from loopkit.testing.replayer import Wish
from tests.testing.projects import PLUGIN

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", TEXT, re.DOTALL))
SCRIPT = """
def scripted():
    return ScriptedProvider([
        ToolCall("a", "search", {"query": "tea"}), ToolCall("b", "order", {"item": "tea in green", "amount": 1}), "I may not buy tea.",
    ], usage="count")
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """The page's files, the models replaced by scripts."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.syspath_prepend(str(pytester.path))
    for name, text in FILES.items():
        (pytester.path / name).write_text(text)
    code = re.sub(r'OpenAIChat\("[\w-]+"\)', "scripted()", FILES["agent.py"])
    code = code.replace("OpenAIChat,", "ScriptedProvider, ToolCall,")
    (pytester.path / "agent.py").write_text(code + SCRIPT)
    (pytester.path / "conftest.py").write_text(
        'import pytest\n@pytest.fixture\ndef anyio_backend():\n    return "asyncio"\n'
    )
    return pytester


def run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest_inprocess("-p", PLUGIN, "-p", "anyio", *options)


def test_the_pages_project_is_recorded_and_replayed(project: pytest.Pytester) -> None:
    assert list(FILES) == ["agent.py", "test_buying.py", "test_scripted.py", "test_faults.py"]
    missing = run(project, "test_buying.py")
    missing.assert_outcomes(failed=1)
    (command,) = re.findall(r"`pytest (--loopkit-record=once [^`]*)`", TEXT)
    missing.stdout.fnmatch_lines([f"*pytest {command}"])
    run(project, *command.split()).assert_outcomes(passed=1)
    run(project).assert_outcomes(passed=8)


def test_every_name_of_the_page_is_there() -> None:
    table = TEXT[TEXT.index("| `called`") : TEXT.index("`arguments=` looks at")]
    names = [name for first in re.findall(r"^\| ([^|]*) \|", table, re.MULTILINE) for name in re.findall(r"\w+", first)]
    assert "called_in_order" in names
    assert [name for name in names if not hasattr(Trajectory, name)] == []
    for name in re.findall(r"`((?:Slow|Failing|Garbled|Late)\w+)`", TEXT):
        assert name in testing.__all__
    assert {"task", "approve", "match", "tools", "agent"} <= set(Wish.__dataclass_fields__)
