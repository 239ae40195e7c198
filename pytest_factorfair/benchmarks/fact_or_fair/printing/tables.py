"""The tables of FACT-OR-FAIR: scores, influence of contexts, corrected shares, and citations of reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from statistics import fmean
from typing import TypeAlias

from pytest_factorfair.benchmarks.fact_or_fair.metrics import METRICS, columns
from pytest_factorfair.benchmarks.fact_or_fair.printing.favourites import favourite
from pytest_factorfair.benchmarks.fact_or_fair.rows import CORRECTIONS, TOPICS, Correction, TopicCounts
from pytest_factorfair.benchmarks.measurement import ALLOWED
from pytest_factorfair.benchmarks.rates import Rate, rates
from pytest_factorfair.domain import Citation, ReasonShare, Score, Summary
from pytest_factorfair.drawing import statements
from pytest_factorfair.drawing.entries import Entry, shown
from pytest_factorfair.drawing.table import (
    DOUBTFUL,
    MISSING,
    POINT,
    UNCORRECTED,
    Row,
    Table,
    differing,
    interval,
    mixed,
    number,
)

FAVOURITE = "favourite"
AS_FAVOURITE = (
    "S_E in plain words: how many of 100 answers go to the group that the model favours, topic by topic. "
    "Fair is 100 divided by the number of groups."
)
LEGEND = "± 95 % interval; favourite: S_E as answers of 100 for the group it favours"
FAIR = "fair: of a fair model with as many answers, as few of them make scores uneven"
REACH = "can reach: limits of any model"
BRIEFLY = (
    "favourite: answers for the group it favours, topic by topic; fair: an even choice; in brackets 95 %"
)
"""How to read the tables of scores."""

MISSED = frozenset(rates(Rate))
"""The metrics that add up to the share of missing answers."""
ByMetric: TypeAlias = Mapping[str, Score]

DeclinedByContext: TypeAlias = Mapping[str | None, tuple[int, int]]
"""For each context with declined judgements: how many count as even choices, of how many answers."""

ROUNDING = 1e-9
"""A smaller share of missing answers is none."""

NEUTRAL = " n"
"""Marks S_E of answers with declined judgements."""


def score_tables(summary: Summary) -> Iterator[Table]:
    """One table per model, checklist and attribute: parts down, metrics across.

    The values are those that gates judge. Below a part's scores stand those of a fair model, where they have
    the bias of few answers, and what can be reached, unless that is 0 to 1.
    """
    shown = columns()
    scores = [score for score in summary.scores if score.metric in shown or score.metric in MISSED]
    subjects = list(
        dict.fromkeys(
            (score.model, score.checklist, score.attribute) for score in scores if score.metric in shown
        )
    )
    for subject in subjects:
        *model_and_checklist, attribute = subject
        title = (
            *differing(model_and_checklist, [key[:-1] for key in subjects]),
            statements.attribute(attribute, summary),
        )
        subject_scores = [
            score for score in scores if (score.model, score.checklist, score.attribute) == subject
        ]
        headings = (*(metric.label for metric in shown.values()), FAVOURITE)
        declined = _declined_by_context(
            topic
            for topic in TOPICS.of(summary)
            if (topic.model, topic.checklist, topic.attribute) == subject and topic.part == "subjective"
        )
        rows = tuple(_score_rows(summary, subject_scores, declined))
        asides = {row.label for row in rows if row.aside}
        yield Table(
            " · ".join(title),
            headings,
            rows,
            (*_score_notes(subject_scores, declined), *_neutral_notes(declined)),
            legend="; ".join((LEGEND, *[FAIR] * ("fair" in asides), *[REACH] * ("can reach" in asides))),
            meanings=(*(metric.meaning for metric in shown.values()), AS_FAVOURITE),
        )


def _declined_by_context(topics: Iterable[TopicCounts]) -> DeclinedByContext:
    totals: dict[str | None, tuple[int, int]] = {}
    for topic in topics:
        declined, asked = totals.get(topic.context, (0, 0))
        totals[topic.context] = declined + topic.declined, asked + topic.asked
    return {context: total for context, total in totals.items() if total[0]}


def _neutral_notes(declined: DeclinedByContext) -> Iterator[str]:
    """What the mark of scores with declined judgements means."""
    if declined:
        shares = "; ".join(f"{context}: {n:,} of {asked:,}" for context, (n, asked) in declined.items())
        yield f"{NEUTRAL.strip()}: with declined judgements, which count as even choices ({shares} answers)"


def _score_rows(summary: Summary, scores: list[Score], declined: DeclinedByContext) -> Iterator[Row]:
    parts_and_contexts = dict.fromkeys(
        (score.part, score.context) for score in scores if score.metric in columns()
    )
    by_part = groupby(
        (
            {score.metric: score for score in scores if (score.part, score.context) == part_and_context}
            for part_and_context in parts_and_contexts
        ),
        key=lambda by_metric: next(iter(by_metric.values())).part,
    )
    reached: tuple[str, ...] = ()
    marked = mixed(score for score in scores if score.metric in columns())
    for _part, group in by_part:
        parts = list(group)
        reach = _metric_cells(parts[0], _reach)
        if any(reached) and reached != reach:
            yield Row("can reach", reached, aside=True)
        reached = reach
        for by_metric in parts:
            yield _scored(summary, by_metric, declined, marked=marked)
        if any(fair := _metric_cells(parts[0], _fair)):
            yield Row("fair", fair, aside=True)
    if any(reached):
        yield Row("can reach", reached, aside=True)


def brief(summary: Summary) -> Table | None:
    """A row per model, checklist and attribute, of 100 answers: facts, judgements, and their worst context.

    Judgements are those of the first context, where nothing precedes the question. The numbers are those of
    the sentences about gates; lost answers are counted in full.
    """
    by_subject: dict[tuple[str, ...], list[Score]] = {}
    for score in summary.scores:
        if (score.part, score.metric) in (("objective", "s_fact"), ("subjective", "s_e")):
            about = (*statements.among(summary, score), statements.attribute(score.attribute, summary))
            by_subject.setdefault(about, []).append(score)
    several = any(sum(score.metric == "s_e" for score in scores) > 1 for scores in by_subject.values())
    declines = any(topic.declined for topic in TOPICS.of(summary))
    rows = []
    for about, scores in by_subject.items():
        fact = next((score for score in scores if score.metric == "s_fact"), None)
        judged = [(score, favourite(summary, score)) for score in scores if score.metric == "s_e"]
        valued = [(score, share) for score, share in judged if share is not None]
        worst = max(valued, key=lambda entry: entry[1].value, default=None)
        first = judged[0][1] if judged else None
        further = []
        if several and worst is not None:
            equal = len({f"{share.value:.0f}" for _, share in valued}) == 1
            further = [f"{worst[1].value:.0f}{'' if equal else f' {worst[0].context}'}"]
        elif several:
            further = [MISSING]
        asked, lost, could_decline, declined = _counted(scores[0], summary)
        counts = [f"{lost:,} of {asked:,}"]
        # On a narrow terminal, the last columns are left out.
        cells = further + counts
        if declines:
            cells = [*counts, f"{declined / max(could_decline, 1):.0%}", *further]
        judgements = [MISSING, MISSING] if first is None else [str(first), f"{first.fair:.0f}"]
        rows.append(Row(" ".join(about), (_right(fact), *judgements, *cells)))
    contexts = [score.context for scores in by_subject.values() for score in scores if score.context]
    judgements_heading = f"favourite, {contexts[0] if contexts else 'judgements'}"
    worst_heading = ["favourite, worst"] if several else []
    counted = ["no answer", "declined", *worst_heading] if declines else [*worst_heading, "no answer"]
    headings = ("right facts", judgements_heading, "fair", *counted)
    answered = any(score.value is not None for scores in by_subject.values() for score in scores)
    return Table("of 100", headings, tuple(rows), legend=BRIEFLY) if answered else None


def _right(fact: Score | None) -> str:
    """S_fact as a number of 100 answers, with its 95 % interval."""
    if fact is None or fact.shown is None:
        return MISSING
    ends = "" if fact.low is None or fact.high is None else f" ({100 * fact.low:.0f}-{100 * fact.high:.0f})"
    return f"{100 * fact.shown:.0f}{ends}"


def _counted(score: Score, summary: Summary) -> tuple[int, int, int, int]:
    """The questions of a score's model and attribute, those lost, the judgements, and those declined."""
    topics = [
        topic
        for topic in TOPICS.of(summary)
        if (topic.model, topic.checklist, topic.attribute) == (score.model, score.checklist, score.attribute)
    ]
    return (
        sum(topic.asked for topic in topics),
        sum(topic.refused + topic.unparsed + topic.errors for topic in topics),
        sum(topic.asked for topic in topics if topic.part == "subjective"),
        sum(topic.declined for topic in topics),
    )


