"""Every odd stream means what it means however the network cuts it, and never crashes wherever it breaks off."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import httpx
import pytest

from loopkit.errors import ProviderError
from loopkit.messages import ToolCall
from loopkit.providers.protocol import ArgumentsDelta, Delta
from tests.providers.dialects import DIALECTS, Dialect
from tests.providers.oddities import ODDITIES, Oddity
from tests.providers.streams import CUTS, answering, ask

pytestmark = pytest.mark.anyio


class Wire:
    """A provider whose server sends whatever it is told to; one for many bodies, since making it takes longest."""

    def __init__(self, dialect: Dialect, **options: Any) -> None:
        self._body: list[bytes | Exception] = []
        given = {"kind": dialect.kind, "content_type": dialect.content_type, **options}
        self._provider = answering(self._pieces(), **given)

    def _pieces(self) -> Iterable[bytes | Exception]:
        return _Again(lambda: self._body)

    async def outcome(self, *body: bytes | Exception) -> tuple[Any, ...]:
        """What an answer comes to: its parts and figures, or its error; and what was told meanwhile."""
        self._body = list(body)
        told: list[Delta] = []
        try:
            response = await ask(self._provider, told=told)
        except ProviderError as error:
            failure = (str(error), error.retryable, error.unreported, error.unread)
            return ("error", failure, _joined(told))
        return (response.parts, response.usage, response.stop_reason, response.raw_stop_reason, _joined(told))


class _Again:
    """What there is at the moment, each time anew."""

    def __init__(self, there_is: Callable[[], list[bytes | Exception]]) -> None:
        self._there_is = there_is

    def __iter__(self) -> Iterator[bytes | Exception]:
        return iter(self._there_is())


def _joined(told: list[Delta]) -> dict[Any, str]:
    words: dict[Any, str] = {}
    for piece in told:
        key = piece.position if isinstance(piece, ArgumentsDelta) else type(piece)
        words[key] = words.get(key, "") + piece.text
    return words


@pytest.mark.parametrize("oddity", ODDITIES, ids=str)
async def test_an_odd_stream_means_the_same_in_every_cut(oddity: Oddity) -> None:
    """a1, a3, a4, a6, a7, a9, a11, a16, a18, a19, a20, a24, a25, a26, a29, a37, b9, 9.1, n2: in every dialect."""
    wire = Wire(oddity.dialect)
    found = await wire.outcome(oddity.body)
    if isinstance(oddity.parts, str):
        assert found[0] == "error"
        assert oddity.parts in found[1][0]
        assert "\n" not in found[1][0]
    else:
        assert found[0] == oddity.parts
        assert found[1] == oddity.usage
    for cut in CUTS:
        assert await wire.outcome(*cut(oddity.body)) == found


@pytest.mark.parametrize("dialect", DIALECTS, ids=str)
@pytest.mark.parametrize(("how", "step"), [("ends", 1), ("breaks", 11)])
async def test_a_stream_may_break_off_at_every_byte(dialect: Dialect, how: str, step: int) -> None:
    """3.9, a20, a24, a25: an error that may be retried, or the whole answer once its end was told; nothing between."""
    (body, *_) = dialect.rich
    wire = Wire(dialect)
    whole = await wire.outcome(body)
    for length in range(0, len(body), step):
        pieces: list[bytes | Exception] = [body[:length]]
        if how == "breaks":
            pieces.append(httpx.ReadError("reset"))
        found = await wire.outcome(*pieces)
        if found[0] == "error":
            assert found[1][1], found
            for key, text in found[2].items():
                assert whole[-1][key].startswith(text)
        else:
            assert found[0] == whole[0]
            assert not any(call.cut_off for call in found[0] if isinstance(call, ToolCall))


@pytest.mark.parametrize("dialect", DIALECTS, ids=str)
@pytest.mark.parametrize("coding", ["gzip", "deflate"])
# httpx leaves its own generators open when a body can't be unpacked, and trio says so
@pytest.mark.filterwarnings("ignore:Exception ignored in. <async_generator:pytest.PytestUnraisableExceptionWarning")
async def test_a_compressed_stream_is_the_same(dialect: Dialect, coding: str) -> None:
    """n2: in any cut; one that breaks, or is not compressed at all, is one line."""
    (body, *_) = dialect.rich
    packed = gzip.compress(body) if coding == "gzip" else zlib.compress(body)
    headers = {"content-encoding": coding}
    plain = await Wire(dialect).outcome(body)
    wire = Wire(dialect, headers=headers)
    for cut in CUTS:
        assert await wire.outcome(*cut(packed)) == plain
    for broken in (packed[: len(packed) // 2], body):
        found = await wire.outcome(broken)
        assert found[0] == "error"
        assert "\n" not in found[1][0]


@pytest.mark.parametrize("dialect", DIALECTS, ids=str)
@pytest.mark.parametrize("cut", CUTS)
async def test_an_error_in_a_whole_answer_is_told(dialect: Dialect, cut: Any) -> None:
    """a26: status 200 and an error all the same."""
    for body in (b'{"error": {"message": "so it is", "code": 500}}', b' \xef\xbb\xbf{"error": "so it is"}'[1:]):
        found = await Wire(dialect, content_type="application/json").outcome(*cut(body))
        assert found[0] == "error"
        assert "so it is" in found[1][0]
