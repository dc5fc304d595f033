"""A disk that takes no more: the run stands, nothing is lost, and somebody chooses how it goes on (DESIGN §3, j6)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from loopkit import events as e
from loopkit import tool
from loopkit.drivers.replay import replay
from loopkit.drivers.run import Run
from loopkit.errors import RecordingUnwritable
from loopkit.outcomes import Approve, Complete
from loopkit.recording.reader import read_recording
from loopkit.recording.writer import Recorder
from tests.drivers.stage import Stage, agent, ask, in_a_thread

pytestmark = pytest.mark.anyio

PATIENCE = 20.0
REASON = "No space left on device"


class FillingDisk(Recorder):
    """Has no room for the first event that `fits` says no to, nor for any other until it is freed."""

    def __init__(self, path: Path, fits: Callable[[e.Event], bool]) -> None:
        super().__init__(path)
        self._fits = fits
        self.full = False
        self.tries = 0

    def stage(self, event: e.Event) -> None:
        self.full = self.full or not self._fits(event)
        super().stage(event)

    def flush(self) -> None:
        if self.full:
            self.tries += 1
            raise RecordingUnwritable(f"{self.path}: can't be written ({REASON})", REASON)
        super().flush()

    def free(self) -> None:
        self.full = False
        self._fits = lambda _: True


def before(kind: type[e.Fact]) -> Callable[[e.Event], bool]:
    return lambda event: not isinstance(event.fact, kind)


@pytest.fixture
def done() -> list[str]:
    """What tools did."""
    return []


@pytest.fixture
def people(done: list[str]) -> Any:
    """An agent with a tool, a tool in a thread and a sub-agent."""

    @tool
    async def work() -> str:
        """Work."""
        done.append("work")
        return "worked"

    @tool
    def work_in_thread() -> str:
        """Work in a thread."""
        done.append("thread")
        return "worked"

    @tool
    async def delegate() -> str:
        """Ask a sub-agent."""
        return (await agent(ask("work"), "ok", tools=[work]).run("task")).text

    calls = [ask("work"), ask("work_in_thread"), ask("delegate")]
    return lambda **config: agent(calls, "done", tools=[work, work_in_thread, delegate], **config)


KINDS = [
    e.LoopStarted,
    e.IterationStarted,
    e.ModelRequested,
    e.ModelReplied,
    e.DecisionRequested,
    e.Decided,
    e.ToolStarted,
    e.ToolReturned,
    e.LoopFinished,
]
PLACES = [(kind, loop) for loop in ("root", "root/1.3#1") for kind in KINDS]


def at(kind: type[e.Fact], loop: str) -> Callable[[e.Event], bool]:
    return lambda event: not (isinstance(event.fact, kind) and event.loop == loop)


def apart(choose: Callable[[], object]) -> None:
    """Choose in a thread of one's own, as an interface's."""
    in_a_thread(choose)


def run_of(stage: Stage) -> Run:
    return stage.root.run


@pytest.mark.parametrize(
    ("kind", "loop"), PLACES, ids=lambda value: value if isinstance(value, str) else value.__name__
)
async def test_freed_space_and_a_retry_lose_nothing(
    kind: type[e.Fact], loop: str, people: Any, done: list[str], tmp_path: Path
) -> None:
    """spec/faults.md j6: at any event, the log is that of a run whose disk was never full."""
    recorder = FillingDisk(tmp_path / "run.jsonl", at(kind, loop))
    told: list[int] = []

    def retry() -> None:
        told.append(len(stage.events))
        assert not run_of(stage).retry_recording()
        recorder.free()
        assert run_of(stage).retry_recording()

    stage = Stage(stands=True, on_trouble=lambda _: apart(retry))
    result = await stage.run(people(), recorder)
    assert result.termination_reason == Complete()
    assert sorted(done) == ["thread", "work", "work"]
    recording = read_recording(recorder.path)
    assert list(recording.events) == stage.events
    assert told
    assert replay(recording).same


@pytest.mark.parametrize(
    ("kind", "loop"), PLACES, ids=lambda value: value if isinstance(value, str) else value.__name__
)
async def test_a_run_that_goes_on_unrecorded_says_so_in_its_recording(
    kind: type[e.Fact], loop: str, people: Any, done: list[str], tmp_path: Path
) -> None:
    """spec/faults.md j6: the file ends honestly and replays up to there; who watches sees everything."""
    recorder = FillingDisk(tmp_path / "run.jsonl", at(kind, loop))

    def go_on() -> None:
        recorder.free()
        run_of(stage).go_on_unrecorded()

    stage = Stage(stands=True, on_trouble=lambda _: apart(go_on))
    result = await stage.run(people(), recorder)
    assert result.termination_reason == Complete()
    assert sorted(done) == ["thread", "work", "work"]
    assert stage.events[-1].type == "LoopFinished"
    recorded = list(read_recording(recorder.path).events)
    if (kind, loop) == (e.LoopStarted, "root"):
        assert recorded == []
        return
    *before_it, last = recorded
    assert before_it == stage.events[: len(before_it)]
    assert last.fact == e.RecordingEnded(REASON)
    report = replay(recorder.path)
    assert (report.same, report.finished) == (True, False)


async def test_without_room_for_its_last_words_a_recording_is_whole_and_unfinished(people: Any, tmp_path: Path) -> None:
    recorder = FillingDisk(tmp_path / "run.jsonl", before(e.ToolReturned))
    stage = Stage(stands=True, on_trouble=lambda _: apart(lambda: run_of(stage).go_on_unrecorded()))
    await stage.run(people(), recorder)
    recording = read_recording(recorder.path)
    assert list(recording.events) == stage.events[: len(recording.events)]
    assert not any(isinstance(event.fact, (e.RecordingEnded, e.LoopFinished)) for event in recording.events)
    assert recording.in_use is None


@pytest.mark.parametrize(
    ("kind", "loop"), PLACES, ids=lambda value: value if isinstance(value, str) else value.__name__
)
async def test_a_run_that_is_given_up_ends_with_the_disks_error(
    kind: type[e.Fact], loop: str, people: Any, tmp_path: Path
) -> None:
    recorder = FillingDisk(tmp_path / "run.jsonl", at(kind, loop))

    def give_up() -> None:
        trouble = run_of(stage).log.trouble
        assert trouble is not None
        with run_of(stage).lock:
            run_of(stage).give_up(trouble)

    stage = Stage(stands=True, on_trouble=lambda _: apart(give_up))
    with pytest.raises(RecordingUnwritable, match=REASON):
        await stage.run(people(), recorder)
    assert list(read_recording(recorder.path).events) == stage.events


async def test_nothing_is_done_or_told_while_the_run_stands_and_what_comes_in_is_kept(tmp_path: Path) -> None:
    """The answer of a tool that ran already waits for its place; the next request is not sent."""
    started = [anyio.Event(), anyio.Event()]
    slow_may_end = anyio.Event()
    requests: list[int] = []

    @tool
    async def quick() -> str:
        """End at once."""
        started[0].set()
        await started[1].wait()
        return "quick"

    @tool
    async def slow() -> str:
        """End while the run stands."""
        started[1].set()
        await slow_may_end.wait()
        return "slow"

    def last(_: Any) -> str:
        requests.append(1)
        return "done"

    recorder = FillingDisk(tmp_path / "run.jsonl", before(e.ToolReturned))
    stands = anyio.Event()
    stage = Stage(stands=True, on_trouble=lambda _: stands.set())
    async with anyio.create_task_group() as group:
        group.start_soon(stage.run, agent([ask("quick"), ask("slow")], last, tools=[quick, slow]), recorder)
        await stands.wait()
        slow_may_end.set()
        while len(run_of(stage).log.held) < 2:
            await anyio.lowlevel.checkpoint()
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        assert not stage.all_of(e.ToolReturned)
        assert requests == []
        assert recorder.tries == 1
        recorder.free()
        assert run_of(stage).retry_recording()
    assert [fact.content for fact in stage.all_of(e.ToolReturned)] == ["quick", "slow"]
    assert requests == [1]
    assert list(read_recording(recorder.path).events) == stage.events


async def test_a_decision_that_is_given_while_the_run_stands_counts_after_it(tmp_path: Path) -> None:
    ran: list[str] = []

    @tool
    async def work() -> str:
        """Work."""
        ran.append("work")
        return "worked"

    recorder = FillingDisk(tmp_path / "run.jsonl", before(e.Decided))
    asked, stands = anyio.Event(), anyio.Event()

    def on_event(event: e.Event) -> None:
        if isinstance(event.fact, e.DecisionRequested):
            asked.set()

    stage = Stage(pending=["work"], stands=True, on_event=on_event, on_trouble=lambda _: stands.set())
    async with anyio.create_task_group() as group:
        group.start_soon(stage.run, agent(ask("work"), "done", tools=[work]), recorder)
        await asked.wait()
        stage.decide_as_person("root", "root/1.1", Approve())
        await stands.wait()
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        assert ran == []
        recorder.free()
        assert run_of(stage).retry_recording()
    assert ran == ["work"]
    assert replay(recorder.path).same


async def test_no_loop_time_passes_while_the_run_stands(people: Any, tmp_path: Path) -> None:
    """spec/loop.md 4.5: it waits for a person."""
    now = [0.0]
    recorder = FillingDisk(tmp_path / "run.jsonl", before(e.ModelReplied))

    def retry() -> None:
        with run_of(stage).lock:
            now[0] += 3600
        recorder.free()
        run_of(stage).retry_recording()

    stage = Stage(stands=True, on_trouble=lambda _: apart(retry))
    result = await stage.run(people(timeout=60), recorder, clock=lambda: now[0])
    assert result.termination_reason == Complete()


async def test_a_caller_may_end_a_run_that_stands(people: Any, tmp_path: Path) -> None:
    recorder = FillingDisk(tmp_path / "run.jsonl", before(e.ToolReturned))
    with anyio.CancelScope() as scope:
        stage = Stage(stands=True, on_trouble=lambda _: scope.cancel())
        await stage.run(people(), recorder)
    assert scope.cancelled_caught
    assert list(read_recording(recorder.path).events) == stage.events


async def test_a_run_that_was_ended_while_it_stood_is_recorded_if_there_is_room_by_then(
    people: Any, tmp_path: Path
) -> None:
    recorder = FillingDisk(tmp_path / "run.jsonl", before(e.ToolReturned))

    with anyio.CancelScope() as scope:

        def end(_: RecordingUnwritable) -> None:
            recorder.free()
            scope.cancel()

        stage = Stage(stands=True, on_trouble=end)
        await stage.run(people(), recorder)
    report = replay(recorder.path)
    assert (report.same, report.finished) == (True, True)


# ── durability "event" ───────────────────────────────────────────────────────────────────────────────────────────────


class SlowSync(Recorder):
    """Brings events to the disk when it is told to."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, durability="event")
        self.asked = threading.Event()
        self.failure: RecordingUnwritable | None = None
        self.waiting: list[Callable[[], None]] = []
        self.synced = 0

    def on_disk(self, when_known: Callable[[], None]) -> bool:
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        if self.synced >= self.last_seq:
            return True
        self.waiting.append(when_known)
        self.asked.set()
        return False

    def sync(self) -> None:
        self.synced = self.last_seq
        self.answer()

    def answer(self) -> None:
        waiting, self.waiting = self.waiting, []
        for call in waiting:
            call()


