"""What a person decides and changes in a live run: each command raises `DecisionNotAccepted`, in one line, when it comes
late, twice or doesn't fit; what was bound to something else than what is there stands in the log as refused."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from loopkit.debugger.commanding import Elsewhere, command, question
from loopkit.debugger.display import one_line
from loopkit.debugger.standing import Standing
from loopkit.errors import DecisionNotAccepted
from loopkit.events import ROOT
from loopkit.messages import Message
from loopkit.outcomes import Approve, Deny, Modify, Respond, ToolApproval

if TYPE_CHECKING:
    from loopkit.debugger.live import LiveRun
    from loopkit.debugger.timeline import Timeline
    from loopkit.debugger.under_way import RemoteRunUnderWay


class Deciding:
    """The part of a session that decides on calls and edits what stands at a gate."""

    timeline: Timeline
    _live: LiveRun | None
    _remote: RemoteRunUnderWay | None

    @property
    def elsewhere(self) -> Elsewhere | None:
        """Where the session is when another process serves it, or None."""
        return self._remote

    # ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────

    @command
    def approve(self, call: str, version: int) -> None:
        """Let a call run as the model asked for it."""
        self._decide(call, version, Approve())

    @command
    def deny(self, call: str, version: int, reason: str = "") -> None:
        """Refuse a call; the model gets the reason verbatim."""
        require(reason, str, "a reason is text")
        self._decide(call, version, Deny(reason) if reason else Deny())

    @command
    def edit(self, call: str, version: int, arguments: dict[str, Any]) -> None:
        """Let a call run with other arguments."""
        try:
            # what was decided on stays, whatever the caller does to theirs (spec/faults.md d15)
            own = deepcopy(arguments)
        except Exception as error:  # noqa: BLE001  # of a class that can't be copied, or far too deep
            raise DecisionNotAccepted(f"the arguments must be a JSON object ({type(error).__name__})") from None
        self._decide(call, version, Modify(own))

    @command
    def respond(self, call: str, version: int, output: str, is_error: bool = False) -> None:
        """Answer a call in its tool's place."""
        require(output, str, "the answer in a tool's place is text")
        self._decide(call, version, Respond(output, bool(is_error)))

    def _decide(self, call: str, version: int, decision: ToolApproval) -> None:
        require(version, int, "the version of a call is a whole number")
        live = self._deciding_live()
        live.decide_call(self._loop_of(call), call, version, decision)

    # ── what stands at a gate ────────────────────────────────────────────────────────────────────────────────────────

    @question
    def standing(self) -> tuple[Standing, ...]:
        """Return the loops that stand at a gate, with what may be changed there; the root comes first."""
        return () if self._live is None else self._live.standing()

    @question
    def history(self, loop: str = ROOT) -> tuple[Message, ...]:
        """Return the messages that a loop's next request carries, as recorded; empty once it has ended."""
        return () if self._live is None else self._live.history(loop)

    @command
    def edit_result(self, call: str, seen: str, content: str, is_error: bool = False) -> None:
        """Put another result in the place of one that the model has not got yet; the original stays in the log.

        Args:
            call: its call's id.
            seen: `StandingResult.seen` of the result that the person saw.
            content: the text that the model gets.
            is_error: whether it is told that the call failed.
        """
        require(seen, str, "what was seen is named by text")
        require(content, str, "a result is text")
        live, loop = self._deciding_live(), self._loop_of(call)
        from loopkit.debugger import gate_edits  # noqa: PLC0415  # looking at a recording needs no event loop

        live.change(loop, lambda driver: gate_edits.edit_result(driver, call, seen, content, is_error=bool(is_error)))

    @command
    def edit_answer(self, loop: str, seen: str, message: Message) -> None:
        """Put another answer in the place of what the model said, before anything follows from it.

        Args:
            loop: path of the loop that stands behind the answer.
            seen: `Standing.seen` of the answer that the person saw.
            message: the assistant's message that takes its place; its calls are asked about as the model's would be.
        """
        require(seen, str, "what was seen is named by text")
        require(message, Message, "an answer is a Message")
        live = self._deciding_live()
        from loopkit.debugger import gate_edits  # noqa: PLC0415  # the same

        live.change(loop, lambda driver: gate_edits.edit_answer(driver, seen, message))

    @command
    def edit_request(  # one name for each part of a request
        self,
        loop: str,
        seen: str,
        *,
        messages: tuple[Message, ...] | None = None,
        system: str | None = None,
        model: str | None = None,
        tools: tuple[str, ...] | None = None,
        settings: dict[str, Any] | None = None,
    ) -> None:
        """Change the request that a loop is about to send; what is None stays. It holds for later requests too.

        Args:
            loop: path of the loop that stands before the request.
            seen: `Standing.seen` of the request that the person saw.
            messages: the whole history in its new form.
            system: the system prompt; an empty one takes it out.
            model: another model of the same provider, by its name.
            tools: names of the agent's tools that are offered.
            settings: settings of the request (temperature …) to set; one of None is taken out.
        """
        require(seen, str, "what was seen is named by text")
        for message in messages or ():
            require(message, Message, "a history is made of Messages")
        changes: dict[str, Any] = {
            "messages": messages,
            "system": system,
            "model": model,
            "tools": tools,
            "settings": settings,
        }
        for name in ("system", "model"):
            if changes[name] is not None:
                require(changes[name], str, f"the {name} is text")
        live = self._deciding_live()
        from loopkit.debugger import gate_edits  # noqa: PLC0415  # the same

        live.change(loop, lambda driver: gate_edits.edit_request(driver, seen, **changes))

    @command
    def inject(self, text: str, loop: str = ROOT) -> None:
        """Add a message of the user to the history, at any moment; the model gets it with its next request.

        Args:
            loop: path of the loop that gets it.
        """
        require(text, str, "a message is text")
        live = self._deciding_live()
        from loopkit.debugger import gate_edits  # noqa: PLC0415  # the same

        live.change(loop, lambda driver: gate_edits.inject(driver, text))

    # ── whom it is about ─────────────────────────────────────────────────────────────────────────────────────────────

    def _deciding_live(self) -> LiveRun:
        if self._live is None:
            raise DecisionNotAccepted("there is nothing to decide in a recording: fork it to go on from here")
        return self._live

    def _loop_of(self, call: str) -> str:
        node = self.timeline.calls.get(call)
        if node is None:
            raise DecisionNotAccepted(f"there is no call {one_line(call, 80)} in this run")
        return node.loop.path


def require(value: object, kind: type, words: str) -> None:
    """Refuse an argument that is of another kind than what is said of it."""
    # what another kind would write into the recording, nothing could read again
    if type(value) is not kind:
        raise DecisionNotAccepted(f"{words}, not {type(value).__name__}")
