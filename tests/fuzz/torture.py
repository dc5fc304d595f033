"""What a recording goes through, and what must be left of it afterwards (DESIGN §3; spec/faults.md j1, j4, j6, j9)."""

from __future__ import annotations

import random  # noqa: TID251  # a seed makes it the same each time
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from loopkit.drivers.replay import replay
from loopkit.errors import RecordingDamaged, RecordingError, RecordingUnwritable
from loopkit.events import Event
from loopkit.recording.check import check_recording
from loopkit.recording.reader import Recording, read_recording, require_sound
from loopkit.recording.writer import Recorder
from tests.recording.full_disk import SmallDisk
from tests.recording.story import HEADER, HEADER_LINE, line_of, small_run

LINES = [HEADER_LINE, *map(line_of, small_run("Grüße 你好 😀"))]
CONTENT = b"".join(LINES)
EVENTS = small_run("Grüße 你好 😀")


@dataclass
class Figures:
    """What was tried and what was lost.

    Args:
        lost: whole events that a torn or damaged neighbour took with it; must stay 0.
        silent: changes that nothing reported; must stay 0.
    """

    tried: int = 0
    torn: int = 0
    refused: int = 0
    damaged: int = 0
    changed: int = 0
    events: int = 0
    lost: int = 0
    silent: int = 0
    failures: list[str] = field(default_factory=list)

    def blame(self, words: str) -> None:
        self.failures.append(words)


# ── cut at a byte ────────────────────────────────────────────────────────────────────────────────────────────────────


def cut_everywhere(path: Path, places: Iterable[int]) -> Figures:
    """Cut the file after each of some bytes, read it, take it up again, and write what is missing."""
    figures = Figures()
    for place in places:
        figures.tried += 1
        kept = CONTENT[:place]
        path.write_bytes(kept)
        whole = _whole_events(kept)
        try:
            recording = read_recording(path)
        except RecordingError:
            figures.refused += 1
            if place > len(LINES[0]):
                figures.blame(f"cut at {place}: refused")
            continue
        figures.torn += recording.torn is not None
        figures.lost += whole - len(recording.events)
        if recording.damage or recording.changed:
            figures.blame(f"cut at {place}: a torn end is called damage")
        if whole < len(EVENTS):
            _write_rest(path, whole, figures, f"cut at {place}")
    return figures


def _whole_events(kept: bytes) -> int:
    # an event that lacks nothing but its line's end is whole
    ends = kept.count(b"\n") - 1
    return ends + (not kept.endswith(b"\n") and (kept + b"\n").endswith(tuple(LINES[1:])))


def _write_rest(path: Path, whole: int, figures: Figures, what: str) -> None:
    with Recorder.continue_from(path) as recorder:
        for event in EVENTS[whole:]:
            recorder.append(event)
    if path.read_bytes() != CONTENT:
        figures.blame(f"{what}: what was taken up again is another file")


# ── flip bits ────────────────────────────────────────────────────────────────────────────────────────────────────────


def flip_everywhere(path: Path, bits: Iterable[int]) -> Figures:
    """Flip each of some bits; it must be reported, with its line, and the other events be there."""
    figures = Figures()
    for bit in bits:
        figures.tried += 1
        place = bit // 8
        flipped = bytearray(CONTENT)
        flipped[place] ^= 1 << (bit % 8)
        path.write_bytes(flipped)
        _look_at_flipped(path, place, figures)
    return figures


