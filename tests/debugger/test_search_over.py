"""A search over several recordings, ours and foreign ones, in slices."""

from __future__ import annotations

import json
from pathlib import Path

from loopkit.debugger.runs import run_headless
from loopkit.debugger.search_over import SearchOver
from tests.tui.stories import careful_agent


def test_ours_and_foreign_sessions_are_searched_in_the_order_of_the_files(tmp_path: Path) -> None:
    run_headless(careful_agent(["Ours: Needle."]), "go", record=tmp_path / "ours.jsonl")
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "theirs: needle"}]
    (tmp_path / "theirs.json").write_text(json.dumps({"model": "m", "messages": messages}))
    search = SearchOver([tmp_path / "theirs.json", tmp_path / "missing.jsonl", tmp_path / "ours.jsonl"], "needle")
    while not search.ended:
        search.advance(0.0001)
    assert [found.path.name for found in search.found] == ["theirs.json", "ours.jsonl"]
    assert [found.hit.found for found in search.found] == ["needle", "Needle"]
    assert search.unreadable == 1
    assert search.searched == search.files == 3
