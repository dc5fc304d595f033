"""Any server that speaks OpenAI's Chat Completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from loopkit.providers.http_model import DEFAULT_TIMEOUT, HTTPModel
from loopkit.providers.openai_chat_answer import ChatReader
from loopkit.providers.openai_chat_wire import ChatEncoder, StringChatEncoder
from loopkit.providers.protocol import Emit
from loopkit.providers.service import Service

if TYPE_CHECKING:
    import httpx


class OpenAIChat(HTTPModel):
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
        null_content: how an answer that does nothing but call tools goes back: with a content of null, as OpenAI has
            it and most servers understand it best, or, when False, with an empty string, as the server of
            llama-cpp-python needs it.

    Raises:
        AgentBuildError: the address, the key or a header can't be used.
    """

    service = Service(
        example="openai:gpt-5-mini",
        home="https://api.openai.com/v1",
        path="/chat/completions",
        base_may_end=("/chat/completions",),
        base_name="OPENAI_BASE_URL",
        key_name="OPENAI_API_KEY",
    )

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        transport: httpx.AsyncBaseTransport | None = None,
        null_content: bool = True,
    ) -> None:
        self._encoder_type = ChatEncoder if null_content else StringChatEncoder
        super().__init__(
            model, base_url=base_url, api_key=api_key, headers=headers, timeout=timeout, transport=transport
        )

    def encoder(self, model: str) -> ChatEncoder:
        return self._encoder_type(model, rename={"max_tokens": "max_completion_tokens"} if self.at_home else {})

    def reader(self, emit: Emit) -> ChatReader:
        return ChatReader(emit)


__all__ = ["OpenAIChat"]
