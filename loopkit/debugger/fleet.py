"""Many recordings at once, as tables of DuckDB (extra `loopkit[fleet]`): figures over all of them, and SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopkit.debugger.costs import Cost, answer_cost
from loopkit.errors import UserError
from loopkit.messages import Usage

if TYPE_CHECKING:
    import duckdb

_TABLES = Path(__file__).with_name("fleet.sql")
_ANSWERS = """
    SELECT file, model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reported, count(*)
    FROM requests WHERE outcome = 'ModelReplied' GROUP BY ALL
"""
_TOTALS = """
    SELECT count(*) AS runs, sum(iterations) AS iterations, sum(calls) AS tool_calls, sum(sub_agents) AS sub_agents,
        sum(warnings) AS warnings, sum(errors) AS errors, sum(denied) AS denied, sum(edited) AS edited,
        sum(failed_attempts) AS failed_attempts, sum(events) AS events,
        sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
        bool_and(tokens_complete) AS tokens_complete,
        sum(seconds) AS seconds, sum(model_seconds) AS model_seconds, sum(tool_seconds) AS tool_seconds,
        sum(person_seconds) AS person_seconds
    FROM runs
"""
_OUTCOMES = "SELECT outcome, count(*) AS runs FROM runs GROUP BY outcome ORDER BY runs DESC, outcome"
_MODELS = """
    SELECT model, count(*) FILTER (outcome = 'ModelReplied') AS answers,
        count(*) FILTER (outcome IS DISTINCT FROM 'ModelReplied') AS failed,
        sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
        median(seconds) FILTER (outcome = 'ModelReplied') AS median_seconds,
        quantile_cont(seconds, 0.95) FILTER (outcome = 'ModelReplied') AS p95_seconds
    FROM requests GROUP BY model ORDER BY answers DESC, model
"""
_TOOLS = """
    SELECT tool, count(*) AS calls,
        count(*) FILTER (is_error) AS errors,
        count(*) FILTER (status = 'denied') AS denied, count(*) FILTER (decision = 'Modify') AS edited,
        median(seconds) AS median_seconds, quantile_cont(seconds, 0.95) AS p95_seconds
    FROM calls GROUP BY tool ORDER BY calls DESC, tool
"""
_WARNINGS = """
    SELECT detector, tool, count(*) AS times, count(DISTINCT file) AS runs
    FROM warnings GROUP BY detector, tool ORDER BY times DESC, detector, tool
"""


@dataclass(frozen=True, slots=True)
class Table:
    """What a query gave; its strings are as recorded, and made safe where they are shown."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def data(self) -> list[dict[str, Any]]:
        """Return the rows as JSON objects."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class FleetStats:
    """Figures over many runs; `totals` holds every moment of the runs once, split by what it was spent on.

    Args:
        totals: one object: counts, tokens, cost and seconds.
        outcomes, models, tools, warnings: one row each, the most frequent first.
    """

    totals: dict[str, Any]
    outcomes: Table
    models: Table
    tools: Table
    warnings: Table

    def data(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        tables = {name: getattr(self, name).data() for name in ("outcomes", "models", "tools", "warnings")}
        return {"totals": self.totals, **tables}


class Fleet:
    """Recordings as the tables `runs`, `loops`, `requests`, `calls`, `warnings` and `events`.

    Args:
        files: recordings of ours; damaged lines are left out.

    Raises:
        UserError: DuckDB is not installed, or a file can't be read.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self._connection = _connect()
        for statement in self._connection.extract_statements(_TABLES.read_text("utf-8")):
            parameters = {"files": [_as_pattern(file) for file in files]} if "$files" in statement.query else None
            self._connection.execute(statement.query, parameters)

    def query(self, sql: str) -> Table:
        """Return what a query over the tables gives.

        Raises:
            UserError: it is empty, or DuckDB refuses it; the message is its own first line.
        """
        import duckdb  # noqa: PLC0415  # an extra

        try:
            if not self._connection.extract_statements(sql):
                raise UserError('the query is empty; try "SELECT tool, count(*) FROM calls GROUP BY tool"')
            result = self._connection.execute(sql)
            columns = tuple(column[0] for column in result.description or ())
            return Table(columns, tuple(result.fetchall()) if columns else ())
        except duckdb.Error as error:
            raise UserError(f"the query can't be run: {str(error).splitlines()[0]}") from None

    def stats(self) -> FleetStats:
        """Return the figures over all runs."""
        [totals] = self.query(_TOTALS).data()
        spent = totals["seconds"] or 0.0
        known = sum(totals[f"{kind}_seconds"] or 0.0 for kind in ("model", "tool", "person"))
        totals["other_seconds"] = max(0.0, spent - known)
        by_model = self._costs()
        cost = sum_of(by_model.values())
        totals |= {"cost": cost.total, "known_cost": cost.dollars, "unpriced_answers": cost.unpriced}
        models = self.query(_MODELS)
        with_cost = Table(
            (*models.columns, "cost"), tuple((*row, by_model.get(row[0], Cost()).total) for row in models.rows)
        )
        return FleetStats(totals, self.query(_OUTCOMES), with_cost, self.query(_TOOLS), self.query(_WARNINGS))

    def _costs(self) -> dict[str | None, Cost]:
        costs: dict[str | None, Cost] = {}
        for _, model, tokens_in, tokens_out, cache_read, cache_write, reported, answers in self.query(_ANSWERS).rows:
            usage = Usage(tokens_in, tokens_out, cache_read, cache_write)
            price = answer_cost(usage, model) if reported else None
            cost = Cost(0.0, 0, answers) if price is None else Cost(price * answers, answers, 0)
            costs[model] = sum_of((costs.get(model, Cost()), cost))
        return costs


def sum_of(costs: Iterable[Cost]) -> Cost:
    """Add costs up; the total stays unknown while a part is."""
    parts = list(costs)
    return Cost(
        sum(part.dollars for part in parts), sum(part.priced for part in parts), sum(part.unpriced for part in parts)
    )


def _as_pattern(file: Path) -> str:
    """DuckDB reads a path as a pattern; a file's own brackets and stars are put in brackets, which means themselves."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(file))


def _connect() -> duckdb.DuckDBPyConnection:
    try:
        import duckdb  # noqa: PLC0415  # an extra
    except ImportError:
        raise UserError("figures over many recordings need DuckDB: pip install 'loopkit[fleet]'") from None
    # nothing is fetched for a query: only what DuckDB has in itself
    return duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": True})
