"""Requests that fail: sent again, given up, or answered by another model (spec/loop.md 8.3, 9.2)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from loopkit import (
    Agent,
    ModelBinding,
    ProviderError,
    Recorder,
    RetryPolicy,
    ScriptedProvider,
    ToolCall,
    ToolLoopConfig,
    fork,
    replay,
    tool,
)
from loopkit import events as e
from loopkit.drivers import asking_model
from loopkit.drivers.run import Run, new_header
from loopkit.drivers.tool_loop import run_root
from loopkit.messages import Message
from loopkit.outcomes import Cancelled, Timeout
from loopkit.providers.scripted import BreaksOff
from tests.drivers.stage import Stage, ask, in_a_thread

pytestmark = pytest.mark.anyio

AT_ONCE = RetryPolicy(base_delay=0.0)
BUSY = ProviderError("busy", status=503, retryable=True)
BAD = ProviderError("bad request", status=400)


def binding(
    *script: Any,
    fallbacks: Sequence[ModelBinding] = (),
    retry: RetryPolicy = AT_ONCE,
    model: str = "first",
    **words: Any,
) -> ModelBinding:
    """A scripted model that is asked again at once."""
    return ModelBinding(ScriptedProvider(list(script), model=model), fallbacks=tuple(fallbacks), retry=retry, **words)


def asked(source: ModelBinding) -> int:
    """How many requests a binding's provider got."""
    assert isinstance(source.provider, ScriptedProvider)
    return len(source.provider.requests)


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits before attempts, which take no time here."""
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)
        await anyio.lowlevel.checkpoint()

    monkeypatch.setattr(asking_model, "sleep", wait)
    return waits


# ── retries ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_what_may_succeed_later_is_asked_again_and_recorded(slept: list[float]) -> None:
    """9.2: every attempt stands in the log; it is one model call."""
    stage = Stage()
    model = binding(BUSY, BUSY, "done", retry=RetryPolicy(base_delay=1.0))
    result = await stage.run(Agent(model))
    assert (result.text, result.iterations) == ("done", 1)
    attempts = stage.all_of(e.ModelAttemptFailed)
    assert [(fact.attempt, fact.retry, fact.fallback) for fact in attempts] == [(1, True, False), (2, True, False)]
    assert slept == [fact.delay for fact in attempts]
    assert 0.5 <= slept[0] <= 1.0 <= slept[1] <= 2.0
    assert [fact.attempt for fact in stage.all_of(e.ModelRequested)] == [1, 2, 3]
    assert len({fact.fingerprint for fact in stage.all_of(e.ModelRequested)}) == 1


async def test_the_random_part_of_a_wait_comes_through_the_driver(slept: list[float]) -> None:
    """9.2"""
    run = Run(new_header(), jitter=lambda: 1.0)
    patient = ProviderError("busy", status=429, retry_after=2.5, retryable=True)
    model = binding(BUSY, patient, "done", retry=RetryPolicy(base_delay=0.5))
    await run_root(run, Agent(model).parts("go"))
    assert slept == [0.5, 2.5]


async def test_a_refusal_that_would_come_again_is_raised_at_once() -> None:
    """9.2: 400 is not retried."""
    stage = Stage()
    model = binding(BAD, "never")
    with pytest.raises(ProviderError) as caught:
        await stage.run(Agent(model))
    assert caught.value is BAD
    assert asked(model) == 1
    assert stage.all_of(e.ModelAttemptFailed)[0].retry is False


async def test_the_last_attempts_error_is_raised_as_it_was() -> None:
    """9.2"""
    last = ProviderError("still busy", status=503, retryable=True)
    model = binding(BUSY, BUSY, last, "never")
    with pytest.raises(ProviderError) as caught:
        await Agent(model).run("go")
    assert caught.value is last
    assert asked(model) == 3


async def test_attempts_are_counted_anew_in_each_iteration(slept: list[float]) -> None:
    """9.2"""
    stage = Stage()

    @tool
    async def look() -> str:
        """Look."""
        return "seen"

    await stage.run(Agent(binding(BUSY, BUSY, ask("look"), BUSY, BUSY, "done", retry=RetryPolicy()), tools=[look]))
    assert [fact.attempt for fact in stage.all_of(e.ModelAttemptFailed)] == [1, 2, 1, 2]
    assert len(slept) == 4


async def test_a_provider_without_a_binding_is_retried_too(slept: list[float]) -> None:
    """9.2"""
    result = await Agent(ScriptedProvider([BUSY, "done"])).run("go")
    assert result.text == "done"
    assert len(slept) == 1


async def test_what_is_no_providers_error_is_never_retried() -> None:
    """9.2: a bug in a provider of one's own is shown, not hidden."""
    other = binding("never", model="second")
    with pytest.raises(ZeroDivisionError):
        await Agent(binding(ZeroDivisionError("bug"), "never", fallbacks=[other])).run("go")
    assert asked(other) == 0


