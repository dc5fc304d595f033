"""Detectors beyond the seed's, one by one (spec/loop.md 6.5, spec/faults.md g)."""

from __future__ import annotations

from typing import Any

import pytest

from loopkit import events as e
from loopkit.core.config import LoopAction, LoopDetectionConfig, LoopRules, ToolDetection, ToolLoopConfig
from loopkit.core.detection import DETECTORS, Outcome, warning_for_model
from loopkit.messages import ToolCall
from tests.core.watching import POLL, TOOLS, Step, everything, found, step, watched

LONG = "I will look at the file once more, then I will know what is wrong with it."


def only(detector: str, threshold: int = 3, **settings: Any) -> LoopDetectionConfig:
    return LoopDetectionConfig(threshold, detectors=(detector,), **settings)


def brief(reports: list[tuple[int, e.RepetitionDetected]]) -> list[tuple[int, str, int, int]]:
    return [(turn, fact.tool_name, fact.count, fact.since_iteration) for turn, fact in reports]


def test_two_steps_that_alternate_are_a_cycle() -> None:
    """spec/faults.md g3: 20 alternating calls, same results."""
    steps = [step(path="a"), step("write", path="b")] * 10
    expected = [(6, "look → write", 3, 1), (12, "look → write", 6, 1), (18, "look → write", 9, 1)]
    assert brief(found(steps, only("cycle"))) == expected
    assert found(steps, LoopDetectionConfig()) == []


def test_a_cycle_of_three_is_named() -> None:
    """spec/faults.md g4: read, failing edit, failing test, five times."""
    steps = [step(), step("write", "no", failed=True), step("test", "2 failed", failed=True)] * 5
    assert brief(found(steps, only("cycle"))) == [(9, "look → write → test", 3, 1)]
    ((_, fact),) = found(steps, only("cycle"))
    assert fact.calls == tuple(f"root/{turn}.1" for turn in range(1, 10))


def test_a_cycle_may_begin_late_and_in_its_middle() -> None:
    """6.5"""
    steps = [step(path="x"), step("write"), *[step(path="a"), step("write")] * 3]
    assert brief(found(steps, only("cycle"))) == [(7, "write → look", 3, 2)]


def test_equal_batches_are_no_cycle() -> None:
    """6.5: what the seed's detector counts is not counted twice."""
    assert found([step()] * 30, only("cycle", 2)) == []


def test_a_round_of_four_that_is_two_of_two_is_told_once() -> None:
    """6.5"""
    steps = [step(path="a"), step(path="b")] * 8
    assert [name for _, name, _, _ in brief(found(steps, only("cycle", 4)))] == ["look → look"] * 2


def test_six_steps_are_too_long_for_a_cycle() -> None:
    """6.5: k = 2..5; the window is bounded."""
    assert found([step(path=place) for place in range(6)] * 10, only("cycle", 2)) == []


def test_key_order_and_numbers_do_not_hide_a_repeat() -> None:
    """spec/faults.md g5, for every detector that compares calls."""
    one = ToolCall("1", "look", {"a": 1, "b": {"c": 1, "d": 2}})
    other = ToolCall("2", "look", {"b": {"d": 2.0, "c": 1}, "a": 1.0})
    steps = [Step((one,)), Step((other,)), Step((one,)), Step((other,))]
    assert [(turn, fact.detector) for turn, fact in found(steps, everything(3))] == [
        (3, "identical batches"),
        (4, "same call same result"),
    ]


def test_unparsable_arguments_are_compared_as_text() -> None:
    """spec/faults.md g5"""
    broken = [Step((ToolCall("1", "look", raw_arguments=text),)) for text in ("{a", "{ a", "{a", "{ a") * 2]
    assert found(broken, LoopDetectionConfig(2)) == []
    assert brief(found(broken, only("cycle", 2)))[0] == (4, "look → look", 2, 1)


def test_a_call_that_always_gives_the_same_is_found_between_others() -> None:
    """6.5: it is reported when it is asked for again."""
    steps = [taken for turn in range(4) for taken in (step(path="a"), step("write", path=turn))]
    ((turn, fact),) = found(steps, only("same call same result"))
    assert (turn, fact.tool_name, fact.count, fact.since_iteration) == (7, "look", 3, 1)
    assert fact.calls == ("root/1.1", "root/3.1", "root/5.1")


def test_another_result_is_progress() -> None:
    """6.5"""
    steps = [step(result=f"{turn} left") for turn in range(9)]
    assert found(steps, only("same call same result", 2)) == []


