"""What hiding secrets costs: beside the loop's own cost, by the size of a text, and on texts made to be slow."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

from loopkit.recording.redaction.redactor import Redactor
from loopkit.recording.redaction.settings import Redaction
from tests.bench.table import Row, at_most

WORDS = "The search found 12 places in src/module/file.py:34, the first of them in def handle(request): return None. "
HOSTILE = (
    "token:",
    'password="',
    "Authorization: x",
    '\\"secret\\":',
    "://a:",
    "sk-",
    "eyJa.",
    "‹a·",
    "-----BEGIN ",
    "&key=",
)


def measure_text(characters: int) -> float:
    """Return microseconds of CPU to look through a tool's ordinary result of this size."""
    text = (WORDS * (characters // len(WORDS) + 1))[:characters]
    redactor = Redactor(Redaction(environment=False))
    return _cpu(lambda: redactor.text(text), max(3, 400_000 // characters))


def measure_json(characters: int) -> float:
    """Return microseconds of CPU to write the same text as JSON, for scale."""
    text = (WORDS * (characters // len(WORDS) + 1))[:characters]
    return _cpu(lambda: json.dumps(text), max(3, 400_000 // characters))


def worst_growth(characters: int = 20_000) -> tuple[str, float]:
    """Return the hostile piece whose text costs most when it is four times as long, and how many times more."""
    growths = {}
    for piece in HOSTILE:
        short, long = (_hostile_cost(piece, length) for length in (characters, 4 * characters))
        growths[piece] = long / max(short, 1.0)
    worst = max(growths, key=lambda piece: growths[piece])
    return worst, growths[worst]


def redaction_rows() -> Iterator[Row]:
    """Yield what redaction costs by the size of a text: linear, on hostile texts too."""
    for characters in (200, 20_000):
        cost, scale = measure_text(characters), measure_json(characters)
        what = f"redaction of a result of {characters:,} characters"
        yield Row(what, f"{cost:.1f} µs, {scale:.1f} µs as JSON text")
    piece, growth = worst_growth()
    yield at_most("redaction of a hostile text four times as long", growth, 8, beside=f" ({piece!r})")


def _hostile_cost(piece: str, characters: int) -> float:
    text = (piece * (characters // len(piece) + 1))[:characters]
    return min(_cpu(lambda: Redactor(Redaction(environment=False)).text(text), 1) for _ in range(3))


def _cpu(function: Callable[[], object], times: int) -> float:
    before = time.process_time()
    for _ in range(times):
        function()
    return (time.process_time() - before) / times * 1e6


__all__ = ["measure_json", "measure_text", "redaction_rows", "worst_growth"]
