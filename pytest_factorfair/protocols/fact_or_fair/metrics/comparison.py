"""A model compared with its former self, and with others: what changed, and the scores of boards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from pytest_factorfair.domain import Score
from pytest_factorfair.protocols.fact_or_fair.counting.tally import Tally
from pytest_factorfair.protocols.fact_or_fair.metrics.by_name import METRICS, compared
from pytest_factorfair.protocols.fact_or_fair.metrics.influence import INFLUENCE
from pytest_factorfair.protocols.fact_or_fair.metrics.measurements import OfTally, before, cells
from pytest_factorfair.protocols.fact_or_fair.metrics.scores import Scored
from pytest_factorfair.protocols.fact_or_fair.scoring import change
from pytest_factorfair.protocols.measurement import (
    About,
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

    Watched are right answers to facts and even answers to judgements.
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
    moved = Changed(after, before, metric.change(tally, old, pairs))
    return moved.row(tally.about, churn=change.churn(tally, pairs), statistic=statistic)


def contests(contenders: Sequence[Contender]) -> Iterator[Contest]:
    """S_fact of the objective part and evenness of the first context, paired by query; then the influence."""
    for models in _shared(contenders):
        about, tallies = models[0][1].about, {one.name: tally for one, tally in models}
        answers = {one.name: change.answers(tally, one.records) for one, tally in models}
        gaps: dict[str, dict[tuple[str, str], Gap]] = {metric.name: {} for metric in compared(about.part)}
        for one, other in combinations(tallies, 2):
            both = change.Pairs.of(answers[one], answers[other])
            most = max(tallies[one].answered.sum(), tallies[other].answered.sum(), 1)
            for metric in compared(about.part):
                moved = metric.change(tallies[one], tallies[other], both)
                gaps[metric.name][one, other] = Gap(moved, float(len(both.new) / most))
        for metric in compared(about.part):
            scores = {name: OfTally(metric, tally, ()) for name, tally in tallies.items()}
            yield Contest.of(about, metric, scores, gaps[metric.name])
    yield from _influences(contenders)


def _shared(contenders: Sequence[Contender]) -> Iterator[list[tuple[Contender, Tally]]]:
    """Tallies of at least two contenders about the same, restricted to the statistics they share.

    For the subjective part only the first context, which says nothing.
    """
    by_subject: dict[About, list[tuple[Contender, Tally]]] = {}
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
            yield [(contender, tally.restrict(common)) for contender, tally in found]


def _influences(contenders: Sequence[Contender]) -> Iterator[Contest]:
    """The influence as quoted in reports, which do not hold all the data behind it."""
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