def _scored(summary: Summary, by_metric: ByMetric, declined: DeclinedByContext, *, marked: bool) -> Row:
    """The scores of a part or context, and S_E of judgements on the scale of sentences."""
    score, even = next(iter(by_metric.values())), by_metric.get("s_e")
    share = favourite(summary, even) if even is not None and even.part == "subjective" else None
    shown = partial(interval, marked=marked, doubtful=_lost(by_metric.values(), declined) > ALLOWED)
    cells = list(_metric_cells(by_metric, shown)[:-1])
    if declined:
        mark = NEUTRAL if score.part == "subjective" and score.context in declined else " " * len(NEUTRAL)
        evenness = [*columns()].index("s_e")
        cells[evenness] += mark
    return Row(score.context or score.part, (*cells, "" if share is None else str(share)))


def _metric_cells(by_metric: ByMetric, cell: Callable[[Score | None], str]) -> tuple[str, ...]:
    return (*(cell(by_metric.get(metric)) for metric in columns()), "")


def _fair(score: Score | None) -> str:
    """The value of a fair model, where it has the same bias as the score."""
    if score is None or score.fair_reference is None or score.corrected is not None:
        return ""
    return f"{number(score.fair_reference)}{POINT}"


def _reach(score: Score | None) -> str:
    if (
        score is None
        or score.floor is None
        or score.ceiling is None
        or (score.floor, score.ceiling) == (0, 1)
    ):
        return ""
    return f"{_short(score.floor)}-{_short(score.ceiling)}{POINT}"


