"""What the front-end may ask for: each request is data with a kind, each answer is data, errors included."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from loopkit.debugger.display import one_line, visible
from loopkit.errors import LoopkitError
from loopkit.messages import Problem
from loopkit_notebook.details import Detail, cut, row_detail
from loopkit_notebook.row_feed import RowFeed, row_data

if TYPE_CHECKING:
    from loopkit.debugger.session import Session

SECTION_LIMIT = 4_000
PIECE_LIMIT = 100_000
PAGE_LIMIT = 500
_NOT_PLAIN = re.compile(r"[^\x20-\x7e\n]")

Answer = dict[str, Any]
Fields = Mapping[str, Any]


class RequestRefused(LoopkitError):
    """The front-end asked for something that isn't there."""


class RequestDesk:
    """Answers the front-end's requests from a session and its rows.

    Args:
        session: live or recorded.
        feed: the rows of the session's timeline.
    """

    def __init__(self, session: Session, feed: RowFeed) -> None:
        self._session = session
        self._feed = feed

    def answer(self, kind: object, fields: Fields) -> Answer:
        """Do what is asked and return the answer's fields; `ok` says whether it was done."""
        handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
        try:
            if handler is None:
                raise RequestRefused(f"unknown request {kind!r}")
            return {"ok": True, **handler(self, fields)}
        except LoopkitError as error:
            return {"ok": False, "error": one_line(str(error), 500)}
        except Exception as error:  # noqa: BLE001 - a request without an answer would leave the person waiting
            return {"ok": False, "error": one_line(f"{type(error).__name__}: {error}", 500)}

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _rows(self, fields: Fields) -> Answer:
        start = max(0, int(fields["start"]))
        rows = self._feed.page(start, min(int(fields["count"]), PAGE_LIMIT))
        return {"start": start, "total": len(self._feed), "rows": [row_data(row) for row in rows]}

    def _locate(self, fields: Fields) -> Answer:
        index = self._feed.index(str(fields["key"]))
        if index is None:
            raise RequestRefused("that row is not in this run")
        return {"index": index}

    def _detail(self, fields: Fields) -> Answer:
        return detail_data(self._find(fields))

    def _piece(self, fields: Fields) -> Answer:
        detail = self._find(fields)
        section = next((part for part in detail.sections if part.name == fields["section"]), None)
        if section is None:
            raise RequestRefused("that text is not there any more")
        text, hidden = cut(section.text, max(0, int(fields["start"])), PIECE_LIMIT)
        return {"text": text, "hidden": hidden, "next": len(section.text) - hidden}

    def _find(self, fields: Fields) -> Detail:
        row = self._feed.find(str(fields["key"]))
        if row is None:
            raise RequestRefused("that row is not in this run")
        return row_detail(row, self._session.partial(row.loop.path) if self._session.live else "")

    # ── deciding ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _draft(self, fields: Fields) -> Answer:
        call = str(fields["call"])
        pending = next((item for item in self._session.pending() if item.call == call), None)
        if pending is None:
            raise RequestRefused("this call does not wait for a decision any more")
        text = editable_json(pending.arguments) if pending.raw_arguments is None else visible(pending.raw_arguments)
        return {"text": text, "version": pending.version}

    def _check(self, fields: Fields) -> Answer:
        _, problems = self._session.parse_arguments(str(fields["call"]), str(fields["text"]))
        return {"problems": _problem_words(problems)}

    def _approve(self, fields: Fields) -> Answer:
        self._session.approve(str(fields["call"]), int(fields["version"]))
        return {}

    def _deny(self, fields: Fields) -> Answer:
        self._session.deny(str(fields["call"]), int(fields["version"]), str(fields.get("reason", "")))
        return {}

    def _edit(self, fields: Fields) -> Answer:
        call = str(fields["call"])
        arguments, problems = self._session.parse_arguments(call, str(fields["text"]))
        if problems or arguments is None:
            return {"ok": False, "error": "these arguments can't run yet", "problems": _problem_words(problems)}
        self._session.edit(call, int(fields["version"]), arguments)
        return {}

    def _respond(self, fields: Fields) -> Answer:
        call, version = str(fields["call"]), int(fields["version"])
        self._session.respond(call, version, str(fields["output"]), is_error=bool(fields.get("is_error", False)))
        return {}

    # ── driving ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _pause(self, fields: Fields) -> Answer:
        self._session.pause()
        return {}

    def _step(self, fields: Fields) -> Answer:
        self._session.step()
        return {}

    def _next(self, fields: Fields) -> Answer:
        self._session.next_iteration()
        return {}

    def _continue(self, fields: Fields) -> Answer:
        self._session.resume()
        return {}

    def _stop(self, fields: Fields) -> Answer:
        self._session.stop()
        return {}


def detail_data(detail: Detail) -> Answer:
    """Return a detail as plain data, its long texts cut with the number of hidden characters."""
    sections = []
    for section in detail.sections:
        text, hidden = cut(section.text, 0, SECTION_LIMIT)
        sections.append(
            {
                "name": section.name,
                "text": text,
                "hidden": hidden,
                "next": len(section.text) - hidden,
                "tone": section.tone,
                "code": section.code,
            }
        )
    return {"title": detail.title, "facts": [list(fact) for fact in detail.facts], "sections": sections}


def editable_json(arguments: Mapping[str, Any]) -> str:
    """Return arguments as JSON text for an editor; what it means is exactly what it shows.

    A character that would act or hide stands as its JSON escape, so that unchanged text gives unchanged arguments.
    """
    text = json.dumps(dict(arguments), ensure_ascii=False, indent=2, default=str)
    return _NOT_PLAIN.sub(lambda match: match[0] if visible(match[0]) == match[0] else json.dumps(match[0])[1:-1], text)


def _problem_words(problems: tuple[Problem, ...]) -> list[dict[str, str]]:
    return [{"path": one_line(problem.path), "text": one_line(str(problem), 500)} for problem in problems]


_HANDLERS: dict[str, Callable[[RequestDesk, Fields], Answer]] = {
    "rows": RequestDesk._rows,
    "locate": RequestDesk._locate,
    "detail": RequestDesk._detail,
    "piece": RequestDesk._piece,
    "draft": RequestDesk._draft,
    "check": RequestDesk._check,
    "approve": RequestDesk._approve,
    "deny": RequestDesk._deny,
    "edit": RequestDesk._edit,
    "respond": RequestDesk._respond,
    "pause": RequestDesk._pause,
    "step": RequestDesk._step,
    "next": RequestDesk._next,
    "continue": RequestDesk._continue,
    "stop": RequestDesk._stop,
}
