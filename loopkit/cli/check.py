"""Say whether recordings are sound: header, sequence, schema, check sums, torn or damaged lines.

Notes tell what is no fault: who writes a file, that its run didn't end in it, unknown types, an older format.

With --secrets: what a file hides, which secrets it shows, and what looks like one; foreign sessions too.
Exit code: 0 all are sound (with --secrets: none shows a secret), 1 something was found, 2 a file can't be read at all.
"""

from __future__ import annotations

import argparse
from typing import Any

from loopkit.cli.output import USAGE_ERROR, print_json, warn_of
from loopkit.errors import LoopkitError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="recordings")
    parser.add_argument("--secrets", action="store_true", help="look for secrets instead, in any kind of session")
    parser.add_argument("--json", action="store_true", help="a JSON list, one object a file")


def run(options: argparse.Namespace) -> int:
    """Check each file and print what was found."""
    if options.secrets:
        from loopkit.cli.check_secrets import check_secrets

        return check_secrets(options)
    from loopkit.debugger.display import one_line
    from loopkit.debugger.runs import check_file, notes_on_file

    code = 0
    results: list[dict[str, Any]] = []
    for file in options.files:
        try:
            findings = check_file(file)
            notes = notes_on_file(file) if not any(finding.line == 1 for finding in findings) else []
        except (LoopkitError, OSError) as error:
            if options.debug:
                raise
            code = USAGE_ERROR
            results.append({"file": file, "sound": None, "error": warn_of(error)})
            continue
        code = max(code, 1 if findings else 0)
        found = [{"line": finding.line, "what": finding.what} for finding in findings]
        results.append({"file": file, "sound": not findings, "findings": found, **({"notes": notes} if notes else {})})
        if not options.json:
            print(f"{one_line(file)}: {'sound' if not findings else f'{len(findings)} found'}")
            for finding in findings:
                print(f"  line {finding.line}: {one_line(finding.what, 400)}")
            for note in notes:
                print(f"  note: it {one_line(note, 400)}")
    if options.json:
        print_json(results)
    return code
