"""A comparison of models as one page: leaderboards that sort, with every number behind them folded away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pytest_factorfair.domain import Board, Leaderboard, Standing
from pytest_factorfair.reports import plain
from pytest_factorfair.reports.ethics import ETHICS
from pytest_factorfair.reports.html.document import document
from pytest_factorfair.reports.sections import Section, letters, name, sections
from pytest_factorfair.reports.tables.table import Row, Table, number


class Part(NamedTuple):
    """A section with what is open at once and what is folded away."""

    id: str
    title: str
    lines: tuple[str, ...]
    open: tuple[Table, ...]
    folded: tuple[Table, ...]


def leaderboard_page(found: Leaderboard) -> str:
    """The page; it needs no network, and names of models are text in it."""
    values: dict[str, Any] = {
        "models": [plain.text(model) for model in found.models],
        "reports": [plain.text(line) for line in found.reports],
        "notes": [plain.text(line) for line in found.notes],
        "tone": _tone(found),
        "parts": [_part(place, section) for place, section in enumerate(sections(found))],
        "ethics": ETHICS,
    }
    return document("compare.html", ("sort.js",), values)


def _part(place: int, section: Section) -> Part:
    tables = tuple(map(_shown, section.tables))
    lines = tuple(map(plain.text, section.lines))
    open_ = (_shown(_matrix(section.boards)),) if section.boards else tables
    return Part(f"part-{place}", plain.text(section.title), lines, open_, tables if section.boards else ())


def _matrix(boards: Sequence[Board]) -> Table:
    """Models down, scores across; behind each value the letters of those it cannot be told from."""
    models = dict.fromkeys(one.model for board in boards for one in board.standings)
    rows = tuple(Row(model, tuple(_cells(model, boards))) for model in models)
    return Table("model", tuple(map(name, boards)), rows)


def _cells(model: str, boards: Sequence[Board]) -> Iterator[str]:
    for board in boards:
        yield next((_cell(one) for one in board.standings if one.model == model), "-")


def _cell(one: Standing) -> str:
    if one.value is None:
        return "-"
    ends = [abs(end - one.value) for end in (one.low, one.high) if end is not None]
    half = f"±{max(ends):.3f} ".replace("0.", ".") if ends else ""
    return f"{number(one.value)} {half}{letters(one)}"


def _shown(table: Table) -> Table:
    """Without what could turn text round."""
    rows = (Row(plain.text(row.label), tuple(map(plain.text, row.cells)), row.aside) for row in table.rows)
    return Table(plain.text(table.title), table.headings, tuple(rows), tuple(map(plain.text, table.notes)))


def _tone(found: Leaderboard) -> str:
    return "failed" if found.regressed else "" if found.complete else "open"
