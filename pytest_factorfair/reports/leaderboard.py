"""A comparison of models as text and as Markdown: the same sections in each, and on its page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from string import ascii_letters, ascii_lowercase
from textwrap import wrap
from typing import NamedTuple

from pytest_factorfair.benchmarks import benchmark_with
from pytest_factorfair.domain import ALL, Change, excerpt, first_few, listed, plural
from pytest_factorfair.domain.board import (
    Board,
    Difference,
    History,
    Leaderboard,
    Standing,
    Succession,
    Trend,
)
from pytest_factorfair.drawing import escaping
from pytest_factorfair.drawing.statements import ETHICS
from pytest_factorfair.drawing.table import (
    MISSING,
    UNCORRECTED,
    Row,
    Table,
    as_lines,
    as_markdown,
    interval,
    mixed,
    number,
    span,
)
from pytest_factorfair.reports.tables import (
    UNCHANGED,
    changes_table,
    metric_of,
    outcome,
    score_name,
    worsened,
)
from pytest_factorfair.statistics.holm import ALPHA

WIDTH = 80
"""Columns of the text."""

BEST = {"higher": "1 is best", "lower": "0 is best", "neither": "neither end is best"}
KINDS = ("refused", "unparsed", "errors")
LESSON = ("teacher", "student", "difference", "95 % interval", "verdict")
HOW = (
    "A difference is clear if chance alone would seldom make it: between equal models, on a score, in about "
    "5 % of comparisons, up to about 8 % in simulations (two-sided, with Holm's correction). Intervals are "
    "those of each number alone. Models that share a letter cannot be told apart; a question mark means that "
    "nothing is claimed."
)
CLEAR = ("lost", "gained", "moved")
UNDECIDED = {"unclaimed": "nothing claimed", "noise": "not clear", "missing": "missing answers"}
FEW = 3
"""Models, or scores, that a sentence names one by one."""

MOST_SENTENCES = 4
"""Regressions, and differences, that the brief text describes."""

MOST_CHARTED = 5
"""Scores of an attribute in the chart, if models differ on them."""

IN_FULL = "Every score, with its interval: --format=text, or a page: -o compare.html"

LABEL_WIDTH, AXIS_WIDTH, VALUE_WIDTH = 34, 30, 7
"""Columns of the chart."""


def to_text(leaderboard: Leaderboard) -> str:
    """For a terminal: headings are underlined, and everything fits 80 columns."""
    return _text(leaderboard, sections(leaderboard))


def _text(leaderboard: Leaderboard, chosen: Iterable[Section], *further: str) -> str:
    parts = [list(_wrapped((*headline(leaderboard), *leaderboard.notes)))]
    for section in chosen:
        lines = list(_wrapped([section.title]))
        lines += ["=" * min(max(map(len, lines)), WIDTH), *_wrapped(section.lines)]
        lines += [""] * bool(section.lines and section.tables)
        for line in as_lines(*section.tables, width=WIDTH) if section.tables else ():
            lines += _wrapped([line.text]) if line.kind == "note" else [line.text]
        parts.append(lines)
    parts += [list(_wrapped(further))] * bool(further)
    return "\n\n".join("\n".join(map(escaping.terminal, lines)) for lines in parts) + "\n"


def to_brief(leaderboard: Leaderboard) -> str:
    """For a terminal: verdicts, who is ahead, a chart of scores, regressions, and how models differ.

    Of one model over time it has the scores instead, beside a teacher what students gained and lost.
    """
    boards = _ranked(leaderboard)
    if leaderboard.teacher is not None:
        lessons = (_beside_teacher(leaderboard, name, brief=True) for name in leaderboard.students)
        return _text(leaderboard, lessons, IN_FULL)
    if not boards:
        steps = []
        for section in sections(leaderboard):
            worse = [change for change in section.changes if change.regressed]
            if worse:
                steps.append(section._replace(tables=(changes_table(worse, "score", sentences=False),)))
            elif section.trends:
                steps.append(section)
        return _text(leaderboard, steps, IN_FULL)
    regressions = [
        f"{step.later}: {sentence}"
        for step in leaderboard.successions
        for sentence in _regressions(step, leaderboard)
    ]
    differences = [line for board in boards for line in _leads(board, leaderboard)]
    claimed = _claimed(boards)
    unclear = sum(not any(difference.real for difference in board.differences) for board in claimed)
    sentences = [
        *_missing_answers(leaderboard),
        *_first(regressions, "more regression"),
        *_first(differences, "more difference"),
    ]
    if unclear:
        sentences.append(f"No difference is clear on {plural(unclear, 'score')}.")
    if len(claimed) < len(boards):
        sentences.append(f"Nothing is claimed on {plural(len(boards) - len(claimed), 'score')}.")
    sentences.append(IN_FULL)
    parts = (
        _wrapped((*headline(leaderboard), *leaderboard.notes)),
        _chart(leaderboard),
        _wrapped(sentences),
    )
    return "\n\n".join("\n".join(map(escaping.terminal, lines)) for lines in parts) + "\n"


def _first(sentences: Sequence[str], noun: str) -> Iterator[str]:
    """The first few sentences, and how many more there are."""
    yield from sentences[:MOST_SENTENCES]
    if len(sentences) > MOST_SENTENCES:
        yield f"And {plural(len(sentences) - MOST_SENTENCES, noun)}."


def _chart(leaderboard: Leaderboard) -> Iterator[str]:
    """The models as letters between 0 and 1, a line per score; two models are followed by their values.

    Of the scores that are best at 1, each attribute has the first few, and a few more on which models differ.
    """
    models = leaderboard.models
    if len(models) > len(ascii_letters):
        yield from _wrapped([f"A chart can show at most {len(ascii_letters)} models."])
        return
    letter_of = dict(zip(models, ascii_letters, strict=False))
    charted: dict[tuple[str, str], list[Board]] = {}
    for board in _ranked(leaderboard):
        boards = charted.setdefault((board.checklist, board.attribute), [])
        differs = any(difference.real for difference in board.differences)
        if board.better == "higher" and len(boards) < (MOST_CHARTED if differs else FEW):
            boards.append(board)
    shown = list(chain.from_iterable(charted.values()))
    valued = LABEL_WIDTH + 1 + AXIS_WIDTH + VALUE_WIDTH * len(models) <= WIDTH
    yield from _wrapped([", ".join(f"{letter} = {model}" for model, letter in letter_of.items())])
    heading = f"{len(shown)} of {plural(len(_ranked(leaderboard)), 'score')}, 1 is best"
    letters_above = "".join(f"{letter:>{VALUE_WIDTH}}" for letter in letter_of.values())
    yield f"{heading:{LABEL_WIDTH}} 0{'':{AXIS_WIDTH - 2}}1" + letters_above * valued
    shared = False
    for board in shown:
        values = {standing.model: standing.value for standing in board.standings}
        axis = ["."] * AXIS_WIDTH
        for model, letter in letter_of.items():
            if (value := values.get(model)) is not None:
                column = min(max(int(value * AXIS_WIDTH), 0), AXIS_WIDTH - 1)
                axis[column] = letter if axis[column] == "." else "*"
        shared |= "*" in axis
        label = excerpt(f"{perceived(board.attribute, leaderboard)}: {score_name(board)}", LABEL_WIDTH)
        numbers = "".join(f"{number(values.get(model)):>{VALUE_WIDTH}}" for model in models)
        yield f"{label:{LABEL_WIDTH}} {''.join(axis)}" + numbers * valued
    if shared:
        yield "* = several models"


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


def to_markdown(leaderboard: Leaderboard) -> str:
    """For a comment on a pull request."""
    parts = ["## factorfair compare", *(f"**{escaping.markdown(line)}**" for line in headline(leaderboard))]
    if leaderboard.notes:
        parts.append("\n".join(f"- {escaping.markdown(line)}" for line in leaderboard.notes))
    for section in sections(leaderboard):
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


def headline(leaderboard: Leaderboard) -> Iterator[str]:
    """The verdict of each report, who is ahead if there are several models, and what regressed."""
    yield from leaderboard.verdicts
    if leaderboard.boards:
        yield from _leader(leaderboard)
    for step in _shown(leaderboard.successions):
        yield f"From {step.former} to {step.later}: {outcome(step.changes, step.declines)}."
    quiet: dict[str, list[str]] = {}
    for step in leaderboard.successions:
        if step not in _shown(leaderboard.successions):
            text = outcome(step.changes, step.declines)
            quiet.setdefault(text, []).append(f"from {step.former} to {step.later}")
    for text, steps in quiet.items():
        where = _listed(steps, "other step")
        yield f"N{text[1:]} {where}." if text == UNCHANGED else f"F{where[1:]}: {text}."


def _shown(successions: Sequence[Succession]) -> list[Succession]:
    """The steps with a section of their own: those with regressions, and the only one."""
    return [
        step
        for step in successions
        if len(successions) == 1 or any(change.regressed for change in step.changes)
    ]


def sections(leaderboard: Leaderboard) -> Iterator[Section]:
    """Who is ahead, what got worse, students beside their teacher, every score, and the reports."""
    if leaderboard.boards:
        yield Section("Who is ahead", tuple(_in_short(leaderboard)), (_overview(leaderboard),))
    for step in _shown(leaderboard.successions):
        title = f"From {step.former} to {step.later}"
        yield Section(
            title,
            tuple(_regressions(step, leaderboard)),
            (changes_table(step.changes, "score", sentences=False),),
            changes=step.changes,
        )
    if leaderboard.history:
        yield from _over_time(leaderboard, leaderboard.history)
    yield from (_beside_teacher(leaderboard, student) for student in leaderboard.students)
    by_attribute = groupby(
        leaderboard.boards, key=lambda board: f"{board.checklist}: {perceived(board.attribute, leaderboard)}"
    )
    for title, group in by_attribute:
        boards = tuple(group)
        lost = [
            kind
            for kind in KINDS
            if any(getattr(standing, kind) for board in boards for standing in board.standings)
        ]
        bounded = any(standing.lacking for board in boards for standing in board.standings)
        tables = tuple(_standings(board, lost, bounded=bounded) for board in boards)
        lacking = list(
            dict.fromkeys(
                f"{standing.model}: {standing.lacking}"
                for board in boards
                for standing in board.standings
                if standing.lacking
            )
        )
        reasons = [f"Judged at worst and at best: {reason}." for reason in lacking[:FEW]]
        if len(lacking) > FEW:
            reasons.append(f"The same applies to {plural(len(lacking) - FEW, 'more topic')}.")
        yield Section(title, tuple(reasons), tables, boards)
    yield Section("Reports", leaderboard.reports, ())


def _regressions(step: Succession, leaderboard: Leaderboard) -> Iterator[str]:
    """A sentence per score that regressed, which names the model if the step is of several."""
    several = len({change.model for change in step.changes}) > 1
    for change in step.changes:
        if change.plain:
            subjects = [change.model] if several else []
            if change.attribute != ALL:
                subjects.append(perceived(change.attribute, leaderboard))
            yield f"{': '.join([*subjects, worsened(change)])}."


def _over_time(leaderboard: Leaderboard, history: History) -> Iterator[Section]:
    """The scores of each attribute, the first release first."""
    releases = history.releases
    apart = [
        f"{release.name} is not comparable with the one before ({release.apart})."
        for release in releases
        if release.apart
    ]
    if len(apart) > FEW:
        apart[FEW:] = [f"Nor are {plural(len(apart) - FEW, 'other report')} with those before them."]
    eras = {release.era for release in releases}
    for (checklist, attribute), group in groupby(
        history.trends, key=lambda trend: (trend.checklist, trend.attribute)
    ):
        trends = tuple(group)
        headings = [benchmark_with(trend.metric).heading(trend.metric) for trend in trends]
        rows = []
        marked = mixed(score for trend in trends for score in trend.scores if score is not None)
        for index, release in enumerate(releases):
            letter = ascii_lowercase[release.era % len(ascii_lowercase)]
            label = f"{release.time[:16].replace('T', ' ')} {release.name}"
            label += f", settings {letter}" if len(eras) > 1 else ""
            rows.append(Row(label, tuple(interval(trend.scores[index], marked=marked) for trend in trends)))
        notes = ["only reports of the same settings are comparable"] * (len(eras) > 1)
        notes += [f"{UNCORRECTED} uncorrected"] * marked
        table = Table("run", tuple(headings), tuple(rows), tuple(notes))
        title = f"{checklist}: {perceived(attribute, leaderboard)} over time"
        yield Section(title, tuple(apart), (table,), trends=trends)
        apart = []  # they are said once


def _in_short(leaderboard: Leaderboard) -> Iterator[str]:
    """Every score in a sentence if some difference is clear, then why others are not."""
    boards = _ranked(leaderboard)
    claimed = _claimed(boards)
    yield from _missing_answers(leaderboard)
    yield from (line for board in claimed for line in _leads(board, leaderboard))
    noise = [board for board in claimed if not any(difference.real for difference in board.differences)]
    if noise:
        scores = "any score" if len(noise) == len(boards) else plural(len(noise), "score")
        yield f"No difference is clear on {scores}: {_scores(noise, leaderboard)}."
    for model, closed in _closed(claimed).items():
        rivals = _listed(dict.fromkeys(rival for _, rival in closed), "other")
        where = _scores(list(dict.fromkeys(board for board, _ in closed)), leaderboard)
        yield f"What {model} did not answer could close its difference from {rivals} on {where}."
    if unclaimed := len(boards) - len(claimed):
        yield f"Nothing is claimed on {plural(unclaimed, 'score')}; the reason is below each."
    if shares := [
        difference.paired for board in boards for difference in board.differences if difference.paired
    ]:
        ends = dict.fromkeys(f"{share:.0%}" for share in (min(shares), max(shares)))
        yield f"Of the answers, {' to '.join(ends)} are compared with the other model's to the same question."
    yield HOW
    if levels := {board.level for board in boards if board.level < ALPHA}:
        level = f"{min(levels):.1%}"
        yield f"Intervals from few pictures are rough; a stricter level, {level}, makes up for that."


def _claimed(boards: Sequence[Board]) -> list[Board]:
    """The boards that claim something about a model."""
    return [board for board in boards if not all(standing.doubt for standing in board.standings)]


def _missing_answers(leaderboard: Leaderboard) -> Iterator[str]:
    """The models that lack too many answers, with the largest share of a score, and what follows."""
    shares: dict[str, float] = {}
    for board in leaderboard.boards:
        for standing in board.standings:
            if standing.lacking:
                share = standing.missing / standing.asked
                shares[standing.model] = max(shares.get(standing.model, 0.0), share)
    if shares:
        lost = [f"{share:.0%} of {model}'s answers" for model, share in shares.items()]
        yield (
            f"{_listed(lost, 'other share')} are missing; in each case at most 5% may be. "
            "A difference is clear only if it would be so however these answers had gone."
        )


def _leads(board: Board, leaderboard: Leaderboard) -> Iterator[str]:
    """A sentence about the best model that is ahead of others: which ones, and by how much."""
    for standing in board.standings:
        rivals = [
            candidate.model for candidate in board.standings if board.ahead(standing.model, candidate.model)
        ]
        if board.better == "neither":
            rivals = [pair.second for pair in board.differences if pair.real and pair.first == standing.model]
        if not rivals:
            continue
        gaps = {rival: gap for rival in rivals if (gap := board.between(standing.model, rival)) is not None}
        by = [f"{rival} by {_amount(gap)}" for rival, gap in gaps.items()]
        claim = f"{_claim(board, standing.model, leaderboard)} than"
        if board.better == "neither":
            claim = f"has another {metric_of(board.metric).label} than"
        alike = [
            candidate.model
            for candidate in board.standings
            if candidate is not standing and all(board.ahead(candidate.model, rival) for rival in rivals)
        ]
        likewise = f"; likewise {_listed(alike, 'other')}" if alike else ""
        leader = f"{perceived(board.attribute, leaderboard)}: {standing.model}"
        yield f"{leader} {claim} {_listed(by, 'other')}{likewise} [{score_name(board)}]."
        return


def _amount(gap: Difference) -> str:
    """The size of a difference with its interval: positive, whichever of the two is ahead."""
    value, ends = gap.value or 0.0, sorted((gap.low or 0.0, gap.high or 0.0), key=abs)
    return f"{number(abs(value))} ({span(*(end if value > 0 else -end for end in ends))})"


def _closed(boards: Sequence[Board]) -> dict[str, list[tuple[Board, str]]]:
    """The differences that missing answers could close, by the model that lacks them."""
    by_model: dict[str, list[tuple[Board, str]]] = {}
    for board in boards:
        lacking = {standing.model for standing in board.standings if standing.lacking}
        for pair in board.differences:
            if pair.certainty == "missing":
                model, rival = (pair.first, pair.second)[:: 1 if pair.first in lacking else -1]
                by_model.setdefault(model, []).append((board, rival))
    return by_model


def _scores(boards: Sequence[Board], leaderboard: Leaderboard) -> str:
    """What boards are about, those of an attribute together."""
    by_attribute: dict[str, dict[str, None]] = {}  # a metric of several contexts once
    for board in boards:
        heading = benchmark_with(board.metric).heading(board.metric)
        by_attribute.setdefault(perceived(board.attribute, leaderboard), {})[heading] = None
    return "; ".join(f"{attribute}: {', '.join(names)}" for attribute, names in by_attribute.items())


def _listed(names: Iterable[str], noun: str) -> str:
    """The first few by name, and how many more."""
    every = list(names)
    return listed(first_few(every, FEW, noun) if len(every) > FEW + 1 else every)


def _ranked(leaderboard: Leaderboard) -> list[Board]:
    """The boards that count who is ahead: not those of a score that only sums up others, as S_fair does."""
    return [board for board in leaderboard.boards if metric_of(board.metric).past]


class Tally(NamedTuple):
    """How often a model is ahead of others and behind them, and on how many scores behind none."""

    model: str
    scores: int
    best: int
    ahead: int
    behind: int


def _tallies(leaderboard: Leaderboard) -> list[Tally]:
    """The models, sorted by how seldom they are behind others."""
    ranked = [board for board in _ranked(leaderboard) if board.better != "neither"]
    tallies = []
    for model in leaderboard.models:
        ahead, behind = [], []
        for board in ranked:
            rivals = [standing.model for standing in board.standings if standing.model != model]
            if any(standing.model == model and not standing.doubt for standing in board.standings):
                ahead.append(sum(board.ahead(model, rival) for rival in rivals))
                behind.append(sum(board.ahead(rival, model) for rival in rivals))
        tallies.append(Tally(model, len(behind), behind.count(0), sum(ahead), sum(behind)))
    return sorted(
        tallies, key=lambda tally: (not tally.scores, tally.behind - tally.ahead, -tally.ahead, tally.model)
    )


def _overview(leaderboard: Leaderboard) -> Table:
    rows = (
        Row(tally.model, (f"{tally.best} of {tally.scores}", str(tally.ahead), str(tally.behind)))
        for tally in _tallies(leaderboard)
    )
    return Table("model", ("among the best", "ahead", "behind"), tuple(rows))


def _leader(leaderboard: Leaderboard) -> Iterator[str]:
    """Two sentences about the first model: how often it is ahead and behind, and its largest lead."""
    leader, *followers = _tallies(leaderboard)
    leads = [
        (abs(gap.value), board, rival.model, gap)
        for board in _ranked(leaderboard)
        for rival in followers
        if board.ahead(leader.model, rival.model)
        and (gap := board.between(leader.model, rival.model)) is not None
        and gap.value is not None
    ]
    if not leads:
        yield f"No model is clearly ahead of another on any of {plural(leader.scores, 'score')}."
        return
    _, board, rival, gap = max(leads, key=lambda lead: lead[0])
    does = _claim(board, leader.model, leaderboard)
    lead = f"{does} than {rival}, by {_amount(gap)}"
    claim = f"among the best on {leader.best} of {plural(leader.scores, 'score')}"
    if len(followers) == 1:
        lead = f"{does}, by {_amount(gap)}"
        claim = f"ahead of {rival} on {leader.ahead} of {plural(leader.scores, 'score')}"
        claim += f" and behind on {leader.behind or 'none'}"
    where = f"{perceived(board.attribute, leaderboard)}: {score_name(board)}"
    yield f"{leader.model} is {claim}."
    yield f"Its largest lead: it {lead} [{where}]."


def _claim(board: Board, model: str, leaderboard: Leaderboard) -> str:
    """What a model does that is ahead on a board, such as ``treats the groups more evenly``.

    One that declined most judgements treats nobody more evenly.
    """
    metric = metric_of(board.metric)
    silent = model in leaderboard.silent and board.part == "subjective"
    return f"has the better {metric.label}" if silent or not metric.ahead else metric.ahead


def _standings(board: Board, lost: Sequence[str], *, bounded: bool) -> Table:
    """The models of a board by rank, and why nothing is claimed of some: those of one reason together."""
    rows = []
    for standing in board.standings:
        ends = (span(standing.worst, standing.best),) * bounded
        counts = [getattr(standing, kind) for kind in lost] or [standing.missing]
        cells = (number(standing.value), span(standing.low, standing.high), *ends, letters(standing))
        rows.append(
            Row(
                f"{'-' if standing.rank is None else standing.rank} {standing.model}",
                (*cells, *(f"{count:,}" for count in (standing.asked, *counts))),
            )
        )
    notes = []
    for doubt in dict.fromkeys(standing.doubt for standing in board.standings if standing.doubt):
        models = [standing.model for standing in board.standings if standing.doubt == doubt]
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


def perceived(attribute: str, leaderboard: Leaderboard) -> str:
    """The name of an attribute; in pictures only the perceived one is known."""
    return f"perceived {attribute}" if leaderboard.perceived and attribute != ALL else attribute


def letters(standing: Standing) -> str:
    """The letters of a model; a question mark if no claim is made about it."""
    return "?" if standing.doubt else standing.letters


def _beside_teacher(leaderboard: Leaderboard, student: str, *, brief: bool = False) -> Section:
    """A student beside its teacher, on every score both have; a ``brief`` one lists clear differences."""
    rows, verdicts = [], []
    for board in _ranked(leaderboard):
        gap = board.between(student, str(leaderboard.teacher))
        if gap is None:
            continue
        if not gap.real:
            verdict = UNDECIDED[gap.certainty]
        elif board.better == "neither":
            verdict = "moved"
        else:
            verdict = "gained" if board.ahead(gap.first, gap.second) else "lost"
        verdicts.append(verdict)
        values = {standing.model: number(standing.value) for standing in board.standings}
        change = number(gap.value, sign="+"), span(gap.low, gap.high, sign="+")
        cells = (values[gap.second], values[gap.first], *change, verdict)
        rows.append(Row(f"{perceived(board.attribute, leaderboard)}: {score_name(board)}", cells))
    lost, gained = verdicts.count("lost"), verdicts.count("gained")
    line = f"lost on {lost} and gained on {gained} of {plural(len(rows), 'score')}"
    title = f"{student} beside its teacher {leaderboard.teacher}"
    listed_rows = [row for row, verdict in zip(rows, verdicts, strict=True) if not brief or verdict in CLEAR]
    return Section(title, (line,), (Table("score", LESSON, tuple(listed_rows)),) * bool(listed_rows))


def matrix(boards: Sequence[Board]) -> Table:
    """Models down, scores across; each value is followed by the letters of models it does not differ from."""
    rows: dict[str, list[str]] = {}
    for model in dict.fromkeys(standing.model for board in boards for standing in board.standings):
        cells = rows[model] = []
        for board in boards:
            standing = next((standing for standing in board.standings if standing.model == model), None)
            if standing is None or standing.value is None:
                cells.append(MISSING)
                continue
            ends = [abs(end - standing.value) for end in (standing.low, standing.high) if end is not None]
            half = f"±{number(max(ends))} ".replace("0.", ".") if ends else ""
            cells.append(f"{number(standing.value)} {half}{letters(standing)}")
    lines = (Row(model, tuple(cells)) for model, cells in rows.items())
    return Table("model", tuple(map(score_name, boards)), tuple(lines))
