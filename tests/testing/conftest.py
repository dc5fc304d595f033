"""What the tests of the plugin stand on."""

from __future__ import annotations

import pytest

from tests.testing.projects import Project


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project without a recording yet."""
    return Project(pytester, monkeypatch)
