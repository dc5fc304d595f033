"""Processes that tools left behind end with loopkit."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

from loopkit.debugger import children

SLEEPER = "import time, sys; print('up', flush=True); time.sleep(60)"


def _run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=30, check=True
    )


def test_children_and_their_children_end() -> None:
    done = _run(f"""
        import subprocess, sys
        from loopkit.debugger.children import end_child_processes
        inner = {SLEEPER!r}
        # whichever ends first, the outer one does not end well
        outer = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]], check=True)"
        child = subprocess.Popen(
            [sys.executable, "-c", outer, inner], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        child.stdout.readline()
        print(end_child_processes(), child.wait(10) != 0, end_child_processes())
    """)
    assert done.stdout.split() == ["2", "True", "0"]


def test_a_child_that_does_not_want_to_end_is_ended() -> None:
    done = _run("""
        import subprocess, sys
        from loopkit.debugger.children import end_child_processes
        stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
        child = subprocess.Popen([sys.executable, "-c", stubborn], stdout=subprocess.PIPE, text=True)
        child.stdout.readline()
        print(end_child_processes(patience=0.1), child.wait(10))
    """)
    assert done.stdout.split() == ["1", "-9"]


def test_both_ways_of_looking_see_the_same_parent() -> None:
    child = subprocess.Popen([sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        child.stdout.readline()
        by_proc = children._parents_of_proc() if Path("/proc/self/stat").exists() else {}
        by_ps = children._parents_of_ps()
        seen = [found[child.pid] for found in (by_proc, by_ps) if found]
        assert seen
        assert len(set(seen)) == 1
    finally:
        child.kill()
        child.communicate()
