"""OpenAI's Responses, and any server that speaks it."""

from __future__ import annotations

from dataclasses import replace

from loopkit.providers.http_model import HTTPModel
from loopkit.providers.openai_chat import OpenAIChat
from loopkit.providers.openai_responses_answer import ResponsesReader
from loopkit.providers.openai_responses_wire import ResponsesEncoder
from loopkit.providers.protocol import Emit


class OpenAIResponses(HTTPModel):
    """A model behind a Responses endpoint; one object serves any number of threads and event loops.

    Settings of a request are sent as they are, `max_tokens` as `max_output_tokens`; one of `None` leaves its field
    out. `store` is false and encrypted reasoning is asked for unless a setting says otherwise: `include=None` suits a
    model that refuses it.

    Args:
        model: the model's name.
        base_url: where `/responses` follows; by default `OPENAI_BASE_URL` or OpenAI's own.
        api_key: by default `OPENAI_API_KEY`; servers other than OpenAI's may need none.
        headers: further headers; they replace ours of the same name.
        timeout: seconds without a byte from the server before the request fails.
        transport: what carries the requests in place of a network, for tests.

    Raises:
        AgentBuildError: the address, the key or a header can't be used.
    """

    service = replace(
        OpenAIChat.service,
        example="openai-responses:gpt-5-mini",
        path="/responses",
        base_may_end=("/responses",),
    )

    def encoder(self, model: str) -> ResponsesEncoder:
        return ResponsesEncoder(model)

    def reader(self, emit: Emit) -> ResponsesReader:
        return ResponsesReader(emit)


__all__ = ["OpenAIResponses"]
