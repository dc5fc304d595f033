"""Check that recordings still go the same way.

Without --agent: against today's loop. With it: against today's prompts, tools, callbacks and configuration too.
A sub-agent is the tool that runs it: its own prompt and tools are compared only with --tools live.
Of a run that goes another way it says what changed and what follows from that, over the whole run.
--accept and --re-record write a new recording that names the old one as its parent.
Exit code: 0 all are the same, 1 one diverged, 2 one can't be used.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from loopkit.cli.mending import add_mending_arguments, ask_about, mend, refuse_contradictions
from loopkit.cli.output import USAGE_ERROR, print_json, warn_of
from loopkit.cli.secret_options import add_secrets, secrets_given

if TYPE_CHECKING:
    from loopkit.debugger.batch import ReplayOutcome


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("files", metavar="PATH", nargs="+", help="recordings, or folders of them")
    parser.add_argument("--agent", metavar="AGENT", help="path.py:name or package.module:name")
    parser.add_argument(
        "--tools", choices=("recorded", "live"), default="recorded", help="live: the agent's tools really run"
    )
    parser.add_argument(
        "--model", choices=("recorded", "live"), default="recorded", help="live: the agent's model is really asked"
    )
    parser.add_argument(
        "--match",
        choices=("strict", "content"),
        default="strict",
        help="content: prompts, descriptions, settings and the model's name may differ",
    )
    parser.add_argument(
        "--backend",
        choices=("asyncio", "trio"),
        help="the event loop of callbacks and of what is live (default: asyncio)",
    )
    add_secrets(parser)
    add_mending_arguments(parser)
    parser.add_argument("-n", "--workers", metavar="N", type=_workers, default=1, help="processes (default: 1)")
    parser.add_argument("--junit", metavar="FILE", help="write the outcomes as JUnit XML too")
    parser.add_argument("--json", action="store_true", help="a JSON list, one object a file")


def run(options: argparse.Namespace) -> int:
    """Replay each file and say how it went."""
    from loopkit.debugger.batch import replay_all
    from loopkit.debugger.display import visible

    refuse_contradictions(options)
    if options.accept or options.re_record is not None:
        return mend(options)
    files = _expand(options.files)
    outcomes: dict[str, ReplayOutcome] = {}
    chosen = {name: getattr(options, name) for name in ("model", "tools", "match", "backend")}
    chosen["secrets"] = secrets_given(options)
    replays = replay_all(files, agent=options.agent, options=chosen, workers=options.workers)
    for outcome in replays:
        outcomes[outcome.file] = outcome
        _wipe_progress()
        if outcome.error is not None:
            if options.debug:
                raise outcome.error
            warn_of(outcome.error)
        elif not options.json and not (outcome.same and _is_batch(options.files)):
            print(visible(outcome.text), flush=True)
        _show_progress(list(outcomes.values()), len(files))
    ordered = [outcomes[file] for file in files]
    _report(ordered, options)
    if any(outcome.same is None for outcome in ordered):
        return USAGE_ERROR
    diverged = [outcome for outcome in ordered if not outcome.same]
    if options.doctor:
        diverged = [outcome for outcome in diverged if not ask_about(outcome, options)]
    return 1 if diverged else 0


def _report(outcomes: list[ReplayOutcome], options: argparse.Namespace) -> None:
    if options.junit is not None:
        from loopkit.debugger.junit import junit_xml

        Path(options.junit).write_bytes(junit_xml(outcomes))
    if options.json:
        print_json([outcome.data() for outcome in outcomes])
    elif _is_batch(options.files):
        print(_summary(outcomes))


def _workers(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if not 1 <= number <= 256:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes: 1 to 256")
    return number


def _is_batch(places: list[str]) -> bool:
    return any(Path(place).is_dir() for place in places)


def _expand(places: list[str]) -> list[str]:
    """Return the files in the order in which they were named, each once; a folder's by name."""
    from loopkit.debugger.library import recordings_in
    from loopkit.errors import UserError

    files: dict[str, None] = {}
    for place in places:
        if not Path(place).is_dir():
            files[place] = None
            continue
        found = recordings_in([place])
        if not found:
            raise UserError(f"{place}: no recordings in this folder")
        files.update((str(path), None) for path in found)
    return list(files)


def _show_progress(outcomes: list[ReplayOutcome], files: int) -> None:
    """Keep one line on the terminal that says how far it is."""
    if len(outcomes) < files and sys.stderr.isatty():
        diverged = sum(outcome.same is False for outcome in outcomes)
        words = f"{'█' * (20 * len(outcomes) // files):<20} {len(outcomes)} of {files}"
        print(words + (f", {diverged} diverged" if diverged else ""), end="", file=sys.stderr, flush=True)


def _wipe_progress() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _summary(outcomes: list[ReplayOutcome]) -> str:
    from loopkit.debugger.rows import count_text

    same = sum(outcome.same is True for outcome in outcomes)
    diverged = sum(outcome.same is False for outcome in outcomes)
    unusable = sum(outcome.same is None for outcome in outcomes)
    words = [f"{same} same"]
    words += [f"{diverged} diverged"] if diverged else []
    words += [f"{unusable} can't be used"] if unusable else []
    return f"{count_text(len(outcomes), 'recording')}: {', '.join(words)}"
