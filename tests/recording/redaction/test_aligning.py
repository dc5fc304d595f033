"""What comes today is laid beside what was recorded, so that the same secret of another day is the same."""

from __future__ import annotations

from typing import Any

import pytest

from loopkit import events as e
from loopkit.messages import Message
from loopkit.outcomes import Modify
from loopkit.recording.redaction.aligning import aligned, fit
from loopkit.recording.redaction.redactor import Redactor
from loopkit.recording.redaction.settings import Redaction


@pytest.mark.parametrize(
    ("recorded", "came", "learned"),
    [
        ("‹password·1›", "x", {"‹password·1›": "x"}),
        ("‹password·1›", 4711, {"‹password·1›": 4711}),
        ("a ‹password·1› b ‹token·1›", "a one b two", {"‹password·1›": "one", "‹token·1›": "two"}),
        ("‹token·1› and ‹token·1›", "t and t", {"‹token·1›": "t"}),
        ("‹token·1› and ‹token·1›", "t and u", None),
        ("‹token·1›‹token·2›", "tu", None),
        ("key ‹token·1›!", "key !", None),
        ("key ‹token·1›!", "key t?", None),
    ],
)
def test_a_text_tells_what_its_placeholders_stand_for(recorded: str, came: Any, learned: dict[str, Any] | None) -> None:
    redactor = Redactor(Redaction(environment=False))
    redactor.placeholders.take_up(recorded)
    assert fit(redactor, recorded, came) is (learned is not None)
    for placeholder, value in (learned or {}).items():
        assert redactor.placeholders.original(placeholder) == value


def test_a_fact_of_today_is_the_recorded_one_but_for_its_secrets() -> None:
    redactor = Redactor(Redaction(environment=False))
    recorded = e.Decided("root/1.1", 1, Modify({"user": "bob", "password": "‹password·1›"}), "on_tool_call")
    redactor.placeholders.take_up("‹password·1›")
    came = e.Decided("root/1.1", 1, Modify({"user": "bob", "password": "hunter2"}), "on_tool_call")
    assert aligned(redactor, recorded, came) == recorded
    # the same placeholder stands for one value only
    other = e.Decided("root/1.1", 1, Modify({"user": "bob", "password": "hunter3"}), "on_tool_call")
    assert aligned(redactor, recorded, other) != recorded
    assert "hunter3" not in repr(aligned(redactor, recorded, other))


def test_a_difference_shows_no_secret() -> None:
    redactor = Redactor(Redaction(environment=False))
    recorded = e.LoopStarted("agent", (Message.system("Be careful."),))
    came = e.LoopStarted("agent", (Message.system("Be bold, password=hunter2."),), settings={"api_key": "k3k3k3k3"})
    found = aligned(redactor, recorded, came)
    assert found.messages[0].text == "Be bold, password=‹password·1›."
    assert found.settings == {"api_key": "‹api_key·1›"}
