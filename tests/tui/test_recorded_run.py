"""A recorded run on the run screen: seen at a glance, walked by keys."""

from __future__ import annotations

import pytest

from loopkit import events as e
from loopkit.messages import Usage
from loopkit_tui.app import LoopkitApp
from loopkit_tui.describing import usage_text
from tests.tui.screens import everything, lines_of, run_screen, selected_line, text_of, until
from tests.tui.stories import Story, flaky, long_run

pytestmark = pytest.mark.anyio


async def test_the_first_look_says_what_it_is_how_it_ended_and_which_key_moves_on() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        status, now = text_of(app, "#status"), text_of(app, "#now")
        assert "◌ recorded" in status
        assert "fix-flaky-test" in status
        assert "it 5/20" in status
        assert "2 agents" in status
        assert "(waiting 0:07)" in status
        assert "■ complete" in now
        assert "s step" in now
        assert "? all keys" in text_of(app, "#keys")


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_marks_carry_the_state_without_colour_at_both_sizes(size: tuple[int, int]) -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=size) as pilot:
        await pilot.press("G")
        assert selected_line(app).startswith("▶")
        drawn = "\n".join(lines_of(run_screen(app).timeline))
        assert "⊘ write_file" in drawn
        assert "✓ run_tests" in drawn


async def test_step_and_back_walk_row_by_row_and_the_detail_follows() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("s", "s")
        assert "read_file" in selected_line(app)
        assert 'path  "src/clock.py"' in text_of(app, "#detail")
        assert "def now():" in text_of(app, "#detail")
        await pilot.press("b")
        assert "I'll read the clock first." in text_of(app, "#detail")


async def test_next_goes_over_a_sub_agent_and_step_goes_into_it() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("3", "g", "n")
        assert "The patch is in." in selected_line(app)
        await pilot.press("3", "g", "s", "s", "s")
        assert "Make tests/test_clock.py steady." in selected_line(app)


async def test_a_count_before_g_goes_to_an_iteration_and_leaves_the_tab_alone() -> None:
    app = LoopkitApp(long_run(30).session())
    async with app.run_test(size=(100, 24)) as pilot:
        await pilot.press("1", "2", "g")
        assert selected_line(app).split()[1] == "12"
        assert run_screen(app).detail.tab == 0
        await pilot.press("9", "9", "g")
        assert "no iteration 99" in text_of(app, "#keys")
        await pilot.press("g")
        assert "task" in selected_line(app)
        await pilot.press("G")
        assert "end" in selected_line(app)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (("]", "e"), "✗ run_tests"),
        (("]", "w"), "⚠ loop"),
        (("]", "d"), "✎ write_file"),
        (("]", "a"), "⇢ fixer"),
        (("G", "[", "e"), "✗ run_tests"),
        (("G", "[", "d"), "✓ run_tests"),
    ],
)
async def test_brackets_jump_to_the_next_row_of_a_kind(keys: tuple[str, ...], expected: str) -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*keys)
        assert expected in selected_line(app)
        await pilot.press("ctrl+o")
        assert expected not in selected_line(app)


async def test_a_bracket_shows_what_may_follow_and_escape_forgets_it() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("]")
        assert "e error  w warning  d decision  a agent" in text_of(app, "#keys")
        await pilot.press("escape")
        assert "s step" in text_of(app, "#keys")
        assert run_screen(app)


async def test_half_a_command_is_forgotten_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopkit_tui.screens.run.COUNT_SECONDS", 0.01)
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("4")
        await until(pilot, lambda: not run_screen(app).keys_reader.typed)
        await pilot.press("g")
        assert run_screen(app).keys_reader.count is None


async def test_a_missing_kind_is_said_and_nothing_moves() -> None:
    app = LoopkitApp(long_run(2).session())
    async with app.run_test(size=(120, 40)) as pilot:
        before = selected_line(app)
        await pilot.press("]", "e")
        assert "no error after this row" in text_of(app, "#keys")
        assert selected_line(app) == before