async def test_a_broken_stream_is_retried_and_its_words_are_gone() -> None:
    """9.2, 3.9: words of an answer that broke are no part of the next one, also when that one is stopped; the log has them."""
    waits = anyio.Event()

    def never(_: object) -> Any:
        async def wait() -> str:
            waits.set()
            await anyio.sleep_forever()
            return ""

        return wait()

    stage = Stage()
    model = binding(BreaksOff("half an answer", ProviderError("cut", retryable=True)), never)
    async with anyio.create_task_group() as group:

        async def stop() -> None:
            await waits.wait()
            stage.root.stop("person")

        group.start_soon(stop)
        result = await stage.run(Agent(model))
    assert isinstance(result.termination_reason, Cancelled)
    assert [delta.text for delta in stage.deltas] == ["half an answer"]
    (attempt,) = stage.all_of(e.ModelAttemptFailed)
    assert attempt.message == Message.assistant("half an answer")
    assert attempt.unreported
    assert stage.all_of(e.ModelInterrupted) == [e.ModelInterrupted("stopped")]
    assert result.messages[-1].role == "user"


async def _stopped_while_waiting(how: Callable[[Stage], object]) -> Stage:
    """A run whose next attempt is an hour away, and that something ends before."""
    stage = Stage()

    def on_event(event: e.Event) -> None:
        if isinstance(event.fact, e.ModelRequested) and event.fact.attempt == 2:
            how(stage)

    stage.on_event = on_event
    model = binding(
        BreaksOff("half", ProviderError("cut", retryable=True)), retry=RetryPolicy(base_delay=7200, longest_delay=7200)
    )
    with anyio.fail_after(5):
        result = await stage.run(Agent(model))
    assert isinstance(result.termination_reason, Cancelled)
    assert asked(model) == 1
    return stage


async def test_the_wait_for_an_attempt_can_be_stopped() -> None:
    """9.2, 9.4"""
    stage = await _stopped_while_waiting(lambda stage: in_a_thread(lambda: stage.root.stop("person")))
    assert stage.all_of(e.ModelInterrupted) == [e.ModelInterrupted("stopped")]


async def test_the_wait_for_an_attempt_counts_as_loop_time() -> None:
    """9.2, 9.3, 4.5: the timeout interrupts it."""
    stage = Stage()
    model = binding(BUSY, retry=RetryPolicy(base_delay=7200, longest_delay=7200))
    began = time.monotonic()
    result = await stage.run(Agent(model, config=ToolLoopConfig(timeout=0.05)))
    assert result.termination_reason == Timeout(0.05)
    assert time.monotonic() - began < 5
    assert [fact.cause for fact in stage.all_of(e.ModelInterrupted)] == ["timeout"]