async def test_an_effect_starts_and_a_loop_returns_when_what_asked_for_it_is_on_the_disk(
    people: Any, tmp_path: Path
) -> None:
    recorder = SlowSync(tmp_path / "run.jsonl")
    on_disk: list[int] = []

    def serve() -> None:
        while recorder.asked.wait(PATIENCE):
            recorder.asked.clear()
            on_disk.append(recorder.last_seq)
            recorder.sync()

    in_a_thread(serve)
    stage = Stage()
    result = await stage.run(people(), recorder)
    assert result.termination_reason == Complete()
    finished = [event.seq for event in stage.events if isinstance(event.fact, (e.LoopFinished, e.ModelRequested))]
    assert set(finished) <= set(range(1, on_disk[-1] + 1))
    assert recorder.synced == stage.events[-1].seq


@pytest.mark.parametrize("stands", [True, False])
async def test_a_disk_that_refuses_before_an_effect_is_told_like_one_that_is_full(stands: bool, tmp_path: Path) -> None:
    recorder = SlowSync(tmp_path / "run.jsonl")

    def serve() -> None:
        assert recorder.asked.wait(PATIENCE)
        recorder.failure = RecordingUnwritable("can't be brought to the disk", REASON)
        recorder.answer()

    def retry(_: RecordingUnwritable) -> None:
        recorder.synced = 10**6
        in_a_thread(lambda: run_of(stage).retry_recording())

    in_a_thread(serve)
    stage = Stage(stands=stands, on_trouble=retry if stands else lambda _: None)
    if stands:
        await stage.run(agent("done"), recorder)
        assert stage.all_of(e.LoopFinished)
    else:
        with pytest.raises(RecordingUnwritable, match="can't be brought"):
            await stage.run(agent("done"), recorder)


async def test_a_real_disk_serves_every_event_before_it_is_acted_on(people: Any, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "run.jsonl", durability="event")
    stage = Stage()
    assert (await stage.run(people(), recorder)).termination_reason == Complete()
    assert replay(recorder.path).same
