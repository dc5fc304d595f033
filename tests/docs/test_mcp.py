"""What docs/mcp.md tells people to do works."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from loopkit.cli import main

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")


def test_the_agent_runs_and_replays_as_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its model replaced by a script, its Python by this one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "agent", None)  # so that the module goes away again
    subprocess.run(["git", "init", "-q", "-b", "trunk", "."], check=True)
    (code,) = re.findall(r"```python\n(# agent\.py\n.*?)```", TEXT, re.DOTALL)
    call = 'ToolCall("c", "git_git_status", {"repo_path": str(here)})'
    script = f'ScriptedProvider(lambda request: "Done." if len(request.messages) > 1 else {call})'
    code = code.replace('OpenAIChat("gpt-5-mini")', script).replace("OpenAIChat", "ScriptedProvider, ToolCall")
    Path("agent.py").write_text(code.replace('"python"', repr(sys.executable)))

    assert main(["run", "agent.py:agent", "--task", "look", "--record", "out.jsonl"]) == 0
    assert "On branch trunk" in Path("out.jsonl").read_text()
    assert "git_status" in [tool["name"] for tool in json.loads(Path("git.tools.json").read_text())["tools"]]

    # the server is gone, and the replay does not miss it
    Path("agent.py").write_text(code.replace('["python", "-m", "mcp_server_git"]', '["no-such-program"]'))
    assert main(["replay", "out.jsonl", "--agent", "agent.py:agent"]) == 0
    Path("git.tools.json").unlink()
    capfd.readouterr()
    assert main(["replay", "out.jsonl", "--agent", "agent.py:agent"]) == 2
    assert capfd.readouterr().err.count("\n") == 1


def test_every_argument_is_in_the_table() -> None:
    import inspect

    from loopkit import MCPServer

    for name in inspect.signature(MCPServer).parameters:
        assert name == "command" or f"`{name}=`" in TEXT
