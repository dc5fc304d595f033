"""What Codex tells its model of a command: an envelope with exit code and times around what the command printed.

Words that stand here were seen in sessions (formats.md §2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from loopkit.importers.blocks import as_object
from loopkit.importers.source import decode_value

_HEAD_LINE = re.compile(r"(?:Chunk ID|Wall time|Original token count|Total output lines|Exit code): [^\n]*\n")
_EXITED = re.compile(r"(?:Process exited with code|Exit code:) (-?\d+)")
_RUNNING = re.compile(r"^Process running with session ID \S+", re.MULTILINE)
_REJECTED_BY_USER = re.compile(r"(?:exec command|patch|user) rejected (?:by user|MCP tool call)")
_REJECTED_BY_REVIEW = "This action was rejected due to unacceptable risk"
_ABORTED = re.compile(r"aborted by user after [\d.]+s")
_NOT_DONE = re.compile(
    r"(?:patch rejected|apply_patch verification failed|failed to parse function arguments|unsupported call|"
    r"unsupported custom tool call|exec_command failed|write_stdin failed|execution error)\b"
)


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """An output read.

    Args:
        exit_code: of the command that ended, or None.
        running: the command goes on, and more may be asked of it.
        printed: what it printed, without the envelope.
    """

    exit_code: int | None
    running: bool
    printed: str


def command_output(content: str) -> CommandOutput:
    """Read the text that the model was given; one without an envelope is all printed."""
    head, body, printed = content.partition("Output:\n")
    if body and _HEAD_LINE.match(head):
        exited = _EXITED.search(head)
        return CommandOutput(int(exited[1]) if exited else None, _RUNNING.search(head) is not None, printed)
    if content.startswith('{"output":'):
        found = decode_value(content)
        data = as_object(found[0]) if found is not None else {}
        code = as_object(data.get("metadata")).get("exit_code")
        if isinstance(data.get("output"), str):
            return CommandOutput(code if isinstance(code, int) else None, False, data["output"])
    return CommandOutput(None, False, content)


def comparable_output(content: str) -> str | None:
    """Return what makes two outputs the same: how the command ended and what it printed, not when.

    None stands for an output that equals no other: a command that still runs is waited for, however often one has to
    look (spec/faults.md g1).
    """
    output = command_output(content)
    if output.running:
        return None
    return output.printed if output.exit_code is None else f"exit code {output.exit_code}\n{output.printed}"


def is_failure(content: str, output: Any) -> bool:
    """Say whether a call failed, from the text that the model was given and the output as it stands in the file."""
    if as_object(output).get("success") is False:
        return True
    if _ABORTED.match(content) or _NOT_DONE.match(content):
        return True
    return bool(command_output(content).exit_code)


def refused_by(content: str) -> str | None:
    """Return who refused a call, or None when it was not refused."""
    if _REJECTED_BY_USER.match(content):
        return "person"
    return "policy: automatic review" if content.startswith(_REJECTED_BY_REVIEW) else None
