"""Small scripted stories that run through `tool_loop`, the stream and the handle alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from loopkit import (
    Image,
    LoopAction,
    LoopDetectionConfig,
    ModelBinding,
    ProviderError,
    RetryPolicy,
    ScriptedProvider,
    Stop,
    ToolCall,
    ToolLoopConfig,
    ToolOutput,
    ToolRetry,
    report_progress,
    tool,
    tool_loop,
)
from loopkit.core.context_tools import ResultCacher, ResultMasking
from loopkit.core.detection import DETECTORS
from loopkit.outcomes import Continue, Deny, Modify
from loopkit.providers.scripted import BreaksOff
from loopkit.tools.registry import ToolRegistry


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def shout(text: str) -> str:
    """Say it louder, in a worker thread."""
    return text.upper()


@tool
async def fail(reason: str) -> str:
    """Raise."""
    raise ValueError(reason)


@tool(side_effect="read", retry=ToolRetry(attempts=3, base_delay=0.0))
async def brittle() -> str:
    """Never succeed."""
    raise OSError("broken")


@tool
def snap() -> ToolOutput:
    """Take a picture."""
    report_progress("focusing", 1, 2)
    return ToolOutput(text="a dot", json={"pixels": 1}, images=[Image.from_bytes(b"dot")])


@tool
async def ask_helper(question: str) -> str:
    """Ask a sub-agent."""
    helper = ScriptedProvider([ToolCall("h1", "add", {"a": 5, "b": 6}), f"{question}: eleven"])
    result = await tool_loop(helper, ToolRegistry([add]), question)
    return result.text


REGISTRY = ToolRegistry([add, shout, fail, brittle, snap, ask_helper])


@dataclass(frozen=True)
class Story:
    """A script and a configuration."""

    script: tuple[object, ...]
    config: ToolLoopConfig = field(default_factory=ToolLoopConfig)
    fallback: tuple[object, ...] = ()

    def provider(self) -> ModelBinding:
        fallbacks = (_at_once(self.fallback),) if self.fallback else ()
        return replace(_at_once(self.script), fallbacks=fallbacks)


def _at_once(script: tuple[object, ...]) -> ModelBinding:
    provider = ScriptedProvider(script, chunk=3)  # type: ignore[arg-type]  # a tuple of answers of every kind
    return ModelBinding(provider, retry=RetryPolicy(base_delay=0.0))


def _deny_shouting(call: ToolCall) -> Deny | Modify:
    return Deny("be quiet") if call.name == "shout" else Modify({"a": 40, "b": 2})


_BUSY = ProviderError("busy", status=503, retryable=True)
_ADD = ToolCall("c1", "add", {"a": 1, "b": 2})
STORIES: dict[str, Callable[[], Story]] = {
    "a final answer": lambda: Story(("hello",)),
    "parallel calls and a failure": lambda: Story(
        ([_ADD, ToolCall("c2", "shout", {"text": "hi"}), ToolCall("c3", "fail", {"reason": "no"})], "done")
    ),
    "unknown tool and invalid arguments": lambda: Story(
        ([ToolCall("c1", "nope"), ToolCall("c2", "add", {"a": "x"})], "done")
    ),
    "a sub-agent": lambda: Story((ToolCall("c1", "ask_helper", {"question": "5+6"}), "done")),
    "denied and edited": lambda: Story(
        ([_ADD, ToolCall("c2", "shout", {"text": "hi"})], "done"), ToolLoopConfig(on_tool_call=_deny_shouting)
    ),
    "a detected loop": lambda: Story(
        (_ADD, _ADD, _ADD), ToolLoopConfig(loop_detection=LoopDetectionConfig(2, LoopAction.STOP))
    ),
    "a warned loop": lambda: Story(
        (_ADD, _ADD, "done"), ToolLoopConfig(loop_detection=LoopDetectionConfig(2, LoopAction.INJECT_WARNING))
    ),
    "a loop that every detector sees": lambda: Story(
        (*[[_ADD, ToolCall("c2", "nope"), ToolCall("c3", "fail", {"reason": "no"})]] * 5, "done"),
        ToolLoopConfig(
            loop_detection=LoopDetectionConfig(
                2, detectors=DETECTORS, stages=(LoopAction.WARN, LoopAction.INJECT_WARNING, LoopAction.STOP)
            )
        ),
    ),
    "too many iterations": lambda: Story((_ADD, _ADD, _ADD), ToolLoopConfig(max_iterations=2)),
    "a stop condition": lambda: Story(
        (_ADD, "done"),
        ToolLoopConfig(stop_when=lambda context: Stop("enough") if context.tool_calls_executed else Continue()),
    ),
    "retries and a fallback": lambda: Story(
        (BreaksOff("half", _BUSY), _ADD, _BUSY, _BUSY, _BUSY), fallback=(_BUSY, "done")
    ),
    "no time at all": lambda: Story(("never",), ToolLoopConfig(timeout=0)),
    "old results left out": lambda: Story(
        (*[[_ADD, ToolCall("c2", "shout", {"text": "hi" * 20})]] * 4, "done"),
        ToolLoopConfig(masking=ResultMasking(keep_iterations=1, minimum_tokens=5)),
    ),
    "results rewritten": lambda: Story(
        ([_ADD, ToolCall("c2", "shout", {"text": "hi" * 20}), ToolCall("c3", "shout", {"text": "no"})], "done"),
        ToolLoopConfig(
            parallel_tool_execution=False,
            result_processor=lambda call, result: {"add": "three"}.get(call.name),
            result_extractor=lambda call, result, context: f"{result.content}, asked: {context.user_message}",
            result_cacher=ResultCacher(lambda call, content: f"kept: {len(content)}", 10),
        ),
    ),
    "attempts and pictures": lambda: Story(
        ([ToolCall("c1", "brittle"), ToolCall("c2", "snap")], "done"), ToolLoopConfig(parallel_tool_execution=False)
    ),
    "one after another": lambda: Story(
        ([_ADD, ToolCall("c2", "shout", {"text": "hi"})], "done"), ToolLoopConfig(parallel_tool_execution=False)
    ),
}