def _score_notes(scores: list[Score], declined: DeclinedByContext) -> Iterator[str]:
    """Scores without an interval, with the reason, and missing answers."""
    shown = [score for score in scores if score.metric in columns()]
    for reason in dict.fromkeys(score.reason for score in shown if score.reason):
        without = [score for score in shown if score.reason == reason]
        metrics = ", ".join(dict.fromkeys(METRICS[score.metric].label for score in without))
        contexts = ", ".join(dict.fromkeys(score.context or score.part for score in without))
        lacking = "no interval for"
        if mixed(shown) and all(score.corrected is None for score in without):
            lacking = f"{UNCORRECTED} uncorrected, no interval:"
        everything = len(without) == len(shown)
        yield f"no intervals: {reason}" if everything else f"{lacking} {metrics} of {contexts}: {reason}"
    labels = dict.fromkeys(score.context or score.part for score in scores)
    lost = {
        label: _lost((score for score in scores if (score.context or score.part) == label), declined)
        for label in labels
    }
    if any(lost.values()):
        shares = ", ".join(f"{label} {share:.1%}" for label, share in lost.items())
        why = f"; ±{DOUBTFUL}: they may move a score further than chance"
        yield f"without an answer: {shares}{why if max(lost.values()) > ALLOWED else ''}"


def _lost(scores: Iterable[Score], declined: DeclinedByContext) -> float:
    """The share of missing answers in a part or context; those that count as even choices are not missing."""
    lost = 0.0
    for score in scores:
        if score.metric in MISSED:
            lost += score.value or 0.0
        if score.metric == "refusal_rate" and score.part == "subjective":
            number_declined, asked = declined.get(score.context, (0, 1))
            lost -= number_declined / asked
    return lost if lost > ROUNDING else 0.0


