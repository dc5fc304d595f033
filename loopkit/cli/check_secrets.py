"""Prints what files hide and show of secrets: `loopkit check --secrets`."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from loopkit.cli.output import USAGE_ERROR, print_json, warn_of
from loopkit.errors import LoopkitError

if TYPE_CHECKING:
    from loopkit.debugger.runs import FileSecrets


def check_secrets(options: argparse.Namespace) -> int:
    """Look through each file and print what was found; nothing printed holds a secret that a rule knows."""
    from loopkit.debugger.runs import secrets_of_file

    code = 0
    results: list[dict[str, Any]] = []
    for file in options.files:
        try:
            report = secrets_of_file(file)
        except (LoopkitError, OSError) as error:
            if options.debug:
                raise
            code = USAGE_ERROR
            results.append({"file": file, "error": warn_of(error)})
            continue
        code = max(code, 1 if report.shown else 0)
        results.append({"file": file, **_data(report)})
        if not options.json:
            _print(file, report)
    if options.json:
        print_json(results)
    return code


def _data(report: FileSecrets) -> dict[str, Any]:
    return {
        "hidden": {rule: {"secrets": secrets, "places": places} for rule, (secrets, places) in report.hidden.items()},
        "shown": [asdict(place) for place in report.shown],
        "suspicious": [asdict(place) for place in report.suspicious],
        "left_out": report.left_out,
    }


def _print(file: str, report: FileSecrets) -> None:
    from loopkit.debugger.display import one_line

    hidden = sum(secrets for secrets, _ in report.hidden.values())
    counts = f"{hidden} hidden, {len(report.shown)} shown, {len(report.suspicious)} suspicious"
    print(f"{one_line(file)}: {counts}")
    for rule, (secrets, places) in report.hidden.items():
        print(f"  hidden      {one_line(rule)}: {secrets} in {places} {'place' if places == 1 else 'places'}")
    for kind, found in (("shown", report.shown), ("suspicious", report.suspicious)):
        for place in found:
            where = f"line {place.line}, {one_line(place.where, 60)}" if place.where else f"line {place.line}"
            print(f"  {kind:<11} {where}: {place.rule}, {place.length} characters: {one_line(place.excerpt, 120)}")
    if report.left_out:
        print(f"  and {report.left_out:,} more")
