"""The fixture, the marker and the options, as a project uses them (DESIGN §4; issue 4, item 7)."""

from __future__ import annotations

import json

import pytest

from tests.testing.projects import RECIPE, Project, text_of


def test_a_missing_recording_fails_with_the_command_that_records_it(project: Project) -> None:
    """The command is what a person copies: it names this test alone, from where pytest was called."""
    result = project.run()
    result.assert_outcomes(failed=1)
    shown = text_of(result)
    assert "recordings/run.jsonl: there is no such recording" in shown
    assert "pytest --loopkit-record=once test_agent.py::test_it" in shown
    assert not project.recording.exists()


def test_the_command_can_be_pasted_into_a_shell(project: Project) -> None:
    project.change("test_agent.py", "def test_it(loopkit_replay):", "def test_it(loopkit_replay, word):")
    project.change(
        "test_agent.py", "def test_it", "import pytest\n@pytest.mark.parametrize('word', ['a $b'])\ndef test_it"
    )
    assert "pytest --loopkit-record=once 'test_agent.py::test_it[a $b]'" in text_of(project.run())


def test_the_failure_says_what_a_recipe_lacks(project: Project) -> None:
    project.change("test_agent.py", ', approve="read-only"', "")
    shown = text_of(project.run())
    assert "the test has to say approve=…; then" in shown
    shown = text_of(project.run("--loopkit-record=once"))
    assert "can't be recorded: the test has to say approve=…" in shown
    assert not project.recording.exists()


def test_a_recording_is_made_once_and_replayed_from_then_on(project: Project) -> None:
    made = project.record()
    result = project.run("--loopkit-record=once")
    result.assert_outcomes(passed=1)
    assert project.recording.read_bytes() == made
    project.run().assert_outcomes(passed=1)
    assert [path.name for path in project.recording.parent.iterdir()] == ["run.jsonl"]


def test_the_session_says_what_it_recorded(project: Project) -> None:
    result = project.run("--loopkit-record=once")
    result.stdout.fnmatch_lines(["loopkit: records what is missing", "recordings/run.jsonl: recorded"])


def test_all_records_again_once_a_session(project: Project) -> None:
    """Two tests of one session share a recording: it is made by the first."""
    made = project.record()
    project.write("test_more.py", (project.folder / "test_agent.py").read_text())
    result = project.run("--loopkit-record=all")
    result.assert_outcomes(passed=2)
    assert text_of(result).count("recorded again") == 1
    assert project.recording.read_bytes() != made


def test_all_leaves_a_recording_alone_whose_test_has_no_recipe(project: Project) -> None:
    """A run with a person's decisions can't be made by a test."""
    made = project.record()
    project.change("test_agent.py", f", {RECIPE}", "")
    result = project.run("--loopkit-record=all")
    result.assert_outcomes(passed=1)
    assert "not recorded again" in text_of(result)
    assert project.recording.read_bytes() == made


@pytest.mark.parametrize("option", ["--loopkit-record=all", "--loopkit-record=once"])
def test_a_run_that_fails_leaves_what_was_there(project: Project, option: str) -> None:
    made = None
    if option.endswith("all"):
        made = project.record()
    project.change("agent.py", "        last,\n", "        ConnectionError('the server is gone'),\n")
    result = project.run(option)
    result.assert_outcomes(failed=1)
    assert "nothing was recorded, since the run failed: ConnectionError: the server is gone" in text_of(result)
    assert (project.recording.read_bytes() if project.recording.exists() else None) == made
    assert [path.name for path in project.recording.parent.iterdir()] == ([] if made is None else ["run.jsonl"])


def test_an_agent_that_is_another_each_time_is_not_recorded(project: Project) -> None:
    """A prompt with a date in it would make every later replay fail."""
    project.change(
        "agent.py",
        "agent = make()",
        """
class Moving(Agent):
    def parts(self, task, ctx=None):
        parts = super().parts(task, ctx)
        from dataclasses import replace
        from loopkit import Message
        return replace(parts, messages=(Message.system(f"It is {len(RAN)}."), *parts.messages[1:]))

_make = make
def make():
    base = _make()
    return Moving(base.provider, tools=base.registry, system="x")
""",
    )
    result = project.run("--loopkit-record=once")
    result.assert_outcomes(failed=1)
    assert "the same agent, asked again, does something else" in text_of(result)
    assert "system prompt" in text_of(result)
    assert not project.recording.exists()


