"""Text and tables as GitHub-flavoured Markdown: what comes from outside is shown, never interpreted."""

from __future__ import annotations

import re

from pytest_factorfair.reports import plain
from pytest_factorfair.reports.tables.table import Table


def table(shown: Table) -> str:
    """A table with its notes below; rows that explain others are small."""
    lines = [f"| | {' | '.join(map(text, shown.headings))} |", f"|---|{'---:|' * len(shown.headings)}"]
    for row in shown.rows:
        cells = [f"<sub>{text(cell)}</sub>" if row.aside and cell else text(cell) for cell in row.cells]
        label = f"<sub>{text(row.label)}</sub>" if row.aside else text(row.label)
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join([*lines, *(f"\n<sub>{text(note)}</sub>" for note in shown.notes)])


def text(words: str) -> str:
    """Plain text in a table cell: no markup, no line breaks, nothing that could be a link or a tag."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~@&])", r"\\\1", plain.text(words)).replace("\\<", "&lt;")


def code(words: str) -> str:
    """Inside backticks, in a table cell."""
    return plain.text(words).replace("`", "'").replace("|", "\\|")


def fenced(words: str) -> str:
    """A line inside a fenced block, which no backticks can end."""
    return plain.text(words).replace("```", "'" * 3)
