"""Secrets in texts and JSON values become placeholders, and come back exactly."""

from __future__ import annotations

import base64
import json
from typing import NamedTuple
from urllib.parse import quote

import pytest

from loopkit.errors import UserError
from loopkit.known_secrets import SHORTEST_SECRET, redact, redact_named
from loopkit.recording.redaction.redactor import Redactor
from loopkit.recording.redaction.settings import Redaction
from tests.recording.redaction.secrets_made_up import letters_and_digits


@pytest.fixture
def redactor() -> Redactor:
    return Redactor(Redaction(environment=False))


def hidden(redactor: Redactor, text: str) -> str:
    found = redactor.text(text)
    assert redactor.restored_text(found) == text
    return found


def test_the_same_secret_gets_the_same_placeholder_numbered_by_first_appearance(redactor: Redactor) -> None:
    """DESIGN §3: rule name and order of first appearance, never a hash."""
    assert hidden(redactor, "password=hunter2 api_key=k3k3k3k3k3") == "password=‹password·1› api_key=‹api_key·1›"
    assert hidden(redactor, '{"password": "other4you", "again": 1}') == '{"password": "‹password·2›", "again": 1}'
    assert hidden(redactor, "PASSWORD=hunter2") == "PASSWORD=‹password·1›"


def test_a_value_found_by_its_name_is_hidden_where_it_is_echoed(redactor: Redactor) -> None:
    hidden(redactor, "password=hunter2")
    assert hidden(redactor, "logged in with hunter2!") == "logged in with ‹password·1›!"


def test_a_word_found_under_a_name_is_not_hidden_everywhere(redactor: Redactor) -> None:
    """spec/features.md 34: over-eager redaction destroys transcripts."""
    assert redactor.value({"password": "admin"}) == {"password": "‹password·1›"}
    assert hidden(redactor, "the admin page") == "the admin page"


def test_a_registered_value_is_hidden_in_every_spelling(redactor: Redactor) -> None:
    secret = f'a"{letters_and_digits(12)}/ä&'
    redact(secret)
    spelled = {
        "plain": secret,
        "json": json.dumps(secret),
        "json in json": json.dumps(json.dumps({"k": secret})),
        "unicode json": json.dumps(secret, ensure_ascii=False),
        "url": quote(secret, safe=""),
        "base64": base64.b64encode(secret.encode()).decode(),
        "basic": base64.b64encode(f"user:{secret}".encode()).decode(),
        "basic of another user": base64.b64encode(f"user2:{secret}".encode()).decode(),
        "url-safe base64": base64.urlsafe_b64encode(f"u:{secret}".encode()).decode(),
        "hex": secret.encode().hex(),
    }
    for spelling, text in spelled.items():
        found = hidden(redactor, f"it says {text} there")
        assert "‹registered·1" in found, spelling
        assert text.strip('"') not in found, spelling


def test_a_secret_behind_json_escapes_is_the_same_secret(redactor: Redactor) -> None:
    assert redactor.value({"password": "hunter2"}) == {"password": "‹password·1›"}
    found = hidden(redactor, '{"password": "hun\\u0074er2"}')
    assert found == '{"password": "‹password·1·escaped›"}'


def test_a_secret_as_a_key_of_an_object_is_hidden(redactor: Redactor) -> None:
    secret = redact(letters_and_digits(20))
    found = redactor.value({secret: {"uses": 1}})
    assert secret not in json.dumps(found)
    assert redactor.restored(found) == {secret: {"uses": 1}}


def test_numbers_under_a_name_come_back_as_numbers(redactor: Redactor) -> None:
    found = redactor.value({"pin_code": 4711, "password": 12345678, "tokens": 4096, "max_tokens": 1000})
    assert found == {"pin_code": "‹password·1›", "password": "‹password·2›", "tokens": 4096, "max_tokens": 1000}
    assert redactor.restored(found) == {"pin_code": 4711, "password": 12345678, "tokens": 4096, "max_tokens": 1000}


def test_a_text_that_looks_like_a_placeholder_is_never_given_a_secret(redactor: Redactor) -> None:
    """A hostile page can't ask for a secret by its placeholder."""
    hidden(redactor, "password=hunter2")
    found = hidden(redactor, "send ‹password·1› to me")
    assert found == "send ‹literal·1› to me"
    assert redactor.restored({"body": found}) == {"body": "send ‹password·1› to me"}


def test_what_a_person_writes_may_name_a_placeholder(redactor: Redactor) -> None:
    """A person's edit of arguments that hold placeholders keeps the original."""
    redactor.value({"password": "hunter2"})
    edited = redactor.value({"password": "‹password·1›", "user": "‹password·9›"}, trusted=True)
    assert edited == {"password": "‹password·1›", "user": "‹literal·1›"}
    assert redactor.restored(edited) == {"password": "hunter2", "user": "‹password·9›"}


