"""The table of text that every report prints, and its writers: terminal, Markdown, CSV and LaTeX.

HTML is the macro of ``reports/html/assets/table.html``, which pages include, too.
"""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal, NamedTuple, TypeAlias

from pytest_factorfair.domain import Score, visible
from pytest_factorfair.drawing import escaping

MISSING = "-"
"""Stands for a missing figure; CSV leaves the cell empty."""

NOTHING = "no answers"
"""Stands for a row or a table without any figure."""

POINT = " " * len(" ±.000")
"""Pads a score without an interval, so that decimals stay aligned."""

SYMBOLS = {
    r"S\_fact": r"$S_{\mathrm{fact}}$",
    r"S\_fair": r"$S_{\mathrm{fair}}$",
    r"S\_KLD": r"$S_{\mathrm{KLD}}$",
    r"S\_E": r"$S_{\mathrm{E}}$",
    "factor eta": r"factor $\eta$",
}
"""LaTeX formulas for words in titles, headings and notes; labels, which may name models, stay as they are."""

LONG = 9
"""LaTeX headings with more letters are broken into lines."""


class PrintedValue(NamedTuple):
    """A number as printed, with both ends of its interval and half its width.

    ``rank`` is 1 for the best model's and 2 for the second best's, which are printed bold and underlined.
    """

    text: str
    low: str = ""
    high: str = ""
    half: str = ""
    rank: int = 0

    def __str__(self) -> str:
        return self.text


Cell: TypeAlias = str | PrintedValue


class Row(NamedTuple):
    """A line of a table; ``aside`` marks one that explains the lines above it, ``link`` leads to more of it.

    A link is an address on the page.
    """

    label: str
    cells: tuple[Cell, ...]
    aside: bool = False
    link: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and rows of text; ``legend`` says how to read it, ``notes`` what it lacks and why.

    ``meanings`` explain the headings, one each or none, to a reader of the page who points at them.
    Neighbouring columns of the same group share it as a heading above their own. ``corner`` heads the labels
    and ``name`` is the stem of the table's file. ``aside`` is what the tables that explain others are called
    together: the page folds them.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    legend: str = ""
    groups: tuple[str, ...] = ()
    corner: str = ""
    name: str = ""
    meanings: tuple[str, ...] = ()
    aside: str = ""

    @property
    def full_headings(self) -> tuple[str, ...]:
        """Every heading behind its group."""
        if not self.groups:
            return self.headings
        pairs = zip(self.groups, self.headings, strict=True)
        return tuple(f"{group} {heading}".strip() for group, heading in pairs)


