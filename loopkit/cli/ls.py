"""List the recordings of a folder, newest first."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from loopkit.cli.output import print_json, print_toned

if TYPE_CHECKING:
    from loopkit.debugger.library import RunSummary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("folder", metavar="FOLDER", nargs="?", help="default: the recordings folder")
    parser.add_argument("--json", action="store_true", help="a JSON list, one object a run")


def run(options: argparse.Namespace) -> int:
    """Print one line a run."""
    from loopkit.debugger.library import bundled_recordings, list_runs
    from loopkit.debugger.targets import recordings_folder

    folder = Path(options.folder) if options.folder else recordings_folder()
    missing_default = not options.folder and not folder.is_dir()
    runs = [] if missing_default else list_runs(folder)
    if options.json:
        from loopkit.debugger.library import summary_data

        print_json([summary_data(run) for run in runs])
        return 0
    if not runs:
        print(f"no recordings in {folder}; `loopkit run AGENT --task TEXT` makes one")
        for path in bundled_recordings():
            print(f"bundled with loopkit: {path}")
        return 0
    print_toned(_table(runs))
    return 0
