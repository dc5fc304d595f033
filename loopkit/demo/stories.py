"""What the demo's three models say: the mechanic at the root, the investigator, and the bookkeeper below both."""

from __future__ import annotations

import json
import re
from typing import Any

from loopkit.demo.shop import FLAKY_TESTS, STEADY_TESTS
from loopkit.demo.telling import Outcome, Story, as_sentence, call, remarks, say

NIGHTLY = {"rounds": 20, "order": "shuffled"}


def mechanic(_task: str) -> Story:
    """Find out why the test fails, mend it, check that three times over, tidy up."""
    look = yield say(
        "I'll look around first, and read the test that fails.",
        call("list_files"),
        call("read_file", path="test_shop.py"),
    )
    plain = "Two of the tests look at Ada's orders, and one of them adds to them. Suspicious."
    (tests,) = yield say(
        f"{remarks(look, plain)} Do the tests fail when they run in the order in which they are written?",
        call("run_tests", rounds=3, order="as written"),
    )
    (report,) = yield say(
        f"{_first_run(tests)} I'll have that looked into by somebody who reads the code and the order book.",
        call("investigate", question="What does test_shop.py leave behind in the order book?", effort="quick"),
    )
    (mended,) = yield say(
        f"{_report(report)} A test should take back what it adds, so I'll let it cancel its order.",
        call("write_file", path="test_shop.py", content=STEADY_TESTS),
    )
    start = remarks((mended,), "The test is mended.")
    words = f"{start} Now the way the nightly run does it: shuffled, twenty times."
    checks: list[Outcome] = []
    while len(checks) < 3 and not any(check.refused for check in checks):
        (check,) = yield say(words, call("run_tests", **NIGHTLY))
        checks.append(check)
        words = _after_check(checks)
    notes = _notes(mended, checks)
    tidying = yield say(
        f"{words} What is left is the order book, which holds orders of a customer called Test, and a note for the others.",
        call("delete_orders", customer="Test", at_most=5),
        call("write_file", path="NOTES.md", content=notes),
    )
    return _closing(mended, checks, tidying)


def investigator(task: str) -> Story:
    """Read the code, ask the bookkeeper, put both together."""
    asks = [call("read_file", path="shop.py")]
    if "thorough" in task:
        asks.append(call("read_file", path="test_shop.py"))
    read = yield say("I'll read how orders get into the book.", *asks)
    plain = "add_order writes into the book for good; only cancel_order takes anything out again."
    (book,) = yield say(
        f"{remarks(read, plain)} Has the test left traces? The bookkeeper will know.",
        call("ask_bookkeeper", question="Who has orders in the book, how many, and what do they come to?"),
    )
    found = (
        "test_new_order adds a bell to Ada's orders and never takes it back, "
        "so test_total fails in every round in which it comes later."
    )
    if book.is_error:
        return f"{found} {remarks((book,))}"
    return f"{found} The bookkeeper says: {book.content}"


def bookkeeper(_task: str) -> Story:
    """One query, put into words."""
    sql = "SELECT customer, COUNT(*) AS orders, SUM(price) AS euros FROM orders GROUP BY customer ORDER BY customer"
    (rows,) = yield say("One query will do.", call("query_orders", sql=sql, limit=10))
    if rows.is_error:
        return remarks((rows,))
    counted = _counts(rows.content)
    if counted is None:
        return remarks((rows,), f"The book says: {rows.first_line}")
    names = [row["customer"] for row in counted]
    sums = "; ".join(f"{row['customer']} has {row['orders']} orders for {row['euros']} euros" for row in counted)
    stray = " Nobody here knows a customer called Test." if "Test" in names else ""
    return f"{sums}.{stray}"


def _first_run(tests: Outcome) -> str:
    if "all passed" in tests.content:
        return f"{remarks((tests,), 'Not once.')} So it takes more than the code alone."
    if tests.is_error:
        return remarks((tests,))
    if "failed" in tests.content:
        return f"{remarks((tests,), _counted(tests))} So the tests get in each other's way."
    return remarks((tests,), _counted(tests))


def _counted(tests: Outcome) -> str:
    """The tests' first line as the model's own words, or quoted where somebody answered in their place."""
    own = re.match(r"\d+ rounds?, ", tests.first_line)
    return as_sentence(tests.first_line if own else f"“{tests.first_line}”")


def _report(report: Outcome) -> str:
    if report.is_error:
        return f"{remarks((report,))} Then I'll trust what I read: test_new_order leaves its bell in the book."
    if "bell" in report.content:
        return remarks((report,), "There it is: test_new_order leaves its bell in the book.")
    return remarks((report,), as_sentence(f"I was told: “{report.first_line}”"))


def _after_check(checks: list[Outcome]) -> str:
    check, times = checks[-1], len(checks)
    if check.is_error:
        return remarks((check,))
    result = remarks((check,), _counted(check))
    green = "all passed" in check.content
    if times == 1:
        doubt = (
            "A flaky test has been green before, so once more." if green else "Let me see whether that is always so."
        )
        return f"{result} {doubt}"
    if times == 2:
        return f"{result} {'And again, to be quite sure.' if green else 'And again, before I believe it.'}"
    learned = "Point taken: the rounds are the same every time, so running them a fourth time can't tell me more."
    return f"{result} {learned}"


def _notes(mended: Outcome, checks: list[Outcome]) -> str:
    fate = "is not mended yet" if mended.is_error else "takes it back now"
    checked = [check.first_line for check in checks if not check.is_error]
    return (
        "# The test that failed every other night\n\n"
        f"test_new_order left a bell among Ada's orders; it {fate}.\n"
        f"Last check: {checked[-1] if checked else 'none'}.\n"
    )


def _closing(mended: Outcome, checks: list[Outcome], tidying: tuple[Outcome, ...]) -> str:
    deleted, note = tidying
    last = next((_counted(check) for check in reversed(checks) if not check.is_error), None)
    words = [remarks(tidying)] if any(outcome.remark for outcome in tidying) else []
    why = "test_total failed whenever test_new_order had run before it and left its bell in the book"
    if mended.is_error:
        words.append(f"The reason is found: {why}. It is not mended, since I was not to write the file.")
    elif mended.arguments.get("content") == FLAKY_TESTS:
        words.append(f"The reason is found: {why}. The tests are as they were.")
    else:
        words.append(f"The test is mended: {why}, and now it takes it back.")
    words.append(f"Checked: {last}" if last else "It has not been checked.")
    if not deleted.is_error and not deleted.edited:
        words.append("The stray orders are gone.")
    if not note.is_error:
        words.append("NOTES.md has it all." if not note.edited else "Your note is in its place.")
    return " ".join(words)


def _counts(content: str) -> list[dict[str, Any]] | None:
    try:
        rows = json.loads(content)
    except ValueError:
        return None
    wanted = {"customer", "orders", "euros"}
    fits = isinstance(rows, list) and all(isinstance(row, dict) and wanted <= row.keys() for row in rows)
    return rows if fits else None