async def test_folding_hides_a_sub_agent_and_a_jump_into_it_unfolds_it() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = run_screen(app)
        rows = screen.timeline.count()
        await pilot.press("]", "a", "h")
        assert screen.timeline.count() == rows - 10
        assert "▸ ⇢ fixer" in selected_line(app)
        await pilot.press("]", "w")
        assert screen.timeline.count() == rows
        assert "⚠ loop" in selected_line(app)
        await pilot.press("h")
        assert "▸ ⇢ fixer" in selected_line(app)
        await pilot.press("space")
        assert screen.timeline.count() == rows


async def test_search_finds_words_in_results_and_goes_on_to_the_next_match() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("/")
        await pilot.press(*"TEST_TICK", "enter")
        await pilot.pause()
        assert "✗ run_tests" in selected_line(app)
        first = run_screen(app).timeline.cursor
        await pilot.press("]", "/")
        assert run_screen(app).timeline.cursor > first
        await pilot.press("[", "/")
        assert run_screen(app).timeline.cursor == first


async def test_search_goes_round_at_the_end_and_says_so() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("G", "/", *"TEST_TICK", "enter")
        await pilot.pause()
        assert "✗ run_tests" in selected_line(app)
        assert "past the end: this match was found from the top" in text_of(app, "#keys")
        await pilot.press("[", "/")
        assert "past the top: this match was found from the end" in text_of(app, "#keys")
        await pilot.press("/", *["backspace"] * 9, *"nowhere", "enter")
        await until(pilot, lambda: "no match in the whole run" in text_of(app, "#keys"))


async def test_an_edit_shows_who_decided_and_what_changed() -> None:
    """spec/faults.md c1, c21"""
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("]", "d")
        detail = text_of(app, "#detail")
        assert "✎ edited by you after 2.0 s" in detail
        assert "-   def now():" in detail
        assert "+   def now() -> float:" in detail


async def test_a_denial_shows_its_reason() -> None:
    """spec/faults.md c21"""
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("G", "[", "d", "b")
        detail = text_of(app, "#detail")
        assert "⊘ denied by you" in detail
        assert "no notes please" in detail


async def test_a_warning_shows_its_evidence() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("]", "w")
        detail = text_of(app, "#detail")
        assert "run_tests 3×" in detail
        assert "the model is not told" in detail
        assert detail.count("✗ run_tests") == 3


async def test_tabs_show_the_request_and_the_recorded_events() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("s", "s", "2")
        assert "request of iteration 1" in text_of(app, "#detail")
        assert "You are careful." in text_of(app, "#detail")
        await pilot.press("3")
        assert "ToolReturned" in text_of(app, "#detail")
        await pilot.press("1")
        assert "result, as the model got it" in text_of(app, "#detail")


async def test_json_in_the_detail_folds_under_the_cursor() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("]", "d", "tab")
        detail = run_screen(app).detail
        assert detail.has_focus
        line = next(index for index, text in enumerate(lines_of(detail)) if "▾ content" in text)
        await pilot.press(*["j"] * line, "enter")
        assert "▸ content" in lines_of(detail)[line]
        assert "import time" not in "\n".join(lines_of(detail)[: line + 3]).replace(lines_of(detail)[line], "")
        await pilot.press("space")
        assert "▾ content" in lines_of(detail)[line]


async def test_h_goes_back_from_the_detail_where_there_is_nothing_to_fold() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("]", "d", "l")
        screen = run_screen(app)
        line = next(index for index, text in enumerate(lines_of(screen.detail)) if "▾ content" in text)
        await pilot.press(*["j"] * line, "h")
        assert "▸ content" in lines_of(screen.detail)[line]
        assert screen.detail.has_focus
        await pilot.press("l")
        assert "▾ content" in lines_of(screen.detail)[line]
        await pilot.press("h", "h")
        assert screen.timeline.has_focus


