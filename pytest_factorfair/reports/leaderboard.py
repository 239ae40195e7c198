"""A comparison of models as text and as Markdown: the same sections in each, and on its page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from string import ascii_lowercase
from textwrap import wrap
from typing import NamedTuple

from pytest_factorfair.domain import (
    ALL,
    Board,
    Change,
    History,
    Leaderboard,
    Standing,
    Trend,
    listed,
    plural,
)
from pytest_factorfair.protocols import reporting_of
from pytest_factorfair.reports import escaping
from pytest_factorfair.reports.statements import ETHICS
from pytest_factorfair.reports.table import (
    MISSING,
    UNCORRECTED,
    Row,
    Table,
    as_lines,
    as_markdown,
    interval,
    mixed,
    number,
    percent,
    span,
)
from pytest_factorfair.reports.tables import changes_table, compared, metric_of, score_name
from pytest_factorfair.statistics.holm import ALPHA

WIDTH = 80
"""Columns of the text."""

BEST = {"higher": "1 is best", "lower": "0 is best", "neither": "0 and 1 are two biases, neither is best"}
KINDS = ("refused", "unparsed", "errors")
LESSON = ("teacher", "student", "difference", "95 % interval", "verdict")
HOW = (
    "A difference is clear if chance alone would seldom make it: between equal models, on a score, in about "
    "5 % of comparisons, up to about 8 % in simulations (two-sided, with Holm's correction). Intervals are "
    "those of each number alone. Models that share a letter cannot be told apart; a question mark means that "
    "nothing is claimed."
)
UNDECIDED = {"unclaimed": "nothing claimed", "noise": "not clear", "missing": "missing answers"}
FEW = 3
"""Models, or scores, that a sentence names one by one."""


def to_text(found: Leaderboard) -> str:
    """For a terminal: headings are underlined, and everything fits 80 columns."""
    parts = [list(_wrapped((*found.reports, *found.notes)))]
    for section in sections(found):
        lines = list(_wrapped([section.title]))
        lines += ["=" * min(max(map(len, lines)), WIDTH), *_wrapped(section.lines)]
        lines += [""] * bool(section.lines and section.tables)
        for line in as_lines(*section.tables, width=WIDTH) if section.tables else ():
            lines += _wrapped([line.text]) if line.kind == "note" else [line.text]
        parts.append(lines)
    return "\n\n".join("\n".join(map(escaping.terminal, lines)) for lines in parts) + "\n"


def _wrapped(lines: Iterable[str]) -> Iterator[str]:
    """Sentences; where one is longer than a line, what follows is indented."""
    for line in lines:
        yield from wrap(
            escaping.one_line(line),
            WIDTH,
            subsequent_indent="  ",
            break_on_hyphens=False,
            break_long_words=False,
        ) or [""]


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


class Section(NamedTuple):
    """A heading, sentences, and tables with the same columns, which show one of the others."""

    title: str
    lines: tuple[str, ...]
    tables: tuple[Table, ...]
    boards: tuple[Board, ...] = ()
    changes: tuple[Change, ...] = ()
    trends: tuple[Trend, ...] = ()


def sections(found: Leaderboard) -> Iterator[Section]:
    """What got worse first, then who is ahead, then students beside their teacher, then every score."""
    steps = [
        one
        for one in found.successions
        if len(found.successions) == 1 or any(c.regressed for c in one.changes)
    ]
    for one in steps:
        lines = [compared(one.changes, one.former)]
        lines += [
            f"{perceived(change.attribute, found)}: {change.plain} [{score_name(change)}]."
            for change in one.changes
            if change.plain
        ]
        title = f"From {one.former} to {one.later}"
        yield Section(title, tuple(lines), (changes_table(one.changes),), changes=one.changes)
    if quiet := [f"from {one.former} to {one.later}" for one in found.successions if one not in steps]:
        yield Section("What did not regress", (f"Nothing regressed {_listed(quiet, 'other step')}.",), ())
    if found.history:
        yield from _over_time(found, found.history)
    if found.boards:
        yield Section("Who is ahead", tuple(_in_short(found)), (_overview(found),))
    yield from (_lesson(found, student) for student in found.students)
    by_attribute = groupby(
        found.boards, key=lambda board: f"{board.checklist}: {perceived(board.attribute, found)}"
    )
    for title, group in by_attribute:
        boards = tuple(group)
        lost = [
            kind for kind in KINDS if any(getattr(one, kind) for each in boards for one in each.standings)
        ]
        bounded = any(one.lacking for each in boards for one in each.standings)
        tables = tuple(_standings(board, lost, bounded=bounded) for board in boards)
        lacking = list(
            dict.fromkeys(f"{o.model}: {o.lacking}" for each in boards for o in each.standings if o.lacking)
        )
        lines = [f"Judged at worst and at best: {reason}." for reason in lacking[:FEW]]
        if len(lacking) > FEW:
            lines.append(f"So for {plural(len(lacking) - FEW, 'other reason')}.")
        yield Section(title, tuple(lines), tables, boards)


def _over_time(found: Leaderboard, history: History) -> Iterator[Section]:
    """The scores of each attribute, the first release first."""
    releases = history.releases
    apart = [
        f"{one.name} is not comparable with the one before ({one.apart})." for one in releases if one.apart
    ]
    if len(apart) > FEW:
        apart[FEW:] = [f"Nor are {plural(len(apart) - FEW, 'other report')} with those before them."]
    eras = {one.era for one in releases}
    for (checklist, attribute), group in groupby(
        history.trends, key=lambda one: (one.checklist, one.attribute)
    ):
        trends = tuple(group)
        headings = [reporting_of(one.metric).heading(one.metric) for one in trends]
        rows = []
        marked = mixed(one for trend in trends for one in trend.scores if one is not None)
        for place, release in enumerate(releases):
            letter = ascii_lowercase[release.era % len(ascii_lowercase)]
            label = f"{release.time[:16].replace('T', ' ')} {release.name}"
            label += f", settings {letter}" if len(eras) > 1 else ""
            rows.append(Row(label, tuple(interval(one.scores[place], marked=marked) for one in trends)))
        notes = ["only reports of the same settings are comparable"] * (len(eras) > 1)
        notes += [f"{UNCORRECTED} uncorrected"] * marked
        table = Table("run", tuple(headings), tuple(rows), tuple(notes))
        title = f"{checklist}: {perceived(attribute, found)} over time"
        yield Section(title, tuple(apart), (table,), trends=trends)
        apart = []  # they are said once


def _in_short(found: Leaderboard) -> Iterator[str]:
    """Every score in a sentence if some difference is clear, then why others are not."""
    boards, silent = found.boards, [board for board in found.boards if all(o.doubt for o in board.standings)]
    heard = [board for board in boards if board not in silent]
    bounded: dict[str, float] = {}
    for one in (one for board in boards for one in board.standings if one.lacking):
        bounded[one.model] = max(bounded.get(one.model, 0.0), one.missing / one.asked)
    if bounded:
        lost = [f"{percent(share)} of {model}'s answers" for model, share in bounded.items()]
        yield (
            f"{_listed(lost, 'other share')} are missing; in each case at most 5% may be. "
            "A difference is clear only if it would be so however these answers had gone."
        )
    yield from (line for board in heard for line in _leads(board, found))
    noise = [board for board in heard if not any(one.real for one in board.differences)]
    if noise:
        scores = "any score" if len(noise) == len(boards) else plural(len(noise), "score")
        yield f"No difference is clear on {scores}: {_scores(noise, found)}."
    for model, closed in _closed(heard).items():
        others = _listed(dict.fromkeys(other for _, other in closed), "other")
        where = _scores(list(dict.fromkeys(board for board, _ in closed)), found)
        yield f"What {model} did not answer could close its difference from {others} on {where}."
    if silent:
        yield f"Nothing is claimed on {plural(len(silent), 'score')}; the reason is below each."
    if shares := [one.paired for board in boards for one in board.differences if one.paired]:
        ends = dict.fromkeys(percent(share) for share in (min(shares), max(shares)))
        yield f"Of the answers, {' to '.join(ends)} are compared with the other model's to the same question."
    yield HOW
    if levels := {board.level for board in boards if board.level < ALPHA}:
        level = percent(min(levels), digits=1)
        yield f"Intervals from few pictures are rough; a stricter level, {level}, makes up for that."


def _leads(board: Board, found: Leaderboard) -> Iterator[str]:
    """A sentence about the first model that is ahead of others: of which, and by how much."""
    metric = metric_of(board.metric)
    for one in board.standings:
        others = [each.model for each in board.standings if board.ahead(one.model, each.model)]
        if board.better == "neither":
            others = [pair.second for pair in board.differences if pair.real and pair.first == one.model]
        if not others:
            continue
        gaps = {other: gap for other in others if (gap := board.between(one.model, other)) is not None}
        by = []
        for other, gap in gaps.items():  # positive, whichever of the two is ahead
            value, ends = gap.value or 0.0, sorted((gap.low or 0.0, gap.high or 0.0), key=abs)
            away = span(*(end if value > 0 else -end for end in ends))
            by.append(f"{other} by {number(abs(value))} ({away})")
        what = f"{metric.ahead or f'has the better {metric.label}'} than"
        if board.better == "neither":
            what = f"has another {metric.label} than"
        alike = [
            each.model
            for each in board.standings
            if each is not one and all(board.ahead(each.model, other) for other in others)
        ]
        likewise = f"; likewise {_listed(alike, 'other')}" if alike else ""
        who = f"{perceived(board.attribute, found)}: {one.model}"
        yield f"{who} {what} {_listed(by, 'other')}{likewise} [{score_name(board)}]."
        return


def _closed(boards: Sequence[Board]) -> dict[str, list[tuple[Board, str]]]:
    """The differences that missing answers could close, by the model that lacks them."""
    found: dict[str, list[tuple[Board, str]]] = {}
    for board in boards:
        lacking = {one.model for one in board.standings if one.lacking}
        for pair in board.differences:
            if pair.certainty == "missing":
                model, other = (pair.first, pair.second)[:: 1 if pair.first in lacking else -1]
                found.setdefault(model, []).append((board, other))
    return found


def _scores(boards: Sequence[Board], found: Leaderboard) -> str:
    """What boards are about, those of an attribute together."""
    by_attribute: dict[str, dict[str, None]] = {}  # a metric of several contexts once
    for board in boards:
        heading = reporting_of(board.metric).heading(board.metric)
        by_attribute.setdefault(perceived(board.attribute, found), {})[heading] = None
    return "; ".join(f"{attribute}: {', '.join(names)}" for attribute, names in by_attribute.items())


def _listed(names: Iterable[str], noun: str) -> str:
    """The first few by name, and how many more."""
    every = list(names)
    kept = every[:FEW] if len(every) > FEW + 1 else every
    return listed([*kept, *([plural(len(every) - len(kept), noun)] if len(kept) < len(every) else [])])


def _overview(found: Leaderboard) -> Table:
    """The models, those that are behind others least often first."""
    ranked = [board for board in found.boards if board.better != "neither"]
    rows = []
    for model in found.models:
        ahead, behind = [], []
        for board in ranked:
            others = [one.model for one in board.standings if one.model != model]
            if any(one.model == model and not one.doubt for one in board.standings):
                ahead.append(sum(board.ahead(model, other) for other in others))
                behind.append(sum(board.ahead(other, model) for other in others))
        cells = (f"{behind.count(0)} of {len(behind)}", str(sum(ahead)), str(sum(behind)))
        rows.append(((not behind, sum(behind) - sum(ahead), model), Row(model, cells)))
    return Table("model", ("among the best", "ahead", "behind"), tuple(row for _, row in sorted(rows)))


def _standings(board: Board, lost: Sequence[str], *, bounded: bool) -> Table:
    """The models of a board by rank, and why nothing is claimed of some: those of one reason together."""
    rows = []
    for one in board.standings:
        ends = (span(one.worst, one.best),) * bounded
        counts = [getattr(one, kind) for kind in lost] or [one.missing]
        cells = (number(one.value), span(one.low, one.high), *ends, letters(one))
        rows.append(
            Row(
                f"{'-' if one.rank is None else one.rank} {one.model}",
                (*cells, *(f"{count:,}" for count in (one.asked, *counts))),
            )
        )
    notes = []
    for doubt in dict.fromkeys(one.doubt for one in board.standings if one.doubt):
        models = [one.model for one in board.standings if one.doubt == doubt]
        everybody = len(models) == len(board.standings)
        whom = "no difference is claimed" if everybody else f"none is claimed with {_listed(models, 'other')}"
        notes.append(f"{whom}: {doubt}")
    headings = (
        "score",
        "95 % interval",
        *("at worst, best",) * bounded,
        "letters",
        "asked",
        *(lost or ["missing"]),
    )
    return Table(f"{score_name(board)}: {BEST[board.better]}", headings, tuple(rows), tuple(notes))


def perceived(attribute: str, found: Leaderboard) -> str:
    """The name of an attribute; in pictures only the perceived one is known."""
    return f"perceived {attribute}" if found.perceived and attribute != ALL else attribute


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
            verdict = UNDECIDED[gap.certainty]
        elif board.better == "neither":
            verdict = "moved"
        else:
            verdict = "gained" if board.ahead(gap.first, gap.second) else "lost"
        verdicts.append(verdict)
        values = {one.model: number(one.value) for one in board.standings}
        change = number(gap.value, sign="+"), span(gap.low, gap.high, sign="+")
        cells = (values[gap.second], values[gap.first], *change, verdict)
        rows.append(Row(f"{perceived(board.attribute, found)}: {score_name(board)}", cells))
    lost, gained = verdicts.count("lost"), verdicts.count("gained")
    line = f"lost on {lost} and gained on {gained} of {plural(len(rows), 'score')}"
    title = f"{student} beside its teacher {found.teacher}"
    return Section(title, (line,), (Table("score", LESSON, tuple(rows)),))


def matrix(boards: Sequence[Board]) -> Table:
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
    return Table("model", tuple(map(score_name, boards)), tuple(lines))
