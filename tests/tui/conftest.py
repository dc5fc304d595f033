"""The terminal interface runs on asyncio only, as Textual does."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _own_recordings_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPKIT_RECORDINGS", str(tmp_path_factory.mktemp("recordings")))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


@pytest.fixture(autouse=True)
def _slow_keys_belong_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, keys that a test presses in a row may come seconds apart."""
    monkeypatch.setattr("loopkit_tui.screens.run.COUNT_SECONDS", 60.0)
