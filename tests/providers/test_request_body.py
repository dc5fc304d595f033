"""What holds for requests in every dialect: each message is encoded once, and what is kept changes nothing."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit.messages import Image, Message, Reasoning, Refusal, Text, ToolCall, ToolResult
from loopkit.providers.anthropic_wire import AnthropicEncoder
from loopkit.providers.ollama_wire import OllamaEncoder
from loopkit.providers.openai_chat_wire import ChatEncoder
from loopkit.providers.openai_responses_wire import ResponsesEncoder
from loopkit.providers.protocol import ChatRequest
from loopkit.providers.request_body import RequestEncoder
from loopkit.providers.wire_parts import EMPTY

ENCODERS: list[type[RequestEncoder]] = [ChatEncoder, ResponsesEncoder, AnthropicEncoder, OllamaEncoder]

pytestmark = pytest.mark.parametrize("encoder_type", ENCODERS, ids=lambda each: each.__name__)


def turn(call_id: str, number: int) -> list[Message]:
    return [
        Message.assistant("", [ToolCall(call_id, "look", {"thing": number})]),
        Message.tool(ToolResult(call_id, f"r{number}")),
    ]


def counted(encoder_type: type[RequestEncoder], monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    written: Counter[int] = Counter()
    original = encoder_type.history_type.write

    def counting(history: Any, message: Message) -> None:
        written[id(message)] += 1
        original(history, message)

    monkeypatch.setattr(encoder_type.history_type, "write", counting)
    return written


def test_each_message_is_encoded_once(encoder_type: type[RequestEncoder], monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN §1, linear: counted, for a history that grows by a turn per request."""
    written = counted(encoder_type, monkeypatch)
    encoder, history = encoder_type("m"), [Message.system("s"), Message.user("u")]
    for number in range(50):
        encoder.body(ChatRequest(tuple(history)))
        history += turn("call_0", number)
    assert set(written.values()) == {1}