async def test_the_callers_cancellation_ends_the_wait_with_a_closed_log() -> None:
    """9.4"""
    stage = Stage()
    model = binding(BUSY, retry=RetryPolicy(base_delay=7200, longest_delay=7200))
    with anyio.move_on_after(0.05) as scope:
        await stage.run(Agent(model))
    assert scope.cancelled_caught
    assert stage.events[-1].type == "LoopFinished"


# ── fallbacks ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_next_binding_is_asked_when_retries_did_not_mend_it() -> None:
    """8.3: with the same history; which model answered is recorded."""
    stage = Stage()
    second = binding("done", model="second")
    first = binding(BUSY, BUSY, BUSY, fallbacks=[second])
    result = await stage.run(Agent(first))
    assert result.text == "done"
    assert (asked(first), asked(second)) == (3, 1)
    assert stage.all_of(e.LoopStarted)[0].fallbacks == ("second",)
    assert [fact.fallback for fact in stage.all_of(e.ModelAttemptFailed)] == [False, False, True]
    assert [(fact.attempt, fact.binding) for fact in stage.all_of(e.ModelRequested)] == [(1, 0), (2, 0), (3, 0), (4, 1)]
    assert len({fact.fingerprint for fact in stage.all_of(e.ModelRequested)}) == 1
    assert [fact.model for fact in stage.all_of(e.ModelReplied)] == ["second"]
    assert isinstance(first.provider, ScriptedProvider)
    assert isinstance(second.provider, ScriptedProvider)
    assert list(second.provider.requests[0].messages) == list(first.provider.requests[0].messages)


async def test_a_refusal_that_a_retry_can_not_mend_goes_to_the_next_binding_at_once() -> None:
    """8.3: another model may have the quota, the rights, or the room for the history."""
    second = binding("done", model="second")
    first = binding(BAD, fallbacks=[second])
    assert (await Agent(first).run("go")).text == "done"
    assert (asked(first), asked(second)) == (1, 1)


async def test_each_binding_has_its_own_attempts_and_the_error_tells_of_all() -> None:
    """8.3, 9.2: in one line, with the last one's status; the last error is its cause, the log holds the others."""
    third = binding(BAD, model="third")
    second = binding(BUSY, BUSY, model="second", retry=RetryPolicy(attempts=2, base_delay=0), fallbacks=[third])
    first = binding(BUSY, BUSY, BUSY, fallbacks=[second])
    stage = Stage()
    with pytest.raises(ProviderError) as caught:
        await stage.run(Agent(first))
    assert str(caught.value) == "all 3 models failed. first: busy | second: busy | third: bad request"
    assert (caught.value.status, caught.value.__cause__) == (400, BAD)
    assert stage.all_of(e.LoopFailed)[0].failure.message == str(caught.value)
    assert (asked(first), asked(second), asked(third)) == (3, 2, 1)
    assert stage.all_of(e.LoopStarted)[0].fallbacks == ("second", "third")
    assert [fact.attempt for fact in stage.all_of(e.ModelAttemptFailed)] == [1, 2, 3, 4, 5, 6]


async def test_finished_calls_are_never_run_twice_and_the_loop_stays_with_the_model_that_answered() -> None:
    """8.3"""
    ran: list[int] = []

    @tool
    async def add(n: int) -> str:
        """Count."""
        ran.append(n)
        return str(n)

    second = binding([ToolCall("c", "add", {"n": 2})], "done", model="second")
    first = binding([ToolCall("c", "add", {"n": 1})], BAD, "never", fallbacks=[second])
    stage = Stage()
    result = await stage.run(Agent(first, tools=[add]))
    assert result.text == "done"
    assert ran == [1, 2]
    assert (asked(first), asked(second)) == (2, 2)
    assert [fact.binding for fact in stage.all_of(e.ModelRequested)] == [0, 0, 1, 1]
    assert isinstance(second.provider, ScriptedProvider)
    assert [m.role for m in second.provider.requests[0].messages] == ["user", "assistant", "tool"]


