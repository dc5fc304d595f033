"""The bridge between threads: only the loop's own thread does anything."""

from __future__ import annotations

import asyncio
import threading

import pytest

from loopkit_notebook import kernel_loop
from loopkit_notebook.kernel_loop import KernelLoop


def in_thread(work: object) -> None:
    thread = threading.Thread(target=work)  # type: ignore[arg-type] # a callable of no arguments
    thread.start()
    thread.join()


def test_wakes_from_another_thread_are_one_batch_on_the_loops_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_loop, "BATCH_SECONDS", 0.001)
    calls: list[int] = []

    async def scene() -> None:
        done = asyncio.Event()
        bridge = KernelLoop(lambda: (calls.append(threading.get_ident()), done.set()))  # type: ignore[func-returns-value]
        in_thread(lambda: [bridge.wake() for _ in range(100)])
        await asyncio.wait_for(done.wait(), 5)
        done.clear()
        in_thread(bridge.wake)
        await asyncio.wait_for(done.wait(), 5)

    asyncio.run(scene())
    assert calls == [threading.get_ident()] * 2


def test_a_call_from_a_subshell_thread_runs_on_the_loops_thread() -> None:
    """spec/environment.md §2: on some kernels comm messages arrive on a thread of their own."""
    threads: list[int] = []

    async def scene() -> None:
        done = asyncio.Event()
        bridge = KernelLoop(lambda: None)
        in_thread(lambda: bridge.call(lambda: (threads.append(threading.get_ident()), done.set())))  # type: ignore[func-returns-value,arg-type,return-value]
        await asyncio.wait_for(done.wait(), 5)

    asyncio.run(scene())
    assert threads == [threading.get_ident()]


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
    async def scene() -> KernelLoop:
        return KernelLoop(lambda: None)

    bridge = asyncio.run(scene())
    bridge.wake()
    bridge.call(lambda: None)
    assert bridge._waiting == kernel_loop.deque()