def test_two_results_of_one_batch_are_compared_too() -> None:
    """6.5: the same call twice in a response counts once, and only if it gave one result."""
    twice = (ToolCall("1", "look"), ToolCall("2", "look"))
    same = [Step(twice)] * 3
    assert brief(found(same, only("same call same result", 2))) == [(3, "look", 2, 1)]
    other = [Step(twice, "", (Outcome("a"), Outcome(f"b{turn}"))) for turn in range(9)]
    assert found(other, only("same call same result", 2)) == []


def test_an_old_result_is_forgotten() -> None:
    """6.5: ten turns without the call, and it counts from one."""
    other = [step("write", path=turn) for turn in range(10)]
    steps = [step(), *other, step(), *other, step()]
    assert found(steps, only("same call same result", 2)) == []
    nearer = [step(), *other[1:], step(), *other[1:], step()]
    assert [turn for turn, _ in found(nearer, only("same call same result", 2))] == [21]


def test_a_tool_that_only_fails_is_found_whatever_its_arguments() -> None:
    """6.5: one report at the ask after the third failure; others in between don't hide it."""
    failing = [step("write", f"no {turn}", failed=True, path=turn) for turn in range(4)]
    steps = [taken for pair in zip(failing, [step(path=turn) for turn in range(4)], strict=True) for taken in pair]
    ((turn, fact),) = found(steps, only("repeated errors"))
    assert (turn, fact.tool_name, fact.count, fact.since_iteration) == (7, "write", 3, 1)
    assert fact.calls == ("root/1.1", "root/3.1", "root/5.1")


def test_one_success_ends_a_row_of_errors() -> None:
    """6.5"""
    steps = [step("write", failed=turn % 3 != 2, path=turn) for turn in range(12)]
    assert found(steps, only("repeated errors")) == []


def test_a_batch_of_errors_counts_once() -> None:
    """6.5: one mistake made five times at once is one mistake."""
    failed = Outcome("no", failed=True)
    steps = [
        Step(tuple(ToolCall("i", "write", {"n": (turn, n)}) for n in range(5)), "", (failed,)) for turn in range(3)
    ]
    assert found(steps, only("repeated errors")) == []
    mixed = [Step(taken.calls, "", (Outcome("ok", failed=False), failed)) for taken in steps * 3]
    assert found(mixed, only("repeated errors", 2)) == []


def test_calls_that_nobody_let_run_are_no_errors() -> None:
    """6.5: a person's no says nothing of the tool, and does not make its errors undone."""
    denied = Step((ToolCall("i", "write", {"n": 0}),), "", (Outcome("not that"),))
    failing = [step("write", failed=True, n=turn) for turn in range(1, 4)]
    assert found([denied] * 9, only("repeated errors", 2)) == []
    assert [turn for turn, _ in found([*failing, denied, denied], only("repeated errors", 3))] == [4]


def test_the_same_words_are_found_over_different_calls() -> None:
    """6.5: near-equal calls hide from every other detector."""
    steps = [step(path=turn, text=LONG if turn % 2 else f" {LONG.replace(' ', '  ')}\n") for turn in range(7)]
    assert brief(found(steps, only("repeated text"))) == [(3, "look", 3, 1), (6, "look", 6, 1)]
    quiet = [step(path=turn, text="" if turn % 2 else LONG) for turn in range(5)]
    assert brief(found(quiet, only("repeated text"))) == [(5, "look", 3, 1)]


def test_few_words_may_be_said_again() -> None:
    """spec/faults.md g8: "Next file." is no loop."""
    assert found([step(path=turn, text="Next file.") for turn in range(12)], only("repeated text", 2)) == []


def test_asking_for_tools_that_are_not_there_is_found() -> None:
    """6.5: whatever they are called; a known tool ends the row."""
    steps = [step(f"nope{turn}", failed=True) for turn in range(4)]
    assert brief(found(steps, only("unknown tools"))) == [(3, "nope2", 3, 1)]
    assert found([*steps[:2], step(), *steps[2:]], only("unknown tools")) == []
    assert found(steps * 5, only("unknown tools"), tools=None) == []


# ── polling, single tools, many files ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("threshold", [2, 3])
def test_a_job_may_be_polled_while_it_changes(threshold: int) -> None:
    """spec/faults.md g1: the same status call six times, the result changes each time; no detector warns."""
    steps = [step("poll", f"{turn * 10}%", text=LONG, job=1) for turn in range(6)]
    assert found(steps, everything(threshold)) == []
    failing = [step("poll", f"not ready: {turn}", failed=True, text=LONG, job=1) for turn in range(6)]
    assert found(failing, everything(threshold)) == []


