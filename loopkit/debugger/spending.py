"""What a run has used so far, so that rules can ask for it; the same count live and over a recording."""

from __future__ import annotations

from loopkit import events as e
from loopkit.debugger.costs import answer_cost


class Spending:
    """Tokens and dollars of the whole tree, event by event.

    Attributes:
        tokens: in and out, as far as providers told.
        cost: US dollars, or None once the price of an answer is not known.
    """

    def __init__(self) -> None:
        self.tokens = 0
        self.cost: float | None = 0.0
        self._models: dict[str, str | None] = {}

    def take(self, event: e.Event) -> None:
        """Take in the next event of the run."""
        fact = event.fact
        if isinstance(fact, e.ModelReplied):
            if fact.usage is not None:
                self.tokens += fact.usage.input_tokens + fact.usage.output_tokens
            dollars = answer_cost(fact.usage, fact.model or self._models.get(event.loop))
            self.cost = None if self.cost is None or dollars is None else self.cost + dollars
        elif isinstance(fact, (e.LoopStarted, e.AgentChanged)):
            self._models[event.loop] = fact.model
        elif isinstance(fact, e.ModelInterrupted) or (isinstance(fact, e.ModelAttemptFailed) and fact.unreported):
            self.cost = None
