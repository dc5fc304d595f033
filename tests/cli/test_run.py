"""`loopkit run`: headless, recorded, and careful with tools nobody vouched for (DESIGN §6)."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from loopkit.cli import main
from tests.cli.agents import AGENT, SLOW, failure_of, json_of, write_agent


def test_it_prints_the_answer_the_outcome_and_the_recording(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", write_agent(), "--task", "go", "--record", "out.jsonl", "--approve", "all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "The results: a.txt says hello | 2 characters"
    assert lines[-2:] == ["outcome    complete", "recording  out.jsonl"]
    assert Path("out.jsonl").stat().st_size > 0
    assert Path("b.txt").read_text() == "hi"


def test_only_tools_declared_to_read_run_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    data = json_of(["run", write_agent(), "--task", "go", "--record", "out.jsonl", "--json"], capsys)
    assert not Path("b.txt").exists()
    assert "a.txt says hello" in data["answer"]
    assert "write is not declared read-only" in data["answer"]
    assert data["refused"] == ["write"]
    assert (data["outcome"], data["iterations"], data["recording"]) == ("complete", 2, "out.jsonl")
    assert (data["input_tokens"], data["output_tokens"]) == (20, 10)


def test_refused_calls_come_with_advice(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", write_agent(), "--task", "go", "--record", "out.jsonl"]) == 0
    err = capsys.readouterr().err
    assert err.startswith("loopkit: not run: write; `--approve all` runs every tool")
    assert err.count("\n") == 1


def test_what_tools_print_does_not_stand_in_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    spec = write_agent(AGENT.replace('    return f"{path} says', '    print("noise")\n    return f"{path} says'))
    capsys.readouterr()
    assert main(["run", spec, "--task", "go", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["outcome"] == "complete"
    assert "noise" in captured.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_run_ends_its_children_and_leaves_a_whole_recording(
    number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl+C, `kill` or a closed terminal: exit 128 + the signal, and the recording opens and replays."""
    words = [sys.executable, "-m", "loopkit", "run", write_agent(SLOW), "--task", "go", "--record", "out.jsonl"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "started\n"
        process.send_signal(number)
        # ends only when the tool's process has ended too: it holds the same stream
        rest = process.stderr.read()
        assert process.wait(timeout=30) == 128 + number
    assert rest == "loopkit: stopped; what happened so far is in out.jsonl\n"
    assert json_of(["show", "out.jsonl", "--json"], capsys)["run"]["outcome"] == "cancelled"
    assert main(["check", "out.jsonl"]) == main(["replay", "out.jsonl"]) == 0


def test_no_tool_runs_when_none_may(capsys: pytest.CaptureFixture[str]) -> None:
    data = json_of(["run", write_agent(), "--task", "go", "--approve", "none", "--json"], capsys)
    assert "says hello" not in data["answer"]


def test_a_recording_is_made_without_being_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    Path("recordings").mkdir()
    data = json_of(["run", write_agent(), "--task", "go", "--json"], capsys)
    assert [str(path) for path in Path("recordings").iterdir()] == [data["recording"]]
    assert data["recording"].endswith("-looker.jsonl")


def test_an_end_that_is_not_complete_is_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    limited = AGENT.replace('name="looker"', 'name="looker", config=ToolLoopConfig(max_iterations=1)')
    spec = write_agent(limited.replace("import Agent,", "import Agent, ToolLoopConfig,"))
    assert json_of(["run", spec, "--task", "go", "--json"], capsys, code=1)["outcome"] == "max_iterations"


def test_a_model_that_cannot_be_reached_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    """Issue: a server that refuses gives one clear line, exit 2; the recording stays and opens. The waits come before."""
    spec = write_agent(
        "from loopkit import Agent, OpenAIChat\nagent = Agent(OpenAIChat('m', base_url='http://127.0.0.1:9'))\n"
    )
    assert main(["run", spec, "--task", "go", "--record", "out.jsonl"]) == 2
    *waits, last = capsys.readouterr().err.splitlines()
    line = "can't reach http://127.0.0.1:9 (connection refused): is the server running? check base_url"
    assert last == f"loopkit: {line}"
    assert len(waits) == 2
    assert all(
        re.fullmatch(rf"loopkit: attempt \d failed, asked again after \S+ s: {re.escape(line)}", w) for w in waits
    )
    assert json_of(["show", "out.jsonl", "--json"], capsys)["run"]["outcome_text"] == f"failed: {line}"


def test_an_exception_of_the_agents_own_code_is_one_line_and_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    spec = write_agent(AGENT.replace('"Looking."', "1 / 0"))
    assert main(["run", spec, "--task", "go", "--record", "out.jsonl"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("loopkit: ZeroDivisionError")
    assert err.count("\n") == 1


def test_an_existing_file_is_never_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out.jsonl").write_text("precious")
    line = failure_of(["run", write_agent(), "--task", "go", "--record", "out.jsonl"], capsys)
    assert "out.jsonl" in line
    assert Path("out.jsonl").read_text() == "precious"
    failure_of(["run", write_agent(), "--task", "go", "--record", "out.jsonl", "--overwrite"], capsys)
    assert Path("out.jsonl").read_text() == "precious"


def test_an_existing_recording_is_overwritten_only_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", write_agent(), "--task", "go", "--record", "out.jsonl", "--approve", "all"]
    assert main(words) == 0
    before = Path("out.jsonl").read_bytes()
    line = failure_of(words, capsys)
    assert "name another file or remove it" in line
    assert "--overwrite" in line
    assert Path("out.jsonl").read_bytes() == before
    assert main([*words, "--overwrite"]) == 0
    assert Path("out.jsonl").read_bytes() != before


def test_a_recording_in_a_folder_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("gone").touch()
    assert "gone" in failure_of(["run", write_agent(), "--task", "go", "--record", "gone/out.jsonl"], capsys)


def test_an_agent_that_does_not_import_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    spec = write_agent("import not_installed_here\n")
    assert failure_of(["run", spec, "--task", "go"], capsys).startswith("agent.py, line 1: ModuleNotFoundError")


def test_a_wait_before_another_attempt_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """9.2: a run that stands still says why and for how long; the error of the server reaches no terminal raw."""
    spec = write_agent("""
from loopkit import Agent, ModelBinding, ProviderError, RetryPolicy, ScriptedProvider

busy = ProviderError("busy \\x1b[2J", status=503, retry_after=0.02, retryable=True)
other = ModelBinding(ScriptedProvider(["done"], model="second"))
agent = Agent(ModelBinding(ScriptedProvider([busy, ProviderError("no", status=401)]), fallbacks=[other]))
""")
    assert main(["run", spec, "--task", "go", "--record", "out.jsonl"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("done\n")
    first, second = captured.err.splitlines()
    assert first.startswith("loopkit: attempt 1 failed, asked again after 0.")
    assert first.endswith(" s: busy ␛[2J")
    assert second == "loopkit: attempt 2 failed, the next model is asked: no"


def test_when_every_model_failed_each_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """8.3, 9.2"""
    spec = write_agent("""
from loopkit import Agent, ModelBinding, ProviderError, ScriptedProvider

second = ModelBinding(ScriptedProvider([ProviderError("no key", status=401)], model="second"))
agent = Agent(ModelBinding(ScriptedProvider([ProviderError("no quota", status=429)], model="first"), fallbacks=[second]))
""")
    assert main(["run", spec, "--task", "go", "--record", "out.jsonl"]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "loopkit: all 2 models failed. first: no quota | second: no key"
