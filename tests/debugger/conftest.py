"""What the debugger's tests share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(params=["asyncio", "trio"])
def backend(request: pytest.FixtureRequest) -> str:
    """The event loop that the agent runs in, in its own thread."""
    return str(request.param)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a run is recorded; its folder is not there yet."""
    return tmp_path / "kept" / "run.jsonl"