async def test_a_detail_that_is_seen_whole_has_no_lines_below() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert "more line" not in text_of(app, "#detail-title")


@pytest.mark.parametrize("size", [(120, 20), (80, 24)])
async def test_the_detail_says_how_many_lines_are_below_what_is_seen(size: tuple[int, int]) -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        detail = run_screen(app).detail
        unseen = detail.count() - detail.size.height
        assert unseen > 0
        assert f"↓ {unseen} more line" in text_of(app, "#detail-title")
        detail.scroll_to(y=unseen - 1, animate=False)
        await until(pilot, lambda: "↓ 1 more line " in text_of(app, "#detail-title"))
        detail.scroll_to(y=unseen, animate=False)
        await until(pilot, lambda: "more line" not in text_of(app, "#detail-title"))


async def test_edits_and_denials_are_counted_by_marks_of_their_own() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert "✎ 1 ⊘ 1" in text_of(app, "#status")


async def test_the_end_tells_what_the_root_took_from_what_the_whole_tree_took() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("G")
        assert "root it 5/20" in text_of(app, "#status")
        detail = " ".join(text_of(app, "#detail").split())
        assert "of its own 5 iterations, 5 calls, 6,000 in, 750 out tokens" in detail
        assert "whole tree 9 iterations, 8 calls, 1 sub-agent, 10,800 in, 1,350 out" in detail
        await pilot.press("[", "a")
        assert "4 iterations, 3 calls, 4,800 in, 600 out tokens" in text_of(app, "#detail")


async def test_one_of_a_thing_is_singular_and_missing_token_counts_are_said() -> None:
    app = LoopkitApp(long_run(1).session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("G")
        assert "1 iteration, 1 call, " in text_of(app, "#detail")
    assert usage_text(Usage(1, 2, unreported=1)) == "1 in, 2 out tokens; 1 answer reported none"
    assert usage_text(Usage(1, 2, unreported=20)) == "1 in, 2 out tokens; 20 answers reported none"


async def test_zoom_gives_a_region_the_screen_and_back() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = run_screen(app)
        await pilot.press("z")
        await pilot.pause()
        assert screen.timeline.size.width > 110
        assert not screen.query_one("#side").display
        await pilot.press("z")
        await pilot.pause()
        assert screen.query_one("#side").display


async def test_a_narrow_terminal_stacks_the_regions() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        screen = run_screen(app)
        assert screen.timeline.size.width > 75
        assert screen.detail.region.y > screen.timeline.region.y


async def test_an_unfinished_recording_says_so() -> None:
    app = LoopkitApp(flaky(end=False).session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert "unfinished" in text_of(app, "#now")


async def test_nothing_seems_to_run_or_wait_in_a_recording_that_ends_too_early() -> None:
    story = Story()
    story.start("go")
    calls = story.reply("", ("read_file", {"path": "a"}), ("write_file", {"path": "b", "content": "c"}))
    story.add("root", e.ToolStarted(calls[0]))
    story.ask(calls[1], "write_file")
    app = LoopkitApp(story.session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("j", "j")
        assert "○ read_file" in selected_line(app)
        assert "unanswered" in selected_line(app)
        page = everything(app)
        assert "asks for read_file" in page
        assert "running" not in page
        assert "WAITS" not in page


async def test_what_is_torn_or_guessed_in_a_recording_is_said_at_the_top() -> None:
    session = flaky(end=False).session()
    session.notices.append("the last line was torn [/ and is left out")
    app = LoopkitApp(session)
    async with app.run_test(size=(160, 40)) as pilot:
        await pilot.pause()
        assert "⚠ the last line was torn [/ and is left out" in text_of(app, "#now")


async def test_both_themes_draw_the_same_words() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        dark = everything(app)
        app.theme = "loopkit-light"
        await pilot.pause()
        assert everything(app) == dark


async def test_leaving_a_recording_that_was_opened_by_name_ends_the_app() -> None:
    app = LoopkitApp(flaky().session())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running)
    assert app.return_code == 0
