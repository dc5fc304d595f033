"""Random agents, and somebody who decides, pauses, stops and injects at random moments of their runs.

Models and callbacks are functions of what they are asked, so that a fork meets the same model as its parent.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import anyio
from hypothesis import strategies as st

from loopkit import Agent, LoopContext, ScriptedProvider, ToolCall, ToolLoopConfig, ToolRegistry, tool
from loopkit import events as e
from loopkit.core.config import ApprovalContext, LoopAction, LoopDetectionConfig, StopContext, ToolDetection
from loopkit.core.detection import DETECTORS
from loopkit.core.loop import apply_to
from loopkit.core.state import CallState, LoopState
from loopkit.drivers.loop_driver import LoopDriver
from loopkit.drivers.run import Run, new_header
from loopkit.drivers.tool_loop import run_root
from loopkit.drivers.waking import current_waker
from loopkit.errors import DecisionNotAccepted, ProviderError
from loopkit.messages import ChatResponse, Message, StopReason, Usage
from loopkit.outcomes import Approve, Continue, Deny, Modify, Respond, Stop, StopDecision, ToolApproval
from loopkit.providers.protocol import ChatRequest, Delta
from loopkit.recording.writer import Recorder

Kind = Literal[
    "echo", "thread", "boom", "refuse", "wait", "invalid", "broken", "cut", "unknown", "child", "sync_child", "pair"
]
PLAIN: tuple[Kind, ...] = ("echo", "thread", "boom", "refuse", "wait", "invalid", "broken", "cut", "unknown")
ANSWERS: tuple[ToolApproval | None, ...] = (
    Approve(),
    Deny("not that"),
    Modify({"n": 40}),
    Modify({"n": "no number"}),
    Respond("seven"),
    None,
)


@dataclass(frozen=True)
class CallPlan:
    """One call that a model will ask for."""

    kind: Kind
    n: int = 0
    child: Plan | None = None


@dataclass(frozen=True)
class Plan:
    """A whole agent: what its model says turn by turn, then `last`; its settings; what its callbacks say."""

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


@dataclass(frozen=True)
class Meddling:
    """What somebody does in the course of a run.

    Args:
        decisions: looked up by call, None leaves the call to a person.
        stands: numbers of the gates at which a person stops the loop.
        acts: what happens at which event.
        late: the person decides every call once more.
    """

    decisions: tuple[ToolApproval | None, ...] = (Approve(),)
    stands: frozenset[int] = frozenset()
    acts: tuple[tuple[int, Act], ...] = ()
    late: bool = False


Act: TypeAlias = Literal["stop root", "stop loop", "stop command", "inject", "cancel"]

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
        timeout=st.sampled_from([None, None, None, 0, 1000.0]),
        terminate=st.sampled_from([False, False, False, True]),
        error_limit=st.sampled_from([None, None, None, 0, 1]),
        stops=st.just(()) | st.lists(st.sampled_from(["go", "go", "stop", "raise"]), max_size=4).map(tuple),
        approvals=st.just(())
        | st.lists(st.sampled_from([*ANSWERS, Approve(), None, "raise"]), min_size=1, max_size=4).map(tuple),
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


def meddlings() -> st.SearchStrategy[Meddling]:
    """What somebody may do."""
    acts: list[Act] = ["stop root", "stop loop", "stop command", "inject", "cancel"]
    return st.builds(
        Meddling,
        decisions=st.lists(st.sampled_from([*ANSWERS, Approve(), Approve(), None]), min_size=1, max_size=5).map(tuple),
        stands=st.frozensets(st.integers(1, 40), max_size=4),
        acts=st.lists(st.tuples(st.integers(1, 60), st.sampled_from(acts)), max_size=2).map(tuple),
        late=st.booleans(),
    )


# ── agents ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def agent_of(plan: Plan) -> Agent:
    """The agent that a plan describes, its sub-agents included."""
    return Agent(ScriptedProvider(_model(plan), usage=Usage(3, 2), chunk=2), tools=_tools(plan), config=_config(plan))


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


def _tools(plan: Plan) -> ToolRegistry:
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

    return ToolRegistry([echo, thread, boom, refuse, wait, child, sync_child, pair])


def _config(plan: Plan) -> ToolLoopConfig:
    async def on_tool_call(call: ToolCall, context: ApprovalContext) -> ToolApproval | None:
        await anyio.lowlevel.checkpoint()
        said = plan.approvals[_number_of(context.call) % len(plan.approvals)]
        if said == "raise":
            raise KeyError(context.call)
        return said

    def stop_when(context: StopContext) -> StopDecision:
        said = plan.stops[(context.iteration - 1) % len(plan.stops)]
        if said == "raise":
            raise KeyError(context.iteration)
        return Stop("enough") if said == "stop" else Continue()

    callbacks: dict[str, Any] = {}
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
        **callbacks,
    )


def _number_of(call: str) -> int:
    return sum(int(word) for word in call.replace("#", " ").replace("/", " ").replace(".", " ").split()[1:])


# ── runs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Meddler:
    """Watches a run, compares its live states with the fold of its events, and meddles."""

    meddling: Meddling = field(default_factory=Meddling)
    events: list[e.Event] = field(default_factory=list)
    folded: dict[str, LoopState] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    root: LoopDriver | None = None
    _gates: int = 0
    _todo: deque[Callable[[], None]] = field(default_factory=deque)
    _wake: Callable[[], None] = lambda: None

    def take_root(self, driver: LoopDriver) -> None:
        self.root = driver

    def stops_at(self, loop: str, gate: str) -> str | None:
        self._gates += 1
        if self._gates not in self.meddling.stands:
            return None
        self._later(lambda: self._post(loop, e.Resumed(gate, "person")))
        return "person"

    def decide(self, driver: LoopDriver, call: CallState) -> tuple[ToolApproval, str] | None:
        said = self.meddling.decisions[_number_of(call.key) % len(self.meddling.decisions)]
        if said is not None and not self.meddling.late:
            return said, "policy: random"
        self._later(lambda: self._decide_as_person(driver, call, said or Approve()))
        return None

    def happened(self, event: e.Event) -> None:
        self.events.append(event)
        apply_to(self.folded, event)
        driver = self._driver(event.loop)
        if driver is not None and driver.core.state != self.folded[event.loop]:
            self.wrong.append(f"after event {event.seq} ({event.type}) the fold is not the live state")
        for number, act in self.meddling.acts:
            if number == event.seq:
                self._later(lambda act=act: self._act(act, event.loop))  # type: ignore[misc]  # a default binds it

    def streamed(self, loop: str, iteration: int, delta: Delta) -> None:
        """Pieces are not states."""

    def _later(self, act: Callable[[], None]) -> None:
        self._todo.appendleft(act)  # the newest first: decisions come in reverse order
        self._wake()

    def _driver(self, loop: str) -> LoopDriver | None:
        if self.root is None:
            return None
        found = [*self.root.run.drivers, self.root]
        for driver in found:
            found += [child for children in driver.children.values() for child in children if child not in found]
        return next((driver for driver in found if driver.path == loop), None)

    def _post(self, loop: str, fact: e.Input) -> None:
        driver = self._driver(loop)
        if driver is not None:
            driver.post(fact)

    def _decide_as_person(self, driver: LoopDriver, call: CallState, said: ToolApproval) -> None:
        if isinstance(said, Modify) and said.arguments.get("n") == "no number":
            said = Deny("the edit does not fit")
        for decision in (said, Deny("too late")) if self.meddling.late else (said,):
            try:
                driver.decide(call.key, call.version, decision, "person", e.CallVerdict())
            except DecisionNotAccepted:
                continue

    def _act(self, act: Act, loop: str) -> None:
        match act:
            case "stop root":
                assert self.root is not None
                self.root.stop("person", "enough")
            case "stop loop":
                driver = self._driver(loop)
                if driver is not None:
                    driver.stop("person")
            case "stop command":
                self._post(loop, e.StopCommanded("command"))
            case "inject":
                self._post(loop, e.MessagesInjected((Message.user("by the way"),), "person"))
            case "cancel":
                self.scope.cancel()

    async def meddle(self) -> None:
        """Do what is to be done, a turn of the event loop later."""
        wake = current_waker()
        changed = anyio.Event()
        self._wake = lambda: wake(lambda: changed.set())  # noqa: PLW0108  # `changed` is another one each time
        while True:
            while self._todo:
                await anyio.lowlevel.checkpoint()
                if self._todo:
                    self._todo.popleft()()
            if changed.is_set():
                changed = anyio.Event()
            elif not self._todo:
                await changed.wait()

    async def watch(self, start: Callable[[], Awaitable[Any]]) -> BaseException | None:
        """Run something beside the meddling; return what it raised."""
        raised: BaseException | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self.meddle)
            with anyio.fail_after(30), anyio.CancelScope() as self.scope:
                try:
                    await start()
                except (Exception, BaseExceptionGroup) as error:
                    raised = error
            group.cancel_scope.cancel()
        return raised


class AwaitedRecorder(Recorder):
    """Says when it was closed, since handlers that were left behind still write their late ends (spec/loop.md 9.3)."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.closed = threading.Event()

    def close(self) -> None:
        super().close()
        self.closed.set()


async def play(plan: Plan, meddling: Meddling, recorder: Recorder) -> Meddler:
    """Run an agent and meddle with it."""
    meddler = Meddler(meddling)
    run = Run(new_header(), recorder, meddler)

    async def start() -> None:
        await run_root(run, agent_of(plan).parts("go"), driver_made=meddler.take_root)

    meddler.raised = await meddler.watch(start)  # type: ignore[attr-defined]  # how it ended, for a reader of failures
    return meddler


EXPECTED: Sequence[type[BaseException]] = (ProviderError, KeyError)
