"""Replays as the XML that test runners and their servers read (JUnit's, as the Jenkins plugin describes it)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as Xml

from loopkit.debugger.batch import ReplayOutcome
from loopkit.debugger.display import one_line, visible


def junit_xml(outcomes: Sequence[ReplayOutcome]) -> bytes:
    """Return a suite with one case a file: a divergence is a failure, a file that can't be used an error."""
    suite = Xml.Element(
        "testsuite",
        name="loopkit replay",
        tests=str(len(outcomes)),
        failures=str(sum(outcome.same is False for outcome in outcomes)),
        errors=str(sum(outcome.same is None for outcome in outcomes)),
        time=f"{sum(outcome.seconds for outcome in outcomes):.3f}",
    )
    for outcome in outcomes:
        path = Path(outcome.file)
        case = Xml.SubElement(
            suite,
            "testcase",
            classname=one_line(str(path.parent)),
            name=one_line(path.name),
            time=f"{outcome.seconds:.3f}",
        )
        if not outcome.same:
            kind = "error" if outcome.same is None else "failure"
            first, _, _ = outcome.text.partition("\n")
            # XML has no place for control characters; what is visible of them has one
            Xml.SubElement(case, kind, message=one_line(first)).text = visible(outcome.text)
    Xml.indent(suite)
    text: bytes = Xml.tostring(suite, encoding="utf-8", xml_declaration=True)
    return text
