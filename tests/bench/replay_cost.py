"""Prints what a replay costs per recorded call (spec/performance.md goals 16): `python -m tests.bench.replay_cost`.

With `--peers PYTHON`, an interpreter that has vcrpy, httpx and agent-rewind, also what they cost.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import anyio

from loopkit import Agent, ChatResponse, Recorder, ToolCall, ToolLoopConfig, Usage, replay, tool
from loopkit.providers.protocol import ChatRequest, Emit
from loopkit.recording.reader import read_recording

SIZES = (50, 200, 2000)
REPEATS = 5


@tool
async def lookup(key: str) -> str:
    """Look a key up."""
    return "x" * 200


class Asks:
    """Asks for one call a turn, each with arguments of its own, then answers."""

    model: str | None = "fake"

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.asked = 0

    async def respond(self, request: ChatRequest, emit: Emit) -> ChatResponse:
        """Give the next answer."""
        self.asked += 1
        if self.asked > self.calls:
            return ChatResponse("done", usage=Usage(1, 1))
        return ChatResponse(tool_calls=[ToolCall("c", "lookup", {"key": f"key {self.asked}"})], usage=Usage(1, 1))


def agent(calls: int) -> Agent:
    """An agent that makes so many calls."""
    return Agent(
        Asks(calls), tools=[lookup], system="You look keys up.", config=ToolLoopConfig(max_iterations=calls + 1)
    )


def record(calls: int, path: Path) -> Path:
    """Run it into a file."""

    async def run() -> None:
        await agent(calls).run("go", recorder=Recorder(path, durability="none"))

    anyio.run(run)
    return path


def cost(function: Callable[[], object], calls: int) -> float:
    """Return CPU microseconds a call: the median of some runs."""

    def once() -> float:
        gc.collect()
        before = time.process_time()
        function()
        return (time.process_time() - before) / calls * 1e6

    return statistics.median(once() for _ in range(REPEATS if calls < 1000 else 3))


def costs(calls: int, path: Path) -> dict[str, float]:
    """Measure each kind of replay of one recording, reading the file included."""
    record(calls, path)

    def same(**how: str) -> Callable[[], None]:
        def run() -> None:
            assert replay(path, agent(calls), **how).same  # type: ignore[arg-type]  # by name

        return run

    def diverges() -> None:
        changed = agent(calls)
        changed.system = "You look keys up, quickly."
        assert not replay(path, changed).same

    recording = read_recording(path)
    return {
        "read the file": cost(lambda: read_recording(path), calls),
        "strict, today's loop": cost(lambda: replay(path), calls),
        "the same, already read": cost(lambda: replay(dataclasses.replace(recording)), calls),
        "strict, today's agent": cost(same(), calls),
        "live tools": cost(same(tools="live"), calls),
        "live model, calls met by content": cost(same(model="live"), calls),
        "diverged, the whole run diagnosed": cost(diverges, calls),
    }


VCR = """
import sys, time, json, tempfile, pathlib, threading, http.server, gc
import httpx, vcr
n = int(sys.argv[1])
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps({"text": "y" * 1200}).encode()
        self.send_response(200); self.send_header("content-length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *a): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_address[1]}/chat"
bodies = [{"model": "m", "messages": [{"role": "user", "content": f"{i} " + "x" * 1000}]} for i in range(n)]
path = str(pathlib.Path(tempfile.mkdtemp()) / "c.json")
options = dict(serializer="json", match_on=["method", "uri", "body"])
def run(mode):
    with vcr.use_cassette(path, record_mode=mode, **options), httpx.Client() as client:
        for body in bodies: client.post(url, json=body)
run("once"); server.shutdown()
gc.collect(); before = time.process_time(); run("none")
print((time.process_time() - before) / n * 1e6)
"""

REWIND = """
import gc, sys, time, tempfile, pathlib
import rewind
n = int(sys.argv[1])
@rewind.llm
def ask(**request): return {"text": "y" * 300}
@rewind.tool
def lookup(key: str) -> str: return "x" * 200
path = str(pathlib.Path(tempfile.mkdtemp()) / "run.rewind")
def run():
    for i in range(n):
        ask(model="m", messages=[{"role": "user", "content": f"{i} " + "x" * 1000}])
        lookup(f"key {i}")
with rewind.record(path): run()
gc.collect(); before = time.process_time()
with rewind.replay(path): run()
print((time.process_time() - before) / n * 1e6)
"""
PEERS = {"vcrpy, JSON, matched on the body": VCR, "agent-rewind, an answer and a call": REWIND}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", metavar="PYTHON", help="an interpreter with vcrpy, httpx and agent-rewind")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tables = [costs(calls, Path(folder) / f"{calls}.jsonl") for calls in SIZES]
    sys.stdout.write(f"{'µs of CPU a recorded call':<40}" + "".join(f"{calls:>10,}" for calls in SIZES) + "\n")
    for name in tables[0]:
        sys.stdout.write(f"{name:<40}" + "".join(f"{table[name]:>10.0f}" for table in tables) + "\n")
    if options.peers:
        for name, script in PEERS.items():
            # vcrpy's cost grows with the cassette: the largest would take minutes
            sizes = SIZES[:2] if script is VCR else SIZES
            figures = [_peer(options.peers, script, calls) for calls in sizes]
            sys.stdout.write(f"{name:<40}" + "".join(f"{each:>10.0f}" for each in figures) + "\n")


def _peer(python: str, script: str, calls: int) -> float:
    done = subprocess.run([python, "-c", script, str(calls)], check=True, capture_output=True, text=True)
    return float(done.stdout)


if __name__ == "__main__":
    main()
