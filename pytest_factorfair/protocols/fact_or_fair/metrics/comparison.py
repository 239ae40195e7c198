"""A model compared with its former self, and with others: what changed, and the scores of boards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from pytest_factorfair.domain import Score
from pytest_factorfair.protocols.fact_or_fair.counting.tally import Tally
from pytest_factorfair.protocols.fact_or_fair.metrics.by_name import METRICS, compared
from pytest_factorfair.protocols.fact_or_fair.metrics.influence import INFLUENCE
from pytest_factorfair.protocols.fact_or_fair.metrics.measurements import OfTally, before, cells
from pytest_factorfair.protocols.fact_or_fair.metrics.scores import Scored
from pytest_factorfair.protocols.fact_or_fair.scoring import change
from pytest_factorfair.protocols.measurement import (
    Changed,
    Contender,
    Contest,
    Entrant,
    Former,
    Gap,
    Moved,
    Moves,
    total,
)
from pytest_factorfair.statistics.bounds import BEYOND, quantile
from pytest_factorfair.statistics.estimate import Estimate


def changes(tallies: Iterable[Tally], former: Former) -> Iterator[Moves]:
    """What changed since a former run, as a whole and statistic by statistic.

    Right answers where a fact is asked, and even ones where a judgement is, must not get fewer.
    """
    for tally in tallies:
        old = before(tally, former)
        if old is None:
            continue
        pairs = change.paired(tally, old, former.records, former.former)
        watched = [metric for metric in compared(tally.part) if metric.watched]
        yield Moves(
            scores=[_moved(metric, tally, old, pairs) for metric in watched],
            parts=[
                _moved(
                    metric,
                    tally.restrict([statistic]),
                    old.restrict([statistic]),
                    pairs.restrict(row),
                    statistic=statistic,
                )
                for metric in watched
                if not metric.product
                for row, statistic in enumerate(tally.statistics)
            ],
        )


def _moved(
    metric: Scored, tally: Tally, old: Tally, pairs: change.Pairs, *, statistic: str | None = None
) -> Moved:
    after, before = (OfTally(metric, one, ()) for one in (tally, old))
    return metric.moved(
        tally.model,
        tally.about,
        Changed(after, before, metric.change(tally, old, pairs)),
        before=metric.value(old),
        after=metric.value(tally),
        churn=change.churn(tally, pairs),
        statistic=statistic,
    )


class _Entry(NamedTuple):
    """A contender's tally, with its answers query by query."""

    name: str
    tally: Tally
    answers: change.AnswersByQuery


def contests(contenders: Sequence[Contender]) -> Iterator[Contest]:
    """S_fact of the objective part, what is even of the first context, paired; then the influence."""
    for sheets in _shared(contenders):
        first = sheets[0].tally
        gaps: dict[str, dict[tuple[str, str], Gap]] = {metric.name: {} for metric in compared(first.part)}
        for one, other in combinations(sheets, 2):
            both = change.Pairs.of(one.answers, other.answers)
            most = max(one.tally.answered.sum(), other.tally.answered.sum(), 1)
            for metric in compared(first.part):
                moved = metric.change(one.tally, other.tally, both)
                gaps[metric.name][one.name, other.name] = Gap(moved, float(len(both.new) / most))
        for metric in compared(first.part):
            scores = {one.name: OfTally(metric, one.tally, ()) for one in sheets}
            yield Contest.of(first.about, metric, scores, gaps[metric.name])
    yield from _influences(contenders)


def _shared(contenders: Sequence[Contender]) -> Iterator[list[_Entry]]:
    """The tallies about the same of two contenders at least, over the statistics that all of these have.

    Of the subjective part only the first context: the one that says nothing.
    """
    by_subject: dict[tuple[str, str, str | None, str], list[tuple[Contender, Tally]]] = {}
    for contender in contenders:
        first: dict[str, str | None] = {}
        for tally in contender.counts:
            if not isinstance(tally, Tally):
                continue
            if tally.part == "objective" or first.setdefault(tally.checklist, tally.context) == tally.context:
                by_subject.setdefault(tally.about, []).append((contender, tally))
    for found in by_subject.values():
        common = frozenset.intersection(*(frozenset(tally.statistics) for _, tally in found))
        if len(found) > 1 and common:
            kept = [(contender, tally.restrict(common)) for contender, tally in found]
            yield [
                _Entry(contender.name, tally, change.answers(tally, contender.records))
                for contender, tally in kept
            ]


def _influences(contenders: Sequence[Contender]) -> Iterator[Contest]:
    """The influence as reports have it: a report does not hold all that it was computed from."""
    metric = METRICS[INFLUENCE]
    by_subject: dict[tuple[str, str, str], list[Entrant]] = {}
    for contender in contenders:
        for score in contender.scores:
            if score.metric != INFLUENCE or score.value is None:
                continue
            about = score.checklist, score.part, score.attribute
            asked = tuple(
                cell
                for tally in contender.counts
                if isinstance(tally, Tally) and (tally.checklist, tally.part, tally.attribute) == about
                for cell in cells(tally, f"{tally.context} ")
            )
            entrant = Entrant(contender.name, _quoted(score), total(asked), asked, lambda _: metric.needed)
            by_subject.setdefault(about, []).append(entrant)
    for (checklist, part, attribute), entrants in by_subject.items():
        gaps = {
            (one.name, other.name): Gap(one.estimate.less(other.estimate))
            for one, other in combinations(entrants, 2)
        }
        if gaps:
            yield Contest(checklist, part, None, attribute, metric, entrants, gaps)


def _quoted(score: Score) -> Estimate:
    """The estimate behind a report's score; its error follows from the interval."""
    if score.corrected is None or score.high is None:
        return Estimate(score.value, score.corrected, None, score.n, score.reason)
    error = (score.high - score.corrected) / quantile(BEYOND)
    return Estimate(score.value, score.corrected, error, score.n, score.reason)
