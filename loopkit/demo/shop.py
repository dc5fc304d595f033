"""The small bicycle shop that the demo works in: its files, its order book, and the folder that holds them."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path

from loopkit.errors import ToolError

ORDER_BOOK = "orders.db"

SHOP_CODE = '''"""The order book of a small bicycle shop."""

import sqlite3
from contextlib import closing

DATABASE = "orders.db"


def add_order(customer, item, price):
    """Write an order into the book and return its number; the price is in euros."""
    with closing(sqlite3.connect(DATABASE)) as book, book:
        row = book.execute("INSERT INTO orders (customer, item, price) VALUES (?, ?, ?)", (customer, item, price))
        return row.lastrowid


def cancel_order(number):
    """Take an order out of the book."""
    with closing(sqlite3.connect(DATABASE)) as book, book:
        book.execute("DELETE FROM orders WHERE number = ?", (number,))


def total(customer):
    """Return what a customer's orders come to, in euros."""
    with closing(sqlite3.connect(DATABASE)) as book:
        (euros,) = book.execute("SELECT COALESCE(SUM(price), 0) FROM orders WHERE customer = ?", (customer,)).fetchone()
        return euros
'''

FLAKY_TESTS = '''"""Tests of the order book."""

from shop import add_order, total


def test_total():
    assert total("Ada") == 120, f"Ada's total is {total('Ada')}, not 120"


def test_new_order():
    before = total("Ada")
    add_order("Ada", "bell", 15)
    assert total("Ada") == before + 15, "the bell is missing from Ada's total"


def test_stranger():
    assert total("Nobody") == 0, "somebody without orders has a total"
'''

STEADY_TESTS = '''"""Tests of the order book."""

from shop import add_order, cancel_order, total


def test_total():
    assert total("Ada") == 120, f"Ada's total is {total('Ada')}, not 120"


def test_new_order():
    before = total("Ada")
    number = add_order("Ada", "bell", 15)
    try:
        assert total("Ada") == before + 15, "the bell is missing from Ada's total"
    finally:
        cancel_order(number)


def test_stranger():
    assert total("Nobody") == 0, "somebody without orders has a total"
'''

_ORDERS = [
    ("Ada", "saddle", 45),
    ("Ada", "chain", 25),
    ("Grace", "helmet", 70),
    ("Test", "bell", 15),
    ("Ada", "two tyres", 50),
    ("Test", "bell", 15),
    ("Grace", "brake pads", 18),
    ("Test", "bell", 15),
    ("Test", "bell", 15),
]


class Shop:
    """One shop, in a temporary folder that is made at its first use and removed when nobody holds the shop any more."""

    @cached_property
    def folder(self) -> Path:
        """The folder; nothing outside it is touched."""
        folder = Path(tempfile.mkdtemp(prefix="loopkit-demo-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        (folder / "shop.py").write_text(SHOP_CODE, encoding="utf-8")
        (folder / "test_shop.py").write_text(FLAKY_TESTS, encoding="utf-8")
        with closing(sqlite3.connect(folder / ORDER_BOOK)) as book, book:
            book.execute("CREATE TABLE orders (number INTEGER PRIMARY KEY, customer TEXT, item TEXT, price INTEGER)")
            book.executemany("INSERT INTO orders (customer, item, price) VALUES (?, ?, ?)", _ORDERS)
        return folder

    def file(self, path: str) -> Path:
        """Return a file of the shop.

        Raises:
            ToolError: the path leads out of the folder.
        """
        found = (self.folder / path).resolve()
        if not found.is_relative_to(self.folder.resolve()):
            raise ToolError(f"Can't use {path}: it is not in the shop's folder.")
        return found

    @contextmanager
    def order_book(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """Open the order book, for reading only unless `write`; what was written is kept when the block ends well."""
        address = f"{(self.folder / ORDER_BOOK).as_uri()}?mode={'rw' if write else 'ro'}"
        with closing(sqlite3.connect(address, uri=True)) as book, book:
            yield book
