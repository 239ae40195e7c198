"""A comparison of models as text, as Markdown and as one HTML page: the same sections in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from textwrap import wrap
from typing import Any, NamedTuple

from pytest_factorfair.domain import ALL, Board, Difference, Leaderboard, Standing, plural
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
    "Models that share a letter cannot be told apart; a question mark stands where nothing is claimed. "
    "Of one score, differences called real are so together, at a level of 5 % (two-sided, Holm); "
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
    """A page without network: leaderboards that sort, the numbers behind them folded away."""
    values: dict[str, Any] = {
        "models": [escaping.one_line(model) for model in found.models],
        "reports": [escaping.one_line(line) for line in found.reports],
        "notes": [escaping.one_line(line) for line in found.notes],
        "tone": "failed" if found.regressed else "" if found.complete else "open",
        "parts": [_part(place, section) for place, section in enumerate(sections(found))],
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
    ranked = [board for board in found.boards if board.better != "neither"]
    rows = tuple(Row(model, _record(model, ranked)) for model in found.models)
    headings = ("among the best", "really ahead", "really behind")
    return Section("Leaderboard", tuple(_scope(found.boards)), (Table("model", headings, rows),))


def _scope(boards: Sequence[Board]) -> Iterator[str]:
    """How to read the boards, what is paired, and where nothing can be claimed."""
    yield HOW
    if shares := [one.paired for board in boards for one in board.differences if one.paired]:
        least, most = (percent(share) for share in (min(shares), max(shares)))
        told = least if least == most else f"{least} to {most}"
        yield f"Answers to the same question are paired: {told} of them."
    if silent := sum(all(one.doubt for one in board.standings) for board in boards):
        yield f"On {silent} of {plural(len(boards), 'score')} nothing is claimed; below each stands why."


def _record(model: str, boards: Sequence[Board]) -> tuple[str, str, str]:
    """On how many boards no model is ahead of this one; how many models it is ahead of and behind."""
    mine = [board for board in boards if any(one.model == model and not one.doubt for one in board.standings)]
    ahead, behind = ([_count(board, model, turned=turned) for board in mine] for turned in (False, True))
    return f"{behind.count(0)} of {len(mine)}", str(sum(ahead)), str(sum(behind))


def _count(board: Board, model: str, *, turned: bool) -> int:
    """How many others the model is ahead of; turned, how many are ahead of it."""
    others = [one.model for one in board.standings if one.model != model]
    return sum(board.ahead(other, model) if turned else board.ahead(model, other) for other in others)


def _standings(board: Board) -> Table:
    rows = tuple(
        Row(f"{'-' if one.rank is None else one.rank} {one.model}", _cells(one)) for one in board.standings
    )
    return Table(f"{name(board)}: {BEST[board.better]}", STANDING, rows, tuple(_doubts(board)))


def _attribute(board: Board, found: Leaderboard) -> str:
    return f"perceived {board.attribute}" if found.perceived and board.attribute != ALL else board.attribute


def name(board: Board) -> str:
    """What a board is about, but for its attribute."""
    return reporting_of(board.metric).label(board.metric, board.part, board.context)


def _cells(one: Standing) -> tuple[str, ...]:
    counts = (one.asked, one.refused, one.unparsed, one.errors)
    return number(one.value), span(one.low, one.high), letters(one), *(f"{count:,}" for count in counts)


def letters(one: Standing) -> str:
    """The letters of a model; a question mark if no claim is made about it."""
    return "?" if one.doubt else one.letters


def _doubts(board: Board) -> Iterator[str]:
    """Why nothing is claimed of some models, those of one reason together."""
    for doubt in dict.fromkeys(one.doubt for one in board.standings if one.doubt):
        models = [one.model for one in board.standings if one.doubt == doubt]
        everybody = len(models) == len(board.standings)
        whom = "no difference is claimed" if everybody else f"none is claimed with {', '.join(models)}"
        yield f"{whom}: {doubt}"


def _lesson(found: Leaderboard, student: str) -> Section:
    """A student beside its teacher, on every score both have."""
    rows, verdicts = [], []
    for board in found.boards:
        told = board.between(student, str(found.teacher))
        if told is not None:
            verdicts.append(_verdict(board, told))
            rows.append(
                Row(f"{_attribute(board, found)}: {name(board)}", _compared(board, told, verdicts[-1]))
            )
    lost, gained = verdicts.count("lost"), verdicts.count("gained")
    line = f"lost on {lost} and gained on {gained} of {plural(len(rows), 'score')}"
    return Section(
        f"{student} beside its teacher {found.teacher}", (line,), (Table("score", LESSON, tuple(rows)),)
    )


def _verdict(board: Board, told: Difference) -> str:
    if not told.real:
        doubtful = {one.model for one in board.standings if one.doubt}
        return "nothing claimed" if doubtful & {told.first, told.second} else "no real difference"
    if board.better == "neither":
        return "moved"
    return "gained" if board.ahead(told.first, told.second) else "lost"


def _compared(board: Board, told: Difference, verdict: str) -> tuple[str, ...]:
    values = {one.model: number(one.value) for one in board.standings}
    return (
        values[told.second],
        values[told.first],
        number(told.value, sign="+"),
        span(told.low, told.high, sign="+"),
        verdict,
    )


class Part(NamedTuple):
    """A section of the page: tables that are open at first and tables that are folded away."""

    id: str
    title: str
    lines: tuple[str, ...]
    open: tuple[Table, ...]
    folded: tuple[Table, ...]


def _part(place: int, section: Section) -> Part:
    tables = tuple(map(_visible, section.tables))
    shown = (_visible(_matrix(section.boards)),) if section.boards else tables
    return Part(
        id=f"part-{place}",
        title=escaping.one_line(section.title),
        lines=tuple(map(escaping.one_line, section.lines)),
        open=shown,
        folded=tables if section.boards else (),
    )


def _matrix(boards: Sequence[Board]) -> Table:
    """Models down, scores across; each value is followed by the letters of models it does not differ from."""
    rows = []
    for model in dict.fromkeys(one.model for board in boards for one in board.standings):
        mine = [next((one for one in board.standings if one.model == model), None) for board in boards]
        rows.append(Row(model, tuple(map(_cell, mine))))
    return Table("model", tuple(map(name, boards)), tuple(rows))


def _cell(one: Standing | None) -> str:
    if one is None or one.value is None:
        return MISSING
    ends = [abs(end - one.value) for end in (one.low, one.high) if end is not None]
    half = f"±{number(max(ends))} ".replace("0.", ".") if ends else ""
    return f"{number(one.value)} {half}{letters(one)}"


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
