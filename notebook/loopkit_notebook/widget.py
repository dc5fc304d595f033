"""The widget of one run: state in two small traits, rows and requests as messages, all on the kernel's main loop."""

from __future__ import annotations

import atexit
import uuid
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from loopkit_notebook.kernel_loop import KernelLoop
from loopkit_notebook.output import StaticCopy
from loopkit_notebook.request_desk import RequestDesk
from loopkit_notebook.row_feed import RowChanges, RowFeed, row_data
from loopkit_notebook.static_html import static_html
from loopkit_notebook.status_line import ENDED, pending_data, run_name, status_data, summary_line

if TYPE_CHECKING:
    from loopkit.debugger.session import Session

RELOAD_ROWS = 500
_STATIC = Path(__file__).parent / "static"
_STATES_WORTH_SAVING = ENDED | {"waiting", "paused"}
_open_widgets: weakref.WeakSet[RunWidget] = weakref.WeakSet()


class RunWidget(anywidget.AnyWidget):
    """A run in a notebook: status, timeline, detail and decisions.

    Make it with `view` or `debug`, in the cell that shows it. Everything but `close` is meant for the front-end.

    Args:
        session: belongs to the widget from now on; `close` closes it.
    """

    # As text: for a path anywidget keeps every widget alive, to reload it when the file changes.
    _esm = (_STATIC / "widget.js").read_text(encoding="utf-8")
    _css = (_STATIC / "widget.css").read_text(encoding="utf-8")

    # Each change assigns a new object: traitlets sends nothing for a change in place (spec/faults.md f15).
    status = traitlets.Dict().tag(sync=True)
    pending: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    copy_id = traitlets.Unicode().tag(sync=True)

    def __init__(self, session: Session) -> None:
        self._session = session
        self._feed = RowFeed(session.timeline)
        self._desk = RequestDesk(session, self._feed)
        self._revision = 0
        self._saved_state = ""
        self._closed = False
        super().__init__(copy_id=uuid.uuid4().hex)
        self._copy = StaticCopy(self.copy_id)
        self._kernel = KernelLoop(_weak_refresh(self))
        self.on_msg(_take_message)
        session.on_change(self._kernel.wake)
        self.refresh()
        _open_widgets.add(self)

    @property
    def session(self) -> Session:
        """The session behind the widget; its `wait` must not be called in a cell that should stay clickable."""
        return self._session

    def refresh(self) -> None:
        """Take in what has happened since the last time; call it only in the thread that made the widget."""
        if self._closed:
            return
        events = self._session.poll()
        changes = self._feed.take(events)
        self._set_state()
        self._send_rows(changes)
        self._keep_copy()

    def close(self) -> None:
        """Stop a live run and free the comm, the layout and the session; twice is harmless (spec/faults.md f9)."""
        if self._closed:
            return
        self._session.close()
        self.refresh()
        self._closed = True
        _open_widgets.discard(self)
        self.layout.close()
        super().close()

    def _set_state(self) -> None:
        status = status_data(self._session)
        pending = pending_data(self._session.pending(), self._feed) if self._session.live else []
        with self.hold_sync():
            self.status = status
            self.pending = pending

    def _send_rows(self, changes: RowChanges) -> None:
        loop = self._session.timeline.root.path if self._session.timeline.root is not None else "root"
        partial = self._session.partial(loop) if self._session.live else ""
        answering = self._feed.answering_row(loop) if partial else None
        changed = [row_data(row) for row in changes.changed if row is not answering]
        if answering is not None:
            changed.append(row_data(answering, partial))
        if not changes and not changed:
            return
        self._revision += 1
        inserted = changes.inserted
        self.send(
            {
                "kind": "update",
                "revision": self._revision,
                "total": len(self._feed),
                "reload": len(inserted) > RELOAD_ROWS,
                "inserted": [] if len(inserted) > RELOAD_ROWS else [[at, row_data(row)] for at, row in inserted],
                "changed": changed,
            }
        )

    def _answer(self, content: dict[str, Any]) -> None:
        if self._closed:
            return
        self.refresh()
        answer = self._desk.answer(content.get("kind"), content)
        self.send({**answer, "kind": "answer", "id": content.get("id"), "revision": self._revision})
        self.refresh()

    # ── what is shown and saved ──────────────────────────────────────────────────────────────────────────────────────

    def __repr__(self) -> str:
        return summary_line(self._session)

    def _saved_bundle(self) -> dict[str, Any]:
        summary = summary_line(self._session)
        return {"text/html": static_html(self._session.timeline, summary, self.copy_id), "text/plain": summary}

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        self._kernel.catch_up()
        data, metadata = super()._repr_mimebundle_() or ({}, {})
        return {**data, **self._saved_bundle()}, metadata

    def _ipython_display_(self) -> None:
        self._kernel.catch_up()
        view, _ = super()._repr_mimebundle_() or ({}, {})
        # This output is never renewed, so its text names the run and leaves the state to the copy.
        self._copy.show({**view, "text/plain": run_name(self._session)}, self._saved_bundle())

    def _keep_copy(self) -> None:
        state = self._session.status().state
        if self._copy.shown and state != self._saved_state and state in _STATES_WORTH_SAVING:
            self._copy.update(self._saved_bundle())
        self._saved_state = state


def _take_message(widget: RunWidget, content: object, _: object) -> None:
    # The message may have come on a subshell's thread; the answer is made on the main loop.
    if isinstance(content, dict):
        widget._kernel.call(lambda: widget._answer(content))


def _weak_refresh(widget: RunWidget) -> Callable[[], None]:
    reference = weakref.ref(widget)

    def refresh() -> None:
        alive = reference()
        if alive is not None:
            alive.refresh()

    return refresh


@atexit.register
def _close_sessions() -> None:
    for widget in list(_open_widgets):
        widget.session.close()
