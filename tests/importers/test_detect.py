"""Formats are told by content, and what can't be read is refused in one line (formats.md §0)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loopkit.errors import ImportFormatError
from loopkit.importers.detect import FORMATS, read_session
from tests.importers.claude_lines import Lines, read, text

CHAT = json.dumps([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}])


def _refusal(path: Path, format_name: str | None = None) -> str:
    with pytest.raises(ImportFormatError) as caught:
        read_session(path, format_name)
    words = str(caught.value)
    assert "\n" not in words
    return words


def _session() -> str:
    lines = Lines()
    lines.prompt("go")
    lines.answer("m1", text("hi"))
    return lines.text()


def test_name_of_the_file_says_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, CHAT, "x.jsonl")[0].format == "openai-chat"
    assert read(tmp_path, _session(), "x.json")[0].format == "claude-code"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_are_understood(tmp_path: Path, encoding: str) -> None:
    session, timeline = read(tmp_path, _session().encode(encoding))
    assert timeline.root is not None
    assert (len(timeline.root.iterations), session.notices) == (1, [])


def test_state_records_first_do_not_hide_the_format(tmp_path: Path) -> None:
    """formats.md §0.2: decide on the first 20 records, not the first only."""
    state = "".join(json.dumps({"type": "never-seen", "n": n}) + "\n" for n in range(15))
    assert read(tmp_path, state + _session())[0].format == "claude-code"


def test_windows_line_ends_and_blank_lines_are_fine(tmp_path: Path) -> None:
    session, timeline = read(tmp_path, "\r\n" + _session().replace("\n", "\r\n\r\n"))
    assert timeline.root is not None
    assert (len(timeline.root.iterations), session.notices) == (1, [])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n ", "is empty"),
        (b"PK\x03\x04rest", "a zip archive"),
        (b"SQLite format 3\x00rest", "a SQLite database"),
        (b"plain words", "no JSON that can be read"),
        (b"3", "no JSON object"),
        (b'{"type": "session_meta", "payload": {}}\n{"type": "x"}', "lines of JSON of type 'session_meta'"),
        (b'{"sessionId": "1", "type": "user", "messages": []}', "the keys 'sessionId', 'type'"),
        (b'{"trajectory": [], "history": [{"role": "assistant", "content": ""}]}', "'trajectory'"),
        (b'[{"role": "user", "content": [{"type": "text", "text": "1"}]}]', "a JSON document"),
        (b'{"\\u001b[31m\\u202e": 1}', r"'\x1b[31m\u202e'"),
    ],
)
def test_other_files_are_refused_with_what_was_seen(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(content)
    assert words in _refusal(path)


def test_refusal_names_what_is_supported(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("{}")
    words = _refusal(path)
    assert [known.name for known in FORMATS if f"{known.label} ({known.name})" not in words] == []
    assert words.endswith(" and OpenAI chat dumps (openai-chat)")
    assert "'nonsense' is no format" in _refusal(path, "nonsense")


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    assert "can't be read: No such file" in _refusal(tmp_path / "none")
    assert "is a folder" in _refusal(tmp_path)
    assert "can't be read" in _refusal(Path("\0"))


def test_format_can_be_forced(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text('{"type": "user", "message": {"content": "hi"}}\n')
    assert "not a session" in _refusal(path)
    assert read_session(path, "claude-code").title == "hi"
    assert "no message that can be read as OpenAI chat dumps" in _refusal(path, "openai-chat")
