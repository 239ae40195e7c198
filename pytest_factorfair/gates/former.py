"""A former run to compare with: its tallies, and its answers where they can be paired."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_factorfair.domain import Change, Record
from pytest_factorfair.gates.change import change, churn
from pytest_factorfair.gates.holm import ALPHA, chance_below, surviving
from pytest_factorfair.gates.pairing import pairs
from pytest_factorfair.scoring.estimate import Estimate
from pytest_factorfair.scoring.metrics import value
from pytest_factorfair.scoring.shares import IntArray
from pytest_factorfair.scoring.tally import Tally

# What must not get worse: right answers where a fact is asked, and even ones where a judgement is.
WATCHED = {"objective": ("s_fact",), "subjective": ("s_e", "s_kld", "s_fair")}


@dataclass(frozen=True, slots=True, eq=False)
class Former:
    """The tallies and records of a baseline, and the records of the run compared with it."""

    tallies: tuple[Tally, ...]
    former: tuple[Record, ...]
    records: tuple[Record, ...]

    def match(self, tally: Tally) -> Tally | None:
        """The tally of the baseline about the same, of the same model or of the only one it has."""
        alone = len({each.model for each in self.tallies}) == 1
        for each in self.tallies:
            place = (each.checklist, each.part, each.context, each.attribute)
            if place == (tally.checklist, tally.part, tally.context, tally.attribute) and (
                alone or each.model == tally.model
            ):
                return each.restrict(tally.statistics)
        return None

    def pairs(self, new: Tally, old: Tally) -> IntArray:
        return pairs(new, old, self.records, self.former)


def changes(tallies: Sequence[Tally], former: Former, *, alpha: float = ALPHA) -> tuple[Change, ...]:
    """Every watched score beside that of the baseline, and each statistic that got worse.

    A change for the worse is one whose upper bound is below 0 after Holm's correction, scores and
    statistics each among themselves. Changes for the worse come first.
    """
    scores: list[tuple[Change, Estimate]] = []
    statistics: list[tuple[Change, Estimate]] = []
    for tally in tallies:
        old = former.match(tally)
        if old is None or old.statistics != tally.statistics:
            continue
        joint = former.pairs(tally, old)
        for metric in WATCHED.get(tally.part, ()):
            scores.append(_change(metric, tally, old, joint, statistic=None))
            if metric != "s_fair":
                statistics += _by_statistic(metric, tally, old, joint)
    worse = [one for one in _judged(statistics, alpha) if one.regressed]
    return tuple(sorted((*_judged(scores, alpha), *worse), key=lambda one: not one.regressed))


def _by_statistic(
    metric: str, tally: Tally, old: Tally, joint: IntArray
) -> Iterator[tuple[Change, Estimate]]:
    for row, statistic in enumerate(tally.statistics):
        one, other = tally.restrict([statistic]), old.restrict([statistic])
        yield _change(metric, one, other, joint[[row]], statistic=statistic)


def _change(
    metric: str, tally: Tally, old: Tally, joint: IntArray, *, statistic: str | None
) -> tuple[Change, Estimate]:
    found = change(metric, tally, old, joint)
    shown = Change(
        model=tally.model,
        checklist=tally.checklist,
        part=tally.part,
        context=tally.context,
        attribute=tally.attribute,
        metric=metric,
        statistic=statistic,
        before=value(metric, old),
        after=value(metric, tally),
        change=found.plugin if found.corrected is None else found.corrected,
        low=found.lower(ALPHA),
        high=found.upper(ALPHA),
        churn=churn(tally, joint),
        n=found.n,
    )
    return shown, found


def _judged(found: Sequence[tuple[Change, Estimate]], alpha: float) -> Iterator[Change]:
    chances = [
        chance_below(estimate, 0.0) if estimate.corrected is not None and estimate.corrected < 0 else None
        for _, estimate in found
    ]
    held = surviving(chances, of=len(found), alpha=alpha)
    yield from (replace(one, regressed=worse) for (one, _), worse in zip(found, held, strict=True))
