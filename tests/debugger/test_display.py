"""The one filter between untrusted text and a screen: what it lets through, what it shows, what it costs."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit.debugger.display import _SUSPECT, arguments_line, json_text, one_line, visible
from tests.strategies import json_objects, json_values, texts

ACTING = ("Cc", "Cf", "Cs", "Zl", "Zp")
HOSTILE = "\x00\x07\x08\r\x1b[2J\x1b]52;c;aGk=\x1b\\\x7f\x85\x9b6n\xad\u061c\u200b\u200d\u202e\u2028\u2029\u2066\ufeff\ud800\U000e0041"
ORDINARY = [
    "Grüße, plain words.",
    "你好，世界　全角",
    "e\u0301 n\u0303 — combining marks",
    "❤\ufe0f ☺\ufe0e 1\ufe0f\u20e3 🇩🇪",
    "שלום العربية हिन्दी ภาษาไทย",
    "葛\ufe00",
    '{"a": [1, "x=1"]} [/b] [red]x[/red] <img src=x>',
    "C:\\new\\u200b.txt",
]


def acts_or_hides(text: str) -> list[str]:
    """The characters of a text that a screen must not get; newline and tab are none of them."""
    return [char for char in text if unicodedata.category(char) in ACTING and char not in "\n\t"]


def test_no_code_point_that_acts_goes_through() -> None:
    """All C0/C1, format characters, surrogates and separators of this Python's Unicode are shown (spec/faults.md e6)."""
    for code in range(0x110000):
        if unicodedata.category(chr(code)) in ACTING and code not in (0x09, 0x0A):
            assert _SUSPECT.fullmatch(chr(code)), hex(code)
            assert not acts_or_hides(visible(chr(code))), hex(code)


def test_no_letter_that_draws_nothing_goes_through() -> None:
    """Blank letters and tag characters hide text as well as controls do (spec/faults.md e6)."""
    for char in "\u034f\u115f\u1160\u17b4\u17b5\u180b\u2800\u3164\uffa0":
        assert visible(f"a{char}b") == f"a\\u{ord(char):04x}b"
    for char in "\U00016fe4\U0001d159\U000e0020\U000e0100":
        assert visible(f"a{char}b") == f"a\\U{ord(char):08x}b"


def test_bytes_hidden_in_variation_selectors_are_shown() -> None:
    """One selector behind a character chooses its form; a row of them, or one on nothing, carries hidden bytes."""
    assert visible("❤\ufe0f\ufe01\ufe02") == "❤\ufe0f\\ufe01\\ufe02"
    assert visible("\ufe0f") == "\\ufe0f"
    assert visible("a \ufe0f") == "a \\ufe0f"


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    """CJK, emoji with U+FE0F, flags, combining marks, right-to-left letters and brackets are text (e1, e2, e9)."""
    assert visible(text) == text
    assert one_line(text) == text
    assert json.loads(json_text({"a": text})) == {"a": text}


@given(texts(60))
def test_visible_text_is_safe_and_stays_so(text: str) -> None:
    shown = visible(text)
    assert not acts_or_hides(shown)
    assert visible(shown) == shown
    shown.encode()


@given(texts(60))
def test_visible_text_loses_no_character(text: str) -> None:
    """Each character stands there as itself or as its escape, so that the start of a text shows the start (c17)."""
    shown = visible(text)
    for char in text:
        if shown.startswith(char):
            shown = shown[len(char) :]
            continue
        escape = visible(char)
        assert shown.startswith(escape)
        shown = shown[len(escape) :]
    assert shown == ""


@given(texts(80), st.integers(1, 40))
def test_one_line_is_one_safe_bounded_line(text: str, limit: int) -> None:
    shown = one_line(text, limit)
    assert not acts_or_hides(shown)
    assert "\n" not in shown
    assert "\t" not in shown
    assert len(shown) <= 10 * limit + 12
    assert (f"…(+{len(text) - limit:,})" in shown) == (len(text) > limit)


def test_controls_are_symbols_on_one_line_too() -> None:
    """Separators that Python takes for blanks are no blanks on a screen (spec/faults.md e6)."""
    assert one_line("a\x1c\x1fb\x85c\u2028d") == "a␜␟b\\x85c\\u2028d"
    assert one_line(" a \r\n\t b ") == "a b"


@given(json_values())
def test_json_text_is_safe_and_says_what_the_value_is(value: object) -> None:
    shown = json_text(value)
    assert not acts_or_hides(shown)
    shown.encode()
    plain = json.dumps(value, ensure_ascii=False, indent=2)
    assert shown == visible(plain)
    assert shown != plain or json.loads(shown) == value


def test_json_text_of_what_is_no_json_is_a_sentence() -> None:
    """Nesting beyond Python's own limit, numbers without a text and circles must not end an interface."""
    deep: object = 0
    for _ in range(100_000):
        deep = [deep]
    circle: list[object] = []
    circle.append(circle)
    for value in (deep, circle, {(1, 2): 3}, 10**5000):
        assert "can't be shown as JSON" in json_text(value)
        assert "can't be shown as JSON" in arguments_line({"a": value})
    while isinstance(deep, list):  # taken apart by hand: freeing it in one go is deep, too
        deep = deep.pop()


@given(json_objects(), st.integers(5, 60))
def test_arguments_are_one_safe_bounded_line(arguments: dict[str, object], limit: int) -> None:
    shown = arguments_line(arguments, limit)
    assert not acts_or_hides(shown)
    assert "\n" not in shown
    assert len(shown) <= 10 * limit + 40


def test_arguments_line_reads_as_a_call() -> None:
    assert arguments_line({"path": "a.txt", "lines": [1, 2], "all": True}) == 'path="a.txt", lines=[1, 2], all=true'
    assert arguments_line({}) == ""
    assert arguments_line({"x": HOSTILE}).isprintable()


def test_a_cut_names_all_that_it_hides() -> None:
    """What is left out is counted to the end, arguments of which nothing is shown included (spec/faults.md c17)."""
    dangerous = {"note": "x" * 200, "command": "&& rm -rf /", "force": True}
    full = ", ".join(f"{name}={json.dumps(value)}" for name, value in dangerous.items())
    assert arguments_line(dangerous, 1000) == full
    assert arguments_line(dangerous, 40) == f'note="{"x" * 34} …(+{len("note=") + 202 - 40}, +2 more)'
    assert arguments_line({"a": "x" * 10_000, "b": "y"}).endswith(" …(+9,804, +1 more)")


def test_a_line_of_long_arguments_costs_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row is drawn again and again: a megabyte of text is not encoded for two hundred characters of it (e11)."""
    encoded: list[int] = []
    dumps = json.dumps

    def counting(value: object, **options: object) -> str:
        encoded.append(len(value) if isinstance(value, str) else 0)
        return dumps(value, **options)  # type: ignore[arg-type]  # as given

    monkeypatch.setattr("loopkit.debugger.display.json.dumps", counting)
    arguments_line({"text": "\x1b" * 1_000_000, "more": "x" * 1_000_000})
    assert sum(encoded) <= 400


def test_a_megabyte_of_ordinary_text_is_not_touched() -> None:
    """The filter looks closer at suspects only, and a line looks at its start only (spec/faults.md e11)."""
    text = "wörter, 你好 " * 100_000
    assert visible(text) is text
    assert len(one_line(text)) < 250