def test_histories_of_several_agents_are_kept_apart(
    encoder_type: type[RequestEncoder], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when they begin with the very same message."""
    written = counted(encoder_type, monkeypatch)
    shared, encoder = Message.system("s"), encoder_type("m")
    agents = [[shared, Message.user(str(number))] for number in range(4)]
    for number in range(60):
        for history in agents:
            encoder.body(ChatRequest(tuple(history)))
            history.extend(turn("c", number))
    assert written.total() <= sum(len(history) for history in agents)


EDITS = st.lists(
    st.tuples(st.sampled_from(["grow", "mask", "drop", "user", "system", "batch"]), st.integers(0, 50)), max_size=25
)


@given(edits=EDITS)
def test_what_is_kept_never_changes_what_is_sent(
    encoder_type: type[RequestEncoder], edits: list[tuple[str, int]]
) -> None:
    """Any course of growing, masking, editing and trimming: the same bytes as from a fresh encoder."""
    encoder, history = encoder_type("m"), [Message.system("s"), Message.user("u")]
    for edit, number in edits:
        if edit == "grow":
            history += turn(f"call_{number % 3}", number)
        elif edit == "user":
            history = [*history, Message.user(f"more {number}")]
        elif edit == "system":
            history = [*history, Message.system(f"mind {number}")]
        elif edit == "batch":
            calls = [ToolCall(f"call_{number % 2}", "look", {"n": n}) for n in range(3)]
            results = [Message.tool(ToolResult(call.id, "r")) for call in calls]
            history = [*history, Message.assistant("", calls), *results]
        elif edit == "drop":
            history = history[: max(1, len(history) - number % 40)]
        elif history[place := number % len(history)].role == "tool":
            masked = ToolResult(history[place].tool_results[0].tool_call_id, "masked")
            history = [*history[:place], Message.tool(masked), *history[place + 1 :]]
        request = ChatRequest(tuple(history))
        body = encoder.body(request)
        assert body == encoder_type("m").body(request)
        assert json.loads(body)["model"] == "m"


def strings(value: Any) -> list[str]:
    """Return every text of a request, wherever it stands."""
    if isinstance(value, dict):
        return [text for inner in value.values() for text in strings(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in strings(inner)]
    return [value] if isinstance(value, str) else []


def sent(encoder_type: type[RequestEncoder], *messages: Message) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(encoder_type("m").body(ChatRequest(messages)))
    return body


@pytest.mark.parametrize(
    "message",
    [
        Message.user(""),
        Message.user(" \n"),
        Message("assistant", (Reasoning("hm"),)),
        Message("assistant", ()),
        Message("assistant", (Text(" "), Text(""))),
        Message.tool(ToolResult("c", "")),
    ],
)
def test_a_message_without_words_is_sent_with_a_placeholder(
    encoder_type: type[RequestEncoder], message: Message
) -> None:
    """b14: no text on the wire is empty; the history itself stays as it is."""
    texts = strings(sent(encoder_type, Message.user("u"), message))
    assert EMPTY in texts
    assert all(text.strip() for text in texts)


def test_ids_that_start_again_each_turn_are_rewritten_where_they_collide(encoder_type: type[RequestEncoder]) -> None:
    """b8, b9: every result names the call before it, and no two calls share an id."""
    pair = [ToolCall("dup", "look", {"n": n}) for n in (1, 2)]
    both = [Message.assistant("", pair), *(Message.tool(ToolResult("dup", f"r{n}")) for n in (8, 9))]
    body = sent(encoder_type, Message.user("u"), *turn("call_0", 1), *turn("call_0", 2), *both)
    call_ids, result_ids = ids_of(body)
    assert call_ids == result_ids
    assert call_ids[0] == "call_0"
    assert len(set(call_ids)) == 4


def ids_of(body: Any) -> tuple[list[str], list[str]]:
    """Return the ids of calls and of results in the order of a request, in any dialect."""
    calls: list[str] = []
    results: list[str] = []
    waiting = [body.get("input") or body["messages"]]
    while waiting:
        value = waiting.pop(0)
        if isinstance(value, list):
            waiting = [*value, *waiting]
        elif isinstance(value, dict):
            if "tool_call_id" in value or "tool_use_id" in value or value.get("type") == "function_call_output":
                results.append(value.get("tool_call_id") or value.get("tool_use_id") or value["call_id"])
            elif value.get("type") in ("tool_use", "function_call") or "function" in value:
                calls.append(value["call_id"] if "call_id" in value else value["id"])
            else:
                waiting = [*value.values(), *waiting]
    return calls, results


def test_lone_surrogates_are_replaced_on_the_wire_only(encoder_type: type[RequestEncoder]) -> None:
    """d16, e20."""
    message = Message.user("a\ud800b é 😀")
    assert "a\ufffdb é 😀" in strings(sent(encoder_type, message))
    assert message.text == "a\ud800b é 😀"


def test_large_integers_go_back_exactly(encoder_type: type[RequestEncoder]) -> None:
    """a32."""
    call = ToolCall("c", "look", {"id": 2512292042121000001})
    body = encoder_type("m").body(ChatRequest((Message.assistant("", [call]), Message.tool(ToolResult("c", "x")))))
    assert b"2512292042121000001" in body


@pytest.mark.parametrize("raw", ['{"a"', "[1]", ""])
def test_arguments_that_are_no_object_are_sent_as_one_that_holds_them(
    encoder_type: type[RequestEncoder], raw: str
) -> None:
    """a14, d16: servers refuse a whole history over one text that they can't parse."""
    call = ToolCall("c", "look", raw_arguments=raw, problem="invalid JSON")
    body = sent(encoder_type, Message.assistant("", [call]))
    assert {"invalid_json": raw} in list(objects_in(body))


def objects_in(value: Any) -> Any:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from objects_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from objects_in(inner)
    elif isinstance(value, str) and value.startswith('{"invalid_json"'):
        yield from objects_in(json.loads(value))


def test_what_another_provider_said_stays_valid(encoder_type: type[RequestEncoder]) -> None:
    """a37: refusals become words; a name, an id and thinking that don't fit are made to fit or left out."""
    answer = Message(
        "assistant",
        (
            Reasoning("unsigned"),
            Refusal("I won't."),
            ToolCall("list_dir:0 é" + "x" * 80, "a tool!", {}),
        ),
    )
    body = sent(encoder_type, Message.user("u"), answer, Message.tool(ToolResult(answer.tool_calls[0].id, "r")))
    assert "I won't." in strings(body)
    assert "a_tool_" in strings(body)
    calls, results = ids_of(body)
    assert calls == results


def test_a_picture_goes_along(encoder_type: type[RequestEncoder]) -> None:
    inline = Image("image/png", data="AA==")
    for picture in (inline, Image("image/png", url="data:image/png;base64,AA==")):
        body = sent(encoder_type, Message("user", (Text("what?"), picture)))
        assert "what?" in strings(body)
        assert any(text.endswith("AA==") for text in strings(body))
