"""Real sessions that nobody here wrote, in the folder named by LOOPKIT_CORPUS, with the numbers that it states itself."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from loopkit.importers.detect import read_session
from loopkit.importers.source import Source
from tests.importers.claude_lines import checked_timeline, read_or_refuse

CORPUS = os.environ.get("LOOPKIT_CORPUS", "")
ROOT = Path(CORPUS) if CORPUS else None
_FIGURES = re.compile(
    r"^\| ((?:claude-code|codex|gemini-cli|openai-chat)/\S+) \|.*?\| (\d+)/(\d+)/(\d+)/\d+ \|", re.MULTILINE
)


def _figures() -> list[tuple[str, int, int, int]]:
    if ROOT is None:
        return []
    rows = _FIGURES.findall((ROOT / "SOURCES.md").read_text())
    return [(name, int(iterations), int(calls), int(depth)) for name, iterations, calls, depth in rows]


def _files() -> list[str]:
    if ROOT is None:
        return []
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file())


pytestmark = pytest.mark.skipif(ROOT is None, reason="LOOPKIT_CORPUS names no folder of real sessions")


def test_corpus_has_every_format() -> None:
    assert {name.split("/")[0] for name, *_ in _figures()} == {"claude-code", "codex", "gemini-cli", "openai-chat"}


@pytest.mark.parametrize(("name", "iterations", "calls", "depth"), _figures())
def test_figures_are_those_of_the_sources(name: str, iterations: int, calls: int, depth: int) -> None:
    assert ROOT is not None
    session = read_session(ROOT / name)
    timeline = checked_timeline(session)
    assert timeline.root is not None
    found = len(timeline.root.iterations), sum(len(each.calls) for each in timeline.root.iterations), timeline.depth
    assert session.format == name.split("/", maxsplit=1)[0]
    assert found == (iterations, calls, depth)
    assert (session.runs > 0) == (depth > 0)


@pytest.mark.parametrize("name", _files())
def test_every_file_is_read_or_refused_in_one_line(name: str) -> None:
    assert ROOT is not None
    session = read_or_refuse(ROOT / name)
    assert session is not None or not name.startswith(
        ("anthropic-messages/", "claude-code/", "codex/", "gemini-cli/", "openai-chat/", "openai-responses/")
    )


@pytest.mark.parametrize("name", [name for name, *_ in _figures()])
def test_real_files_cut_anywhere_are_read_or_refused(name: str, tmp_path: Path) -> None:
    assert ROOT is not None
    data = (ROOT / name).read_bytes()
    for part in range(1, 8):
        path = tmp_path / str(part)
        path.write_bytes(data[: len(data) * part // 8 + part])
        session = read_or_refuse(path)
        assert session is not None or not Source.open(ROOT / name).is_lines, (
            "a torn document of one run can't be read, lines always can"
        )


@pytest.mark.skipif(not (ROOT and (ROOT / "claude-code/20.jsonl").exists()), reason="the large session isn't there")
def test_large_session_is_read_fast() -> None:
    """2.6 MB in less than 0.3 s of CPU."""
    assert ROOT is not None
    began = time.process_time()
    read_session(ROOT / "claude-code/20.jsonl")
    assert time.process_time() - began < 0.3
