"""One report of the divergence doctor for each kind of change, as `docs/replay.md` shows them; run it to write them anew."""

from __future__ import annotations

import dataclasses
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio

from loopkit import Agent, Recorder, ScriptedProvider, ToolCall, ToolLoopConfig, Usage, replay, tool
from loopkit import events as e
from loopkit.debugger.display import visible
from loopkit.outcomes import Approve, Continue, Deny, Modify, Stop
from loopkit.recording.reader import Recording, read_recording

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "replay.md"
BLOCK = re.compile(r"<!-- report: ([^\n]+?) -->\n```text\n.*?```\n", re.DOTALL)


@tool(side_effect="read")
async def search(query: str) -> str:
    """Search the orders."""
    return f"2 orders of {query}"


@tool
async def refund(order: int, reason: str = "") -> str:
    """Refund an order."""
    return f"order {order} refunded"


@tool(side_effect="read")
async def ask_clerk(question: str) -> str:
    """Ask the clerk."""
    return (await clerk("You know the shop's rules.").run(question)).text


def clerk(system: str) -> Agent:
    return Agent(ScriptedProvider(["Refunds are fine within 30 days."]), system=system, name="clerk")


def call(tool_name: str, **arguments: Any) -> ToolCall:
    return ToolCall(f"call-{tool_name}", tool_name, arguments)


SCRIPT: list[Any] = [
    [call("search", query="Ada"), call("ask_clerk", question="May I refund?")],
    call("refund", order=7, reason="broken"),
    "Order 7 is refunded.",
]


def shop(
    *script: Any, tools: Any = (search, refund, ask_clerk), system: str = "You help customers.", **options: Any
) -> Agent:
    """The agent whose run is recorded, or one that changed since."""
    config = {name: options.pop(name) for name in list(options) if name in ToolLoopConfig.__dataclass_fields__}
    config.setdefault("on_tool_call", lambda _: Approve())
    config.setdefault("stop_when", lambda _: Continue())
    model = ScriptedProvider(list(script) or SCRIPT, usage=Usage(30, 8), model=options.pop("model", "model-1"))
    return Agent(model, tools=list(tools), system=system, name="shop", config=ToolLoopConfig(**config), **options)


@tool(name="search", side_effect="read")
async def search_described(query: str) -> str:
    """Search the orders of a customer."""
    return ""


@tool(name="refund")
async def refund_with_amount(order: int, amount: float, reason: str = "") -> str:
    """Refund an order."""
    return ""


@tool(name="search", side_effect="read")
async def search_anew(query: str) -> str:
    """Search the orders."""
    return f"3 orders of {query}"


@tool(name="ask_clerk", side_effect="read")
async def ask_another_clerk(question: str) -> str:
    """Ask the clerk."""
    return (await clerk("You know the shop's rules, and you are strict.").run(question)).text


@tool(name="ask_clerk", side_effect="read")
async def ask_nobody(question: str) -> str:
    """Ask the clerk."""
    return "Refunds are fine within 30 days."


def _raises(_: object) -> Any:
    raise LookupError("no rule for this tool")


def _at(recording: Recording, kind: type[e.Fact], number: int = 0) -> int:
    return [place for place, event in enumerate(recording.events) if isinstance(event.fact, kind)][number]


def _edited(recording: Recording, change: Callable[[list[e.Event]], object]) -> Recording:
    events = list(recording.events)
    change(events)
    numbered = tuple(dataclasses.replace(event, seq=seq) for seq, event in enumerate(events, 1))
    return dataclasses.replace(recording, events=numbered)


def reports() -> Mapping[str, str]:
    """Record the run, change one thing, replay; by what was changed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        anyio.run(_record, path)
        found = dict(_of_agents(path)) | dict(_of_recordings(read_recording(path)))
        return {name: visible(text).replace(str(path), "run.jsonl") for name, text in found.items()}


async def _record(path: Path) -> None:
    await shop().run("Please refund my broken order.", recorder=Recorder(path))


def _of_agents(path: Path) -> Mapping[str, str]:
    changed: dict[str, Agent] = {
        "system prompt": shop(system="You help customers, quickly."),
        "tool description": shop(tools=(search_described, refund, ask_clerk)),
        "tool schema": shop(tools=(search, refund_with_amount, ask_clerk)),
        "missing tool": shop(tools=(search, ask_clerk)),
        "configuration": shop(max_iterations=2),
        "model and settings": shop(model="model-2", temperature=0.2),
        "decision": shop(on_tool_call=lambda each: Deny("ask me") if each.name == "refund" else Approve()),
        "callback": shop(on_tool_call=_raises),
        "stop condition": shop(stop_when=lambda context: Stop("enough") if context.iteration == 2 else Continue()),
    }
    texts = {name: replay(path, agent).text() for name, agent in changed.items()}
    texts["several at once"] = replay(
        path, shop(system="You help customers, quickly.", on_tool_call=_edit, max_depth=2)
    ).text()
    live = {
        "result": shop(tools=(search_anew, refund, ask_clerk)),
        "sub-agent": shop(tools=(search, refund, ask_another_clerk)),
        "missing sub-agent": shop(tools=(search, refund, ask_nobody)),
    }
    texts |= {name: replay(path, agent, tools="live").text() for name, agent in live.items()}
    asked = {
        "arguments": shop(SCRIPT[0], call("refund", order=8, reason="broken"), "Done."),
        "missing call": shop(SCRIPT[0], "Please send it back first."),
        "extra call": shop(SCRIPT[0], [*[SCRIPT[1]], call("search", query="Bob")], "Done."),
        "order": shop(SCRIPT[0][::-1], *SCRIPT[1:]),
    }
    return texts | {name: replay(path, agent, model="live").text() for name, agent in asked.items()}


def _edit(asked: ToolCall) -> Any:
    return Modify({**asked.arguments, "reason": "broken on arrival"}) if asked.name == "refund" else Approve()


def _of_recordings(recording: Recording) -> Mapping[str, str]:
    result = _at(recording, e.ToolReturned)
    reply = _at(recording, e.ModelReplied, 2)

    def say_otherwise(events: list[e.Event]) -> None:
        fact = events[result].fact
        assert isinstance(fact, e.ToolReturned)
        events[result] = dataclasses.replace(events[result], fact=dataclasses.replace(fact, content="5 orders"))

    edits: dict[str, Callable[[list[e.Event]], object]] = {
        "history": say_otherwise,
        "missing event": lambda events: events.pop(reply),
        "left-over event": lambda events: events.insert(result, events[result]),
        "event out of order": lambda events: events.insert(result - 3, events.pop(result)),
    }
    return {name: replay(_edited(recording, change)).text() for name, change in edits.items()}


def with_reports(text: str) -> str:
    """Return the document with its reports written anew."""
    found = reports()
    return BLOCK.sub(lambda match: f"<!-- report: {match[1]} -->\n```text\n{found[match[1]]}\n```\n", text)


if __name__ == "__main__":
    DOCUMENT.write_text(with_reports(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
