"""The widget in a real kernel without a front-end."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from tests.notebook_widget.lab import PROJECT

SETUP = '''
from loopkit import Agent, ScriptedProvider, ToolCall, tool
from loopkit_notebook import debug, view
from ipywidgets.widgets.widget import _instances

@tool
def read_file(path: str) -> str:
    """Read a text file."""
    return "text of " + path

def new_agent():
    return Agent(ScriptedProvider([[ToolCall("c", "read_file", {"path": "a.txt"})], "Done."]), tools=[read_file])
'''
pytestmark = pytest.mark.filterwarnings("ignore:.*ernel is running over TCP.*:UserWarning")


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[BlockingKernelClient]:
    folders = os.pathsep.join(str(PROJECT / part) for part in (".", "tui", "notebook"))
    path = os.pathsep.join(filter(None, [folders, os.environ.get("PYTHONPATH", "")]))
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(tmp_path), env=os.environ | {"PYTHONPATH": path, "IPYTHONDIR": str(tmp_path / "ipy")})
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=30)
        run(client, SETUP)
        yield client
        client.stop_channels()
        started = time.monotonic()
        manager.shutdown_kernel()
        assert time.monotonic() - started < 5, "a run that waits for a person must not hold the kernel's exit"
    finally:
        if manager.has_kernel:
            manager.shutdown_kernel(now=True)


def run(client: BlockingKernelClient, code: str, cell: str | None = None) -> list[dict[str, Any]]:
    """Run a cell as a front-end does; return the contents of its outputs and of updates of earlier ones."""
    message = client.session.msg("execute_request", {"code": code, "silent": False, "store_history": True})
    message["metadata"] = {"cellId": cell} if cell else {}
    client.shell_channel.send(message)
    outputs: list[dict[str, Any]] = []
    while True:
        heard = client.get_iopub_msg(timeout=20)
        own = heard["parent_header"].get("msg_id") == message["header"]["msg_id"]
        if not own and heard["msg_type"] != "update_display_data":
            continue
        if heard["msg_type"] == "status" and heard["content"]["execution_state"] == "idle":
            return outputs
        if heard["msg_type"] == "error":
            pytest.fail("\n".join(heard["content"]["traceback"]))
        outputs.append({"type": heard["msg_type"], **heard["content"]})


def value(client: BlockingKernelClient, expression: str) -> str:
    outputs = [output for output in run(client, f"print({expression})") if output["type"] == "stream"]
    return "".join(output["text"] for output in outputs).strip()


def test_running_a_cell_again_replaces_its_widget_and_ends_its_run(kernel: BlockingKernelClient) -> None:
    """spec/faults.md f9: fifty runs of a cell leave what one leaves."""
    counts = set()
    for number in range(50):
        run(kernel, f"widget = debug(new_agent(), 'read', record='{number}.jsonl')", cell="the cell")
        counts.add(value(kernel, "len(_instances)"))
    assert len(counts) == 1
    assert value(kernel, "sum(thread.name == 'loopkit run' for thread in __import__('threading').enumerate())") == "1"


def test_a_cell_shows_the_view_and_its_copy_and_returns_while_the_run_waits(kernel: BlockingKernelClient) -> None:
    outputs = [output for output in run(kernel, "debug(new_agent(), 'read', record='a.jsonl')") if "data" in output]
    view, copy = (output["data"] for output in outputs if output["type"] == "display_data")
    assert "application/vnd.jupyter.widget-view+json" in view
    assert view["text/plain"].startswith("loopkit run read")
    assert "<table>" in copy["text/html"]


def test_a_decision_from_a_later_cell_ends_the_run_and_renews_the_copy(kernel: BlockingKernelClient) -> None:
    """Headless, nothing clicks; the session is still at hand, and the saved output holds the final run."""
    shown = run(kernel, "widget = debug(new_agent(), 'read', record='a.jsonl')\nwidget")
    name = next(output["transient"]["display_id"] for output in shown if output.get("transient"))
    later = run(
        kernel,
        "import asyncio\n"
        "while not widget.pending: await asyncio.sleep(0.01)\n"
        "widget.session.approve(widget.pending[0]['call'], widget.pending[0]['version'])\n"
        "while not widget.status['ended']: await asyncio.sleep(0.01)",
    )
    copy = [output for output in later if output["type"] == "update_display_data"][-1]
    assert copy["transient"]["display_id"] == name
    assert "finished" in copy["data"]["text/plain"]
    assert "text of a.txt" in copy["data"]["text/html"]
