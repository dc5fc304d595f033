"""What a person may name: agents in files and modules, recordings, folders, and every way to get it wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from loopkit.debugger.targets import find_target, load_agent, new_recording_path, recordings_folder
from loopkit.errors import AgentPathError, UserError

GOOD = """\
from loopkit import Agent, ScriptedProvider

helper = Agent(ScriptedProvider(["yes"]), name="helper")
agent = Agent(ScriptedProvider(["hello"]), name="greeter")
number = 7


class Team:
    lead = agent
"""


def write(name: str, text: str) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def refusal(spec: str) -> str:
    """The one line that a wrong agent path gives."""
    with pytest.raises(AgentPathError) as caught:
        load_agent(spec)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_an_agent_in_a_file_is_loaded() -> None:
    write("agent.py", GOOD)
    assert load_agent("agent.py:agent").name == "greeter"


def test_an_agent_in_a_package_is_loaded_from_the_working_folder() -> None:
    write("team/__init__.py", "")
    write("team/people.py", GOOD)
    assert load_agent("team.people:helper").name == "helper"


def test_an_attribute_of_a_class_can_be_named() -> None:
    write("agent.py", GOOD)
    assert load_agent("agent.py:Team.lead").name == "greeter"


def test_a_file_finds_its_neighbours_wherever_it_is_started_from(tmp_path: Path) -> None:
    write("deep/words_of_agent.py", "GREETING = 'hello'")
    write("deep/agent.py", f"from words_of_agent import GREETING\n{GOOD}")
    assert load_agent(f"{tmp_path}/deep/agent.py:agent").name == "greeter"


def test_a_file_named_as_a_loaded_module_does_not_replace_it() -> None:
    import json

    write("json.py", GOOD)
    assert load_agent("json.py:agent").name == "greeter"
    assert sys.modules["json"] is json


def test_a_changed_file_is_loaded_again() -> None:
    write("agent.py", GOOD)
    load_agent("agent.py:agent")
    write("agent.py", GOOD.replace("greeter", "greeter-2-longer"))
    assert load_agent("agent.py:agent").name == "greeter-2-longer"


def test_a_missing_file_is_named() -> None:
    assert refusal("nowhere.py:agent") == "nowhere.py: there is no such file"


def test_a_folder_is_no_agent_file() -> None:
    Path("things.py").mkdir()
    assert "is a folder" in refusal("things.py:agent")


def test_a_missing_module_is_named() -> None:
    assert "'nowhere_at_all'" in refusal("nowhere_at_all.sub:agent")


def test_a_missing_name_lists_the_agents() -> None:
    write("agent.py", GOOD)
    assert refusal("agent.py:agnet") == "agent.py has no 'agnet'; agents in it: helper, agent"


def test_a_missing_name_in_a_file_without_agents_says_so() -> None:
    write("agent.py", "x = 1")
    assert "there is no agent in it" in refusal("agent.py:agent")


def test_the_bundled_agent_is_loaded_and_listed() -> None:
    assert load_agent("loopkit.demo:agent").name == "mechanic"
    assert refusal("loopkit.demo:agnet") == "loopkit.demo has no 'agnet'; agent in it: agent"


def test_no_name_at_all_says_how_to_write_it() -> None:
    write("agent.py", GOOD)
    assert refusal("agent.py") == "agent.py: say which agent, as agent.py:NAME; agents in it: helper, agent"


def test_something_else_than_an_agent_is_refused_with_its_type() -> None:
    write("agent.py", GOOD)
    assert refusal("agent.py:number") == "agent.py:number is not an Agent but of type int; agents in it: helper, agent"


def test_an_exception_while_importing_names_the_users_own_line() -> None:
    write("agent.py", "import json\n\n\ndef load():\n    return json.loads('{')\n\n\nsettings = load()\n")
    assert refusal("agent.py:agent").startswith("agent.py, line 5: JSONDecodeError: Expecting property name")


def test_an_exception_in_a_neighbour_names_that_file() -> None:
    write("broken_neighbour.py", "\n1 / 0\n")
    write("agent.py", "import broken_neighbour\n")
    assert refusal("agent.py:agent") == "broken_neighbour.py, line 2: ZeroDivisionError: division by zero"


def test_a_missing_import_of_the_agent_is_not_a_missing_agent() -> None:
    write("agent.py", "\nimport not_installed_here\n")
    assert "agent.py, line 2: ModuleNotFoundError" in refusal("agent.py:agent")
    write("team_of_one.py", "\nimport not_installed_here\n")
    assert "team_of_one.py, line 2: ModuleNotFoundError" in refusal("team_of_one:agent")


def test_an_agent_that_is_built_wrong_says_so_without_a_class_name() -> None:
    write("agent.py", "from loopkit import Agent, OpenAIChat\nagent = Agent(OpenAIChat('', api_key='k'))\n")
    assert refusal("agent.py:agent").startswith("agent.py, line 2: the model has no name; write")


def test_a_syntax_error_names_its_line() -> None:
    write("agent.py", "x = 1\ny = = 2\n")
    assert refusal("agent.py:agent") == "agent.py, line 2: syntax error: invalid syntax"


def test_a_file_that_exits_while_it_is_imported_ends_nothing() -> None:
    write("agent.py", "import sys\nsys.exit(3)\n")
    assert refusal("agent.py:agent") == "agent.py, line 2: SystemExit: 3"


def test_a_hostile_message_is_shown_not_obeyed() -> None:
    """spec/faults.md e6."""
    write("agent.py", "raise ValueError('\\x1b[2J\\nboo')\n")
    message = refusal("agent.py:agent")
    assert "\x1b" not in message
    assert "␛[2J" in message


@pytest.mark.parametrize("spec", ["", ":", "agent", "a b:c", "agent.txt"])
def test_words_that_name_nothing_are_refused(spec: str) -> None:
    assert refusal(spec)


def test_nothing_at_all_is_told_so() -> None:
    assert refusal("") == "no agent is named; write path.py:name or package.module:name"
    with pytest.raises(UserError, match=r"^nothing is named: name a recording, a folder, or an agent"):
        find_target("")


def test_targets_are_told_apart() -> None:
    write("run.jsonl", "{}")
    write("agent.py", GOOD)
    assert find_target(".").kind == "folder"
    assert find_target("run.jsonl").kind == "recording"
    assert find_target("agent.py:agent").kind == "agent"
    assert find_target("agent.py").kind == "agent"
    assert find_target("package.module:name").kind == "agent"


def test_a_target_that_is_nothing_is_refused_with_advice() -> None:
    with pytest.raises(UserError, match=r"gone\.jsonl: there is no such file or folder; an agent is named as"):
        find_target("gone.jsonl")


def test_recordings_go_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPKIT_RECORDINGS", str(tmp_path / "mine"))
    assert recordings_folder() == tmp_path / "mine"


def test_recordings_go_beside_the_work_when_there_is_a_folder_for_them() -> None:
    Path("recordings").mkdir()
    assert recordings_folder() == Path("recordings")


def test_recordings_go_to_the_users_data_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert recordings_folder() == tmp_path / "data" / "loopkit" / "recordings"
    monkeypatch.setenv("XDG_DATA_HOME", "not/absolute")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert recordings_folder() == tmp_path / ".local" / "share" / "loopkit" / "recordings"


def test_a_new_recording_never_takes_an_existing_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopkit.debugger.targets.time.strftime", lambda _: "2026-01-02-030405")
    Path("recordings").mkdir()
    first = new_recording_path("fix ../tests!")
    assert first == Path("recordings/2026-01-02-030405-fix-tests.jsonl")
    first.touch()
    assert new_recording_path("fix ../tests!").name == "2026-01-02-030405-fix-tests-2.jsonl"


def test_a_recordings_folder_that_cannot_be_made_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a-file", "")
    monkeypatch.setenv("LOOPKIT_RECORDINGS", "a-file/inside")
    with pytest.raises(UserError, match="recordings can't be kept here"):
        new_recording_path("agent")
