"""Short questions over a run: yes or no, a reason, an answer in a tool's place, words to look for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeAlias

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, TextArea
from textual.widgets.text_area import Edit, EditResult

from loopkit.debugger.display import visible
from loopkit.outcomes import DENIED_WITHOUT_REASON
from loopkit_tui.commands import key_of
from loopkit_tui.widgets.bars import Bar, KeyBar
from loopkit_tui.widgets.document import DocumentView, Item

Answer: TypeAlias = tuple[str, bool]
"""The text that the model gets, and whether it is an error."""


class LineInput(Input):
    """One line of typing; what acts or hides in pasted text is shown as an escape (spec/faults.md e6)."""

    def replace(self, text: str, start: int, end: int) -> None:
        super().replace(visible(text), start, end)


class TextInput(TextArea):
    """Lines of typing; what acts or hides in pasted text is shown as an escape (spec/faults.md e6)."""

    def edit(self, edit: Edit) -> EditResult:
        edit.text = visible(edit.text.replace("\r\n", "\n"))
        return super().edit(edit)


class ConfirmScreen(ModalScreen[bool]):
    """One question, answered with y, or n and escape; nothing else answers it."""

    CSS_PATH = "asking.tcss"

    def __init__(self, question: str, lines: Sequence[Item], *, yes: str, no: str, yes_key: str = "y") -> None:
        super().__init__()
        self._question = question
        self._lines = lines
        self._yes = yes
        self._no = no
        self._yes_key = yes_key

    def compose(self) -> ComposeResult:
        with Vertical(id="question"):
            yield Bar(id="question-title")
            lines = DocumentView(id="question-lines")
            # words to read: there is nothing to choose among them
            lines.can_focus = False
            yield lines
            yield KeyBar(id="question-keys")

    def on_mount(self) -> None:
        self.query_one("#question-title", Bar).show([(f" {self._question}", "heading")])
        lines = self.query_one(DocumentView)
        lines.show_items(self._lines)
        lines.styles.height = min(12, 2 * len(self._lines))
        self.query_one(KeyBar).show_keys([(self._yes_key, self._yes), ("n", self._no)])

    def on_key(self, event: events.Key) -> None:
        key = key_of(event)
        if key in ("up", "down", "j", "k", "pageup", "pagedown"):
            step = 1 if key in ("down", "j", "pagedown") else -1
            self.query_one(DocumentView).scroll_relative(y=step, animate=False, force=True)
        elif key == self._yes_key:
            self.dismiss(True)
        elif key in ("n", "escape"):
            self.dismiss(False)
        event.stop()
        event.prevent_default()


class LineScreen(ModalScreen[str | None]):
    """One line of text, or None."""

    CSS_PATH = "asking.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "leave", "leave")]

    def __init__(
        self, title: str, beside: str, placeholder: str, word: str, value: str = "", *, no: str = "never mind"
    ) -> None:
        super().__init__()
        self._title = title
        self._beside = beside
        self._placeholder = placeholder
        self._word = word
        self._value = value
        self._no = no

    def compose(self) -> ComposeResult:
        with Vertical(id="question"):
            yield Bar(id="question-title")
            yield LineInput(value=self._value, placeholder=self._placeholder, id="line")
            yield KeyBar(id="question-keys")

    def on_mount(self) -> None:
        self.query_one("#question-title", Bar).show([(f" {self._title}  ", "heading"), (self._beside, "muted")])
        self.query_one(KeyBar).show_keys([("enter", self._word), ("esc", self._no)])
        self.query_one(LineInput).focus()

    @on(Input.Submitted)
    def _typed(self, message: Input.Submitted) -> None:
        self.dismiss(message.value)

    def action_leave(self) -> None:
        self.dismiss(None)


class ReasonScreen(LineScreen):
    """Why a call is denied; empty is an answer, escape is none."""

    def __init__(self, call: str) -> None:
        super().__init__("deny", call, f"why? the model reads it (empty: {DENIED_WITHOUT_REASON})", "deny it")


class StopScreen(LineScreen):
    """Why the run is stopped; empty is an answer, escape lets it run."""

    def __init__(self) -> None:
        beside = "what runs is interrupted at once, the recording stays whole"
        super().__init__(
            "Stop this run?", beside, "why? kept in the recording (may be empty)", "stop it", no="let it run"
        )


class SearchScreen(LineScreen):
    """What to look for in the run."""

    def __init__(self, needle: str) -> None:
        super().__init__("search", "in rows, answers, arguments and results", "words", "find", needle)


class AnswerScreen(ModalScreen[Answer | None]):
    """An answer in a tool's place, or None.

    Args:
        beside: what it is about.
        title: what is asked for instead of such an answer.
        text: what stands there at first.
        may_fail: whether it may be an error.
        word: what sending it is called.
    """

    CSS_PATH = "asking.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "leave", "leave"),
        ("ctrl+s", "send", "send"),
        ("ctrl+t", "turn", "as an error"),
    ]

    def __init__(
        self,
        beside: str,
        *,
        title: str = "answer in the tool's place",
        text: str = "",
        may_fail: bool = True,
        word: str = "send it",
    ) -> None:
        super().__init__()
        self._beside = beside
        self._title = title
        self._text = visible(text)
        self._may_fail = may_fail
        self._word = word
        self._is_error = False

    def compose(self) -> ComposeResult:
        with Vertical(id="question"):
            yield Bar(id="question-title")
            yield TextInput(self._text, id="answer", soft_wrap=True)
            yield KeyBar(id="question-keys")

    def on_mount(self) -> None:
        self._show()
        self.query_one(TextInput).focus()

    def action_turn(self) -> None:
        self._is_error = self._may_fail and not self._is_error
        self._show()

    def action_send(self) -> None:
        self.dismiss((self.query_one(TextInput).text, self._is_error))

    def action_leave(self) -> None:
        self.dismiss(None)

    def _show(self) -> None:
        kind = (", as an error", "bad") if self._is_error else (", as its result", "good")
        words = [(f" {self._title}", "heading"), *([kind] if self._may_fail else []), (f"  {self._beside}", "muted")]
        self.query_one("#question-title", Bar).show(words)
        other = "as its result instead" if self._is_error else "as an error instead"
        keys = [("ctrl+s", self._word), ("ctrl+t", other), ("esc", "never mind")]
        self.query_one(KeyBar).show_keys([key for key in keys if self._may_fail or key[0] != "ctrl+t"])
