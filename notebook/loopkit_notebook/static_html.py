"""A run as self-contained HTML without script: what a saved notebook shows when there is no kernel.

It still reads as a table where a viewer drops its styles. All text is escaped (spec/faults.md f11, f13).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from loopkit.debugger.nodes import Row, RowKind
from loopkit.debugger.rows import RowText, row_text
from loopkit.debugger.timeline import Timeline
from loopkit_notebook.details import Section, cut, row_detail

ROW_LIMIT = 1_000
SECTION_LIMIT = 2_000
TEXT_BUDGET = 400_000
COPY_ATTRIBUTE = "data-loopkit-copy"

# `&` stands for the copy's root; named twice, it outweighs what JupyterLab says of tables.
_STYLE = """
&{font-family:var(--jp-ui-font-family,system-ui,sans-serif);font-size:var(--jp-ui-font-size1,13px);
color:var(--jp-ui-font-color1,inherit);margin:4px 0}
& .status{padding:4px 0}
& table{border-collapse:collapse;width:100%;table-layout:fixed;margin:0;
border:1px solid var(--jp-border-color2,#8884)}
& table tbody tr:nth-child(n){background:none}
& table tbody td{text-align:left;vertical-align:top;padding:2px 6px;border:0;max-width:none;
white-space:normal;font-family:var(--jp-code-font-family,monospace);font-size:var(--jp-code-font-size,13px);
line-height:1.4;overflow-wrap:anywhere}
& table tbody td.number,& table tbody td.state,& table tbody td.right{
text-align:right}
& td.number{width:3ch}& td.label{width:22ch}
& td.state{width:10ch}& td.right{width:17ch}
& .number,& .right,& .name,& .facts,& .muted{
color:var(--jp-ui-font-color2,inherit)}
& .good{color:var(--jp-success-color1,#2e7d32)}
& .bad{color:var(--jp-error-color1,#c62828)}
& .warning,& .waiting{color:var(--jp-warn-color0,#b26a00)}
& .person,& .agent{color:var(--jp-brand-color1,#1565c0)}
& summary{cursor:pointer}
& details[open]{padding-bottom:6px}
& td pre{margin:0 0 6px;padding:3px 6px;white-space:pre-wrap;overflow-wrap:anywhere;word-break:normal;max-height:24em;
overflow:auto;background:var(--jp-layout-color2,#8881);font-size:inherit;line-height:1.4}
& td pre.plain{color:inherit}
""".replace("&", ".loopkit-static.loopkit-static")
# JupyterLab shows an error line in the place of a widget whose kernel is gone; the copy below it says what is needed.
_NO_ERROR_LINE = (
    ".jp-OutputArea-child:has(+ .jp-OutputArea-child [{attribute}='{copy_id}']) "
    ".jupyter-widgets:not(:has(.loopkit-run)){{display:none}}"
)


def static_html(timeline: Timeline, summary: str, copy_id: str = "") -> str:
    """Return the timeline as a table whose rows open.

    Args:
        timeline: the run so far.
        summary: one line, not escaped yet: run, step and state.
        copy_id: letters and digits that name the live widget this is a copy of; the widget hides its copy.
    """
    rows = timeline.rows[:ROW_LIMIT]
    body = "\n".join(_table_rows(rows))
    hidden = len(timeline.rows) - len(rows)
    rest = f'<p class="muted">… {hidden:,} more rows; open the recording to see them.</p>' if hidden else ""
    style = _STYLE + (_NO_ERROR_LINE.format(attribute=COPY_ATTRIBUTE, copy_id=escape(copy_id)) if copy_id else "")
    return (
        f'<div class="loopkit-static" {COPY_ATTRIBUTE}="{escape(copy_id)}">\n<style>{style}</style>\n'
        f'<div class="status">{escape(summary)}</div>\n'
        f"<table><tbody>\n{body}\n</tbody></table>\n{rest}</div>"
    )


def _table_rows(rows: Sequence[Row]) -> Iterator[str]:
    budget = TEXT_BUDGET
    for row in rows:
        details, used = _details(row, max(0, budget))
        budget -= used
        yield _table_row(row_text(row), details)


def _table_row(words: RowText, details: str) -> str:
    indent = "&nbsp;" * (2 * min(words.level, 8))
    detail = escape(words.detail)
    cell = f"<details><summary>{detail or '…'}</summary>{details}</details>" if details else detail
    return (
        f'<tr><td class="number">{escape(words.number)}</td>'
        f'<td class="label">{indent}<span class="{words.tone}">{escape(words.mark)}</span> {escape(words.label)}</td>'
        f'<td class="detail">{cell}</td>'
        f'<td class="state {words.tone}">{escape(words.state)}</td>'
        f'<td class="right">{escape(words.right)}</td></tr>'
    )


def _details(row: Row, budget: int) -> tuple[str, int]:
    """Return what a row opens to, and how many characters of the budget it used."""
    if row.kind is RowKind.WARNING:
        return "", 0
    detail = row_detail(row)
    facts = " · ".join(f"{name} {value}" for name, value in detail.facts)
    parts = [f'<div class="facts">{escape(facts)}</div>'] if facts else []
    used = 0
    for section in detail.sections:
        text, length = _section(section, min(SECTION_LIMIT, budget - used))
        parts.append(text)
        used += length
    return "".join(parts), used


def _section(section: Section, limit: int) -> tuple[str, int]:
    text, hidden = cut(section.text, 0, max(0, limit))
    more = f" …(+{hidden:,} characters)" if hidden else ""
    return (
        f'<div class="name">{escape(section.name)}</div><pre class="{section.tone}">{escape(text)}{more}</pre>',
        len(section.text) - hidden,
    )
