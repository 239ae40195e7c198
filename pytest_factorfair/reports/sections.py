"""What a comparison of models says, section by section: the same for terminal, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from pytest_factorfair.domain import Board, Difference, Leaderboard, Standing, plural
from pytest_factorfair.reports.tables.changes import changes_table, compared
from pytest_factorfair.reports.tables.faintbench import ALL
from pytest_factorfair.reports.tables.scores import SHOWN
from pytest_factorfair.reports.tables.table import Row, Table

NAMES = {**SHOWN, "influence": "influence", "implicit": "implicit", "explicit": "explicit", "eta": "eta"}
BEST = {"higher": "1 is best", "lower": "0 is best", "neither": "0 and 1 are two biases, neither is best"}
STANDING = ("score", "95 % interval", "letters", "asked", "refused", "unread", "errors")
LESSON = ("teacher", "student", "difference", "95 % interval", "verdict")
HOW = (
    "Models that share a letter cannot be told apart; a question mark stands where nothing is claimed. "
    "Of one score, differences called real are so together, at a level of 5 % (two-sided, Holm); "
    "intervals are those of each number alone."
)


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
        least, most = (f"{share:.0%}" for share in (min(shares), max(shares)))
        told = least if least == most else f"{least} to {most}"
        yield f"Answers to the same question are paired: {told} of them."
    if silent := sum(all(one.doubt for one in board.standings) for board in boards):
        yield f"On {silent} of {plural(len(boards), 'score')} nothing is claimed; below each stands why."


def _record(model: str, boards: Sequence[Board]) -> tuple[str, str, str]:
    """On how many boards nobody is really ahead of the model; how many models it is ahead of, and behind."""
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
    metric = NAMES[board.metric]
    return f"{metric}, {board.context or board.part}" if board.part in ("objective", "subjective") else metric


def _cells(one: Standing) -> tuple[str, ...]:
    counts = (one.asked, one.refused, one.unread, one.errors)
    return _number(one.value), _interval(one), letters(one), *(f"{count:,}" for count in counts)


def letters(one: Standing) -> str:
    """Its letters, a question mark where nothing is claimed of it."""
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
    values = {one.model: _number(one.value) for one in board.standings}
    return (
        values[told.second],
        values[told.first],
        _number(told.value, sign="+"),
        _interval(told, sign="+"),
        verdict,
    )


def _interval(one: Standing | Difference, *, sign: str = "") -> str:
    return "" if one.low is None else f"{_number(one.low, sign=sign)} to {_number(one.high, sign=sign)}"


def _number(value: float | None, *, sign: str = "") -> str:
    """With no minus sign before a zero."""
    return "-" if value is None else f"{round(value, 3) + 0.0:{sign}.3f}"
