"""The layout of the house, which packaging and Jupyter depend on (DESIGN §2)."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("loopkit", "tui", "notebook", "tests")
MOST_LINES = 400


def python_files(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


@pytest.mark.parametrize("folder", ["tui", "notebook", "recordings"])
def test_source_roots_are_no_packages(folder: str) -> None:
    """An `__init__.py` in `notebook/` would shadow Jupyter's own package."""
    assert (ROOT / folder).is_dir()
    assert not (ROOT / folder / "__init__.py").exists()


@pytest.mark.parametrize("folder", ["loopkit", "tui/loopkit_tui", "notebook/loopkit_notebook", "tests"])
def test_every_folder_of_a_package_is_one(folder: str) -> None:
    folders = {path.parent for path in python_files(folder)}
    assert folders
    assert [str(path) for path in sorted(folders) if not (path / "__init__.py").exists()] == []


def test_jupyters_notebook_package_is_not_ours() -> None:
    """`import notebook` at the root of the tree never finds a package of ours."""
    code = "import notebook; print(getattr(notebook, '__file__', None) or '')"
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, timeout=30
    ).stdout
    assert str(ROOT / "notebook") not in found


def test_no_module_has_two_jobs() -> None:
    """A module of more than 400 lines is split."""
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in python_files(*SOURCES)}
    assert {name: size for name, size in lengths.items() if size > MOST_LINES} == {}


def test_no_two_decisions_share_a_number() -> None:
    numbers = [path.name.partition("-")[0] for path in sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))]
    assert numbers
    assert {number for number in numbers if numbers.count(number) > 1} == set()


def test_packages_say_that_they_are_typed() -> None:
    assert (ROOT / "loopkit" / "py.typed").exists()
    assert (ROOT / "tui" / "loopkit_tui" / "py.typed").exists()
    assert (ROOT / "notebook" / "loopkit_notebook" / "py.typed").exists()


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=60,
    )
    (wheel,) = folder.glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


def test_the_wheel_holds_all_that_the_tree_holds(wheel_names: list[str]) -> None:
    """Code, styles, static files, the recording format's schema, the bundled recordings."""
    homes = {"loopkit": ROOT / "loopkit", "loopkit_tui": ROOT / "tui" / "loopkit_tui"}
    homes["loopkit_notebook"] = ROOT / "notebook" / "loopkit_notebook"
    expected = {
        f"{name}/{path.relative_to(home).as_posix()}"
        for name, home in homes.items()
        for pattern in ("*.py", "*.tcss", "*.css", "*.js", "*.json", "*.jsonl", "py.typed")
        for path in home.rglob(pattern)
    }
    assert expected - set(wheel_names) == set()


def test_the_wheel_holds_nothing_else(wheel_names: list[str]) -> None:
    tops = {name.partition("/")[0] for name in wheel_names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"loopkit", "loopkit_tui", "loopkit_notebook"}


def test_the_wheel_holds_what_a_user_opens_first(wheel_names: list[str]) -> None:
    """An installed wheel has a recording to open, the schema, and both interfaces' own files."""
    for start, end in (
        ("loopkit/demo/", ".jsonl"),
        ("loopkit/recording/", ".schema.json"),
        ("loopkit_tui/", ".tcss"),
        ("loopkit_notebook/static/", ".js"),
        ("loopkit_notebook/static/", ".css"),
        ("loopkit-", "/licenses/LICENSE"),
        ("loopkit-", "/entry_points.txt"),
    ):
        assert [name for name in wheel_names if name.startswith(start) and name.endswith(end)], (start, end)
