"""The pytest plugin: a fixture, a marker and two options. It loads nothing of loopkit until a test uses it."""

from __future__ import annotations

import os
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from loopkit.testing.replayer import LoopkitReplay, TestPlace
    from loopkit.testing.trajectory import Trajectory

MARKER = "loopkit"
FIXTURES = frozenset({"loopkit_replay", "loopkit_run"})
_session = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("loopkit", "recorded runs of agents")
    group.addoption(
        "--loopkit-record",
        choices=("none", "once", "all"),
        default="none",
        help="which recordings are made by really asking models and running tools: none (default), those that are "
        "missing (once), or all again",
    )
    group.addoption(
        "--loopkit-update",
        action="store_true",
        help="where a replay went another way, put what the agent does today on the recorded answers in the "
        "recording's place",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    words = "replay a recording: recording, agent, and what else the fixture loopkit_replay takes"
    config.addinivalue_line("markers", f"{MARKER}(recording, agent, ...): {words}")
    worker = getattr(config, "workerinput", {})
    config.stash[_session] = worker.get("testrunuid") or uuid4().hex


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let a marked test that takes neither fixture replay before it runs."""
    names = getattr(item, "fixturenames", None)
    if names is not None and item.get_closest_marker(MARKER) is not None and not FIXTURES.intersection(names):
        names.append("loopkit_run")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say that models are really asked."""
    mode = config.getoption("--loopkit-record")
    return None if mode == "none" else f"loopkit: records {'what is missing' if mode == 'once' else 'all again'}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say which recordings were made or updated, in whichever process."""
    reports = [report for group in terminalreporter.stats.values() for report in group]
    properties = [pair for report in reports for pair in getattr(report, "user_properties", ())]
    told = dict.fromkeys(str(value) for name, value in properties if name == MARKER)
    if told:
        terminalreporter.section("loopkit")
        for line in told:
            terminalreporter.line(line)


@pytest.fixture
def loopkit_replay(request: pytest.FixtureRequest) -> LoopkitReplay:
    """Replay a recording with today's agent and the network blocked: `run = loopkit_replay("recordings/x.jsonl", agent)`.

    The test fails where the agent goes another way; `run.called("search", times=2)` and the like say what it should do.
    """
    from loopkit.testing.replayer import LoopkitReplay  # noqa: PLC0415  # loaded with the first use

    defaults: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers(MARKER))):
        defaults.update(zip(("recording", "agent"), marker.args, strict=False))
        defaults.update(marker.kwargs)

    def failure(text: str) -> BaseException:
        return pytest.fail.Exception(text, pytrace=False)

    def tell(line: str) -> None:
        request.node.user_properties.append((MARKER, line))

    return LoopkitReplay(_place(request), defaults, failure, tell)


@pytest.fixture
def loopkit_run(loopkit_replay: LoopkitReplay) -> Trajectory:
    """The run that the test's marker names, replayed: `@pytest.mark.loopkit("recordings/x.jsonl", agent)`."""
    return loopkit_replay()


def _place(request: pytest.FixtureRequest) -> TestPlace:
    from loopkit.testing.replayer import TestPlace  # noqa: PLC0415  # loaded with the first use

    config = request.config
    here = Path(config.invocation_params.dir)
    own_name = request.node.nodeid.partition("::")[2]
    test = os.path.relpath(request.path, here) + (f"::{own_name}" if own_name else "")
    return TestPlace(
        folder=request.path.parent,
        root=config.rootpath,
        here=here,
        command=shlex.quote(test),
        locks=lambda: _meeting_place(config),
        session=config.stash[_session],
        mode=config.getoption("--loopkit-record"),
        update=config.getoption("--loopkit-update"),
    )


def _meeting_place(config: pytest.Config) -> Path:
    """Return a folder that all processes of a project's tests share."""
    cache = getattr(config, "cache", None)
    if cache is not None:
        return Path(cache.mkdir("loopkit"))
    owner = os.getuid() if hasattr(os, "getuid") else "user"
    return Path(tempfile.gettempdir()) / f"loopkit-tests-{owner}"
