"""Text and tables as plain text, for a terminal: what comes from outside is shown, and cannot act."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_factorfair.reports.tables.table import Row, Table


def text(words: str) -> str:
    """One line of what can be seen."""
    return visible(" ".join(words.split()))


def visible(words: str) -> str:
    """Without control characters or invisible ones, which act on terminals or turn text round."""
    return "".join(letter if letter.isprintable() else "?" for letter in words)


def lines(*tables: Table, titles: bool = True) -> Iterator[str]:
    """The lines of tables that stand below each other, their columns in line, with an empty line between."""
    rows = [[Row(table.title if titles else "", table.headings), *table.rows] for table in tables]
    label, widths = _widths([row for each in rows for row in each])
    for place, (table, own) in enumerate(zip(tables, rows, strict=True)):
        if place:
            yield ""
        yield from (_line(row, label, widths) for row in own)
        yield from map(text, table.notes)


def _widths(rows: Sequence[Row]) -> tuple[int, list[int]]:
    columns = max(len(row.cells) for row in rows)
    cells = [[len(text(cell)) for cell in row.cells] + [0] * (columns - len(row.cells)) for row in rows]
    return max(len(_label(row)) for row in rows), [max(column) for column in zip(*cells, strict=True)]


def _line(row: Row, label: int, widths: Sequence[int]) -> str:
    cells = (text(cell).rjust(width) for cell, width in zip(row.cells, widths, strict=False))
    return "  ".join([_label(row).ljust(label), *cells]).rstrip()


def _label(row: Row) -> str:
    indent = len(row.label) - len(row.label.lstrip(" "))
    return " " * indent + text(row.label)
