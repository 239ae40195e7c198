"""A comparison of models as text, as Markdown and as one HTML page: the same sections in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from textwrap import wrap
from typing import Any, NamedTuple

from pytest_factorfair.domain import ALL, Board, Leaderboard, Standing, plural
from pytest_factorfair.protocols import reporting_of
from pytest_factorfair.reports import escaping
from pytest_factorfair.reports.html.document import document
from pytest_factorfair.reports.statements import ETHICS
from pytest_factorfair.reports.table import MISSING, Row, Table, as_lines, as_markdown, number, percent, span
from pytest_factorfair.reports.tables import changes_table, compared

WIDTH = 100
"""Columns of the text; sentences are wrapped."""

BEST = {"higher": "1 is best", "lower": "0 is best", "neither": "0 and 1 are two biases, neither is best"}
STANDING = ("score", "95 % interval", "letters", "asked", "refused", "unparsed", "errors")
LESSON = ("teacher", "student", "difference", "95 % interval", "verdict")
HOW = (
    "Models that share a letter cannot be told apart; a question mark means that nothing is claimed. "
    "The differences called real on one score are so jointly, at a level of 5 % (two-sided, Holm); "
    "intervals are those of each number alone."
)


def to_text(found: Leaderboard) -> str:
    """For a terminal: headings are underlined."""
    parts = ["\n".join(map(escaping.one_line, (*found.reports, *found.notes)))]
    for section in sections(found):
        title = escaping.one_line(section.title)
        lines = [title, "=" * len(title)]
        lines += [part for line in section.lines for part in wrap(escaping.one_line(line), WIDTH)]
        lines += [""] * bool(section.lines)
        parts.append("\n".join((*lines, *(line.text for line in as_lines(*section.tables)))))
    return "\n\n".join(parts) + "\n"


def to_markdown(found: Leaderboard) -> str:
    """For a comment on a pull request."""
    parts = [
        "## factorfair compare",
        "\n".join(f"- {escaping.markdown(line)}" for line in (*found.reports, *found.notes)),
    ]
    for section in sections(found):
        parts += [f"### {escaping.markdown(section.title)}", *map(escaping.markdown, section.lines)]
        for table in section.tables:
            parts += [f"**{escaping.markdown(table.title)}**"] * bool(table.title) + [as_markdown(table)]
    return "\n\n".join([*parts, f"<sub>{ETHICS}</sub>"]) + "\n"


def to_html(found: Leaderboard) -> str:
    """A page without network: a table per section that sorts, the numbers behind it folded away."""
    shown = []
    for place, section in enumerate(sections(found)):
        tables = tuple(map(_visible, section.tables))
        shown.append(
            {
                "id": f"part-{place}",
                "title": escaping.one_line(section.title),
                "lines": [escaping.one_line(line) for line in section.lines],
                "open": (_visible(_matrix(section.boards)),) if section.boards else tables,
                "folded": tables if section.boards else (),
            }
        )
    values: dict[str, Any] = {
        "models": [escaping.one_line(model) for model in found.models],
        "reports": [escaping.one_line(line) for line in found.reports],
        "notes": [escaping.one_line(line) for line in found.notes],
        "tone": "failed" if found.regressed else "" if found.complete else "open",
        "sections": shown,
        "ethics": ETHICS,
    }
    return document("compare.html", ("sort.js",), values)


FORMS: Mapping[str, Callable[[Leaderboard], str]] = {
    "text": to_text,
    "markdown": to_markdown,
    "html": to_html,
}


class Section(NamedTuple):
    """A heading, sentences, and tables whose columns are the same; ``boards`` are those the tables show."""

    title: str
    lines: tuple[str, ...]
    tables: tuple[Table, ...]
    boards: tuple[Board, ...] = ()


def sections(found: Leaderboard) -> Iterator[Section]:
    """What got worse first, then who is ahead, then students beside their teacher, then every score."""
    for one in found.successions:
        lines = (compared(one.changes),)
        yield Section(f"From {one.former} to {one.later}", lines, (changes_table(one.changes),))
    if found.boards:
        yield _overview(found)
    yield from (_lesson(found, student) for student in found.students)
    by_attribute = groupby(found.boards, key=lambda board: f"{board.checklist}: {_attribute(board, found)}")
    for title, group in by_attribute:
        boards = tuple(group)
        yield Section(title, (), tuple(map(_standings, boards)), boards)


def _overview(found: Leaderboard) -> Section:
    """Who is ahead: how to read it, what is paired, and where nothing can be claimed."""
    boards = found.boards
    lines = [HOW]
    if shares := [one.paired for board in boards for one in board.differences if one.paired]:
        ends = dict.fromkeys(percent(share) for share in (min(shares), max(shares)))
        lines.append(f"Answers to the same question are paired: {' to '.join(ends)} of them.")
    if silent := sum(all(one.doubt for one in board.standings) for board in boards):
        lines.append(
            f"On {silent} of {plural(len(boards), 'score')} nothing is claimed; the reason is below each."
        )
    ranked = [board for board in boards if board.better != "neither"]
    rows = []
    for model in found.models:
        ahead, behind = [], []
        for board in ranked:
            others = [one.model for one in board.standings if one.model != model]
            if any(one.model == model and not one.doubt for one in board.standings):
                ahead.append(sum(board.ahead(model, other) for other in others))
                behind.append(sum(board.ahead(other, model) for other in others))
        best = f"{behind.count(0)} of {len(behind)}"
        rows.append(Row(model, (best, str(sum(ahead)), str(sum(behind)))))
    headings = ("among the best", "really ahead", "really behind")
    return Section("Leaderboard", tuple(lines), (Table("model", headings, tuple(rows)),))


def _standings(board: Board) -> Table:
    """The models of a board by rank, and why nothing is claimed of some: those of one reason together."""
    rows = []
    for one in board.standings:
        counts = (f"{count:,}" for count in (one.asked, one.refused, one.unparsed, one.errors))
        cells = (number(one.value), span(one.low, one.high), letters(one), *counts)
        rows.append(Row(f"{'-' if one.rank is None else one.rank} {one.model}", cells))
    notes = []
    for doubt in dict.fromkeys(one.doubt for one in board.standings if one.doubt):
        models = [one.model for one in board.standings if one.doubt == doubt]
        everybody = len(models) == len(board.standings)
        whom = "no difference is claimed" if everybody else f"none is claimed with {', '.join(models)}"
        notes.append(f"{whom}: {doubt}")
    return Table(f"{name(board)}: {BEST[board.better]}", STANDING, tuple(rows), tuple(notes))


def _attribute(board: Board, found: Leaderboard) -> str:
    return f"perceived {board.attribute}" if found.perceived and board.attribute != ALL else board.attribute


def name(board: Board) -> str:
    """What a board is about, but for its attribute."""
    return reporting_of(board.metric).label(board.metric, board.part, board.context)


def letters(one: Standing) -> str:
    """The letters of a model; a question mark if no claim is made about it."""
    return "?" if one.doubt else one.letters


def _lesson(found: Leaderboard, student: str) -> Section:
    """A student beside its teacher, on every score both have."""
    rows, verdicts = [], []
    for board in found.boards:
        gap = board.between(student, str(found.teacher))
        if gap is None:
            continue
        if not gap.real:
            doubtful = {one.model for one in board.standings if one.doubt}
            verdict = "nothing claimed" if doubtful & {gap.first, gap.second} else "no real difference"
        elif board.better == "neither":
            verdict = "moved"
        else:
            verdict = "gained" if board.ahead(gap.first, gap.second) else "lost"
        verdicts.append(verdict)
        values = {one.model: number(one.value) for one in board.standings}
        change = number(gap.value, sign="+"), span(gap.low, gap.high, sign="+")
        cells = (values[gap.second], values[gap.first], *change, verdict)
        rows.append(Row(f"{_attribute(board, found)}: {name(board)}", cells))
    lost, gained = verdicts.count("lost"), verdicts.count("gained")
    line = f"lost on {lost} and gained on {gained} of {plural(len(rows), 'score')}"
    title = f"{student} beside its teacher {found.teacher}"
    return Section(title, (line,), (Table("score", LESSON, tuple(rows)),))


def _matrix(boards: Sequence[Board]) -> Table:
    """Models down, scores across; each value is followed by the letters of models it does not differ from."""
    rows: dict[str, list[str]] = {}
    for model in dict.fromkeys(one.model for board in boards for one in board.standings):
        cells = rows[model] = []
        for board in boards:
            one = next((one for one in board.standings if one.model == model), None)
            if one is None or one.value is None:
                cells.append(MISSING)
                continue
            ends = [abs(end - one.value) for end in (one.low, one.high) if end is not None]
            half = f"±{number(max(ends))} ".replace("0.", ".") if ends else ""
            cells.append(f"{number(one.value)} {half}{letters(one)}")
    lines = (Row(model, tuple(cells)) for model, cells in rows.items())
    return Table("model", tuple(map(name, boards)), tuple(lines))


def _visible(table: Table) -> Table:
    """Without characters that could reverse the page's text."""
    rows = (
        Row(
            escaping.one_line(row.label), tuple(escaping.one_line(str(cell)) for cell in row.cells), row.aside
        )
        for row in table.rows
    )
    notes = tuple(map(escaping.one_line, table.notes))
    return Table(escaping.one_line(table.title), table.headings, tuple(rows), notes)
