"""A model behind an HTTP server, whatever the dialect: addresses, headers, connections, bodies and their failures.

A stream that breaks gives a `ProviderError`, never a response: no call of it can run (spec/loop.md 3.9). What had
arrived was told through `emit`. Calls that the output limit cut come marked `cut_off`.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from copy import copy
from typing import TYPE_CHECKING, ClassVar, Self, TypeAlias
from urllib.parse import urlsplit

from loopkit.errors import AgentBuildError, ProviderError
from loopkit.messages import ChatResponse
from loopkit.providers.answer import AnswerReader, ErrorInAnswer
from loopkit.providers.http_failures import (
    LONGEST_CONNECT,
    SERVER_FAILED,
    Server,
    cleaned,
    error_in_answer,
    public_url,
    refusal,
    request_id,
    unreachable,
    without_keys,
)
from loopkit.providers.json_lines import JSONLinesReader
from loopkit.providers.protocol import ChatRequest, Emit
from loopkit.providers.request_body import RequestEncoder
from loopkit.providers.service import Service, keep_out_of_recordings, secrets_of
from loopkit.providers.sse import LONGEST_LINE, ServerSentEvent, SSEReader

if TYPE_CHECKING:
    import ssl

    import httpx
    from anyio.lowlevel import RunVar

    _OpenedClients: TypeAlias = dict["HTTPModel", tuple[httpx.AsyncClient, AsyncGenerator[httpx.AsyncClient]]]

DEFAULT_TIMEOUT = 600.0
_LONGEST_ERROR_BODY = 64 * 1024
_LONGEST_UNREAD = 16_000
_GRACE_AFTER_END = 0.1
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


class HTTPModel(ABC):
    """A model behind an HTTP server; one object serves any number of threads and event loops.

    Args:
        model: the model's name.
        base_url: the server's address; by default what the service's environment variable says, or its home.
        api_key: by default what the service's environment variable says.
        headers: further headers; they replace ours of the same name.
        timeout: seconds without a byte from the server before the request fails.
        transport: what carries the requests in place of a network, for tests.

    Raises:
        AgentBuildError: the address, the key or a header can't be used.
    """

    service: ClassVar[Service]

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        service = self.service
        if not model.strip():
            raise AgentBuildError(f"the model has no name; write for instance {service.example}")
        if not timeout > 0:
            raise AgentBuildError(f"timeout is in seconds and more than 0, not {timeout!r}")
        self.model: str | None = model
        given = base_url or os.environ.get(service.base_name, "").strip()
        self.base_url = (self.address(given) if given else service.home).rstrip("/")
        service.check_address(self.base_url)
        self._url = service.endpoint(self.base_url)
        key = (api_key if api_key is not None else os.environ.get(service.key_name, "")).strip()
        self._headers = service.dressed(key, headers or {})
        keep_out_of_recordings(key, headers or {}, self.base_url)
        self._server = Server(
            public_url(self.base_url),
            service.path,
            base_advice=service.base_advice("argument" if base_url else "environment" if given else "home"),
            key_source=service.key_name if api_key is None else "api_key",
            secrets=secrets_of(key, headers or {}, self.base_url),
        )
        self._timeout = timeout
        self._transport = transport
        self._encoder = self.encoder(model)

    @abstractmethod
    def encoder(self, model: str) -> RequestEncoder:
        """Return what writes the requests."""

    @abstractmethod
    def reader(self, emit: Emit) -> AnswerReader:
        """Return what reads one answer."""

    def address(self, given: str) -> str:
        """Return the base URL that a person's word for it means."""
        return given

    def asking(self, model: str) -> Self:
        """Return the same server with another of its models."""
        other = copy(self)
        other.model = model
        other._encoder = other.encoder(model)
        return other

    @property
    def at_home(self) -> bool:
        """Whether the server is the service's own and no other that speaks its dialect."""
        return urlsplit(self.base_url).hostname == urlsplit(self.service.home).hostname

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, base_url={self._server.address!r})"

    async def respond(self, request: ChatRequest, emit: Emit) -> ChatResponse:
        """Answer one request.

        Raises:
            ProviderError: the server can't be reached, refused, broke off, or answered what can't be understood; or
                the request can't be sent.
        """
        self._check_key()
        body = self._encoder.body(request)
        import httpx  # noqa: PLC0415 - imported at first use, `import loopkit` stays instant

        client = await self._client()
        try:
            async with client.stream("POST", self._url, content=body, headers=self._headers) as response:
                if response.status_code != 200:
                    raise await self._refusal(response, request)
                return await self._answer(response, emit)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            failure = unreachable(error, self._server, seconds=self._timeout)
        # outside the handler: what httpx raised may hold the request, and with it the key
        raise failure

    async def aclose(self) -> None:
        """Close the connections of this event loop; without it they are closed when the loop ends."""
        opened = _opened_clients().get(None)
        if opened is not None and self in opened:
            await opened.pop(self)[1].aclose()

    def _check_key(self) -> None:
        needed = self.at_home and urlsplit(self.service.home).hostname not in _THIS_MACHINE
        if needed and not {self.service.key_header, "authorization"} & self._headers.keys():
            service = self.service
            raise ProviderError(
                f"{self._server.address} needs a key: set {service.key_name}, or {service.base_name} for another server"
            )

    async def _client(self) -> httpx.AsyncClient:
        # connections belong to the event loop that opened them, and one provider may serve several
        opened = _opened_clients().get(None)
        if opened is None:
            opened = {}
            _opened_clients().set(opened)
        if self not in opened:
            lifetime = self._lifetime()
            opened[self] = (await anext(lifetime), lifetime)
        return opened[self][0]

    async def _lifetime(self) -> AsyncGenerator[httpx.AsyncClient]:
        """Yield a client; every event loop closes its open generators at its end, and with this one the client."""
        import httpx  # noqa: PLC0415 - imported at first use, `import loopkit` stays instant

        client = httpx.AsyncClient(
            transport=self._transport,
            verify=_certificates(),
            timeout=httpx.Timeout(self._timeout, connect=min(self._timeout, LONGEST_CONNECT)),
            # a proxy can't reach a server on this machine
            trust_env=urlsplit(self.base_url).hostname not in _THIS_MACHINE,
        )
        try:
            yield client
        finally:
            await client.aclose()

    async def _refusal(self, response: httpx.Response, request: ChatRequest) -> ProviderError:
        body = await _beginning(response, _LONGEST_ERROR_BODY)
        return refusal(
            response.status_code,
            response.headers,
            body.decode("utf-8", "replace"),
            self._server,
            messages=request.messages,
            entries_at=functools.partial(self._encoder.entries_at, request.messages),
        )

    async def _answer(self, response: httpx.Response, emit: Emit) -> ChatResponse:
        reader = self.reader(emit)
        try:
            if self.service.framing.content_type in response.headers.get("content-type", ""):
                await self._read_stream(response, reader)
            else:
                await self._read_whole(response, reader)
            return reader.response(request_id(response.headers))
        except ErrorInAnswer as error:
            failure = error_in_answer(error.body, response.headers, self._server)
        except ProviderError as error:
            failure = self._placed(error, response, unreported=reader.begun)
        raise failure

    async def _read_stream(self, response: httpx.Response, reader: AnswerReader) -> None:
        import httpx  # noqa: PLC0415 - imported at first use, `import loopkit` stays instant

        events = self.service.framing()
        chunks = response.aiter_bytes()
        beginning = bytearray()
        try:
            async for chunk in chunks:
                if len(beginning) < _LONGEST_ERROR_BODY:
                    beginning += chunk
                if _take(events.feed(chunk), reader):
                    return
            _take_end(events, reader)
        except httpx.HTTPError:
            # after the reason of the end only usage may follow; the answer itself is whole
            if not reader.finished:
                raise
        except ProviderError:
            if reader.begun or not beginning.strip() or events.resembles(bytes(beginning)):
                raise
            await _drain(chunks, beginning)
            self._take_unstreamed(bytes(beginning), reader)
        finally:
            await _drain(chunks)

    async def _read_whole(self, response: httpx.Response, reader: AnswerReader) -> None:
        body = await _beginning(response, LONGEST_LINE)
        if self.service.framing.fits(body):
            events = self.service.framing()
            if not _take(events.feed(body), reader):
                _take_end(events, reader)
            return
        self._take_unstreamed(body, reader)

    def _take_unstreamed(self, body: bytes, reader: AnswerReader) -> None:
        try:
            reader.take_whole(body.decode("utf-8-sig", "replace"))
        except ProviderError as error:
            advice = f"does the base URL end where {self.service.path} follows?"
            raise ProviderError(f"{error}; {advice}", unread=error.unread) from None

    def _placed(self, error: ProviderError, response: httpx.Response, *, unreported: bool) -> ProviderError:
        advice = f"; {SERVER_FAILED}" if error.retryable else ""
        return ProviderError(
            f"{self._server.address}: {cleaned(str(error), self._server.secrets)}{advice}",
            status=error.status,
            request_id=request_id(response.headers),
            retryable=error.retryable,
            unreported=unreported,
            unread=None if error.unread is None else without_keys(error.unread[:_LONGEST_UNREAD], self._server.secrets),
        )


