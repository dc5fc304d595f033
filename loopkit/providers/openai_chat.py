"""Any server that speaks OpenAI's Chat Completions, over httpx.

A stream that breaks gives a `ProviderError`, never a response: no call of it can run (spec/loop.md 3.9). What had
arrived was told through `emit`. Calls that the output limit cut come marked `cut_off`.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from loopkit.errors import AgentBuildError, ProviderError
from loopkit.messages import ChatResponse
from loopkit.providers.http_failures import LONGEST_CONNECT, cleaned, error_in_answer, public_url, refusal, unreachable
from loopkit.providers.openai_answer import AnswerReader, ErrorInAnswer
from loopkit.providers.openai_wire import RequestEncoder
from loopkit.providers.protocol import ChatRequest, Emit
from loopkit.providers.sse import LONGEST_LINE, ServerSentEvent, SSEReader

if TYPE_CHECKING:
    import ssl

    import httpx
    from anyio.lowlevel import RunVar

    _OpenedClients: TypeAlias = dict["OpenAIChat", tuple[httpx.AsyncClient, AsyncGenerator[httpx.AsyncClient]]]

DEFAULT_BASE_URL = "https://api.openai.com/v1"
DEFAULT_TIMEOUT = 600.0
_KEY_NAME = "OPENAI_API_KEY"
_BASE_NAME = "OPENAI_BASE_URL"
_LONGEST_ERROR_BODY = 64 * 1024
_GRACE_AFTER_END = 0.1
_SHORTEST_SECRET = 6
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_LOOKS_STREAMED = re.compile(rb"\s*(data|event|id|retry)?:")


class OpenAIChat:
    """A model behind a Chat Completions endpoint; one object serves any number of threads and event loops.

    Settings of a request are sent as they are; one of `None` leaves its field out, so `stream_options=None` suits a
    server that refuses it. OpenAI's own `max_completion_tokens` is written for `max_tokens` to OpenAI itself only.

    Args:
        model: the model's name.
        base_url: where `/chat/completions` follows; by default `OPENAI_BASE_URL` or OpenAI's own.
        api_key: by default `OPENAI_API_KEY`; servers other than OpenAI's may need none.
        headers: further headers; they replace ours of the same name.
        timeout: seconds without a byte from the server before the request fails.
        transport: what carries the requests in place of a network, for tests.

    Raises:
        AgentBuildError: the address, the key or a header can't be used.
    """

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
        if not model.strip():
            raise AgentBuildError("the model has no name; write for instance openai:gpt-5-mini")
        if not timeout > 0:
            raise AgentBuildError(f"timeout is in seconds and more than 0, not {timeout!r}")
        self.model: str | None = model
        self.base_url = (base_url or os.environ.get(_BASE_NAME, "").strip() or DEFAULT_BASE_URL).rstrip("/")
        _check_address(self.base_url)
        self._url = _endpoint(self.base_url)
        self._server = public_url(self.base_url)
        self._is_openai = urlsplit(self.base_url).hostname == "api.openai.com"
        key = (api_key if api_key is not None else os.environ.get(_KEY_NAME, "")).strip()
        self._headers = _headers(key, headers or {})
        self._secrets = _secrets(key, headers or {}, self.base_url)
        self._timeout = timeout
        self._transport = transport
        renamed = {"max_tokens": "max_completion_tokens"} if self._is_openai else {}
        self._encoder = RequestEncoder(model, rename=renamed)

    def __repr__(self) -> str:
        return f"OpenAIChat({self.model!r}, base_url={self._server!r})"

    async def respond(self, request: ChatRequest, emit: Emit) -> ChatResponse:
        """Answer one request.

        Raises:
            ProviderError: the server can't be reached, refused, broke off, or answered what can't be understood.
        """
        if self._is_openai and "authorization" not in self._headers:
            raise ProviderError(f"{self._server} needs a key: set {_KEY_NAME}, or {_BASE_NAME} for another server")
        body = self._encoder.body(request)
        import httpx  # noqa: PLC0415 - imported at first use, `import loopkit` stays instant

        client = await self._client()
        try:
            async with client.stream("POST", self._url, content=body, headers=self._headers) as response:
                if response.status_code != 200:
                    raise await self._refusal(response, request)
                return await self._answer(response, emit)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            failure = unreachable(
                error, server=self._server, base_name=_BASE_NAME, seconds=self._timeout, secrets=self._secrets
            )
        # outside the handler: what httpx raised may hold the request, and with it the key
        raise failure

    async def aclose(self) -> None:
        """Close the connections of this event loop; without it they are closed when the loop ends."""
        opened = _opened_clients().get(None)
        if opened is not None and self in opened:
            await opened.pop(self)[1].aclose()

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
            server=self._server,
            key_name=_KEY_NAME,
            messages=request.messages,
            secrets=self._secrets,
        )

    async def _answer(self, response: httpx.Response, emit: Emit) -> ChatResponse:
        reader = AnswerReader(emit)
        try:
            if "text/event-stream" in response.headers.get("content-type", ""):
                await self._read_stream(response, reader)
            else:
                await self._read_whole(response, reader)
            return reader.response(response.headers.get("x-request-id"))
        except ErrorInAnswer as error:
            failure = error_in_answer(error.body, response.headers, server=self._server, secrets=self._secrets)
        except ProviderError as error:
            failure = self._placed(error, response)
        raise failure

    async def _read_stream(self, response: httpx.Response, reader: AnswerReader) -> None:
        import httpx  # noqa: PLC0415 - imported at first use, `import loopkit` stays instant

        events = SSEReader()
        chunks = response.aiter_bytes()
        try:
            async for chunk in chunks:
                if _take(events.feed(chunk), reader):
                    return
        except httpx.HTTPError:
            # after the finish reason only usage may follow; the answer itself is whole
            if not reader.finished:
                raise
        finally:
            await _drain(chunks)
        _take_end(events, reader)

    async def _read_whole(self, response: httpx.Response, reader: AnswerReader) -> None:
        body = await _beginning(response, LONGEST_LINE)
        if _LOOKS_STREAMED.match(body):
            events = SSEReader()
            if not _take(events.feed(body), reader):
                _take_end(events, reader)
            return
        try:
            reader.take_whole(body.decode("utf-8-sig", "replace"))
        except ProviderError as error:
            raise ProviderError(f"{error}; is the base URL right?") from None

    def _placed(self, error: ProviderError, response: httpx.Response) -> ProviderError:
        return ProviderError(
            f"{self._server}: {cleaned(str(error), self._secrets)}",
            status=error.status,
            request_id=response.headers.get("x-request-id"),
            retryable=error.retryable,
        )


def _take(events: Iterable[ServerSentEvent], reader: AnswerReader) -> bool:
    """Hand events over; whether the server said that they were the last."""
    for event in events:
        data = event.data.strip()
        if data == "[DONE]":
            return True
        if event.event == "error":
            raise ErrorInAnswer(_parsed(data))
        if data:
            reader.take_text(data)
    return False


def _take_end(events: SSEReader, reader: AnswerReader) -> None:
    """Take what stands unfinished at the end of a stream.

    Raises:
        ProviderError: the server did not get to the end of its answer.
    """
    try:
        done = _take(events.finish(), reader)
    except ProviderError:
        done = False
    if not (done or reader.finished):
        raise ProviderError("the stream broke off before the answer was whole", retryable=True)


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


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read a body to its end, so that its connection can be used again; give up on one that doesn't end at once."""
    import httpx  # noqa: PLC0415 - imported at first use, `import loopkit` stays instant
    from anyio import move_on_after  # noqa: PLC0415 - the same

    with contextlib.suppress(httpx.HTTPError, httpx.StreamError), move_on_after(_GRACE_AFTER_END):
        async for _ in chunks:
            pass


