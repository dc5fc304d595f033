"""Random agents: models and callbacks are functions of what they are asked, so that a fork meets its parent's."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import anyio
from hypothesis import strategies as st

from loopkit import (
    Agent,
    LoopContext,
    ModelBinding,
    RetryPolicy,
    ScriptedProvider,
    ToolCall,
    ToolLoopConfig,
    ToolRegistry,
    tool,
)
from loopkit.core.config import ApprovalContext, LoopAction, LoopDetectionConfig, StopContext, ToolDetection
from loopkit.core.context_tools import ExtractionContext, ResultCacher, ResultMasking
from loopkit.core.detection import DETECTORS
from loopkit.errors import ProviderError
from loopkit.messages import ChatResponse, StopReason, ToolResult, Usage
from loopkit.outcomes import Approve, Continue, Deny, Modify, Respond, Stop, StopDecision, ToolApproval
from loopkit.providers.protocol import ChatRequest
from loopkit.providers.scripted import BreaksOff

Kind = Literal[
    "echo",
    "thread",
    "boom",
    "refuse",
    "wait",
    "late",
    "late_thread",
    "invalid",
    "broken",
    "cut",
    "unknown",
    "child",
    "sync_child",
    "pair",
]
Stumble = Literal["", "busy", "breaks", "refuses", "dies"]
PLAIN: tuple[Kind, ...] = (
    "echo",
    "thread",
    "boom",
    "refuse",
    "wait",
    "late",
    "late_thread",
    "invalid",
    "broken",
    "cut",
    "unknown",
)
SHORT_TIMEOUTS = (0.0005, 0.004)
STUMBLES: tuple[Stumble, ...] = ("", "", "busy", "busy", "breaks", "refuses", "dies")
ANSWERS: tuple[ToolApproval | None, ...] = (
    Approve(),
    Deny("not that"),
    Modify({"n": 40}),
    Modify({"n": "no number"}),
    Respond("seven"),
    None,
)

AT_ONCE = RetryPolicy(base_delay=0.0)


@dataclass(frozen=True)
class CallPlan:
    """One call that a model will ask for."""

    kind: Kind
    n: int = 0
    child: Plan | None = None


@dataclass(frozen=True)
class Plan:
    """A whole agent: what its model says turn by turn, then `last`; its settings; what its callbacks say.

    Args:
        stumbles: how requests of the primary fail, in order and then again; `dies` is no provider's error.
        fallbacks: models that never stumble.
    """

    turns: tuple[tuple[CallPlan, ...], ...]
    last: Literal["text", "error", "cut"] = "text"
    max_iterations: int = 6
    parallel: bool = True
    detection: LoopDetectionConfig | None = None
    timeout: float | None = None
    terminate: bool = False
    error_limit: int | None = None
    stops: tuple[Literal["go", "stop", "raise"], ...] = ()
    approvals: tuple[ToolApproval | Literal["raise"] | None, ...] = ()
    stumbles: tuple[Stumble, ...] = ()
    fallbacks: int = 0
    masking: ResultMasking | None = None
    processing: tuple[Literal["shorten", "keep", "raise"], ...] = ()


# ── random ones ──────────────────────────────────────────────────────────────────────────────────────────────────────


def plans(depth: int = 2) -> st.SearchStrategy[Plan]:
    """Agents whose calls may start agents, `depth` levels down."""
    calls = st.builds(CallPlan, st.sampled_from(PLAIN), st.integers(0, 2))
    if depth:
        kinds: st.SearchStrategy[Kind] = st.sampled_from(["child", "child", "pair", "child", "sync_child"])
        calls |= st.builds(CallPlan, kinds, st.integers(0, 2), plans(depth - 1))
    return st.builds(
        Plan,
        turns=st.lists(st.lists(calls, min_size=1, max_size=4).map(tuple), max_size=3).map(tuple),
        last=st.sampled_from(["text", "text", "text", "error", "cut"]),
        max_iterations=st.integers(0, 4) | st.just(6),
        parallel=st.booleans(),
        detection=st.none() | detections(),
        timeout=st.sampled_from([None, None, None, 0, 1000.0, *SHORT_TIMEOUTS]),
        terminate=st.sampled_from([False, False, False, True]),
        error_limit=st.sampled_from([None, None, None, 0, 1]),
        stops=st.just(()) | st.lists(st.sampled_from(["go", "go", "stop", "raise"]), max_size=4).map(tuple),
        approvals=st.just(())
        | st.lists(st.sampled_from([*ANSWERS, Approve(), None, "raise"]), min_size=1, max_size=4).map(tuple),
        stumbles=st.just(()) | st.lists(st.sampled_from(STUMBLES), min_size=1, max_size=6).map(tuple),
        fallbacks=st.integers(0, 2),
        processing=st.just(())
        | st.lists(st.sampled_from(["shorten", "shorten", "keep", "raise"]), max_size=3).map(tuple),
        masking=st.none() | st.builds(ResultMasking, st.integers(0, 2), st.sampled_from([0, 1, 2])),
    )


def detections() -> st.SearchStrategy[LoopDetectionConfig]:
    """Loop detection with any detectors, and with polling tools."""
    actions = st.sampled_from(LoopAction)
    return st.builds(
        LoopDetectionConfig,
        threshold=st.just(2),
        action=actions,
        detectors=st.just(DETECTORS[:1]) | st.lists(st.sampled_from(DETECTORS), min_size=1, unique=True).map(tuple),
        stages=st.just(()) | st.lists(actions, max_size=3).map(tuple),
        tools=st.sampled_from([{}, {"echo": ToolDetection(polling=True)}, {"boom": ToolDetection(ignore=True)}]),
    )


def hangs_on_pace(plan: Plan) -> bool:
    """Whether a run of a plan depends on how fast the machine is."""
    calls = [call for turn in plan.turns for call in turn]
    below = any(call.child is not None and hangs_on_pace(call.child) for call in calls)
    return below or plan.timeout in SHORT_TIMEOUTS or any(call.kind in ("late", "late_thread") for call in calls)


# ── agents ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def agent_of(plan: Plan) -> Agent:
    """The agent that a plan describes, its sub-agents included."""
    return Agent(binding_of(plan), tools=tools_of(plan), config=config_of(plan))


def binding_of(plan: Plan) -> ModelBinding:
    """The models that a plan describes."""
    models = [
        ScriptedProvider(script, usage=Usage(3, 2), chunk=2, model=f"model {place}")
        for place, script in enumerate([_stumbling(plan), *[_model(plan)] * plan.fallbacks])
    ]
    fallbacks = tuple(ModelBinding(model, retry=AT_ONCE) for model in models[1:])
    return ModelBinding(models[0], fallbacks=fallbacks, retry=AT_ONCE)


def _stumbling(plan: Plan) -> Callable[[ChatRequest], ChatResponse | BreaksOff]:
    answer = _model(plan)
    stumbles = itertools.cycle(plan.stumbles or ("",))

    def stumble(request: ChatRequest) -> ChatResponse | BreaksOff:
        match next(stumbles):
            case "busy":
                raise ProviderError("busy", status=503, retry_after=0.0, retryable=True)
            case "breaks":
                return BreaksOff("half an answer", ProviderError("it broke", retryable=True), after=2)
            case "refuses":
                raise ProviderError("no", status=400)
            case "dies":
                raise ZeroDivisionError("a bug in the provider")
        return answer(request)

    return stumble


def _model(plan: Plan) -> Callable[[ChatRequest], ChatResponse]:
    def answer(request: ChatRequest) -> ChatResponse:
        turn = sum(message.role == "assistant" for message in request.messages)
        if turn < len(plan.turns):
            return ChatResponse("thinking", [_call(call, place) for place, call in enumerate(plan.turns[turn])])
        if plan.last == "error":
            raise ProviderError("the model is out", status=500)
        if plan.last == "cut":
            return ChatResponse("", [ToolCall("c", "echo", {"n": 1})], stop_reason=StopReason.MAX_TOKENS)
        return ChatResponse("done")

    return answer


def _call(plan: CallPlan, place: int) -> ToolCall:
    call_id = f"c{plan.n % 2}"  # ids repeat, within a response too
    match plan.kind:
        case "invalid":
            return ToolCall(call_id, "echo", {"n": "x"})
        case "broken":
            return ToolCall(call_id, "echo", raw_arguments="{", problem="no JSON")
        case "cut":
            return ToolCall(call_id, "echo", {"n": 1}, cut_off=True)
        case "unknown":
            return ToolCall(call_id, "nope", {"n": plan.n})
        case "child" | "sync_child" | "pair":
            return ToolCall(call_id, plan.kind, {"n": place})
    return ToolCall(call_id, plan.kind, {"n": plan.n})


def tools_of(plan: Plan) -> ToolRegistry:
    """The tools that a plan's calls ask for."""
    children = {(place, turn): call.child for turn, calls in enumerate(plan.turns) for place, call in enumerate(calls)}

    def child_of(n: int) -> Plan:
        found = [child for (place, _), child in children.items() if child is not None and place == n]
        return found[0] if found else Plan(())

    @tool
    async def echo(n: int) -> str:
        """Say a number."""
        return str(n)

    @tool
    def thread(n: int) -> str:
        """Say a number, in a thread."""
        return f"thread {n}"

    @tool
    async def boom(n: int) -> str:
        """Raise."""
        await anyio.lowlevel.checkpoint()
        raise ValueError(f"boom {n}")

    @tool
    async def refuse(n: int) -> str:
        """Raise what would end a thread or a coroutine."""
        raise (SystemExit if n else TimeoutError)(n)

    @tool
    async def wait(n: int) -> str:
        """Take a few turns of the event loop."""
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        return f"waited {n}"

    @tool(timeout=0.002)
    async def late(n: int) -> str:
        """Take longer than it may, and cling to it if the number is even."""
        with anyio.CancelScope(shield=n % 2 == 0):
            await anyio.sleep(0.004)
        return f"late {n}"

    @tool(timeout=0.002)
    def late_thread(n: int) -> str:
        """Take longer than it may, in a thread."""
        time.sleep(0.004)
        return f"late {n}"

    @tool
    async def child(n: int, ctx: LoopContext[None] | None = None) -> str:
        """Ask a sub-agent."""
        agent = agent_of(child_of(n))
        return (await agent.run(f"task {n}", ctx=ctx)).text

    @tool(side_effect="read")
    async def pair(n: int) -> str:
        """Ask two sub-agents at once."""
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(agent_of(child_of(n)).run, "task")
        return "both"

    @tool
    def sync_child(n: int) -> str:
        """Ask a sub-agent from a worker thread."""
        return agent_of(child_of(n)).run_sync(f"task {n}").text

    return ToolRegistry([echo, thread, boom, refuse, wait, late, late_thread, child, sync_child, pair])


