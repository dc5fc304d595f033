"""A real JupyterLab in a real browser: how to start both, open a notebook, run it and save it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROJECT = Path(__file__).resolve().parents[2]
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SERVER_ARGUMENTS = [
    "--allow-root",
    "--no-browser",
    "--ip=127.0.0.1",
    "--ServerApp.port_retries=0",
    "--IdentityProvider.token=",
    "--ServerApp.password=",
    "--ServerApp.disable_check_xsrf=True",
    "--LabApp.news_url=",
    "--expose-app-in-browser",
]
START_SECONDS = 30
STEP_MILLISECONDS = 15_000
RUN_ATTEMPTS = 4


def chromium_or_skip() -> str:
    """Return the browser's path; without one the test is skipped, in CI it fails."""
    path = os.environ.get("LOOPKIT_CHROMIUM", "/usr/bin/chromium")
    if not Path(path).exists():
        reason = f"no Chromium at {path}; install it or set LOOPKIT_CHROMIUM"
        if os.environ.get("CI", "").lower() in ("true", "1"):
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@contextmanager
def running_lab(folder: Path) -> Iterator[str]:
    """Serve `folder` by a JupyterLab of its own and yield its address; its kernels can import the project."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    own = folder / ".jupyter"
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(
            [*(str(PROJECT / part) for part in (".", "tui", "notebook")), os.environ.get("PYTHONPATH", "")]
        ),
        **{f"JUPYTER_{kind}_DIR": str(own / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")},
        "JUPYTERLAB_SETTINGS_DIR": str(own / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(own / "workspaces"),
        "IPYTHONDIR": str(own / "ipython"),
    }
    command = [sys.executable, "-m", "jupyterlab", *SERVER_ARGUMENTS, f"--port={port}"]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            _wait_until_served(server, f"http://127.0.0.1:{port}/lab", folder / "server.log")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            try:
                server.wait(15)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _wait_until_served(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    limit = time.monotonic() + START_SECONDS
    while time.monotonic() < limit and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(0.1)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text(errors='replace')[-2000:]}")


@contextmanager
def headless_browser(path: str) -> Iterator[Browser]:
    """Yield a headless Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()


def write_notebook(path: Path, *cells: str) -> None:
    """Write a notebook of code cells."""
    sources: list[dict[str, object]] = [
        {
            "cell_type": "code",
            "id": f"cell-{at}",
            "source": source,
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
        for at, source in enumerate(cells)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": sources}
    path.write_text(json.dumps(notebook), encoding="utf-8")


def open_notebook(browser: Browser, address: str, name: str) -> Page:
    """Open a notebook and wait for its kernel."""
    page = browser.new_page(viewport={"width": 1280, "height": 1100})
    page.set_default_timeout(STEP_MILLISECONDS)
    page.goto(f"{address}/lab/tree/{name}?reset")
    page.wait_for_function(
        """() => {
            const context = window.jupyterapp?.shell.currentWidget?.sessionContext;
            const kernel = context?.session?.kernel;
            return context?.isReady && kernel?.status === 'idle' && kernel?.connectionStatus === 'connected';
        }""",
        timeout=2 * STEP_MILLISECONDS,
    )
    return page


def run_all(page: Page) -> None:
    """Run all cells; tried again while none gets a number, because JupyterLab sometimes runs none at all."""
    from playwright.sync_api import TimeoutError as NotInTime

    for _ in range(RUN_ATTEMPTS):
        page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells') }")
        try:
            page.wait_for_function(
                """() => [...window.jupyterapp.shell.currentWidget.content.widgets]
                    .some((cell) => cell.model.executionCount !== null)""",
                timeout=5_000,
            )
            return
        except NotInTime:
            continue
    pytest.fail(f"JupyterLab ran no cell in {RUN_ATTEMPTS} attempts")


def save(page: Page) -> None:
    """Save the notebook and wait until it is written."""
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")
