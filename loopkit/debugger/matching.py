"""What rows are looked for by facts that an outline holds: a tool, what failed or was decided, what an answer used."""

from __future__ import annotations

from dataclasses import dataclass

from loopkit.debugger.costs import answer_cost, iteration_cost
from loopkit.debugger.nodes import Row, RowKind
from loopkit.debugger.outline import DECIDED, FAILED, Outline
from loopkit.debugger.row_marks import is_decision, is_error


@dataclass(frozen=True, slots=True)
class Wanted:
    """Rows that fit every part that is given.

    Args:
        kinds: what they show; empty for anything.
        tools: names of the tools that they call; empty for any row.
        marks: at least one of `error`, `warning` and `decision`; empty for any row.
        tokens: what their answer used at least, input and output.
        cost: what their answer cost at least, in US dollars, where its price is known.
    """

    kinds: frozenset[RowKind] = frozenset()
    tools: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset()
    tokens: int | None = None
    cost: float | None = None

    def fits(self, row: Row) -> bool:
        """Return whether a row of a run in memory is one."""
        if self.kinds and row.kind not in self.kinds:
            return False
        if self.tools and (row.kind is not RowKind.CALL or row.call is None or row.call.name not in self.tools):
            return False
        if self.marks and not (
            ("error" in self.marks and is_error(row))
            or ("decision" in self.marks and is_decision(row))
            or ("warning" in self.marks and row.kind is RowKind.WARNING)
        ):
            return False
        return self.tokens is self.cost is None or (row.kind is RowKind.ITERATION and self._fits_answer(row))

    def _fits_answer(self, row: Row) -> bool:
        iteration = row.iteration
        usage = None if iteration is None else iteration.usage
        if iteration is None or usage is None or usage.unreported:
            return False
        if self.tokens is not None and usage.input_tokens + usage.output_tokens < self.tokens:
            return False
        return self.cost is None or _at_least(iteration_cost(iteration), self.cost)

    def fits_outlined(self, outline: Outline, row: int) -> bool:
        """Return the same of a row by its number in an outline, from which nothing has to be read."""
        kind = outline.kind_of(row)
        if self.kinds and kind not in self.kinds:
            return False
        if self.tools and (kind is not RowKind.CALL or outline.name(outline.row_name[row]) not in self.tools):
            return False
        if self.marks:
            marks = outline.row_marks[row]
            if not (
                ("error" in self.marks and marks & FAILED)
                or ("decision" in self.marks and marks & DECIDED)
                or ("warning" in self.marks and kind is RowKind.WARNING)
            ):
                return False
        if self.tokens is self.cost is None:
            return True
        return kind is RowKind.ITERATION and self._fits_outlined_answer(outline, row)

    def _fits_outlined_answer(self, outline: Outline, row: int) -> bool:
        group = outline.event_group[outline.row_event[row]]
        usage = outline.answer_tokens(group)
        if usage is None:
            return False
        if self.tokens is not None and usage.input_tokens + usage.output_tokens < self.tokens:
            return False
        if self.cost is None:
            return True
        model = outline.name(outline.group_model[group]) or outline.name(outline.loop_model[outline.group_loop[group]])
        return _at_least(answer_cost(usage, model), self.cost)


def _at_least(cost: float | None, least: float) -> bool:
    return cost is not None and cost >= least
