"""What goes on from a recording without its secrets: values are given again, or the call gets an error (DESIGN §3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loopkit import Agent, Recorder, ScriptedProvider, redact, tool
from loopkit import events as e
from loopkit.drivers.fork import fork
from loopkit.drivers.replay import replay
from loopkit.errors import UserError
from loopkit.outcomes import Approve, Modify
from loopkit.recording.reader import read_recording
from tests.drivers.log_rules import check_log
from tests.drivers.stage import ask
from tests.recording.redaction.secrets_made_up import letters_and_digits

pytestmark = pytest.mark.anyio

KEY = letters_and_digits(32, "key of the forks")
got: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_yet() -> None:
    got.clear()


@tool
async def login(user: str, password: str) -> str:
    """Log in."""
    got.append(password)
    return f"welcome {user}"


@tool
async def note(text: str) -> str:
    """Write something down."""
    got.append(text)
    return "noted"


def logging_in(*later: Any, system: str | None = None) -> Agent:
    provider = ScriptedProvider([*later])
    return Agent(provider, tools=[login, note], system=system)


async def parent_of(path: Path, **options: Any) -> Path:
    script = ask("login", user="bob", password="hunter2"), ask("note", text="n"), "done"
    await logging_in(*script).run("go", recorder=Recorder(path, **options))
    got.clear()
    return path


async def test_a_call_that_holds_a_placeholder_never_runs(tmp_path: Path) -> None:
    parent = await parent_of(tmp_path / "a.jsonl")
    again = logging_in("sorry")
    await fork(parent, at="root/1.1", edit=Approve(), agent=again, recorder=Recorder(tmp_path / "b.jsonl"))
    assert got == []
    events = read_recording(tmp_path / "b.jsonl").events
    (failed,) = [event.fact for event in events if isinstance(event.fact, e.ToolFailed)]
    assert failed.failure.type_name == "SecretMissing"
    assert "‹password·1›" in failed.content
    check_log(list(events))
    assert replay(tmp_path / "b.jsonl").same


@pytest.mark.parametrize("name", ["‹password·1›", "password·1", "password-1"])
async def test_it_runs_when_its_value_is_given_again(tmp_path: Path, name: str) -> None:
    parent = await parent_of(tmp_path / "a.jsonl")
    provider = ScriptedProvider([ask("note", text="hunter2"), "done"])
    await fork(
        parent,
        at="root/1.1",
        edit=Approve(),
        agent=Agent(provider, tools=[login, note]),
        recorder=Recorder(tmp_path / "b.jsonl"),
        secrets={name: "hunter2"},
    )
    assert got == ["hunter2", "hunter2"]
    assert provider.requests[0].messages[1].tool_calls[0].arguments["password"] == "hunter2"
    text = (tmp_path / "b.jsonl").read_text()
    assert "hunter2" not in text
    assert '{"text":"‹password·1›"}' in text
    assert replay(tmp_path / "b.jsonl").same


async def test_a_secret_that_is_not_there_is_refused(tmp_path: Path) -> None:
    parent = await parent_of(tmp_path / "a.jsonl")
    with pytest.raises(UserError, match=r"'token-1'.*it holds: password-1"):
        await fork(
            parent,
            at="root/1.1",
            agent=logging_in("x"),
            recorder=Recorder(tmp_path / "b.jsonl"),
            secrets={"token-1": "x"},
        )


async def test_new_secrets_are_numbered_after_those_of_the_prefix(tmp_path: Path) -> None:
    """The numbers are a fold of the log."""
    parent = await parent_of(tmp_path / "a.jsonl")
    again = logging_in(ask("login", user="eve", password="0ther-pass"), "done")
    await fork(parent, at="root/1.1", edit=Approve(), agent=again, recorder=Recorder(tmp_path / "b.jsonl"))
    assert got == ["0ther-pass"]
    assert '{"user":"eve","password":"‹password·2›"}' in (tmp_path / "b.jsonl").read_text()


async def test_an_edit_keeps_or_replaces_a_placeholder(tmp_path: Path) -> None:
    parent = await parent_of(tmp_path / "a.jsonl")
    for number, (edit, ran) in enumerate(
        [
            (Modify({"user": "eve", "password": "‹password·1›"}), "hunter2"),
            (Modify({"user": "eve", "password": "n3w-pass"}), "n3w-pass"),
        ]
    ):
        path = tmp_path / f"b{number}.jsonl"
        await fork(
            parent,
            at="root/1.1",
            edit=edit,
            agent=logging_in("done"),
            recorder=Recorder(path),
            secrets={"password-1": "hunter2"},
        )
        assert got[-1] == ran
        assert "n3w-pass" not in path.read_text()


async def test_a_model_that_copies_a_placeholder_does_not_run_it(tmp_path: Path) -> None:
    """The model was shown the placeholder, since nobody knows the value: its call with it gets the error too."""
    parent = await parent_of(tmp_path / "a.jsonl")
    again = logging_in(ask("login", user="bob", password="‹password·1›"), "done")
    await fork(parent, at="root/1.1", edit=Approve(), agent=again, recorder=Recorder(tmp_path / "b.jsonl"))
    assert got == []


async def test_secrets_of_the_agents_own_prompt_are_known_from_it(tmp_path: Path) -> None:
    redact(KEY)
    script = ask("note", text=KEY), "done"
    await logging_in(*script, system=f"Use {KEY}.").run("go", recorder=Recorder(tmp_path / "a.jsonl"))
    got.clear()
    again = logging_in("done", system=f"Use {KEY[::-1]}.")
    await fork(
        tmp_path / "a.jsonl", at="root/1.1", edit=Approve(), agent=again, recorder=Recorder(tmp_path / "b.jsonl")
    )
    assert got == [KEY[::-1]]


async def test_a_fork_of_a_recording_with_secrets_holds_none(tmp_path: Path) -> None:
    """spec/faults.md d1: a second save path writes what the first would have hidden."""
    parent = await parent_of(tmp_path / "a.jsonl", redaction=None)
    assert "hunter2" in parent.read_text()
    await fork(parent, at="root/1.1", edit=Approve(), agent=logging_in("done"), recorder=Recorder(tmp_path / "b.jsonl"))
    assert got == ["hunter2"]
    assert "hunter2" not in (tmp_path / "b.jsonl").read_text()
    report = replay(tmp_path / "b.jsonl")
    assert report.same, report.text()
    await fork(
        parent,
        at="root/1.1",
        edit=Approve(),
        agent=logging_in("done"),
        recorder=Recorder(tmp_path / "c.jsonl", redaction=None),
    )
    assert "hunter2" in (tmp_path / "c.jsonl").read_text()


async def test_a_fork_of_a_redacted_recording_is_redacted_too(tmp_path: Path) -> None:
    """A placeholder must not run as an argument because the fork was to hide nothing."""
    parent = await parent_of(tmp_path / "a.jsonl")
    recorder = Recorder(tmp_path / "b.jsonl", redaction=None)
    await fork(parent, at="root/1.1", edit=Approve(), agent=logging_in("done"), recorder=recorder)
    assert got == []
    assert read_recording(tmp_path / "b.jsonl").header.redaction
