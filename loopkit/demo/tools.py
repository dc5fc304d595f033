"""What the demo's agents can do: real files, a real process, a real database, all in the shop's folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import anyio

from loopkit.core.depth import LoopContext
from loopkit.demo.shop import Shop
from loopkit.errors import ToolError
from loopkit.tools.definition import tool

FilePath = Annotated[str, {"pattern": r"^[A-Za-z0-9_-]+\.(py|md|txt)$"}]
InShop = LoopContext[Shop]


@tool(side_effect="read")
def list_files(ctx: InShop) -> list[str]:
    """List the files of the shop's folder."""
    return sorted(path.name for path in ctx.state.folder.iterdir() if path.is_file())


@tool(side_effect="read")
def read_file(path: FilePath, ctx: InShop) -> str:
    """Read a text file of the shop's folder.

    Args:
        path: A file's name, such as shop.py.
    """
    file = ctx.state.file(path)
    if not file.is_file():
        raise ToolError(f"Can't read {path}: there is no such file.")
    return file.read_text(encoding="utf-8")


@tool(side_effect="idempotent")
def write_file(path: FilePath, content: Annotated[str, {"maxLength": 4000}], ctx: InShop) -> str:
    """Write a text file into the shop's folder; what it held before is lost.

    Args:
        path: A file's name, such as NOTES.md.
        content: The whole text.
    """
    ctx.state.file(path).write_text(content, encoding="utf-8")
    lines = len(content.splitlines())
    return f"{path} written, {lines} {'line' if lines == 1 else 'lines'}"


@tool(side_effect="idempotent", timeout=30)
async def run_tests(
    ctx: InShop,
    rounds: Annotated[int, {"minimum": 1, "maximum": 50}] = 3,
    order: Literal["as written", "reversed", "shuffled"] = "as written",
) -> str:
    """Run test_shop.py in a process of its own; each round has a fresh copy of the order book.

    Args:
        rounds: How often all tests are run.
        order: The order of the tests within a round.
    """
    program = Path(__file__).with_name("rounds.py")
    command = [sys.executable, "-I", "-S", "-B", str(program), str(rounds), order]
    done = await anyio.run_process(command, cwd=ctx.state.folder, check=False)
    if done.returncode:
        raise ToolError(f"Can't run the tests: the process ended with {done.returncode}.")
    return done.stdout.decode(errors="replace").replace("\r\n", "\n")


@tool(side_effect="irreversible")
def delete_orders(
    customer: Annotated[str, {"minLength": 1}],
    at_most: Annotated[int, {"minimum": 1, "maximum": 20}],
    ctx: InShop,
) -> str:
    """Delete all orders of a customer from the order book, for good.

    Args:
        customer: Whose orders, spelled as in the book.
        at_most: How many may go; if there are more, nothing is deleted.
    """
    with ctx.state.order_book(write=True) as book:
        (found,) = book.execute("SELECT COUNT(*) FROM orders WHERE customer = ?", (customer,)).fetchone()
        if found > at_most:
            raise ToolError(f"Can't delete: {customer} has {found} orders, and at most {at_most} may go.")
        book.execute("DELETE FROM orders WHERE customer = ?", (customer,))
    return f"{found} {'order' if found == 1 else 'orders'} of {customer} deleted"


@tool(side_effect="read")
def query_orders(
    sql: Annotated[str, {"pattern": "^ *[Ss][Ee][Ll][Ee][Cc][Tt] "}],
    ctx: InShop,
    limit: Annotated[int, {"minimum": 1, "maximum": 100}] = 10,
) -> list[dict[str, object]]:
    """Ask the order book; its table is orders(number, customer, item, price), prices are in euros.

    Args:
        sql: One SELECT.
        limit: How many rows to return.
    """
    with ctx.state.order_book() as book:
        rows = book.execute(sql)
        names = [column[0] for column in rows.description]
        return [dict(zip(names, row, strict=True)) for row in rows.fetchmany(limit)]