def _check_address(base_url: str) -> None:
    try:
        parts = urlsplit(base_url)
        # the port is read only here, and a wrong one is a ValueError
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        shown = base_url.rpartition("@")[2].partition("?")[0]
        raise AgentBuildError(
            f"the base URL {shown!r} is no http:// or https:// address; set {_BASE_NAME} or base_url="
        )


def _endpoint(base_url: str) -> str:
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return urlunsplit((parts.scheme, parts.netloc, f"{path}/chat/completions", parts.query, ""))


def _headers(key: str, further: Mapping[str, str]) -> dict[str, str]:
    headers = {"content-type": "application/json", "user-agent": "loopkit"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    headers |= {name.lower(): value for name, value in further.items()}
    for name, value in headers.items():
        # httpx would quote the value in its complaint
        if not (value.isascii() and value.isprintable()):
            what = "the API key" if name == "authorization" else f"the header {name!r}"
            raise AgentBuildError(f"{what} holds characters that no header can hold; was a line break copied with it?")
    return headers


def _secrets(key: str, further: Mapping[str, str], base_url: str) -> tuple[str, ...]:
    password = urlsplit(base_url).password
    found = {key, password or "", *further.values()}
    return tuple(sorted((secret for secret in found if len(secret) >= _SHORTEST_SECRET), key=len, reverse=True))


@functools.cache
def _certificates() -> ssl.SSLContext:
    import httpx  # noqa: PLC0415 - imported at first use, `import loopkit` stays instant

    return httpx.create_ssl_context()


@functools.cache
def _opened_clients() -> RunVar[_OpenedClients]:
    from anyio.lowlevel import RunVar  # noqa: PLC0415 - `import loopkit` loads no event loop

    return RunVar("loopkit.providers.openai_chat")


__all__ = ["DEFAULT_BASE_URL", "DEFAULT_TIMEOUT", "OpenAIChat"]
