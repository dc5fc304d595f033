"""What holds for each detector over any turns: it fires exactly on what repeats, and on nothing that is new."""

from __future__ import annotations

from itertools import count, groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopkit.core.config import LoopDetectionConfig
from loopkit.core.detection import DETECTORS, batch_signature
from loopkit.messages import ToolCall
from tests.core.watching import Step, everything, found, step, watched

WORDS = "These are the very same forty characters or more, said again."
thresholds = st.integers(2, 5)
letters = st.lists(st.sampled_from("abc"), max_size=40)


def only(detector: str, threshold: int) -> LoopDetectionConfig:
    return LoopDetectionConfig(threshold, detectors=(detector,))


def fresh(number: int, start: int = 0) -> list[Step]:
    """Turns that have nothing in common."""
    return [step("write", f"result {n}", text=f"{n} {WORDS}", n=n) for n in range(start, start + number)]


def turns(detector: str, steps: list[Step], threshold: int) -> list[int]:
    return [turn for turn, _ in found(steps, only(detector, threshold))]


@given(st.integers(0, 12), st.integers(1, 20), thresholds)
def test_repeats_in_a_row_fire_at_every_multiple(before: int, repeats: int, threshold: int) -> None:
    """6.2, 6.5: those that need no result at the multiple itself, the others when it is asked for once more."""
    expected = [before + place for place in range(1, repeats + 1) if place % threshold == 0]
    later = [before + place + 1 for place in range(1, repeats) if place % threshold == 0]
    prefix = fresh(before)
    assert turns("identical batches", [*prefix, *[step()] * repeats], threshold) == expected
    assert turns("same call same result", [*prefix, *[step()] * repeats], threshold) == later
    failing = [step("test", f"{n}", failed=True, n=n) for n in range(repeats)]
    assert turns("repeated errors", prefix + failing, threshold) == later
    assert turns("repeated text", [*prefix, *[step(n=n, text=WORDS) for n in range(repeats)]], threshold) == expected
    assert turns("unknown tools", [*prefix, *[step(f"nope{n}") for n in range(repeats)]], threshold) == expected


@given(st.integers(0, 7), st.integers(2, 5), st.integers(1, 30), thresholds, st.integers(0, 5))
def test_rounds_fire_at_every_multiple(before: int, length: int, turns_made: int, threshold: int, behind: int) -> None:
    """6.5: cycles of 2 to 5, counted from their first turn."""
    rounds = [step(n=place % length) for place in range(turns_made)]
    reports = found([*fresh(before), *rounds, *fresh(behind, before)], only("cycle", threshold))
    whole = length * threshold
    assert [turn for turn, _ in reports] == [before + place for place in range(whole, turns_made + 1, whole)]
    assert {fact.since_iteration for _, fact in reports} <= {before + 1}
    assert [fact.count for _, fact in reports] == [threshold * (place + 1) for place in range(len(reports))]


@given(st.integers(1, 9), st.integers(1, 12), thresholds)
def test_what_comes_between_does_not_hide_a_result(gap: int, repeats: int, threshold: int) -> None:
    """6.5, spec/faults.md g12: found after so many equal results; then the model does something else, so from one again."""
    numbers = count()
    steps: list[Step] = []
    for _ in range(repeats):
        steps += [step(), *fresh(gap, next(numbers) * gap)]
    asks = [1 + place * (gap + 1) for place in range(repeats)]
    assert turns("same call same result", steps, threshold) == asks[threshold :: threshold + 1]


@given(st.lists(st.sampled_from(["ok", "", "none"]), max_size=60), thresholds)
def test_distinct_calls_never_fire(results: list[str], threshold: int) -> None:
    """spec/faults.md g8: new calls are work, whatever they return."""
    steps = [step("look", result, text=f"{n} {WORDS}", n=n) for n, result in enumerate(results)]
    assert found(steps, everything(threshold)) == []
    assert found(steps, everything(threshold), tools=None) == []