def test_polling_in_a_cycle_is_progress_while_it_changes() -> None:
    """spec/faults.md g1, g3: sleep, status, sleep, status."""
    changing = [taken for turn in range(8) for taken in (step(seconds=5), step("poll", f"{turn}%"))]
    assert found(changing, only("cycle", 2)) == []
    same = [taken for _ in range(4) for taken in (step(seconds=5), step("poll", "queued"))]
    assert brief(found(same, only("cycle"))) == [(7, "poll → look", 3, 1)]


def test_polling_that_shows_the_same_is_a_loop() -> None:
    """spec/faults.md g1: three equal results, and it is asked for again."""
    ((turn, fact),) = found([step("poll", "queued")] * 6, LoopDetectionConfig())
    assert (turn, fact.detector, fact.count, fact.since_iteration) == (4, "identical batches", 3, 1)
    late = [step("poll", f"{turn}%") for turn in range(4)] + [step("poll", "stuck")] * 4
    assert brief(found(late, LoopDetectionConfig())) == [(8, "poll", 3, 5)]


def test_polling_that_ends_is_not_reported_after_the_fact() -> None:
    """spec/faults.md g1: three equal results, then something else is asked for."""
    assert found([*[step("poll", "queued")] * 3, step()], everything()) == []


def test_every_tool_may_be_polling_where_nobody_knows() -> None:
    """spec/faults.md g1: a foreign session doesn't say which tools poll."""
    steps = [step("write_stdin", f"chunk {turn}", chars="") for turn in range(9)]
    assert found(steps, everything(), tools=None) == []
    assert [turn for turn, _ in found([step("write_stdin", "same")] * 4, LoopDetectionConfig(), tools=None)] == [4]


def test_a_setting_overrules_what_a_tool_says_of_itself() -> None:
    """6.5"""
    steps = [step("poll", f"{turn}%") for turn in range(3)]
    assert len(found(steps, LoopDetectionConfig(tools={"poll": ToolDetection(polling=False)}))) == 1
    looks = [step("look", f"{turn}%") for turn in range(9)]
    assert found(looks, LoopDetectionConfig(tools={"look": ToolDetection(polling=True)})) == []


def test_a_tool_may_have_a_threshold_of_its_own() -> None:
    """6.5: of several tools in one batch or cycle, the most patient decides."""
    config = LoopDetectionConfig(2, detectors=("identical batches", "cycle"), tools={"test": ToolDetection(5)})
    assert [turn for turn, _ in found([step("test")] * 10, config)] == [5, 10]
    assert [turn for turn, _ in found([step("look")] * 4, config)] == [2, 4]
    assert [turn for turn, _ in found([step("look"), step("test")] * 5, config)] == [10]


def test_an_ignored_tool_is_not_there() -> None:
    """6.5: neither its repeats nor its part in others'."""
    config = LoopDetectionConfig(3, detectors=DETECTORS, tools={"ask": ToolDetection(ignore=True)})
    assert found([step("ask", failed=True, text=LONG)] * 12, config) == []
    assert [turn for turn, _ in found([step("look"), step("ask")] * 3, config)][:1] == [5]


def test_work_on_many_files_is_no_loop() -> None:
    """spec/faults.md g8: search, move, update for each of 12 files, all detectors on."""
    steps = [
        taken
        for file in range(12)
        for taken in (
            step(
                "look",
                f"3 uses of f{file}",
                text=f"Now the file number {file}: who uses it? Let me search.",
                q=f"f{file}",
            ),
            step("write", "moved", text="Next I move it.", source=f"f{file}", target=f"lib/f{file}"),
            step("write", "3 lines changed", text="And update.", path=f"f{file}"),
        )
    ]
    assert found(steps, everything(2)) == []


# ── windows ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("detector", "taken"),
    [
        ("identical batches", step()),
        ("same call same result", step()),
        ("repeated errors", step(failed=True)),
        ("repeated text", step(text=LONG)),
        ("unknown tools", step("nope")),
    ],
)
def test_what_was_warned_of_starts_again_once_the_model_does_something_else(detector: str, taken: Step) -> None:
    """spec/faults.md g12: repeats, warning, another call, then one repeat: no second warning."""
    other = step("write", text=LONG.upper())
    assert len(found([*[taken] * 3, other, taken, other], only(detector, 2))) == 1


