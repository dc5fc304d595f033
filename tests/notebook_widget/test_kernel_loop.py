"""The bridge between threads: only the loop's own thread does anything."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from loopkit_notebook import kernel_loop
from loopkit_notebook.kernel_loop import KernelLoop


def in_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


class Seen:
    """Notes the thread of each call and tells a waiting test."""

    def __init__(self) -> None:
        self.threads: list[int] = []
        self.fresh = asyncio.Event()

    def __call__(self) -> None:
        self.threads.append(threading.get_ident())
        self.fresh.set()

    async def wait(self) -> None:
        await asyncio.wait_for(self.fresh.wait(), 5)
        self.fresh.clear()


def test_wakes_from_another_thread_are_one_batch_on_the_loops_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_loop, "BATCH_SECONDS", 0.001)

    async def scene() -> list[int]:
        seen = Seen()
        bridge = KernelLoop(seen)

        def wake_often() -> None:
            for _ in range(100):
                bridge.wake()

        in_thread(wake_often)
        await seen.wait()
        in_thread(bridge.wake)
        await seen.wait()
        return seen.threads

    assert asyncio.run(scene()) == [threading.get_ident()] * 2


def test_a_call_from_a_subshell_thread_runs_on_the_loops_thread() -> None:
    """spec/environment.md §2: on some kernels comm messages arrive on a thread of their own."""

    async def scene() -> list[int]:
        seen = Seen()
        bridge = KernelLoop(lambda: None)
        in_thread(lambda: bridge.call(seen))
        await seen.wait()
        return seen.threads

    assert asyncio.run(scene()) == [threading.get_ident()]


def test_without_a_loop_news_wait_for_the_owner() -> None:
    seen: list[str] = []
    bridge = KernelLoop(lambda: seen.append("woken"))
    in_thread(bridge.wake)
    in_thread(lambda: bridge.call(lambda: seen.append("called")))
    assert seen == []
    bridge.catch_up()
    assert seen == ["called", "woken"]
    bridge.catch_up()
    assert seen == ["called", "woken"]


def test_without_a_loop_the_owner_is_served_at_once() -> None:
    seen: list[str] = []
    KernelLoop(lambda: None).call(lambda: seen.append("called"))
    assert seen == ["called"]


def test_a_closed_loop_is_nobodys_error() -> None:
    seen: list[str] = []

    async def scene() -> KernelLoop:
        return KernelLoop(lambda: seen.append("woken"))

    bridge = asyncio.run(scene())
    bridge.wake()
    bridge.call(lambda: seen.append("called"))
    assert seen == []
