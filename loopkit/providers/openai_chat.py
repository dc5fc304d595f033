"""Any server that speaks OpenAI's Chat Completions."""

from __future__ import annotations

from loopkit.providers.http_model import HTTPModel
from loopkit.providers.openai_chat_answer import ChatReader
from loopkit.providers.openai_chat_wire import ChatEncoder
from loopkit.providers.protocol import Emit
from loopkit.providers.service import Service


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

    def encoder(self, model: str) -> ChatEncoder:
        return ChatEncoder(model, rename={"max_tokens": "max_completion_tokens"} if self.at_home else {})

    def reader(self, emit: Emit) -> ChatReader:
        return ChatReader(emit)


__all__ = ["OpenAIChat"]
