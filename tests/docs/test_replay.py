"""The reports that `docs/replay.md` shows are the doctor's own."""

from __future__ import annotations

from tests.docs.replay_reports import BLOCK, DOCUMENT, reports, with_reports


def test_each_report_is_what_the_doctor_says() -> None:
    """`python -m tests.docs.replay_reports` writes them anew."""
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text == with_reports(text)


def test_each_kind_is_shown_once() -> None:
    shown = BLOCK.findall(DOCUMENT.read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(reports())
