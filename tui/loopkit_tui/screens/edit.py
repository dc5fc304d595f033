"""The editor of a call's arguments: what is wrong is said while it is typed, and nothing invalid can be run."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult

from loopkit.debugger.display import json_text, one_line, visible
from loopkit.messages import Problem
from loopkit_tui.describing_calls import difference
from loopkit_tui.widgets.bars import Bar, KeyBar, RegionTitle
from loopkit_tui.widgets.document import DocumentView, Item, Labelled, Passage, Words

if TYPE_CHECKING:
    from loopkit.debugger.session import Session
    from loopkit.debugger.status import PendingDecision

_WRAPPED_UP_TO = 50_000
_VALUES = 20


def editable_json(value: Any) -> str:
    """Return JSON text in which every character that acts or hides is written as its JSON escape: safe, and the same value."""
    return escaped(json.dumps(value, ensure_ascii=False, indent=2))


def escaped(text: str) -> str:
    """Return text in which what acts or hides is a JSON escape; newlines stay, tabs become spaces."""
    return re.sub(r"[^\x20-\x7e\n]", _escape, text.replace("\r\n", "\n").replace("\t", "    "))


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if visible(character) == character:
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[index]:02x}{units[index + 1]:02x}" for index in range(0, len(units), 2))


class JsonInput(TextArea):
    """Typing JSON; what is pasted is escaped before it reaches the screen (spec/faults.md e6)."""

    def edit(self, edit: Edit) -> EditResult:
        edit.text = escaped(edit.text)
        return super().edit(edit)


class EditScreen(Screen[str | None]):
    """Arguments as JSON, the schema's fields beside them, and what the edit changes.

    Args:
        session: checks the arguments.
        call: the call that is edited.
        submit: takes valid arguments; returns why they were not accepted, or nothing.
        draft: text to go on with, or None for the call's own arguments.

    Dismissed with the draft, or with None once it was run.
    """

    CSS_PATH = "edit.tcss"
    AUTO_FOCUS = "#json"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("ctrl+s", "run", "run it"),
        ("escape", "keep", "keep as draft"),
        ("ctrl+r", "reset", "as asked"),
        ("ctrl+e", "external", "in $EDITOR"),
    ]

    def __init__(
        self, session: Session, call: PendingDecision, submit: Callable[[dict[str, Any]], str], draft: str | None = None
    ) -> None:
        super().__init__()
        self._session = session
        self._call = call
        self._submit = submit
        self._asked = editable_json(call.arguments) if call.raw_arguments is None else escaped(call.raw_arguments)
        self._text = self._asked if draft is None else draft
        self.arguments: dict[str, Any] | None = None
        self.problems: tuple[Problem, ...] = ()

    def compose(self) -> ComposeResult:
        yield Bar(id="edit-call")
        yield Bar(id="edit-about")
        with Horizontal(id="edit-columns"):
            with Vertical(id="edit-json"):
                yield RegionTitle(id="json-title")
                yield JsonInput(
                    self._text,
                    id="json",
                    soft_wrap=len(self._text) <= _WRAPPED_UP_TO,
                    show_line_numbers=True,
                    tab_behavior="focus",
                    compact=True,
                )
            with Vertical(id="edit-schema"):
                yield RegionTitle(id="fields-title")
                yield DocumentView(id="fields")
        yield RegionTitle(id="changes-title")
        yield DocumentView(id="changes")
        yield Bar(id="edit-verdict")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        call = self._call
        path = " › ".join(one_line(agent, 20) for agent in call.agents)
        effect = {"irreversible": ("  ⚠ can't be undone", "warning"), "read": ("  only reads", "good")}
        words = [(" edit  ", "key"), (f"{path}  ", "agent"), (one_line(call.name, 60), "heading")]
        self.query_one("#edit-call", Bar).show([*words, effect.get(call.side_effect or "", ("", "plain"))])
        self.query_one("#edit-about", Bar).show([(f" {one_line(call.description, 300)}", "muted")])
        self.check()

    @on(TextArea.Changed)
    def check(self) -> None:
        """Check what is typed and say where it is wrong and why."""
        self.arguments, self.problems = self._session.parse_arguments(self._call.call, self.query_one(JsonInput).text)
        self._show()

    def action_run(self) -> None:
        """Run the call with these arguments, if they are valid."""
        self.check()
        if self.problems or self.arguments is None:
            self.query_one(KeyBar).show_notice("not run: " + self._what_is_wrong(), "bad")
            return
        refused = self._submit(self.arguments)
        if refused:
            self.query_one(KeyBar).show_notice(refused, "bad")
        else:
            self.dismiss(None)

    def action_keep(self) -> None:
        self.dismiss(self.query_one(JsonInput).text)

    def action_reset(self) -> None:
        self.query_one(JsonInput).text = self._asked

    def action_external(self) -> None:
        """Edit the text in the person's own editor."""
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if not editor:
            self.query_one(KeyBar).show_notice("set EDITOR to edit in a program of your own")
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"{re.sub('[^A-Za-z0-9_]', '_', self._call.name)[:40] or 'arguments'}.json")
            path.write_text(self.query_one(JsonInput).text, encoding="utf-8")
            with self.app.suspend():
                subprocess.run([*shlex.split(editor), str(path)], check=False)  # noqa: S603  # the person's own program
            self.query_one(JsonInput).text = escaped(path.read_text(encoding="utf-8", errors="replace"))

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _show(self) -> None:
        count = len(self.problems)
        self.query_one("#json-title", RegionTitle).show_title("arguments", focused=True)
        self.query_one("#fields-title", RegionTitle).show_title("what the tool takes", focused=False)
        self.query_one("#changes-title", RegionTitle).show_title("what changes", focused=False)
        self.query_one("#fields", DocumentView).show_items(list(self._fields()), keep_place=True)
        self.query_one("#changes", DocumentView).show_items(list(self._changes()), keep_place=True)
        verdict = ("✓ fits the schema", "good") if not count else (f"✗ {self._what_is_wrong()}", "bad")
        self.query_one("#edit-verdict", Bar).show([(" ", "plain"), verdict])
        wait = f"run it (not yet: {count} problem{'s' if count > 1 else ''})" if count else "run it"
        keys = [("ctrl+s", wait), ("ctrl+z", "undo"), ("ctrl+r", "as asked"), ("ctrl+e", "in $EDITOR")]
        bar = self.query_one(KeyBar)
        bar.clear_notice()
        bar.show_keys([*keys, ("esc", "keep as draft")])

    def _what_is_wrong(self) -> str:
        words = "; ".join(one_line(str(problem), 160) for problem in self.problems[:3])
        more = len(self.problems) - 3
        return (words or "these are no arguments") + (f"; and {more} more" if more > 0 else "")

    def _changes(self) -> Iterator[Item]:
        if self.arguments is None:
            yield Words(("  as soon as this is JSON again", "muted"))
        else:
            yield from difference(self._call.arguments, self.arguments)

    def _fields(self) -> Iterator[Item]:
        properties = self._call.schema.get("properties")
        if not isinstance(properties, Mapping) or not properties:
            yield Words(("  no arguments", "muted"))
            return
        required = self._call.schema.get("required")
        for name, schema in properties.items():
            wrong = [problem for problem in self.problems if _first_name(problem.path) == name]
            star = "*" if isinstance(required, list) and name in required else " "
            facts = schema if isinstance(schema, Mapping) else {}
            mark = ("✗ ", "bad") if wrong else ("  ", "plain")
            yield Labelled([mark, (f"{one_line(str(name), 40)}{star} ", "name")], _kind(facts), "muted")
            if isinstance(facts.get("description"), str):
                yield Passage(facts["description"], indent=4, tone="muted")
            for problem in wrong:
                yield Passage(problem.message, indent=4, tone="bad")


def _first_name(path: str) -> str:
    return re.split(r"[.\[]", path.removeprefix("$").removeprefix("."), maxsplit=1)[0]


def _kind(schema: Mapping[str, Any]) -> str:
    """The type of a field with its limits, in a few words."""
    kind = schema.get("type")
    words = " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind or "")
    if isinstance(schema.get("enum"), list):
        values = schema["enum"]
        words = "one of " + ", ".join(json_text(value, indent=None) for value in values[:_VALUES])
        words += f" and {len(values) - _VALUES} more" if len(values) > _VALUES else ""
    limits = {"minimum": "at least", "maximum": "at most", "maxLength": "at most", "minLength": "at least"}
    for key, word in limits.items():
        if key in schema:
            unit = " characters" if key.endswith("Length") else ""
            words += f", {word} {json_text(schema[key])}{unit}"
    if "default" in schema:
        words += f", else {json_text(schema['default'], indent=None)}"
    return one_line(words.removeprefix(", "), 600)