def _look_at_flipped(path: Path, place: int, figures: Figures) -> None:
    try:
        recording = read_recording(path)
    except RecordingError:
        figures.refused += 1
        if place >= len(LINES[0]):
            figures.blame(f"flip in byte {place}: refused")
        return
    line = CONTENT.count(b"\n", 0, place) + 1
    figures.torn += recording.torn is not None
    figures.damaged += bool(recording.damage)
    figures.changed += bool(recording.changed)
    named = {damage.line for damage in recording.damage} | set(recording.changed)
    if recording.torn is not None:
        named.add(recording.torn.line)
    # a line end that was hit takes the next line with it
    spans = 2 if CONTENT[place : place + 1] == b"\n" else 1
    if not named:
        figures.silent += 1
    elif line not in named:
        figures.blame(f"flip in line {line}: lines {sorted(named)} are named")
    missing = [event for event in EVENTS if event not in recording.events]
    figures.lost += max(0, len(missing) - spans)
    if named and not check_recording(path):
        figures.blame(f"flip in byte {place}: check finds nothing")
    _replay_tells(path, recording, figures, place)


def _replay_tells(path: Path, recording: Recording, figures: Figures, place: int) -> None:
    """A replay refuses damage with its line, and never ends in another way than it should."""
    try:
        replay(path)
    except RecordingDamaged as error:
        if error.line not in (place.line for place in recording.damage) and error.line not in recording.changed:
            figures.blame(f"flip in byte {place}: replay names another line")
    except RecordingError:
        if recording.damage:
            figures.blame(f"flip in byte {place}: replay does not name the line")


# ── kill the writer ──────────────────────────────────────────────────────────────────────────────────────────────────

_WRITER = """
import sys
from loopkit.events import Event, ToolReturned
from loopkit.recording.header import Header
from loopkit.recording.writer import Recorder

path, durability = sys.argv[1:]
try:
    recorder = Recorder.continue_from(path, durability=durability)
except Exception:
    recorder = Recorder(path, if_exists="replace", durability=durability)
    recorder.start(Header(run="run-1", created="2026-01-02T03:04:05+00:00"))
out = sys.stdout.buffer
while True:
    seq = recorder.last_seq + 1
    recorder.append(Event(seq, 0.0, "root", 1, ToolReturned("c", "你好😀" * (seq * 37 % 3000))))
    out.write(b"%d\\n" % seq)
    out.flush()
"""


def kill_in_a_loop(path: Path, kills: int, chance: random.Random, durability: str = "iteration") -> Figures:
    """Kill a writing process at random moments; the next one takes the file up where it ended."""
    figures = Figures()
    written = 0
    for _ in range(kills):
        figures.tried += 1
        written = _kill_once(path, chance, durability, figures, written)
    return figures


def _kill_once(path: Path, chance: random.Random, durability: str, figures: Figures, before: int) -> int:
    command = [sys.executable, "-c", _WRITER, str(path), durability]
    told = before
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        for _ in range(chance.randrange(1, 60)):
            told = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        for line in writer.stdout:
            told = int(line) if line.endswith(b"\n") else told
    recording = read_recording(path)
    figures.torn += recording.torn is not None
    figures.events = len(recording.events)
    figures.lost += max(0, told - len(recording.events))
    try:
        require_sound(recording)
    except RecordingError as error:
        figures.blame(f"after a kill: {error}")
    if recording.in_use is not None:
        figures.blame("after a kill: the lock says that the dead process writes")
    return len(recording.events)


# ── starve the disk ──────────────────────────────────────────────────────────────────────────────────────────────────


def starve(disk: SmallDisk, events: Iterable[Event]) -> Figures:
    """Write on a disk that is full before each event, and again when it has room: every event is there, nothing else."""
    figures = Figures()
    path = disk.folder / "run.jsonl"
    with Recorder(path) as recorder:
        recorder.start(HEADER)
        for event in events:
            figures.tried += 1
            disk.fill()
            try:
                recorder.append(event)
            except RecordingUnwritable:
                figures.refused += 1
                if path.stat().st_size != recorder.size:
                    figures.blame(f"event {event.seq}: a piece of it was left")
                disk.free()
                recorder.append(event)
            else:
                disk.free()
    recording = read_recording(path)
    figures.events = len(recording.events)
    figures.lost = figures.tried - figures.events
    if recording.damage or recording.torn or recording.changed:
        figures.blame("the recording is not whole")
    return figures