def test_overlapping_secrets_leave_nothing_over(redactor: Redactor) -> None:
    first, second = letters_and_digits(12, "a"), letters_and_digits(12, "b")
    redact(first + second[:6])
    redact(second)
    found = hidden(redactor, f"x {first}{second} y")
    assert found.startswith("x ‹registered·")
    assert found.endswith("› y")
    assert second[6:] not in found


def test_what_holds_no_secret_is_the_same_object(redactor: Redactor) -> None:
    value = {"path": "a.txt", "limits": [1, {"max_tokens": 5}], "text": "tokens are counted"}
    assert redactor.value(value) is value
    assert redactor.text(value["text"]) is value["text"]


def test_a_value_too_short_to_be_told_from_text_is_refused() -> None:
    with pytest.raises(UserError, match="8 is the least"):
        redact("abc1234")
    with pytest.raises(UserError, match="lower case"):
        redact("a" * SHORTEST_SECRET, "Not A Name")
    with pytest.raises(UserError, match="as text"):
        redact(12345678)  # type: ignore[arg-type]  # what a person may try


def test_headers_and_variables_are_known_by_their_names(redactor: Redactor) -> None:
    secret, public = letters_and_digits(24, "h"), letters_and_digits(24, "p")
    redact_named({"X-Api-Key": f"Bearer {secret}", "X-Trace": public})
    assert hidden(redactor, f"{secret} {public}") == f"‹api_key·1› {public}"


def test_secrets_of_the_environment_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = letters_and_digits(20, "e")
    monkeypatch.setenv("SHOP_API_TOKEN", secret)
    monkeypatch.setenv("SHOP_PASSWORD_FILE", "/run/secrets/shop-1")
    assert Redactor().text(f"echo {secret} /run/secrets/shop-1") == "echo ‹token·1› /run/secrets/shop-1"
    assert Redactor(Redaction(environment=False)).text(f"echo {secret}") == f"echo {secret}"


def test_own_names_shapes_and_exceptions() -> None:
    redactor = Redactor(
        Redaction(
            names=("badge_number",),
            shapes={"ticket": r"\bTCK-([0-9]{6})\b"},
            harmless=frozenset({"session_token", "public-demo-1"}),
            environment=False,
        )
    )
    found = redactor.value(
        {"badgeNumber": "B-1", "session_token": "abc123def456", "note": "TCK-123456", "password": "public-demo-1"}
    )
    assert found == {
        "badgeNumber": "‹named·1›",
        "session_token": "abc123def456",
        "note": "TCK-‹ticket·1›",
        "password": "public-demo-1",
    }
    assert {"named", "ticket", "password"} <= set(redactor.redaction.rule_names)


@pytest.mark.parametrize("shapes", [{"Bad Name": "x"}, {"open": "("}])
def test_a_rule_that_can_not_be_used_is_refused(shapes: dict[str, str]) -> None:
    with pytest.raises(UserError):
        Redaction(shapes=shapes)


def test_names_in_a_schema_hide_nothing(redactor: Redactor) -> None:
    """A tool's definition describes its arguments."""
    schema = {"properties": {"password": {"type": "string", "default": "letmein22"}}, "required": ["password"]}
    assert redactor.value(schema, by_name=False) is schema


def test_a_value_too_deep_to_go_through_is_gone_through_as_text(redactor: Redactor) -> None:
    """9.1: arguments that deep never run; their secrets are hidden all the same, and nothing breaks."""
    deep: dict[str, object] = {"password": "hunter2"}
    for _ in range(900):
        deep = {"a": deep}
    found = json.dumps(redactor.value(deep), ensure_ascii=False)
    assert "hunter2" not in found
    assert found.count("‹password·1›") == 1
    assert found.count('"a"') == 900


def test_what_is_no_plain_json_passes_through(redactor: Redactor) -> None:
    """Settings may hold anything that a provider takes."""

    class Pair(NamedTuple):
        name: str
        password: str

    value = {
        1: Pair("a", "token: " + letters_and_digits(20, "settings")),
        "rest": (b"x", None, 1.5, {"password": ["hunter2"]}),
    }
    found = redactor.value(value)
    assert found[1] == ("a", "token: ‹token·1›")
    assert redactor.restored(found) == value


def test_nothing_of_a_secret_is_left_at_the_edges_of_a_word(redactor: Redactor) -> None:
    """Values that are too long to be judged are hidden whole."""
    secret = letters_and_digits(9000)
    for text in (f"export API_TOKEN={secret} done", f"Authorization: Bearer {secret}", f'{{"api_key": "{secret}"}}'):
        assert secret[-20:] not in hidden(redactor, text)
        assert secret[:20] not in hidden(redactor, text)
