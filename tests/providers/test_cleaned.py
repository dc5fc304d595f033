"""Foreign text in an error message: nothing that looks like a key, and no ordinary word lost."""

from __future__ import annotations

import pytest

from loopkit.providers.http_failures import cleaned


@pytest.mark.parametrize(
    "text", ["sk-proj-abcdefghijklmn", "your key abcd1234efgh is wrong", "Bearer eyJhbGciOi1.x9", "pk_live_abcdefghij"]
)
def test_what_looks_like_a_key_is_hidden(text: str) -> None:
    assert "[key]" in cleaned(text, ())


@pytest.mark.parametrize("text", ["Incorrect API key provided", "the key parameter must not be empty"])
def test_words_beside_key_stay(text: str) -> None:
    assert cleaned(text, ()) == text


def test_the_providers_own_key_is_hidden_whatever_it_looks_like() -> None:
    assert cleaned("swordfish was refused", ["swordfish"]) == "[key] was refused"
