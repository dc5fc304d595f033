"""JSON text that is written at once is the text of the object that `encode` makes."""

from __future__ import annotations

import json
from types import MappingProxyType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopkit.encoding import encode, encode_tagged
from loopkit.events import FACT_CLASSES, Fact, LoopStarted
from loopkit.json_text import JSONWriter
from loopkit.messages import Message
from tests.strategies import instances

quick = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])

READABLE = JSONWriter(ensure_ascii=False, sort_keys=False, allow_nan=False, default=str)
CANONICAL = JSONWriter(ensure_ascii=True, sort_keys=True, allow_nan=True, default=str)


@pytest.fixture(params=["compiled", "plain Python"])
def writer_of(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type[JSONWriter]:
    """Makes writers, also where Python's own encoder is not compiled."""
    if request.param == "plain Python":
        monkeypatch.setattr(json.encoder, "c_make_encoder", None)
    return JSONWriter


@pytest.mark.parametrize("cls", FACT_CLASSES.values(), ids=FACT_CLASSES)
@quick
@given(data=st.data())
def test_every_fact_is_written_as_its_object_would_be(cls: type[Fact], data: st.DataObject) -> None:
    fact = data.draw(instances(cls))
    plain = json.dumps(encode(fact), ensure_ascii=False, separators=(",", ":"), default=str)
    assert READABLE.objects[cls](fact) == plain
    tagged = json.dumps(encode_tagged(fact), ensure_ascii=False, separators=(",", ":"), default=str)
    assert "{" + READABLE.tagged_members[cls](fact)[1:] + "}" == tagged
    assert CANONICAL.objects[cls](fact) == json.dumps(encode(fact), sort_keys=True, separators=(",", ":"), default=str)


@quick
@given(message=instances(Message))
def test_a_message_is_written_as_its_object_would_be(message: Message) -> None:
    assert CANONICAL.objects[Message](message) == json.dumps(
        encode(message), sort_keys=True, separators=(",", ":"), default=str
    )


def test_a_mapping_that_is_no_dict_is_written_as_an_object(writer_of: type[JSONWriter]) -> None:
    writer = writer_of(ensure_ascii=False, sort_keys=False, allow_nan=False, default=str)
    fact = LoopStarted("agent", (), settings=MappingProxyType({"seed": 1}))
    assert writer.objects[LoopStarted](fact) == '{"agent":"agent","messages":[],"settings":{"seed":1}}'


def test_what_json_does_not_know_is_refused_or_replaced(writer_of: type[JSONWriter]) -> None:
    writer = writer_of(ensure_ascii=False, sort_keys=False, allow_nan=False, default=lambda value: type(value).__name__)
    assert writer.plain([{1, 2}]) == '["set"]'
    with pytest.raises(ValueError, match="not JSON compliant"):
        writer.plain({"score": float("nan")})
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RecursionError):
        writer.plain(deep)
