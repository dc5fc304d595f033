"""What every test can rely on: both event loops, and no network beyond this machine."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from loopkit.testing import no_network

pytest_plugins = ["pytester"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs a real model unless it is asked for by its mark; it is told as deselected, not as skipped."""
    if "real_model" in config.option.markexpr:
        return
    left_out = [item for item in items if item.get_closest_marker("real_model")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Run each async test on asyncio and on trio."""
    return str(request.param)


@pytest.fixture(autouse=True, scope="session")
def _no_network_beyond_loopback() -> Iterator[None]:
    with no_network(allow_loopback=True):
        yield


@pytest.fixture(autouse=True, scope="session")
def _signals_arrive() -> None:
    """What a shell starts in the background ignores Ctrl+C, and under nohup a hangup; processes that tests start would too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        # a handler of our own is not inherited, so that this process goes on and those that it starts do not
        signal.signal(signal.SIGHUP, lambda *_: None)


@pytest.fixture(autouse=True, scope="session")
def _recordings_of_tests_stay_apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Runs that tests start, in processes of their own too, are never kept in the person's own folder."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("LOOPKIT_RECORDINGS", str(tmp_path_factory.mktemp("recordings")))
        environment.setenv("LOOPKIT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
