"""Anthropic's Messages, and any server that speaks it."""

from __future__ import annotations

from loopkit.providers.anthropic_answer import AnthropicReader
from loopkit.providers.anthropic_wire import AnthropicEncoder
from loopkit.providers.http_model import HTTPModel
from loopkit.providers.protocol import Emit
from loopkit.providers.service import Service


class AnthropicMessages(HTTPModel):
    """A model behind a Messages endpoint; one object serves any number of threads and event loops.

    Settings of a request are sent as they are; `stop`, `tool_choice` and `parallel_tool_calls` may be written as for
    OpenAI, and `max_tokens` has a default. `cache_control={"type": "ephemeral"}` turns prompt caching on.

    Args:
        model: the model's name.
        base_url: where `/v1/messages` follows; by default `ANTHROPIC_BASE_URL` or Anthropic's own.
        api_key: by default `ANTHROPIC_API_KEY`; servers other than Anthropic's may need none.
        headers: further headers, such as `anthropic-beta`; they replace ours of the same name.
        timeout: seconds without a byte from the server before the request fails.
        transport: what carries the requests in place of a network, for tests.

    Raises:
        AgentBuildError: the address, the key or a header can't be used.
    """

    service = Service(
        example="anthropic:claude-sonnet-4-5",
        home="https://api.anthropic.com",
        path="/v1/messages",
        base_may_end=("/messages", "/v1"),
        base_name="ANTHROPIC_BASE_URL",
        key_name="ANTHROPIC_API_KEY",
        key_header="x-api-key",
        key_prefix="",
        headers={"anthropic-version": "2023-06-01"},
    )

    def encoder(self, model: str) -> AnthropicEncoder:
        return AnthropicEncoder(model)

    def reader(self, emit: Emit) -> AnthropicReader:
        return AnthropicReader(emit)


__all__ = ["AnthropicMessages"]