def _take(events: Iterable[ServerSentEvent], reader: AnswerReader) -> bool:
    """Hand events over; whether the server said that they were the last."""
    for event in events:
        data = event.data.strip(" \t\r\n")
        if data == "[DONE]":
            return True
        if event.event == "error":
            raise ErrorInAnswer(_parsed(data))
        if data:
            reader.take_text(data)
            if reader.complete:
                return True
    return False


def _take_end(events: SSEReader | JSONLinesReader, reader: AnswerReader) -> None:
    """Take what stands unfinished at the end of a stream.

    Raises:
        ProviderError: the server did not get to the end of its answer.
    """
    torn: str | None = None
    try:
        done = _take(events.finish(), reader)
    except ProviderError as error:
        done, torn = False, error.unread
    if not (done or reader.finished):
        raise ProviderError("the stream broke off before the answer was whole", retryable=True, unread=torn)


def _parsed(data: str) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data


async def _beginning(response: httpx.Response, limit: int) -> bytes:
    body = bytearray()
    chunks = response.aiter_bytes()
    try:
        async for chunk in chunks:
            body += chunk
            if len(body) > limit:
                break
    finally:
        await _drain(chunks)
    return bytes(body[:limit])


async def _drain(chunks: AsyncIterator[bytes], read: bytearray | None = None) -> None:
    """Read a body to its end, so that its connection can be used again; give up on one that doesn't end at once.

    Args:
        read: takes what is read, up to the limit of an error's body.
    """
    import httpx  # noqa: PLC0415 - imported at first use, `import loopkit` stays instant
    from anyio import move_on_after  # noqa: PLC0415 - the same

    with contextlib.suppress(httpx.HTTPError, httpx.StreamError), move_on_after(_GRACE_AFTER_END):
        async for chunk in chunks:
            if read is not None and len(read) < _LONGEST_ERROR_BODY:
                read += chunk


@functools.cache
def _certificates() -> ssl.SSLContext:
    import httpx  # noqa: PLC0415 - imported at first use, `import loopkit` stays instant

    return httpx.create_ssl_context()


@functools.cache
def _opened_clients() -> RunVar[_OpenedClients]:
    from anyio.lowlevel import RunVar  # noqa: PLC0415 - `import loopkit` loads no event loop

    return RunVar("loopkit.providers.http_model")


__all__ = ["DEFAULT_TIMEOUT", "HTTPModel"]