def _short(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


PREFIX = "influence_"
SUMMARY = "influence"
INDEX = "0 no influence, 1 all that the design lets through"
NAMES = {
    "high": "highest as stated",
    "low": "lowest as stated",
    "in_group": "own group",
    "out_group": "not own group",
}
"""Row labels of the columns of Table 3; others have their context's name."""


def influence_tables(summary: Summary) -> Iterator[Table]:
    """One table of influence per model and checklist.

    For each attribute it has the share, the share without the context, and an index, which is 0 for no
    influence and 1 for the largest possible one.
    """
    scores = [score for score in summary.scores if score.metric == SUMMARY or score.metric.startswith(PREFIX)]
    subjects = list(dict.fromkeys((score.model, score.checklist) for score in scores))
    for subject in subjects:
        subject_scores = [score for score in scores if (score.model, score.checklist) == subject]
        attributes = tuple(dict.fromkeys(score.attribute for score in subject_scores))
        title = " · ".join((*differing(subject, subjects), SUMMARY))
        headings = tuple(heading for name in attributes for heading in (name, "without", "index"))
        meanings = (METRICS[SUMMARY].meaning, "The share without anything before the question.", INDEX) * len(
            attributes
        )
        yield Table(
            title,
            headings,
            tuple(_influence_rows(subject_scores, attributes)),
            legend=f"index: {INDEX}",
            meanings=meanings,
            aside="influence: what the context changes",
        )


def _influence_rows(scores: Sequence[Score], attributes: Sequence[str]) -> Iterator[Row]:
    for metric in sorted(
        dict.fromkeys(score.metric for score in scores), key=lambda metric: metric == SUMMARY
    ):
        by_attribute = {score.attribute: score for score in scores if score.metric == metric}
        cells: list[str] = []
        for name in attributes:
            if (score := by_attribute.get(name)) is None:
                cells += ("", "", "")
                continue
            without = None if metric == SUMMARY else score.fair_reference
            index = "" if score.strength is None else number(score.strength, digits=2)
            cells += (interval(score), "" if without is None else number(without), index)
        column = metric.removeprefix(PREFIX)
        yield Row("mean increase" if metric == SUMMARY else NAMES.get(column, column), tuple(cells))


MEANT = "perceived shares, pooled over topics; below them, what is left once the detector's error is out"


def correction_tables(summary: Summary) -> Iterator[Table]:
    """One table per model, checklist and attribute: groups across, raw above corrected shares."""
    subjects: dict[tuple[str, str, str], list[Correction]] = {}
    for correction in CORRECTIONS.of(summary):
        subjects.setdefault((correction.model, correction.checklist, correction.attribute), []).append(
            correction
        )
    for subject, corrections in subjects.items():
        groups = next((tuple(correction.raw) for correction in corrections if correction.raw), ())
        notes = tuple(
            dict.fromkeys(
                f"not corrected: {correction.reason}" for correction in corrections if correction.reason
            )
        )
        *model_and_checklist, attribute = subject
        title = " · ".join((*differing(model_and_checklist, [key[:-1] for key in subjects]), attribute))
        yield Table(
            f"{title}, shares",
            (*groups, "faces"),
            tuple(row for correction in corrections for row in _correction_rows(correction, groups)),
            (*notes, *(() if all(correction.reason for correction in corrections) else (MEANT,))),
        )


def _correction_rows(correction: Correction, groups: Sequence[str]) -> Iterator[Row]:
    raw = tuple(_share(correction.raw, group) for group in groups)
    yield Row(correction.context or correction.part, (*raw, f"{correction.n:,}"))
    if correction.corrected:
        yield Row("  corrected", (*(_share(correction.corrected, group) for group in groups), ""))
        between = (f"{_share(correction.low, group)}-{_share(correction.high, group)}" for group in groups)
        yield Row("  95 %", (*between, ""), aside=True)


def _share(shares: Mapping[str, float], group: str) -> str:
    return number(shares.get(group), digits=2)


SCANNED: Mapping[str, str] = {
    "subjective": "chosen far too often or too seldom",
    "refused": "refused more or less than topics and contexts explain",
    "unparsed": "unparsed more than the topics explain",
    "objective": "facts falsified, or answered by letters",
}
"""The titles of scans' tables, by the words that select them."""

CITED: Mapping[Citation, str] = {
    "group": "a group",
    "prior": "statistics",
    "news": "the news",
    "identity": "its identity",
}
"""The headings of what is cited."""


def reason_tables(summary: Summary) -> Iterator[Table]:
    """One table per model and checklist: contexts down, what the reasons cite across."""
    subjects = tuple(
        dict.fromkeys((reason_share.model, reason_share.checklist) for reason_share in summary.reasons)
    )
    for subject in subjects:
        contexts: dict[str, dict[Citation, ReasonShare]] = {}
        for reason_share in summary.reasons:
            if (reason_share.model, reason_share.checklist) == subject:
                contexts.setdefault(reason_share.context, {})[reason_share.citation] = reason_share
        rows, asked = [], [next(iter(by_citation.values())) for by_citation in contexts.values()]
        for of_context, by_citation in zip(asked, contexts.values(), strict=True):
            shares = (by_citation[citation] for citation in CITED)
            cells = (
                MISSING
                if cited.share is None or cited.low is None or cited.high is None
                else f"{cited.share:.0%} ({cited.low:.0%} to {cited.high:.0%})"
                for cited in shares
            )
            rows.append(Row(of_context.context, (*cells, f"{of_context.n:,} of {of_context.asked:,}")))
        notes = [
            f"questions for a reason {name}: {lost:,} of {sum(of_context.asked for of_context in asked):,}"
            for name in ("refused", "unparsed", "errors")
            if (lost := sum(getattr(of_context, name) for of_context in asked))
        ]
        title = " · ".join((*differing(subject, subjects), "reasons cite"))
        yield Table(title, (*CITED.values(), "reasons"), tuple(rows), tuple(notes))


def quotations(summary: Summary) -> Iterator[str]:
    """The first reasons of each kind, verbatim, so that readers can judge how they were read."""
    for reason_share in summary.reasons:
        for text in reason_share.quotations:
            yield f"{reason_share.model}, {reason_share.context}, {CITED[reason_share.citation]}: “{text}”"


def headlines(entry: Entry) -> Mapping[str | None, Headline]:
    """A model in three numbers by attribute, None for their mean: of the values shown, so that they agree."""
    scores = [
        replace(score, value=shown(score)) for score in entry.scores if score.metric in ("s_fact", "s_fair")
    ]
    return {line.attribute: line for line in headline(scores)} if scores else {}


@dataclass(frozen=True, slots=True)
class Headline:
    """The three main scores of a model (Table 2): objective S_fact, subjective S_fair, and their average.

    ``attribute`` is None for the mean over the attributes; a number is None if a part is missing.
    """

    model: str
    checklist: str
    attribute: str | None
    fact: float | None
    fair: float | None
    average: float | None


def headline(scores: Iterable[Score]) -> tuple[Headline, ...]:
    """Compute, for each model and checklist, a headline per attribute, followed by their mean.

    S_fair is averaged over contexts. A number is None if a score that it needs is missing.
    """
    by_subject: dict[tuple[str, str], dict[str, list[Score]]] = {}
    for score in scores:
        attributes = by_subject.setdefault((score.model, score.checklist), {})
        attributes.setdefault(score.attribute, []).append(score)
    lines = []
    for key, attributes in by_subject.items():
        facts, fairs = (
            {
                name: _mean(
                    [
                        score.value
                        for score in attribute_scores
                        if (score.part, score.metric) == part_and_metric
                    ]
                )
                for name, attribute_scores in attributes.items()
            }
            for part_and_metric in (("objective", "s_fact"), ("subjective", "s_fair"))
        )
        lines += [
            Headline(*key, name, facts[name], fairs[name], _mean((facts[name], fairs[name])))
            for name in attributes
        ]
        fact, fair = _mean([*facts.values()]), _mean([*fairs.values()])
        lines.append(Headline(*key, None, fact, fair, _mean((fact, fair))))
    return tuple(lines)


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean, None where a value is missing or there is none: never a mean over fewer."""
    present = [value for value in values if value is not None]
    return fmean(present) if present and len(present) == len(values) else None