def test_a_divergence_is_told_by_the_doctor_without_a_traceback(project: Project) -> None:
    """features 17, 20: what drifted, with a diff, and what can be done."""
    project.record()
    project.change("agent.py", "Be careful.", "Be quick.")
    result = project.run()
    result.assert_outcomes(failed=1)
    shown = text_of(result)
    assert "system prompt" in shown
    assert "Be careful." in shown
    assert "Be quick." in shown
    assert "pytest --loopkit-update test_agent.py::test_it" in shown
    assert "Traceback" not in shown
    assert "replayer.py" not in shown


def test_an_update_puts_todays_run_in_the_recordings_place(project: Project) -> None:
    made = project.record()
    run_id = json.loads(made.splitlines()[0])["run"]
    project.change("agent.py", "Be careful.", "Be quick.")
    result = project.run("--loopkit-update")
    result.assert_outcomes(passed=1)
    assert "updated to what the agent does today" in text_of(result)
    assert json.loads(project.recording.read_bytes().splitlines()[0])["parent"] == run_id
    project.run().assert_outcomes(passed=1)


def test_an_update_that_lacks_answers_changes_nothing(project: Project) -> None:
    """Today's agent asks for more than was recorded; nothing is made up, and the old file stays."""
    project.change("agent.py", 'name="cleaner")', 'name="cleaner", config=ToolLoopConfig(max_iterations=2))')
    project.change("agent.py", "import Agent,", "import Agent, ToolLoopConfig,")
    shorter = project.record()
    project.change("agent.py", "max_iterations=2", "max_iterations=5")
    result = project.run("--loopkit-update")
    result.assert_outcomes(failed=1)
    assert "can't be accepted" in text_of(result)
    assert "pytest --loopkit-record=all test_agent.py::test_it" in text_of(result)
    assert project.recording.read_bytes() == shorter


def test_nothing_runs_and_nobody_is_asked_in_a_replay(project: Project) -> None:
    project.record()
    project.change("test_agent.py", "    run.called", "    from agent import RAN\n    assert RAN == []\n    run.called")
    project.change("agent.py", "        last,\n", "        ConnectionError('asked'),\n")
    project.run().assert_outcomes(passed=1)


def test_live_tools_run_without_a_network(project: Project) -> None:
    """The tools run, the network is blocked, and what they return now is compared."""
    project.record()
    project.change("test_agent.py", RECIPE, 'tools="live"')
    project.run().assert_outcomes(passed=1)
    project.change(
        "agent.py",
        "    RAN.append(query)\n",
        '    import socket\n    socket.create_connection(("192.0.2.1", 80), 1)\n',
    )
    result = project.run()
    result.assert_outcomes(failed=1)
    assert "the network is blocked here" in text_of(result)


def test_a_marker_names_the_recording_for_a_test(project: Project) -> None:
    project.record()
    project.write(
        "test_marked.py",
        """
import pytest
from agent import make

@pytest.mark.loopkit("recordings/run.jsonl", make)
def test_by_itself():
    pass

@pytest.mark.loopkit(recording="recordings/run.jsonl", agent="agent.py:agent")
def test_run(loopkit_run):
    loopkit_run.ended("complete")

@pytest.mark.loopkit(recording="recordings/other.jsonl", agent=make)
class TestGroup:
    @pytest.mark.loopkit(recording="recordings/run.jsonl")
    def test_inner_wins(self, loopkit_replay):
        loopkit_replay().said("done")

    def test_given_wins(self, loopkit_replay):
        loopkit_replay("recordings/run.jsonl").said("done")
""",
    )
    project.run("test_marked.py").assert_outcomes(passed=4)
    project.change("agent.py", "Be careful.", "Be quick.")
    outcomes = project.run("test_marked.py").parseoutcomes()
    assert outcomes.get("failed", 0) + outcomes.get("errors", 0) == 4


def test_a_marker_that_says_something_unknown_is_refused(project: Project) -> None:
    project.write(
        "test_marked.py",
        'import pytest\n@pytest.mark.loopkit("x.jsonl", agnet=1)\ndef test_it(loopkit_run): pass\n',
    )
    assert "does not know agnet; it takes recording, agent, task" in text_of(project.run("test_marked.py"))


def test_a_recording_is_found_beside_the_test_or_in_the_root(project: Project) -> None:
    project.record()
    inner = project.folder / "inner"
    inner.mkdir()
    test = project.write("inner/test_inner.py", (project.folder / "test_agent.py").read_text())
    project.write("pytest.ini", "[pytest]\n")
    project.run(str(test)).assert_outcomes(passed=1)
    project.recording.unlink()
    shown = text_of(project.run(str(test)))
    assert "inner/recordings/run.jsonl: there is no such recording" in shown
    assert "pytest --loopkit-record=once inner/test_inner.py::test_it" in shown