@given(st.lists(st.booleans(), max_size=60), thresholds)
def test_polling_never_fires_while_results_change(failures: list[bool], threshold: int) -> None:
    """spec/faults.md g1: not by any detector."""
    steps = [step("poll", f"{n}%", failed=failed, text=WORDS) for n, failed in enumerate(failures)]
    assert found(steps, everything(threshold)) == []


@given(letters, thresholds)
def test_the_seeds_detector_counts_equal_batches_in_a_row(word: list[str], threshold: int) -> None:
    """6.1, 6.2: against the plainest way to say it."""
    expected = []
    turn = 0
    for _, group in groupby(word):
        for place, _ in enumerate(group, 1):
            turn += 1
            if place % threshold == 0:
                expected.append((turn, place, turn - place + 1))
    reports = found([step("look", at=letter) for letter in word], LoopDetectionConfig(threshold))
    assert [(turn, fact.count, fact.since_iteration) for turn, fact in reports] == expected


@given(letters, thresholds)
def test_every_cycle_that_is_reported_is_one(word: list[str], threshold: int) -> None:
    """6.5: so many whole rounds of a word that is not itself a repetition."""
    for turn, fact in found([step("look", at=letter) for letter in word], only("cycle", threshold)):
        length = fact.tool_name.count("→") + 1
        rounds = word[turn - length * fact.count : turn]
        assert rounds == rounds[:length] * fact.count
        assert len(set(rounds)) > 1
        assert fact.count % threshold == 0
        assert len(fact.calls) == min(24, turn - fact.since_iteration + 1)


@given(letters, thresholds)
def test_no_cycle_is_missed(word: list[str], threshold: int) -> None:
    """6.5: as soon as a word ends in so many rounds for the first time, something has been reported in its last round."""
    reported = {turn for turn, _ in found([step("look", at=letter) for letter in word], only("cycle", threshold))}
    for length in range(2, 6):
        size = length * threshold
        for turn in range(size, len(word) + 1):
            rounds = word[turn - size : turn]
            if rounds == rounds[:length] * threshold and len(set(rounds)) > 1:
                assert any(turn - size < place <= turn for place in reported)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y"]), st.booleans()), max_size=30), thresholds)
def test_looking_at_the_state_changes_nothing(word: list[tuple[str, str, bool]], threshold: int) -> None:
    """spec/faults.md g10: equal before and after, and each standing count is below what is reported next."""
    steps = [step("look", result, failed=failed, at=letter) for letter, result, failed in word]
    watch = watched(steps, everything(threshold))
    looks = [watch.repetitions for _ in range(10)]
    assert looks == [looks[0]] * 10
    assert watch == watched(steps, everything(threshold))
    assert all(one.count > 1 and one.since_iteration >= 1 for one in looks[0])


def test_the_window_does_not_grow_with_the_run() -> None:
    """DESIGN §1: after 3,000 turns of every kind it is no larger than after 300."""
    steps = [
        step(
            "look" if turn % 3 else "write",
            "r" * 999,
            failed=turn % 2 == 0,
            text=WORDS * 9,
            n=turn % 97,
            long="x" * 999,
        )
        for turn in range(3000)
    ]
    sizes = [len(repr(watched(steps[:turns_made], everything()))) for turns_made in (300, 3000)]
    assert sizes[1] <= sizes[0] * 1.1


@pytest.mark.parametrize("detector", DETECTORS)
def test_no_detector_needs_another(detector: str) -> None:
    """6.5: alone it reports what it reports among all."""
    steps = [
        *[step("nope", failed=True, text=WORDS)] * 7,
        *[step(n=turn % 2, failed=True, text=WORDS) for turn in range(9)],
    ]
    together = [(turn, fact) for turn, fact in found(steps, everything()) if fact.detector == detector]
    assert together == found(steps, only(detector, 3))
    assert together


def test_signatures_tell_long_calls_apart() -> None:
    """6.1: what a window keeps stands for the whole of a call."""
    long = "x" * 100_000
    one, other = (ToolCall("1", "look", {"a": long + end}) for end in "ab")
    assert batch_signature((one,)) != batch_signature((other,))
    assert found([Step((one,)), Step((other,))] * 2, LoopDetectionConfig(2)) == []
