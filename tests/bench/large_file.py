"""A recording of any number of events, written as fast as lines can be: about a kilobyte an event (spec/performance.md §4)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from loopkit.recording.header import Header, header_line

TOOLS = ("read_file", "search", "run_tests", "edit_file")
# as results of real tools are: lines of code, quotes, a few letters that aren't ASCII
_CODE = """    if name == "größe" and not path.exists():
        return f"no such file: {path}"
    for line in text.splitlines():
        print(line.strip(), end="\\n")
"""
_RESULT = json.dumps(_CODE * 16, ensure_ascii=False)[1:-1]
_ANSWER = json.dumps(_CODE * 14, ensure_ascii=False)[1:-1]
_EVERY_AGENT, _EVERY_WARNING, _EVERY_ERROR = 40, 97, 23


def write_large(path: Path, events: int) -> None:
    """Write a run of at least so many events, sub-agents, warnings and errors among them."""
    with path.open("wb", buffering=1 << 20) as file:
        file.write(header_line(Header(run="large", created="2026-01-02T03:04:05+00:00")))
        writer = _Writer()
        writer.start("root", None)
        number = 0
        while writer.seq < events:
            number += 1
            writer.turn("root", number, child=number % _EVERY_AGENT == 0)
            file.write("".join(writer.lines).encode())
            writer.lines.clear()
        writer.finish("root", number)
        file.write("".join(writer.lines).encode())


class _Writer:
    def __init__(self) -> None:
        self.seq = 0
        self.lines: list[str] = []

    def say(self, loop: str, iteration: int, kind: str, rest: str = "") -> None:
        self.seq += 1
        self.lines.append(
            f'{{"seq":{self.seq},"t":{self.seq / 100},"loop":"{loop}","iteration":{iteration},"type":"{kind}"{rest}}}\n'
        )

    def start(self, loop: str, parent: str | None) -> None:
        messages = [{"role": "user", "parts": [{"type": "Text", "text": "look after the lighthouse"}]}]
        rest: dict[str, Any] = {"agent": "keeper", "messages": messages, "model": "fake"}
        if parent is not None:
            rest["parent_call"] = parent
        self.say(loop, 0, "LoopStarted", "," + json.dumps(rest, separators=(",", ":"))[1:-1])

    def turn(self, loop: str, number: int, *, child: bool = False) -> None:
        tool = TOOLS[number % len(TOOLS)]
        call = f"{loop}/{number}.1"
        self.say(loop, number, "IterationStarted")
        self.say(
            loop, number, "ModelRequested", f',"attempt":1,"message_count":{2 * number},"fingerprint":"cfbaf148d1f2"'
        )
        self.say(
            loop,
            number,
            "ModelReplied",
            f',"message":{{"role":"assistant","parts":[{{"type":"Text","text":"{_ANSWER}"}},{{"type":"ToolCall",'
            f'"id":"c{number}","name":"{tool}","arguments":{{"path":"file{number}.txt"}}}}]}},'
            '"usage":{"input_tokens":1200,"output_tokens":30},"stop_reason":"tool_calls","verdicts":[{}]',
        )
        if number % _EVERY_WARNING == 0:
            self.say(
                loop,
                number,
                "RepetitionDetected",
                f',"detector":"identical batches","tool_name":"{tool}","count":3,"action":"warn","since_iteration":1',
            )
        self.say(loop, number, "DecisionRequested", f',"call":"{call}","version":1,"name":"{tool}"')
        self.say(
            loop, number, "Decided", f',"call":"{call}","version":1,"decision":{{"type":"Approve"}},"by":"default"'
        )
        self.say(loop, number, "ToolStarted", f',"call":"{call}"')
        if child:
            inner = f"{call}#1"
            self.start(inner, call)
            for turn in range(1, 9):
                self.turn(inner, turn)
            self.finish(inner, 8)
        failed = ',"is_error":true' if number % _EVERY_ERROR == 0 else ""
        self.say(loop, number, "ToolReturned", f',"call":"{call}","content":"{_RESULT} item {number}"{failed}')

    def finish(self, loop: str, iterations: int) -> None:
        self.say(
            loop,
            iterations,
            "LoopFinished",
            f',"reason":{{"type":"Complete"}},"iterations":{iterations},"usage":{{"input_tokens":1,"output_tokens":1}}',
        )


def write_for_rewind(path: Path) -> Path:
    """Write the events of a recording as a trace of agent-rewind, beside it, and return where."""
    target = path.with_suffix(".rewind")
    with path.open("rb") as source, target.open("w", encoding="utf-8", buffering=1 << 20) as file:
        source.readline()
        file.write('{"rewind_format":1,"created_at":0,"meta":{}}\n')
        for number, line in enumerate(source):
            event = {"seq": number, "kind": "tool", "name": "event", "fingerprint": "f", "request": {}}
            file.write(f'{json.dumps(event)[:-1]},"response":{line.decode().rstrip()}}}\n')
    return target
