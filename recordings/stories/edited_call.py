"""SQLite: an analyst counts a café's takings. A person mends its query before it runs."""

import sqlite3
from contextlib import closing
from typing import Annotated, Any

from loopkit import Agent, Modify, ScriptedProvider, ToolCall, tool

TASK = "Which drink brought in the most in June?"
QUERY = "SELECT drink, SUM(price * cups) AS euros FROM sales WHERE month = 'June' GROUP BY drink ORDER BY euros DESC"
MENDED = QUERY.replace("WHERE month = 'June'", "WHERE month = 'June' AND NOT refunded")
DECISIONS = {"root/2.1": Modify({"sql": MENDED, "limit": 2})}

SALES = [
    ("May", "espresso", 2, 410, False),
    ("May", "iced tea", 3, 95, False),
    ("June", "espresso", 2, 380, False),
    ("June", "iced tea", 3, 240, False),
    ("June", "cold brew", 4, 150, False),
    ("June", "cold brew", 4, 60, True),
]
book = sqlite3.connect(":memory:", check_same_thread=False)
book.execute("CREATE TABLE sales (month TEXT, drink TEXT, price INTEGER, cups INTEGER, refunded BOOLEAN)")
book.executemany("INSERT INTO sales VALUES (?, ?, ?, ?, ?)", SALES)
book.execute("PRAGMA query_only = ON")


@tool(side_effect="read")
def describe_tables() -> list[str]:
    """Return how the tables of the till were made."""
    with closing(book.execute("SELECT sql FROM sqlite_schema WHERE type = 'table'")) as rows:
        return [sql for (sql,) in rows]


@tool(side_effect="read")
def query(
    sql: Annotated[str, {"pattern": "^SELECT "}],
    limit: Annotated[int, {"minimum": 1, "maximum": 50}] = 10,
) -> list[dict[str, Any]]:
    """Ask the till's database.

    Args:
        sql: One SELECT.
        limit: How many rows to return.
    """
    with closing(book.execute(sql)) as rows:
        names = [column[0] for column in rows.description]
        return [dict(zip(names, row, strict=True)) for row in rows.fetchmany(limit)]


SCRIPT = [
    ["First I'll see what the till keeps.", ToolCall("a", "describe_tables")],
    ["One table. Price times cups, by drink, should tell.", ToolCall("b", "query", {"sql": QUERY})],
    "The espresso: 760 euros in June, ahead of the iced tea with 720. Counted without refunded cups, as your change "
    "to my query asks; with them the cold brew would have come out at 840 and looked like the winner.",
]
agent = Agent(
    ScriptedProvider(SCRIPT, chunk=24, delay=0.01, usage="count"),
    tools=[describe_tables, query],
    system="You answer questions about a café's sales.",
    name="analyst",
)