def test_a_damaged_recording_is_one_clear_line(project: Project) -> None:
    made = project.record().splitlines(keepends=True)
    project.recording.write_bytes(b"".join([*made[:3], b"{broken\n", *made[4:]]))
    result = project.run()
    result.assert_outcomes(failed=1)
    assert "line 4 is damaged" in text_of(result)
    assert "Traceback" not in text_of(result)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_async_tests_replay_in_their_own_event_loop_library(project: Project, backend: str) -> None:
    project.write(
        "test_async.py",
        f"""
import pytest
from agent import make

@pytest.fixture
def anyio_backend():
    return {backend!r}

@pytest.mark.anyio
async def test_it(loopkit_replay):
    loopkit_replay("recordings/run.jsonl", make, {RECIPE}).ended("complete")
""",
    )
    project.run("--loopkit-record=once", "test_async.py").assert_outcomes(passed=1)
    project.run("test_async.py").assert_outcomes(passed=1)


def test_faults_are_given_to_the_fixture(project: Project) -> None:
    project.record()
    project.write(
        "test_faults.py",
        """
from agent import make
from loopkit.testing import FailingModel, FailingTool

def test_retried(loopkit_replay):
    run = loopkit_replay("recordings/run.jsonl", make, faults=[FailingModel(at=2, status=503)])
    run.retried(times=1).ended("complete")

def test_never(loopkit_replay):
    loopkit_replay("recordings/run.jsonl", make, faults=[FailingTool("search", at=9)])
""",
    )
    result = project.run("test_faults.py")
    result.assert_outcomes(passed=1, failed=1)
    assert "FailingTool('search', at=9) never came about: search ran 2×" in text_of(result)


def test_what_a_killed_process_left_is_removed(project: Project) -> None:
    """The half of a recording that a kill leaves never takes the recording's name, nor stays for ever."""
    project.recording.parent.mkdir()
    half = project.recording.with_name(".run.jsonl.999999.new")
    half.write_bytes(b'{"format":1')
    project.record()
    assert [path.name for path in project.recording.parent.iterdir()] == ["run.jsonl"]


def test_own_rules_of_redaction_hold_for_recording_and_replay(project: Project) -> None:
    """Faults k: what a project calls secret is in no recording, and its replays are the same."""
    project.change("test_agent.py", RECIPE, f"{RECIPE}, redaction=Redaction(shapes={{'shelf': r'shelf-[0-9]+'}})")
    project.change("test_agent.py", "from agent import make", "from agent import make\nfrom loopkit import Redaction")
    project.change("agent.py", 'f"found {query}"', 'f"found {query} on shelf-77"')
    made = project.record()
    assert b"shelf-77" not in made
    assert b"on " in made
    project.run().assert_outcomes(passed=1)


def test_a_test_with_faults_updates_its_recording_too(project: Project) -> None:
    project.record()
    project.write(
        "test_faults.py",
        """
from agent import make
from loopkit.testing import FailingModel

def test_retried(loopkit_replay):
    loopkit_replay("recordings/run.jsonl", make, faults=[FailingModel()]).retried(times=1)
""",
    )
    project.change("agent.py", "Be careful.", "Be quick.")
    failed = project.run("test_faults.py")
    failed.assert_outcomes(failed=1)
    assert "pytest --loopkit-update test_faults.py::test_retried" in text_of(failed)
    project.run("test_faults.py", "--loopkit-update").assert_outcomes(passed=1)
    project.run("test_faults.py").assert_outcomes(passed=1)


@pytest.mark.parametrize("wish", ["make, faults=[FailingModel()], tools='live'", "faults=[FailingModel()]"])
def test_faults_without_what_they_need_are_refused(project: Project, wish: str) -> None:
    project.record()
    project.change("test_agent.py", f"make, {RECIPE}", wish)
    project.change("test_agent.py", "from agent", "from loopkit.testing import FailingModel\nfrom agent")
    result = project.run()
    result.assert_outcomes(failed=1)
    assert "faults=… need agent=…" in text_of(result)


def test_an_agent_that_can_not_be_made_is_told_at_its_own_line(project: Project) -> None:
    """A mistake in the project's code keeps its traceback, without lines of loopkit."""
    project.change("agent.py", "    script = [", "    raise KeyError('no key')\n    script = [")
    shown = text_of(project.run())
    assert "agent.py:" in shown
    assert "KeyError: 'no key'" in shown
    assert "replayer.py" not in shown