async def test_every_binding_says_for_itself_whether_several_calls_may_come() -> None:
    """8.4: a fallback without a word on it leaves it to its provider."""
    third = binding("done", model="third", allow_multiple_tool_calls=True)
    second = binding(BAD, model="second", fallbacks=[third])
    first = binding(BAD, fallbacks=[second], allow_multiple_tool_calls=False)
    await Agent(first, temperature=0.5).run("go")
    sent = [
        each.provider.requests[0].settings
        for each in (first, second, third)
        if isinstance(each.provider, ScriptedProvider)
    ]
    assert sent == [
        {"temperature": 0.5, "parallel_tool_calls": False},
        {"temperature": 0.5},
        {"temperature": 0.5, "parallel_tool_calls": True},
    ]


# ── recordings ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _stumbling(delay: float = 0.0) -> Agent:
    @tool(side_effect="read")
    async def look(n: int) -> str:
        """Look."""
        return f"seen {n}"

    patient = RetryPolicy(base_delay=delay, longest_delay=delay)
    second = binding(BUSY, [ToolCall("b", "look", {"n": 2})], BUSY, "done", model="second", retry=patient)
    return Agent(binding(BUSY, [ToolCall("a", "look", {"n": 1})], BAD, fallbacks=[second], retry=patient), tools=[look])


async def test_recorded_retries_and_fallbacks_replay_the_same_without_waiting(tmp_path: Path) -> None:
    """DESIGN §4: with today's agent, and with its tools really running."""
    path = tmp_path / "run.jsonl"
    await _stumbling().run("go", recorder=Recorder(path))
    text = path.read_text(encoding="utf-8")
    slow = tmp_path / "slow.jsonl"
    slow.write_text(text.replace('"retry":true', '"retry":true,"delay":3600.0'), encoding="utf-8")
    assert "3600.0" in slow.read_text(encoding="utf-8")
    for each in (path, slow):
        began = time.monotonic()
        assert replay(each).same
        assert replay(each, _stumbling(3600)).same
        assert replay(each, _stumbling(3600), tools="live").same
        assert time.monotonic() - began < 10


async def test_a_failed_attempt_that_nobody_made_is_a_difference(tmp_path: Path) -> None:
    """DESIGN §4"""
    path = tmp_path / "run.jsonl"
    await Agent(binding(BUSY, "done")).run("go", recorder=Recorder(path))
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if "ModelAttemptFailed" in line)
    assert '"attempt":1' in lines[place]
    lines[place] = lines[place].replace('"attempt":1', '"attempt":2')
    path.write_text("".join(lines), encoding="utf-8")
    report = replay(path)
    assert report.divergence is not None
    assert report.divergence.what == "today's loop does not ask for this"


async def test_a_fallback_that_was_not_recorded_is_a_difference(tmp_path: Path) -> None:
    """DESIGN §4"""
    path = tmp_path / "run.jsonl"
    await Agent(binding("done", fallbacks=[binding(model="second")])).run("go", recorder=Recorder(path))
    report = replay(path, Agent(binding(fallbacks=[binding(model="other")])))
    assert report.divergence is not None
    assert report.divergence.what == "changed: fallbacks"


@pytest.mark.parametrize("fallbacks", [0, 1])
async def test_a_fork_goes_on_with_the_model_that_was_asked_there(tmp_path: Path, fallbacks: int) -> None:
    """8.3, DESIGN §4: or with the last that today's agent has."""
    path = tmp_path / "run.jsonl"
    await _stumbling().run("go", recorder=Recorder(path))
    second = binding("forked", model="second")
    first = binding("forked", fallbacks=[second][:fallbacks])
    result = await fork(
        path,
        at="root/2.1",
        agent=Agent(first, tools=_stumbling().registry),
        recorder=Recorder(tmp_path / "f.jsonl"),
    )
    assert result.text == "forked"
    assert (asked(first), asked(second)) == ((0, 1) if fallbacks else (1, 0))
    assert replay(tmp_path / "f.jsonl").same
