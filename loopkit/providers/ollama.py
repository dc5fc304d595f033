"""Ollama's own chat."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from loopkit.providers.http_model import HTTPModel
from loopkit.providers.json_lines import JSONLinesReader
from loopkit.providers.ollama_answer import OllamaReader
from loopkit.providers.ollama_wire import OllamaEncoder
from loopkit.providers.protocol import Emit
from loopkit.providers.service import Service

_PORT = 11434
_EVERY_ADDRESS = ("", "0.0.0.0", "::")  # noqa: S104 - nothing is bound here: it is where a server was told to listen


class Ollama(HTTPModel):
    """A model behind Ollama's `/api/chat`; one object serves any number of threads and event loops.

    Settings that are no field of the request go under its `options`; `max_tokens` is written as `num_predict`. Ollama
    knows no `parallel_tool_calls`, so that wish is not sent.

    Args:
        model: the model's name.
        base_url: the server's address, as short as `OLLAMA_HOST` takes it (`host`, `host:port`); by default
            `OLLAMA_HOST` or this machine.
        api_key: by default `OLLAMA_API_KEY`; servers of one's own need none.
        headers: further headers; they replace ours of the same name.
        timeout: seconds without a byte from the server before the request fails; loading a model is silent.
        transport: what carries the requests in place of a network, for tests.

    Raises:
        AgentBuildError: the address, the key or a header can't be used.
    """

    service = Service(
        example="ollama:qwen3",
        home=f"http://127.0.0.1:{_PORT}",
        path="/api/chat",
        base_may_end=("/chat", "/api"),
        base_name="OLLAMA_HOST",
        key_name="OLLAMA_API_KEY",
        framing=JSONLinesReader,
    )

    def encoder(self, model: str) -> OllamaEncoder:
        return OllamaEncoder(model)

    def reader(self, emit: Emit) -> OllamaReader:
        return OllamaReader(emit)

    def address(self, given: str) -> str:
        """Return the address that `OLLAMA_HOST` means: host, port and scheme may each be left out."""
        short = "://" not in given
        try:
            parts = urlsplit(f"http://{given}" if short else given)
            host, port = parts.hostname or "", parts.port or (_PORT if short else None)
        except ValueError:
            # no address at all, and told so by the check that follows
            return given
        host = "127.0.0.1" if host in _EVERY_ADDRESS else f"[{host}]" if ":" in host else host
        user = parts.netloc.rpartition("@")[0]
        place = f"{user}@{host}" if user else host
        return urlunsplit((parts.scheme, place if port is None else f"{place}:{port}", parts.path, parts.query, ""))


__all__ = ["Ollama"]
