"""What `run` and `fork` say of a disk: how sure a recording is, and one line when it takes no more (DESIGN §3, j6)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from loopkit.cli import main
from loopkit.debugger.recorded import open_recording
from loopkit.debugger.runs import check_file
from loopkit.recording import syncing
from tests.cli.agents import write_agent

RUN_ON_SMALL_DISK = """
import resource, sys
from loopkit.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize(("durability", "syncs"), [("none", False), ("iteration", True), ("event", True)])
def test_durability_says_whether_the_disk_is_waited_for(
    durability: str, syncs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(syncing, "_bring_to_disk", synced.append)
    words = ["run", write_agent(), "--task", "go", "--record", "out.jsonl", "--durability", durability]
    assert main(words) == 0
    for thread in list(syncing._unfinished):
        thread.join(20)
    assert bool(synced) is syncs
    assert check_file("out.jsonl") == []


def test_a_fork_takes_it_too() -> None:
    spec = write_agent()
    assert main(["run", spec, "--task", "go", "--record", "out.jsonl"]) == 0
    words = ["fork", "out.jsonl", "--at", "1.1", "--agent", spec, "--approve", "-o", "fork.jsonl"]
    assert main([*words, "--durability", "event"]) == 0
    assert check_file("fork.jsonl") == []


@pytest.mark.parametrize("size", [2500, 3000, 3400])
def test_a_headless_run_ends_in_one_line_when_its_recording_may_not_grow(size: int) -> None:
    """spec/faults.md j6: refused by the system itself; what was before is whole."""
    command = [sys.executable, "-c", RUN_ON_SMALL_DISK, str(size), "run", write_agent(), "--task", "go"]
    done = subprocess.run([*command, "--record", "out.jsonl"], capture_output=True, text=True, check=False, timeout=50)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("loopkit: out.jsonl: can't be written (File too large); event ")
    assert "free space and try again, or stop the run" in line
    assert check_file("out.jsonl") == []
    assert len(open_recording("out.jsonl").events) > 2
    assert not Path("out.jsonl.lock").exists()
