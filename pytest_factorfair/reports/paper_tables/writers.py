"""A table as Markdown, CSV and LaTeX; text from outside is shown in each, never interpreted."""

from __future__ import annotations

import csv as csv_format
import io
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from types import MappingProxyType

from pytest_factorfair.reports import markup
from pytest_factorfair.reports.paper_tables.escaping import csv, latex
from pytest_factorfair.reports.paper_tables.table import Cell, PaperRow, PaperTable

SYMBOLS = {
    r"S\_fact": r"$S_{\mathrm{fact}}$",
    r"S\_fair": r"$S_{\mathrm{fair}}$",
    r"S\_KLD": r"$S_{\mathrm{KLD}}$",
    r"S\_E": r"$S_{\mathrm{E}}$",
    "factor eta": r"factor $\eta$",
}
"""What the project's own words become in LaTeX; labels are left as they are."""

LONG = 9
"""A heading of more letters is broken."""


def to_markdown(table: PaperTable) -> str:
    """GitHub-flavoured: a group of columns is told in each of its headings."""
    names = [f"{heading.group} {heading.text}".strip() for heading in table.headings]
    lines = [f"### {markup.text(table.title)}", ""]
    lines += [f"| {' | '.join(map(markup.text, (table.corner, *names)))} |", f"|---|{'---:|' * len(names)}"]
    lines += [f"| {' | '.join((markup.text(row.label), *map(_marked, row.cells)))} |" for row in table.rows]
    return "\n".join([*lines, *(f"\n<sub>{markup.text(note)}</sub>" for note in table.notes)]) + "\n"


def _marked(cell: Cell) -> str:
    if not cell.text:
        return "-"
    return f"{cell.text} <sub>[{cell.low}, {cell.high}]</sub>" if cell.low else cell.text


def to_csv(table: PaperTable) -> str:
    """One line per row, the ends of intervals in columns of their own; a missing figure is empty."""
    wide = [any(row.cells[place].low for row in table.rows) for place in range(len(table.headings))]
    head = [table.corner]
    for heading, ends in zip(table.headings, wide, strict=True):
        name = f"{heading.group} {heading.text}".strip()
        head += [name, f"{name} low", f"{name} high"] if ends else [name]
    file = io.StringIO()
    writer = csv_format.writer(file, lineterminator="\n")
    writer.writerow(map(csv, head))
    for row in table.rows:
        cells = [
            text
            for cell, ends in zip(row.cells, wide, strict=True)
            for text in (cell[:3] if ends else cell[:1])
        ]
        writer.writerow(map(csv, (row.label, *cells)))
    return file.getvalue()


def to_latex(table: PaperTable) -> str:
    """A floating table over the full width, with booktabs' rules; below a figure half of its interval."""
    columns = len(table.headings)
    notes = " ".join(map(_own, table.notes))
    return "\n".join(
        [
            r"% Needs \usepackage{booktabs} in the preamble.",
            r"\begin{table*}",
            r"\centering",
            r"\setlength{\tabcolsep}{3pt}",
            rf"\caption{{{_own(table.title)}}}",
            rf"\label{{tab:{table.name}}}",
            r"\footnotesize",
            rf"\begin{{tabular}}{{l{'r' * columns}}}",
            r"\toprule",
            *_groups(table),
            rf"{_row([table.corner, *(heading.text for heading in table.headings)], _stacked)} \\",
            r"\midrule",
            *_body(table),
            r"\bottomrule",
            r"\end{tabular}",
            rf"\par\smallskip\parbox{{\linewidth}}{{\footnotesize {notes}}}",
            r"\end{table*}",
            "",
        ]
    )


def _own(text: str) -> str:
    """Text of the project's own, with its symbols as formulas."""
    shown = latex(text)
    for word, symbol in SYMBOLS.items():
        shown = shown.replace(word, symbol)
    return shown


def _stacked(text: str) -> str:
    """A heading; a long one word below word, so that its column stays narrow."""
    if len(text) <= LONG:
        return _own(text)
    lines = r" \\ ".join(f"{{{_own(word)}}}" for word in text.split())
    return rf"\shortstack[r]{{{lines}}}"


def _groups(table: PaperTable) -> Iterator[str]:
    """The headings that columns share, each with a rule below it."""
    if not any(heading.group for heading in table.headings):
        return
    cells, rules, at = [""], [], 2
    for group, headings in groupby(table.headings, key=lambda heading: heading.group):
        width = len(list(headings))
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{_own(group)}}}")
        rules += [rf"\cmidrule(lr){{{at}-{at + width - 1}}}"] if group else []
        at += width
    yield rf"{' & '.join(cells)} \\"
    yield " ".join(rules)


def _body(table: PaperTable) -> Iterator[str]:
    for place, row in enumerate(table.rows):
        if row.aside and not table.rows[place - 1].aside:
            yield r"\midrule"
        yield rf"{_row([row.label, *(cell.text or '--' for cell in row.cells)], latex)} \\"
        if any(cell.half for cell in row.cells):
            yield _intervals(row)


def _row(texts: list[str], escaped: Callable[[str], str]) -> str:
    # In braces: a label that begins with [ or * would be read as an argument of the \\ before it.
    first, *others = map(escaped, texts)
    return " & ".join((f"{{{first}}}", *others))


def _intervals(row: PaperRow) -> str:
    cells = (rf"{{\scriptsize $\pm${cell.half}}}" if cell.half else "" for cell in row.cells)
    return rf" & {' & '.join(cells)} \\"


WRITERS: Mapping[str, Callable[[PaperTable], str]] = MappingProxyType(
    {"md": to_markdown, "csv": to_csv, "tex": to_latex}
)
"""By the ending of the file."""