def differing(subject: Sequence[str], subjects: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The parts of a subject, such as its model, in which the subjects differ: a title names only these."""
    columns = zip(*subjects, strict=True)
    return tuple(part for part, column in zip(subject, columns, strict=True) if len(set(column)) > 1)


def number(value: float | None, *, digits: int = 3, sign: Literal["", "+"] = "") -> str:
    """A number with these decimals, without a minus sign before zero."""
    if value is None:
        return MISSING
    return f"{value if abs(value) >= 0.5 * 10**-digits else 0.0:{sign}.{digits}f}"


def span(low: float | None, high: float | None, *, sign: Literal["", "+"] = "") -> str:
    """``0.918 to 0.942``; empty where an end is missing."""
    return "" if low is None or high is None else f"{number(low, sign=sign)} to {number(high, sign=sign)}"


UNCORRECTED = "*"
"""Marks a plug-in value in a table of values without bias."""


def mixed(scores: Iterable[Score]) -> bool:
    """Whether only some values of a table are without bias, so that the others need a mark."""
    valued = [score for score in scores if score.value is not None]
    return len({score.corrected is None for score in valued}) > 1


DOUBTFUL = "?"
"""Stands for the interval of a score that missing answers may move further than chance."""


def interval(score: Score | None, *, marked: bool = False, doubtful: bool = False) -> str:
    """``0.930 ±.012``; only the value of a score without an interval, marked if it has its bias.

    ``doubtful`` is whether too many answers are missing for the interval to mean anything.
    """
    if score is None or score.value is None:
        return f"{MISSING}{POINT}"
    if score.corrected is None or score.low is None or score.high is None:
        mark = UNCORRECTED if marked and score.corrected is None else ""
        return f"{number(score.shown)}{mark:<{len(POINT)}}"
    if doubtful:
        return f"{number(score.corrected)} ±{DOUBTFUL:<{len('.000')}}"
    half = max(score.corrected - score.low, score.high - score.corrected)
    return f"{number(score.corrected)} ±{number(half).removeprefix('0')}"


class Line(NamedTuple):
    """A line of a table on a terminal."""

    text: str
    kind: Literal["heading", "row", "aside", "note"] = "row"


class FittedTable(NamedTuple):
    """A table as a terminal has room for it, the gap between its columns, and how to read it."""

    table: Table
    gap: str
    legends: tuple[str, ...]


SHORTEST = 16
"""Characters that a shortened label has at least."""


def fitting(table: Table, width: int) -> FittedTable:
    """The table with labels shortened in the middle, or without the last columns that do not fit."""
    rows = [Row(table.title, table.headings), *table.rows]
    label = max(len(visible(row.label)) for row in rows)
    widths = [
        max(len(visible(str(row.cells[column]))) for row in rows if column < len(row.cells))
        for column in range(len(table.headings))
    ]
    legends = (table.legend,) if table.legend else ()
    for gap in (2, 1):
        if label + sum(widths) + gap * len(widths) <= width:
            return FittedTable(table, " " * gap, legends)
    room = width - sum(widths) - len(widths)
    labels = [_shortened(visible(row.label), room) for row in table.rows]
    distinct = len({*labels}) == len({row.label for row in table.rows})
    if distinct and room >= max(SHORTEST, len(visible(table.title))):
        short = (row._replace(label=label) for row, label in zip(table.rows, labels, strict=True))
        return FittedTable(replace(table, rows=tuple(short)), " ", legends)
    count = max((n for n in range(len(widths)) if label + sum(widths[:n]) + n <= width), default=0)
    names = ", ".join(f"'{heading}'" for heading in table.headings[count:])
    omission = f"columns {names} are left out here; the page has them"
    if len(table.headings) - count == 1:
        omission = f"column {names} is left out here; the page has it"
    shortened = tuple(row._replace(cells=row.cells[:count]) for row in table.rows)
    return FittedTable(
        replace(table, headings=table.headings[:count], rows=shortened), " ", (*legends, omission)
    )


def _shortened(label: str, room: int) -> str:
    """A label with an ellipsis in its middle if it is longer than the room."""
    head, tail = room // 2, (room - 1) // 2
    return label if len(label) <= room else f"{label[:head]}…{label[-tail:]}"


def as_lines(
    *tables: Table, titles: bool = True, gap: str = "  ", width: int | None = None
) -> Iterator[Line]:
    """Tables below each other with their columns aligned and an empty line between them.

    A row without any value is a line that says so. Within a ``width``, labels that are too long have lines of
    their own.
    """
    rows = [[Row(table.title if titles else "", table.headings), *table.rows] for table in tables]
    all_rows = [row for table_rows in rows for row in table_rows]
    widths = [0] * max(len(row.cells) for row in all_rows)
    for row in all_rows:
        for column, cell in enumerate(row.cells):
            widths[column] = max(widths[column], len(visible(str(cell))))
    labels = [len(visible(row.label)) for row in all_rows]
    label = max(labels)
    if width is not None and label + sum(widths) + len(gap) * len(widths) > width:
        room, gap = width - sum(widths) - len(widths), " "
        label = max((length for length in labels if length <= room), default=0)
    for index, (table, table_rows) in enumerate(zip(tables, rows, strict=True)):
        if index:
            yield Line("")
        if table.rows and all(map(empty, table.rows)):
            yield Line(f"{visible(table.title)}: {NOTHING}", "note")
            continue
        for row in table_rows:
            cells = [visible(str(cell)).rjust(width) for cell, width in zip(row.cells, widths, strict=False)]
            if row is not table_rows[0] and empty(row):
                cells = [] if row.aside else [NOTHING]
            if cells:
                named = visible(row.label)
                above = textwrap.wrap(named, width or len(named)) if len(named) > label else []
                text = gap.join([("" if above else named).ljust(label), *cells]).rstrip()
                kind: Literal["heading", "row", "aside"] = (
                    "heading" if row is table_rows[0] else "aside" if row.aside else "row"
                )
                yield from (Line(part, kind) for part in (*above, text))
        yield from (Line(escaping.one_line(note), "note") for note in table.notes)


def empty(row: Row) -> bool:
    """Whether no cell of a row has a value."""
    return all(str(cell).strip() in ("", MISSING) for cell in row.cells)


def as_markdown(table: Table) -> str:
    """A GitHub-flavoured table with its notes below; rows that explain others are small."""
    corner = f" {escaping.markdown(table.corner)}" if table.corner else ""
    headings = " | ".join(map(escaping.markdown, table.full_headings))
    lines = [f"|{corner} | {headings} |", f"|---|{'---:|' * len(table.headings)}"]
    for row in table.rows:
        label, cells = escaping.markdown(row.label), []
        for cell in row.cells:
            ends = (
                f" <sub>[{cell.low}, {cell.high}]</sub>"
                if isinstance(cell, PrintedValue) and cell.low
                else ""
            )
            cells.append(_marked(escaping.markdown(str(cell)), cell, ("**{}**", "<u>{}</u>")) + ends)
        if row.aside:
            label, cells = f"<sub>{label}</sub>", [f"<sub>{cell}</sub>" if cell else "" for cell in cells]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    notes = ([table.legend] if table.legend else []) + list(table.notes)
    return "\n".join([*lines, *(f"\n<sub>{escaping.markdown(note)}</sub>" for note in notes)])


def _marked(text: str, cell: Cell, marks: tuple[str, str]) -> str:
    """The text of a cell in the mark of its rank."""
    rank = cell.rank if isinstance(cell, PrintedValue) else 0
    return marks[rank - 1].format(text) if rank else text


def as_csv(table: Table) -> str:
    """One line per row; the ends of intervals have columns of their own."""
    intervals = [[isinstance(cell, PrintedValue) and cell.low for cell in row.cells] for row in table.rows]
    wide = [any(row[column] for row in intervals) for column in range(len(table.headings))]
    head = [table.corner]
    for name, ends in zip(table.full_headings, wide, strict=True):
        head += [name, f"{name} low", f"{name} high"] if ends else [name]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(escaping.csv, head))
    for row in table.rows:
        texts = [row.label]
        for cell, ends in zip(row.cells, wide, strict=True):
            texts.append("" if str(cell) == MISSING else str(cell))
            if ends:
                texts += [cell.low, cell.high] if isinstance(cell, PrintedValue) else ["", ""]
        writer.writerow(map(escaping.csv, texts))
    return file.getvalue()


def as_latex(table: Table) -> str:
    """A floating table over the full width with booktabs' rules; below a figure half of its interval."""
    notes = " ".join(map(_formulas, table.notes))
    return "\n".join(
        [
            r"% Needs \usepackage{booktabs} in the preamble.",
            r"\begin{table*}",
            r"\centering",
            r"\setlength{\tabcolsep}{3pt}",
            rf"\caption{{{_formulas(table.title)}}}",
            rf"\label{{tab:{table.name}}}",
            r"\footnotesize",
            rf"\begin{{tabular}}{{l{'r' * len(table.headings)}}}",
            r"\toprule",
            *_latex_groups(table.groups),
            _latex_row(_stacked(table.corner), map(_stacked, table.headings)),
            r"\midrule",
            *_latex_body(table.rows),
            r"\bottomrule",
            r"\end{tabular}",
            rf"\par\smallskip\parbox{{\linewidth}}{{\footnotesize {notes}}}",
            r"\end{table*}",
            "",
        ]
    )


def _formulas(text: str) -> str:
    """The project's own text, with its symbols as formulas."""
    escaped = escaping.latex(text)
    for word, symbol in SYMBOLS.items():
        escaped = escaped.replace(word, symbol)
    return escaped


def _stacked(heading: str) -> str:
    """A heading; the words of a long one below each other, so that its column stays narrow."""
    if len(heading) <= LONG:
        return _formulas(heading)
    lines = r" \\ ".join(f"{{{_formulas(word)}}}" for word in heading.split())
    return rf"\shortstack[r]{{{lines}}}"


def _latex_groups(groups: Sequence[str]) -> Iterator[str]:
    """The headings that columns share, each with a rule below it."""
    if not any(groups):
        return
    cells, rules, at = [""], [], 2
    for group, columns in groupby(groups):
        width = len(list(columns))
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{_formulas(group)}}}")
        rules += [rf"\cmidrule(lr){{{at}-{at + width - 1}}}"] if group else []
        at += width
    yield rf"{' & '.join(cells)} \\"
    yield " ".join(rules)


def _latex_body(rows: Sequence[Row]) -> Iterator[str]:
    for index, row in enumerate(rows):
        if row.aside and not rows[index - 1].aside:
            yield r"\midrule"
        cells = (
            "--"
            if str(cell) == MISSING
            else _marked(escaping.latex(str(cell)), cell, (r"\textbf{{{}}}", r"\underline{{{}}}"))
            for cell in row.cells
        )
        yield _latex_row(escaping.latex(row.label), cells)
        halves = [cell.half if isinstance(cell, PrintedValue) else "" for cell in row.cells]
        if any(halves):
            cells = (rf"{{\scriptsize $\pm${half}}}" if half else "" for half in halves)
            yield rf" & {' & '.join(cells)} \\"


def _latex_row(label: str, cells: Iterator[str]) -> str:
    # In braces: a label that begins with [ or * would be read as an argument of the \\ before it.
    return rf"{' & '.join((f'{{{label}}}', *cells))} \\"


def as_markdown_file(table: Table) -> str:
    """A Markdown table below its title."""
    return f"### {escaping.markdown(table.title)}\n\n{as_markdown(table)}\n"
