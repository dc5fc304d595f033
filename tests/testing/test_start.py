"""What the plugin costs a test session that does not use it: next to nothing."""

from __future__ import annotations

from tests.test_imports import loaded_by

_START = """
import pytest, tempfile, os
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
os.chdir(tempfile.mkdtemp())
open("test_x.py", "w").write("def test_x(): pass")
assert pytest.main(["-q", {options}]) == 0
"""


def test_a_session_that_does_not_use_it_loads_nothing() -> None:
    """Only the plugin itself is loaded; no event loop, no core, no display."""
    without = loaded_by(_START.format(options=""))
    added = loaded_by(_START.format(options="'-p', 'loopkit.testing.plugin'")) - without
    assert {name for name in added if name.startswith("loopkit")} == {
        "loopkit",
        "loopkit.testing",
        "loopkit.testing.plugin",
    }
    assert added & {"asyncio", "anyio", "httpx", "jsonschema", "unittest.mock"} == set()


def test_what_tests_use_needs_no_pytest() -> None:
    """`pip install loopkit` brings no pytest, and the assertions work without it."""
    code = "import sys; sys.modules['pytest'] = None; from loopkit.testing import *; import loopkit.testing as t; "
    code += "assert all(getattr(t, name) for name in t.__all__)"
    assert "loopkit.testing.trajectory" in loaded_by(code)
