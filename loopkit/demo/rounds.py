"""Runs the shop's tests several times, as a program of its own: `python rounds.py ROUNDS ORDER` in the shop's folder.

Each round has a fresh copy of the order book. What is printed is the same in every run: no times, no paths.
"""

from __future__ import annotations

import importlib
import itertools
import math
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

COPY = "orders-of-the-tests.db"


def main(rounds: int, order: str) -> str:
    """Return what the tests said, in lines."""
    sys.path.insert(0, "")
    try:
        shop, tests = importlib.import_module("shop"), importlib.import_module("test_shop")
    except Exception as error:  # noqa: BLE001  # whatever the files of the folder raise is the outcome
        return f"Can't import the tests: {type(error).__name__}: {error}"
    failures: dict[str, list[int]] = {}
    for number in range(1, rounds + 1):
        for failure in _one_round(shop, _in_order(_tests_of(tests), order, number)):
            failures.setdefault(failure, []).append(number)
    failed = len(set(itertools.chain.from_iterable(failures.values())))
    lines = [
        f"{rounds} {'round' if rounds == 1 else 'rounds'}, {order}: {f'{failed} failed' if failed else 'all passed'}"
    ]
    lines += [f"{failure} ({_listed(numbers)})" for failure, numbers in failures.items()]
    return "\n".join(lines)


def _tests_of(module: ModuleType) -> list[Callable[[], object]]:
    return [value for name, value in vars(module).items() if name.startswith("test_") and callable(value)]


def _in_order(tests: Sequence[Callable[[], object]], order: str, number: int) -> Sequence[Callable[[], object]]:
    if order == "reversed":
        return tests[::-1]
    if order == "shuffled":
        # each round takes another order, and round 7 is the same on every machine
        return next(itertools.islice(itertools.permutations(tests), (number - 1) % math.factorial(len(tests)), None))
    return tests


def _one_round(shop: ModuleType, tests: Sequence[Callable[[], object]]) -> list[str]:
    shutil.copy("orders.db", COPY)
    vars(shop)["DATABASE"] = COPY
    failures = []
    for test in tests:
        try:
            test()
        except Exception as error:  # noqa: BLE001  # a test may fail with anything
            words = str(error) or type(error).__name__
            failures.append(f"{test.__name__}: {words}")
    Path(COPY).unlink()
    return failures


def _listed(numbers: Sequence[int]) -> str:
    return f"round{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


if __name__ == "__main__":
    sys.stdout.write(main(int(sys.argv[1]), sys.argv[2]))
