"""Real sessions of other agents, outside the repository: hidden and restored exactly, and hardly anything is hidden."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loopkit import events as e
from loopkit.recording.redaction.facts import hidden
from loopkit.recording.redaction.inspection import inspect_secrets, values_in
from loopkit.recording.redaction.redactor import Redactor
from loopkit.recording.redaction.settings import Redaction
from tests.recording.redaction.labelled_secrets import labelled_secrets

CORPUS = os.environ.get("LOOPKIT_CORPUS", "")
MOST_PLACES_PER_MEGABYTE = 2

pytestmark = pytest.mark.skipif(not CORPUS, reason="set LOOPKIT_CORPUS to a folder of published sessions")


def sessions() -> list[Path]:
    return sorted(path for path in Path(CORPUS).rglob("*") if path.is_file())


def test_every_session_comes_back_as_it_was() -> None:
    for path in sessions():
        redactor = Redactor(Redaction(environment=False))
        for line, value in values_in(path):
            assert redactor.restored(redactor.value(value)) == value, f"{path.name}, line {line}"


def test_secrets_planted_in_their_texts_are_hidden() -> None:
    """What stands around a secret doesn't hide it from the rules."""
    hosts = [text for path in sessions() if path.suffix in (".json", ".jsonl") for text in _long_texts(path)]
    missed = []
    for place, (kind, given, secret) in enumerate(labelled_secrets()):
        if not isinstance(given, str) or kind.startswith("hard: "):
            continue
        lines = hosts[place * 7 % len(hosts)].split("\n")
        middle = place % (len(lines) + 1)
        text = "\n".join([*lines[:middle], given, *lines[middle:]])
        for form, spelled in ((text, secret), (json.dumps({"content": text}), json.dumps(secret)[1:-1])):
            fact = hidden(Redactor(Redaction(environment=False)), e.ToolReturned("root/1.1", form))
            missed += [kind] if spelled in fact.content else []
    assert missed == []


def _long_texts(path: Path) -> Iterator[str]:
    for _, value in values_in(path):
        yield from (text for text in _texts(value) if 400 < len(text) < 8000 and "\n" in text)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def test_published_sessions_are_left_nearly_as_they_are() -> None:
    """spec/features.md 34: over-eager redaction destroys transcripts."""
    places: Counter[str] = Counter()
    for path in sessions():
        places.update(place.rule for place in inspect_secrets(path).shown)
    megabytes = sum(path.stat().st_size for path in sessions()) / 1e6
    assert places.total() <= MOST_PLACES_PER_MEGABYTE * megabytes, places
