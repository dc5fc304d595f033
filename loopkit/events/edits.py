"""Facts of people and commands who change a run: its agent, an answer, a result (DESIGN §4, §5)."""

from __future__ import annotations

from dataclasses import dataclass, field

from loopkit.events.fact import CallVerdict, Input
from loopkit.messages import JSONObject, Message, ToolDefinition


@dataclass(frozen=True, slots=True)
class AgentChanged(Input):
    """From here on the loop goes on with another agent; its prompt is a message, so that `HistoryEdited` changes it.

    Args:
        agent, tools, configuration, model, settings, fallbacks: as in `LoopStarted`.
        by: who changed it: `fork`, `resume` or `person`.
    """

    agent: str
    tools: tuple[ToolDefinition, ...] = ()
    configuration: JSONObject = field(default_factory=dict)
    model: str | None = None
    settings: JSONObject = field(default_factory=dict)
    fallbacks: tuple[str | None, ...] = ()
    by: str = "person"


@dataclass(frozen=True, slots=True)
class AnswerEdited(Input):
    """A model's answer was replaced before anything followed from it; what the model said stands in `ModelReplied`.

    Args:
        message: what takes its place in the history, calls included.
        verdicts: the schema checks of its calls, in call order.
    """

    message: Message
    by: str
    verdicts: tuple[CallVerdict, ...] = ()


@dataclass(frozen=True, slots=True)
class ResultEdited(Input):
    """A result was replaced before the model got it; the original stands in its own event."""

    call: str
    content: str
    by: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class EditRefused(Input):
    """An edit was not taken: late, twice, of something else than what was seen, or where nothing can be edited.

    Args:
        target: what was to be edited: a call's id for its result, an iteration (`root/3`) for a request or an answer.
        what: `result`, `answer`, `request` or `message`.
    """

    target: str
    what: str
    by: str
    reason: str
