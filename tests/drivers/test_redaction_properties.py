"""For any run with secrets anywhere in it: the world sees what it would see without redaction, the file shows none."""

from __future__ import annotations

import base64
import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopkit import Agent, Recorder, ScriptedProvider, ToolLoopConfig, redact, tool
from loopkit import events as e
from loopkit.core.loop import fold
from loopkit.drivers.replay import replay
from loopkit.messages import ToolCall
from loopkit.outcomes import Approve, Modify
from loopkit.recording.reader import read_recording
from loopkit.recording.redaction.redactor import Redactor
from loopkit.recording.redaction.settings import Redaction
from tests.drivers.stage import Stage
from tests.recording.redaction.secrets_made_up import letters_and_digits

REGISTERED = 'r3g"' + letters_and_digits(16, "properties") + "/\\ü"
SHAPED = "gh" + "p_" + letters_and_digits(36, "properties")
NAMED = "hunter2-" + letters_and_digits(6, "properties")
SECRETS = (REGISTERED, SHAPED, NAMED)

SPELLINGS = (
    REGISTERED,
    json.dumps(REGISTERED),
    json.dumps(json.dumps({"k": REGISTERED})),
    quote(REGISTERED, safe=""),
    base64.b64encode(REGISTERED.encode()).decode(),
    base64.b64encode(f"bob:{REGISTERED}".encode()).decode(),
    SHAPED,
    f"Authorization: token {SHAPED}",
    f"password={NAMED}",
    json.dumps({"password": NAMED, "n": 1}),
    f"DB_PASSWORD={NAMED}\nHOME=/root\n",
    f"https://bob:{NAMED}@example.com/",
)
OTHER = (
    *(
        "‹password·1›",
        "‹literal·1›",
        "‹",
        "›",
        "·1›",
        "‹password·",
        "password=",
        "token: ",
        '"',
        "\\",
        "'",
        "\n",
        "{",
        "}",
    ),
    *("plain words", "max_tokens=5", "\ud800", "\u202e", "=", ": ", "//", "@", "-----BEGIN ", "eyJ", "sk-"),
)
texts = st.lists(st.sampled_from(SPELLINGS) | st.sampled_from(OTHER) | st.text(max_size=6), max_size=5).map(" ".join)


@dataclass(frozen=True)
class Plan:
    """What a run says and does.

    Args:
        turns: per turn the model's words, the called tool, its argument, the name of that argument.
        edits: which calls `on_tool_call` changes to another text.
    """

    system: str
    turns: tuple[tuple[str, str, str], ...]
    last: str
    setting: str
    chunk: int
    edit: str | None


plans = st.builds(
    Plan,
    system=texts,
    turns=st.lists(st.tuples(texts, st.sampled_from(["echo", "boom", "login", "keys"]), texts), max_size=3).map(tuple),
    last=texts,
    setting=texts,
    chunk=st.integers(1, 30),
    edit=st.none() | texts,
)


@dataclass
class World:
    """What tools, callbacks and the model were given."""

    seen: list[Any] = field(default_factory=list)


async def play(plan: Plan, recorder: Recorder | None, stage: Stage) -> World:
    world = World()

    @tool
    async def echo(text: str) -> str:
        """Say it again."""
        world.seen.append(text)
        return f"it says {text}"

    @tool
    async def boom(text: str) -> str:
        """Fail."""
        world.seen.append(text)
        raise ValueError(text)

    @tool
    async def login(password: str) -> str:
        """Log in."""
        world.seen.append(password)
        return "welcome"

    @tool
    async def keys(table: dict[str, int]) -> str:
        """Count."""
        world.seen.append(table)
        return json.dumps(table)

    def called(place: int, words: str, name: str, text: str) -> list[Any]:
        arguments: dict[str, Any] = {"text": text}
        if name == "login":
            arguments = {"password": text}
        elif name == "keys":
            arguments = {"table": {text: 1}}
        return [words, ToolCall(f"c{place}", name, arguments)]

    def on_tool_call(call: ToolCall, context: Any) -> Any:
        world.seen.append((dict(call.arguments), [message.text for message in context.messages]))
        return Modify({"text": plan.edit}) if plan.edit is not None and call.name == "echo" else Approve()

    script = [called(place, *turn) for place, turn in enumerate(plan.turns)]
    provider = ScriptedProvider([*script, [plan.last or "done"]], chunk=plan.chunk)
    agent = Agent(
        provider,
        tools=[echo, boom, login, keys],
        system=plan.system or None,
        config=ToolLoopConfig(on_tool_call=on_tool_call),
        extra={"note": plan.setting, "password": plan.setting},
    )
    result = await stage.run(agent, recorder)
    for request in provider.requests:
        world.seen.append((list(request.messages), dict(request.settings)))
    world.seen.append((list(result.messages), result.response))
    return world


def shows(data: bytes, secret: str) -> bool:
    spelled = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    return any(text.encode() in data for text in spelled)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@given(plan=plans)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_run_shows_the_world_everything_and_its_recording_nothing(backend: str, plan: Plan) -> None:
    """DESIGN §3: live state is the fold of the file; a replay says the same; originals go out."""
    redact(REGISTERED)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        stage = Stage()
        hiding = anyio.run(play, plan, Recorder(path, redaction=Redaction(environment=False)), stage, backend=backend)
        bare = anyio.run(play, plan, None, Stage(), backend=backend)
        assert hiding == bare
        data = path.read_bytes()
        assert not shows(data, REGISTERED)
        assert not shows(data, SHAPED)
        events = read_recording(path).events
        assert list(events) == stage.events
        assert fold(events)[e.ROOT] == stage.root.core.state
        report = replay(path)
        assert report.same, report.text()


@given(texts)
@settings(max_examples=300, deadline=None)
def test_what_is_hidden_comes_back_exactly(text: str) -> None:
    redact(REGISTERED)
    redactor = Redactor(Redaction(environment=False))
    for value in (
        text,
        {"text": text},
        {text: [text, {"password": text}]},
        {"headers": [{"name": "Cookie", "value": text}]},
    ):
        hidden = redactor.value(value)
        assert redactor.restored(hidden) == value
        written = json.dumps(hidden, ensure_ascii=False).encode("utf-8", "surrogatepass")
        assert not shows(written, REGISTERED)
        assert not shows(written, SHAPED)
