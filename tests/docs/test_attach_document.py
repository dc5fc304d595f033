"""What docs/attach.md lays down of the protocol is what a session says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from loopkit import ToolCall
from loopkit.debugger import remote, serving, wire
from loopkit.debugger.commanding import QUESTIONS
from tests.debugger.attached import served

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "attach.md").read_text(encoding="utf-8")
SOMETHING = "…"


def fits(said: Any, shown: Any) -> bool:
    """Whether what was said is what the document shows; it may say more."""
    if isinstance(shown, dict):
        return isinstance(said, dict) and all(key in said and fits(said[key], value) for key, value in shown.items())
    return shown == SOMETHING or bool(said == shown)


def test_the_conversation_goes_as_shown(tmp_path: Path) -> None:
    block = re.search(r"```jsonl\n(.*?)```", DOCUMENT, re.DOTALL)
    assert block is not None
    script = [ToolCall("c1", "add", {"a": 1, "b": 2}), "41"]
    with served(script, tmp_path / "run.jsonl", task="Add up.") as run:
        peer = run.peer()
        heard: list[Any] = []
        for line in block[1].splitlines():
            message = json.loads(line[2:])
            if line.startswith("> "):
                peer.send(message)
                continue
            # what an answer's command sets going may be quicker than the answer
            while not any(fits(each, message) for each in heard):
                heard.append(peer.next())
                assert heard[-1], f"never said: {line}"
        assert peer.rest() == []


def test_the_commands_and_limits_that_it_names_are_the_real_ones(tmp_path: Path) -> None:
    with served(["done"], tmp_path / "run.jsonl") as run:
        commands = run.peer().hello()["commands"]
    rows = re.findall(r"^\| (`\w.*?`) \| (.*?) ?\|$", DOCUMENT.partition("| command |")[2], re.MULTILINE)
    named = {
        name: re.findall(r"`(\w+)`", arguments) for names, arguments in rows for name in re.findall(r"`(\w+)`", names)
    }
    assert len(named) > 8
    assert {name: commands[name] for name in named} == named
    for words in (
        f"{wire.LONGEST_HELLO:,} bytes, within {wire.HELLO_SECONDS:.0f} seconds",
        f"at most {wire.LONGEST_COMMAND >> 20} MiB, an answer of the session {wire.LONGEST_FROM_SESSION >> 20} MiB",
        f"nothing for {wire.SILENT_SECONDS:.0f} seconds is taken for gone: send `ping`\nevery {wire.PING_SECONDS:.0f}",
        f"at most {serving.MOST_VIEWERS} viewers",
        f"for {serving.RETURN_SECONDS:.0f} seconds, before the policy",
    ):
        assert words in DOCUMENT
    assert remote.TRYING_SECONDS == 60.0
    assert all(f"`{name}`" in DOCUMENT for name in QUESTIONS)