def test_a_new_message_of_the_user_starts_all_windows_again() -> None:
    """spec/faults.md g12"""
    watch = watched([step(text=LONG, failed=True)] * 2, everything(2))
    assert watch.repetitions != ()
    assert watch.restarted() == watched([], everything(2))


def test_asking_for_the_state_changes_nothing() -> None:
    """spec/faults.md g10: ten looks, as a screen does it."""
    watch = watched([step(failed=True), step(failed=True)], everything(3))
    before = repr(watch)
    looks = {watch.repetitions for _ in range(10)}
    assert len(looks) == 1
    assert repr(watch) == before
    standing = {one.detector: (one.tool_name, one.count, one.threshold) for one in watch.repetitions}
    expected = ("look", 2, 3)
    assert standing == dict.fromkeys(("identical batches", "same call same result", "repeated errors"), expected)


def test_evidence_is_bounded() -> None:
    """DESIGN §1: cost per turn does not grow with the run."""
    reports = found([step(failed=True, text=LONG)] * 100, everything(2))
    assert reports
    assert max(len(fact.calls) for _, fact in reports) == 24
    assert reports[-1][1].since_iteration == 1


# ── configuration ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_stages_answer_firing_by_firing() -> None:
    """6.2, spec/faults.md g14: a warning first; the last stage stays."""
    config = LoopDetectionConfig(2, stages=(LoopAction.WARN, LoopAction.INJECT_WARNING))
    actions = [(fact.count, fact.action) for _, fact in found([step()] * 8, config)]
    assert actions == [(2, "warn"), (4, "inject_warning"), (6, "inject_warning"), (8, "inject_warning")]


def test_a_bare_configuration_stands_in_the_log_as_ever() -> None:
    """DESIGN §3: recordings made before there were more detectors replay the same."""
    description = ToolLoopConfig(loop_detection=LoopDetectionConfig()).description()
    assert description["loop_detection"] == {"threshold": 3, "action": "warn"}


def test_a_configuration_is_read_back_from_the_log() -> None:
    """DESIGN §3"""
    config = LoopDetectionConfig(
        4,
        LoopAction.INJECT_WARNING,
        detectors=("cycle", "repeated errors"),
        stages=(LoopAction.WARN, LoopAction.STOP),
        tools={"poll": ToolDetection(polling=True, threshold=9), "ask": ToolDetection(ignore=True)},
    )
    description = ToolLoopConfig(loop_detection=config).description()
    assert description["loop_detection"]["tools"] == {
        "ask": {"ignore": True},
        "poll": {"polling": True, "threshold": 9},
    }
    assert LoopRules.read(description).detection == config
    assert LoopDetectionConfig.read(config.description()) == config
    assert LoopRules.read(ToolLoopConfig().description()).detection is None


def test_configurations_are_compared_by_value() -> None:
    """2: also by the order in which tools were named."""
    one = LoopDetectionConfig(tools={"a": ToolDetection(2), "b": ToolDetection(3)})
    other = LoopDetectionConfig(tools={"b": ToolDetection(3), "a": ToolDetection(2)})
    assert one == other
    assert hash(ToolLoopConfig(loop_detection=one)) == hash(ToolLoopConfig(loop_detection=other))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"detectors": ("cycles",)}, "'cycles' is none of identical batches, cycle"),
        ({"detectors": ()}, "loop_detection=None"),
        ({"stages": ("shout",)}, "shout"),
    ],
)
def test_what_is_not_known_is_refused_by_name(settings: dict[str, Any], words: str) -> None:
    """2"""
    with pytest.raises(ValueError, match=words):
        LoopDetectionConfig(**settings)


def test_a_tools_threshold_below_two_is_refused() -> None:
    """2"""
    with pytest.raises(ValueError, match="threshold must be at least 2, not 1"):
        ToolDetection(threshold=1)


@pytest.mark.parametrize("detector", DETECTORS)
def test_each_warning_names_tool_and_count(detector: str) -> None:
    """6.4"""
    words = warning_for_model("look → write", 7, detector)
    assert "look → write" in words
    assert "7 times" in words


def test_names_with_braces_are_only_names() -> None:
    """6.4: a tool's name is a model's word and never a template."""
    assert "{count}{tool}" in warning_for_model("{count}{tool}", 3, "cycle")


def test_tools_of_tests_are_what_they_seem() -> None:
    """The polling tool of these tests polls, the others don't."""
    assert POLL.polling
    assert not any(one.polling for one in TOOLS)