def config_of(plan: Plan) -> ToolLoopConfig:
    """The settings and callbacks that a plan describes."""

    async def on_tool_call(call: ToolCall, context: ApprovalContext) -> ToolApproval | None:
        await anyio.lowlevel.checkpoint()
        said = plan.approvals[number_of(context.call) % len(plan.approvals)]
        if said == "raise":
            raise KeyError(context.call)
        return said

    def stop_when(context: StopContext) -> StopDecision:
        said = plan.stops[(context.iteration - 1) % len(plan.stops)]
        if said == "raise":
            raise KeyError(context.iteration)
        return Stop("enough") if said == "stop" else Continue()

    def result_processor(call: ToolCall, result: ToolResult) -> str | None:
        return _rewritten(plan, result.content)

    async def result_extractor(call: ToolCall, result: ToolResult, context: ExtractionContext) -> ToolResult | None:
        await anyio.lowlevel.checkpoint()
        content = _rewritten(plan, f"{result.content} for {context.user_message}")
        return None if content is None else ToolResult("any", content)

    callbacks: dict[str, Any] = {}
    if plan.processing:
        callbacks["result_processor"] = result_processor
        callbacks["result_extractor"] = result_extractor
        callbacks["result_cacher"] = ResultCacher(lambda call, content: f"kept {len(content)}", 2)
    if plan.approvals:
        callbacks["on_tool_call"] = on_tool_call
    if plan.stops:
        callbacks["stop_when"] = stop_when
    return ToolLoopConfig(
        max_iterations=plan.max_iterations,
        parallel_tool_execution=plan.parallel,
        loop_detection=plan.detection,
        timeout=plan.timeout,
        terminate_on_unknown_calls=plan.terminate,
        maximum_consecutive_errors=plan.error_limit,
        masking=plan.masking,
        **callbacks,
    )


def _rewritten(plan: Plan, content: str) -> str | None:
    said = plan.processing[len(content) % len(plan.processing)]
    if said == "raise":
        raise KeyError(content)
    return content[:12] if said == "shorten" else None


def number_of(call: str) -> int:
    return sum(int(word) for word in call.replace("#", " ").replace("/", " ").replace(".", " ").split()[1:])
