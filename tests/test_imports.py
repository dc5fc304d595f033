"""What an import and a help text may load: they have to be instant."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from statistics import median

import pytest

HEAVY = {
    "anyio",
    "anywidget",
    "asyncio",
    "httpx",
    "importlib.metadata",
    "inspect",
    "ipywidgets",
    "jsonschema",
    "loopkit.core",
    "loopkit.drivers",
    "loopkit.providers",
    "rich",
    "textual",
    "trio",
}
COMMANDS = ["tui", "run", "attach", "show", "replay", "fork", "ls", "check"]
_HELP = """
import sys
from loopkit.cli import main
try:
    main({words!r})
except SystemExit:
    pass
"""


def loaded_by(code: str) -> set[str]:
    """Modules that a fresh interpreter holds after running `code`."""
    ending = "import json, sys\nprint('\\n' + json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{ending}"], capture_output=True, text=True, check=True, timeout=30
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_loopkit_loads_no_framework() -> None:
    """DESIGN §2: `import loopkit` is free."""
    assert loaded_by("import loopkit") & HEAVY == set()


@pytest.mark.parametrize("words", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)])
def test_help_loads_no_framework(words: list[str]) -> None:
    """DESIGN §2 and §6: help is instant, of each command too."""
    assert loaded_by(_HELP.format(words=words)) & HEAVY == set()


def test_every_public_name_can_be_loaded() -> None:
    """The lazy table of `loopkit` names only what exists, and each name once."""
    import loopkit

    missing = [name for name in loopkit.__all__ if getattr(loopkit, name, None) is None]
    assert missing == []
    assert set(loopkit.__all__) <= set(dir(loopkit))


def test_an_unknown_name_is_an_attribute_error() -> None:
    import loopkit

    with pytest.raises(AttributeError, match="no_such_name"):
        loopkit.no_such_name  # noqa: B018


def _cpu_seconds(arguments: list[str]) -> float:
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], capture_output=True, check=True, timeout=30)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _median_of(measure: Callable[[], float], times: int = 5) -> float:
    return median(measure() for _ in range(times))


def test_help_costs_at_most_five_times_a_bare_interpreter() -> None:
    """spec/performance.md goal 15, as a ratio of CPU time measured side by side."""
    bare = _median_of(lambda: _cpu_seconds(["-c", "pass"]))
    assert _median_of(lambda: _cpu_seconds(["-m", "loopkit", "--help"])) <= 5 * bare
