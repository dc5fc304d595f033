"""What a caller may set of a loop, and what its callbacks are told (spec/loop.md 2, 4.1, 5)."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, TypeAlias

from loopkit.core.context_tools import (
    CACHER,
    EXTRACTOR,
    PROCESSOR,
    ResultCacher,
    ResultExtractor,
    ResultMasking,
    ResultProcessor,
    estimated_tokens,
)
from loopkit.core.detection.settings import (
    IDENTICAL_BATCHES,
    LoopAction,
    LoopDetectionConfig,
    ToolDetection,
    ToolSettings,
)
from loopkit.messages import ChatResponse, JSONObject, Message, Problem, ToolCall, ToolResult, Usage
from loopkit.outcomes import StopDecision, ToolApproval


@dataclass(frozen=True, slots=True)
class StopContext:
    """What `stop_when` is told of a response (spec/loop.md 5).

    Args:
        iteration: 1-based.
        response: the answer that just came.
        total_usage: tokens of the loop so far, this response included.
        tool_calls_executed: handlers run in earlier iterations.
        last_tool_results: results of the iteration before; empty at first.
    """

    iteration: int
    response: ChatResponse
    total_usage: Usage
    tool_calls_executed: int
    last_tool_results: tuple[ToolResult, ...]


@dataclass(frozen=True, slots=True)
class ApprovalContext:
    """What `on_tool_call` may know beside the call (spec/loop.md 4.1).

    Args:
        iteration: 1-based.
        loop: path of the asking loop in the depth tree.
        call: the call's own id.
        schema: JSON Schema of the tool's arguments, or None when the tool is unknown.
        problems: what the schema check said of the arguments.
        messages: the history so far, read-only.
    """

    iteration: int
    loop: str
    call: str
    schema: JSONObject | None
    problems: tuple[Problem, ...]
    messages: Sequence[Message]


OnToolCall: TypeAlias = (
    Callable[[ToolCall], ToolApproval | Awaitable[ToolApproval]]
    | Callable[[ToolCall, ApprovalContext], ToolApproval | Awaitable[ToolApproval]]
)
StopWhen: TypeAlias = Callable[[StopContext], StopDecision | Awaitable[StopDecision]]

_LIMITS = ("max_iterations", "max_depth", "maximum_consecutive_errors", "max_runs", "max_concurrent_runs", "timeout")
_CALLBACKS = ("on_tool_call", "stop_when", "result_processor", "result_extractor", "result_cacher")


@dataclass(frozen=True, kw_only=True, repr=False)
class ToolLoopConfig:
    """Settings of one loop (spec/loop.md 2).

    Args:
        max_iterations: model calls allowed.
        parallel_tool_execution: run the approved calls of one response concurrently.
        on_tool_call: approves, denies or modifies each call; sync or async.
        stop_when: checked after each response, before any tool runs; sync or async.
        loop_detection: None is off.
        timeout: seconds (or a `timedelta`) of loop time, in which nobody waits for a person; None is no limit.
        max_depth: nesting limit, None is no limit.
        maximum_consecutive_errors: iterations in a row that may fail before the error is raised; None is no limit.
        terminate_on_unknown_calls: end the loop when the model asks for a tool that isn't there.
        max_runs: child loops that the whole tree may start.
        max_concurrent_runs: child loops of the tree that may be open at once.
        result_processor: rewrites what the model gets of a tool's result; None from it leaves the result as it is.
            Sync or async, as all that follow.
        result_extractor: the same after it, told what was asked for.
        result_cacher: keeps what is still large elsewhere.
        masking: leaves old large results out of requests.

    Raises:
        ValueError: a limit is negative, or below what makes sense; the message names the field.
    """

    max_iterations: int = 10
    parallel_tool_execution: bool = True
    on_tool_call: OnToolCall | None = None
    stop_when: StopWhen | None = None
    loop_detection: LoopDetectionConfig | None = None
    timeout: float | timedelta | None = None
    max_depth: int | None = 3
    maximum_consecutive_errors: int | None = None
    terminate_on_unknown_calls: bool = False
    max_runs: int = 100
    max_concurrent_runs: int = 16
    result_processor: ResultProcessor | None = None
    result_extractor: ResultExtractor | None = None
    result_cacher: ResultCacher | None = None
    masking: ResultMasking | None = None

    def __post_init__(self) -> None:
        if isinstance(self.timeout, timedelta):
            object.__setattr__(self, "timeout", self.timeout.total_seconds())
        if self.timeout == math.inf:
            object.__setattr__(self, "timeout", None)
        for name in _LIMITS:
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ValueError(f"{name} must not be negative, it is {value}")

    def __repr__(self) -> str:
        """Show what differs from the defaults, callbacks as present."""
        words = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                words.append(f"{field.name}={'present' if field.name in _CALLBACKS else repr(value)}")
        return f"ToolLoopConfig({', '.join(words)})"

    @property
    def timeout_seconds(self) -> float | None:
        return self.timeout if self.timeout is None or isinstance(self.timeout, (int, float)) else None

    def description(self) -> dict[str, Any]:
        """Return the settings as plain JSON, as `LoopStarted` keeps them; a callback is whether it is there."""
        detection = self.loop_detection
        return {
            "max_iterations": self.max_iterations,
            "parallel_tool_execution": self.parallel_tool_execution,
            "on_tool_call": self.on_tool_call is not None,
            "stop_when": self.stop_when is not None,
            "loop_detection": detection and detection.description(),
            "timeout": self.timeout_seconds,
            "max_depth": self.max_depth,
            "maximum_consecutive_errors": self.maximum_consecutive_errors,
            "terminate_on_unknown_calls": self.terminate_on_unknown_calls,
            "max_runs": self.max_runs,
            "max_concurrent_runs": self.max_concurrent_runs,
            **self._context_tools(),
        }

    def _context_tools(self) -> dict[str, Any]:
        """Name what is set only, so that the starts of older recordings compare equal."""
        cacher = self.result_cacher
        tools = {
            "result_processor": self.result_processor is not None,
            "result_extractor": self.result_extractor is not None,
            "result_cacher": cacher and {"minimum_tokens": cacher.minimum_tokens},
            "masking": self.masking and self.masking.description(),
        }
        return {name: value for name, value in tools.items() if value}


@dataclass(frozen=True, slots=True)
class LoopRules:
    """The part of a configuration that the machine itself decides by, read back from `LoopStarted`."""

    max_iterations: int
    parallel_tool_execution: bool
    has_stop_condition: bool
    threshold: int | None
    action: LoopAction
    timeout: float | None
    maximum_consecutive_errors: int | None
    terminate_on_unknown_calls: bool
    detectors: tuple[str, ...] = (IDENTICAL_BATCHES,)
    stages: tuple[LoopAction, ...] = ()
    tool_detection: ToolSettings = ()
    processors: tuple[str, ...] = ()
    cached_from: int = 0
    masking: ResultMasking | None = None

    @property
    def detection(self) -> LoopDetectionConfig | None:
        """What loop detection is set to, or None when it is off."""
        if self.threshold is None:
            return None
        return LoopDetectionConfig(self.threshold, self.action, self.detectors, self.stages, self.tool_detection)

    @classmethod
    def read(cls, description: JSONObject) -> LoopRules:
        """Read what `ToolLoopConfig.description` wrote; what is absent has its default."""
        words = description.get("loop_detection")
        detection = LoopDetectionConfig.read(words) if words else None
        timeout = description.get("timeout")
        return cls(
            max_iterations=int(description.get("max_iterations", 10)),
            parallel_tool_execution=bool(description.get("parallel_tool_execution", True)),
            has_stop_condition=bool(description.get("stop_when", False)),
            threshold=detection.threshold if detection else None,
            action=detection.action if detection else LoopAction.WARN,
            timeout=None if timeout is None else float(timeout),
            maximum_consecutive_errors=description.get("maximum_consecutive_errors"),
            terminate_on_unknown_calls=bool(description.get("terminate_on_unknown_calls", False)),
            detectors=detection.detectors if detection else (IDENTICAL_BATCHES,),
            stages=detection.stages if detection else (),
            tool_detection=detection.tools if detection else (),
            processors=tuple(name for name in (PROCESSOR, EXTRACTOR, CACHER) if description.get(f"result_{name}")),
            cached_from=int((description.get("result_cacher") or {}).get("minimum_tokens", 0)),
            masking=ResultMasking.read(description["masking"]) if description.get("masking") else None,
        )


def next_processor(rules: LoopRules, content: str, after: str | None = None) -> str | None:
    """Return which callback rewrites a result next: processor, extractor, then cacher if it is still large."""
    rest = rules.processors[0 if after is None else rules.processors.index(after) + 1 :]
    for name in rest:
        if name != CACHER or estimated_tokens(content) >= rules.cached_from:
            return name
    return None


__all__ = [
    "ApprovalContext",
    "LoopAction",
    "LoopDetectionConfig",
    "LoopRules",
    "OnToolCall",
    "StopContext",
    "StopWhen",
    "ToolDetection",
    "ToolLoopConfig",
    "next_processor",
]
