"""Words are found in a recording's bytes wherever they stand, and come as decoded hits."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from loopkit import events as e
from loopkit.errors import UserError
from loopkit.messages import Message, ToolCall
from loopkit.recording.search import Hit, Needle, search
from tests.recording.story import record, small_run
from tests.strategies import texts


def hits(path: Path, text: str, *, regex: bool = False, any_case: bool = True) -> list[Hit]:
    return [hit for hit in search(path, Needle(text, regex=regex, any_case=any_case)) if isinstance(hit, Hit)]


def places(path: Path, text: str, *, regex: bool = False, any_case: bool = True) -> list[tuple[int, str]]:
    return [(hit.seq, hit.field) for hit in hits(path, text, regex=regex, any_case=any_case)]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    record(path, small_run('she said "Größe\\Weite"\n你好 \ud83d'))
    return path


@pytest.mark.parametrize("text", ["größe", '"Grö', "\\weite", '"\n你', "你好", "WEITE", "\ud83d", 'd "g'])
def test_a_text_is_found_however_json_writes_it(run: Path, text: str) -> None:
    """Quotes, backslashes, line ends, letters beyond ASCII, and lines that are written with escapes (e20)."""
    assert places(run, text) == [(8, "content"), (11, "message.parts[0].text")]


def test_a_hit_says_where_it_stands_and_what_is_around(run: Path) -> None:
    (hit, _) = hits(run, "größe")
    assert (hit.type, hit.loop, hit.iteration) == ("ToolReturned", "root", 1)
    assert (hit.before, hit.found) == ('she said "', "Größe")
    assert hit.after.startswith("\\Weite")
    assert run.read_bytes()[hit.start :].startswith(b'{"seq":8,')


def test_case_counts_when_asked_and_expressions_are_understood(run: Path) -> None:
    assert places(run, "WEITE", any_case=False) == []
    assert places(run, "Weite", any_case=False) != []
    assert places(run, r"^she .*gr[aeiou]?\w+", regex=True)[0] == (8, "content")
    with pytest.raises(UserError, match="can't be understood"):
        Needle("(", regex=True)


def test_arguments_are_searched_with_their_names_and_the_format_s_own_words_are_not(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    events = small_run()
    call = ToolCall("c1", "greet", {"who_is_it": {"deep": ["Ann", 1871]}})
    events[3] = e.Event(4, 0.4, e.ROOT, 1, e.ModelReplied(Message.assistant("", [call])))
    record(path, events)
    assert places(path, "who_is") == [(4, "message.parts[0].arguments")]
    assert places(path, "1871") == [(4, "message.parts[0].arguments.who_is_it.deep[1]")]
    assert places(path, "ModelReplied") == places(path, "verdicts") == places(path, "ToolCall") == []


def test_a_search_in_slices_may_begin_and_end_anywhere_and_passes_damage_over(run: Path) -> None:
    """spec/faults.md j4: a damaged line, and a torn one, is no obstacle."""
    data = run.read_bytes()
    run.write_bytes(data.replace(b'{"seq":8,', b'{"seq":8;') + b'{"seq":13,"t":1,"x":"Gr')
    assert places(run, "größe") == [(11, "message.parts[0].text")]
    middle = data.index(b'{"seq":9,')
    found = list(search(run, Needle("größe"), start=data.index(b"\n") + 1, stop=middle))
    assert found == [middle]


@given(content=texts(40), needle=texts(4))
def test_what_python_finds_is_found(tmp_path_factory: pytest.TempPathFactory, content: str, needle: str) -> None:
    path = tmp_path_factory.mktemp("search") / "run.jsonl"
    record(path, small_run(content))
    found = (8, "content") in places(path, needle, any_case=False)
    assert found == (needle in content)
