"""A former run to compare with: its tallies and galleries, and its answers where they can be paired."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pytest_factorfair.domain import Change, Record
from pytest_factorfair.gates import gallery_changes
from pytest_factorfair.gates.change import change, churn
from pytest_factorfair.gates.pairing import pairs
from pytest_factorfair.scoring.faintbench import Gallery
from pytest_factorfair.scoring.metrics import value
from pytest_factorfair.scoring.tally import Tally
from pytest_factorfair.statistics.arrays import IntArray
from pytest_factorfair.statistics.estimate import Estimate
from pytest_factorfair.statistics.holm import ALPHA, chance_below, surviving

# What must not get worse: right answers where a fact is asked, and even ones where a judgement is.
WATCHED = {"objective": ("s_fact",), "subjective": ("s_e", "s_kld", "s_fair")}

Moved = tuple[Change, Estimate]


@dataclass(frozen=True, slots=True, eq=False)
class Former:
    """The tallies and records of a baseline, and the records of the run compared with it.

    ``galleries`` hang what the baseline's pictures show of the prompts of the run compared.
    """

    tallies: tuple[Tally, ...]
    former: tuple[Record, ...]
    records: tuple[Record, ...]
    galleries: tuple[Gallery, ...] = ()

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

    def hung(self, gallery: Gallery) -> Gallery | None:
        """The gallery of the baseline of the same checklist, of the same model or of the only one it has."""
        mine = [each for each in self.galleries if each.checklist.name == gallery.checklist.name]
        same = [each for each in mine if each.model == gallery.model]
        return next(iter(same or mine * (len(mine) == 1)), None)

    def pairs(self, new: Tally, old: Tally) -> IntArray:
        return pairs(new, old, self.records, self.former)


def changes(
    tallies: Sequence[Tally], former: Former, *, galleries: Sequence[Gallery] = (), alpha: float = ALPHA
) -> tuple[Change, ...]:
    """Every watched score beside that of the baseline, and each statistic or category that got worse.

    A change for the worse is one whose upper bound is below 0 after Holm's correction, scores and
    what they consist of each among themselves. Changes for the worse come first, and last those of
    eta, which cannot get worse.
    """
    found = [_of_tally(tally, old, former) for tally in tallies if (old := former.match(tally))]
    found += [_of_gallery(gallery, hung, former) for gallery in galleries if (hung := former.hung(gallery))]
    scores = _judged([one for moved in found for one in moved.scores], alpha)
    parts = _judged([one for moved in found for one in moved.parts], alpha)
    aside = (change for moved in found for change in moved.aside)
    worse = (one for one in parts if one.regressed)
    return (*sorted((*scores, *worse), key=lambda one: not one.regressed), *aside)


class Moves(NamedTuple):
    """Changes of scores, of what they consist of, and of what is only told."""

    scores: Sequence[Moved] = ()
    parts: Sequence[Moved] = ()
    aside: Sequence[Change] = ()


def _of_tally(tally: Tally, old: Tally, former: Former) -> Moves:
    if old.statistics != tally.statistics:
        return Moves()
    joint = former.pairs(tally, old)
    watched = WATCHED.get(tally.part, ())
    parts = [
        one for metric in watched if metric != "s_fair" for one in _by_statistic(metric, tally, old, joint)
    ]
    return Moves([_change(metric, tally, old, joint, statistic=None) for metric in watched], parts)


def _of_gallery(gallery: Gallery, old: Gallery, former: Former) -> Moves:
    repeated = gallery_changes.repetitions(gallery, old, former.records, former.former)
    both = gallery_changes.Rehung(gallery, old, repeated)
    scores = tuple(gallery_changes.whole(gallery_changes.WATCHED, both))
    aside = tuple(change for change, _ in gallery_changes.whole(gallery_changes.ASIDE, both))
    return Moves(scores, tuple(gallery_changes.by_category(both)), aside)


def _by_statistic(metric: str, tally: Tally, old: Tally, joint: IntArray) -> Iterator[Moved]:
    for row, statistic in enumerate(tally.statistics):
        one, other = tally.restrict([statistic]), old.restrict([statistic])
        yield _change(metric, one, other, joint[[row]], statistic=statistic)


def _change(metric: str, tally: Tally, old: Tally, joint: IntArray, *, statistic: str | None) -> Moved:
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


def _judged(found: Sequence[Moved], alpha: float) -> Iterator[Change]:
    chances = [
        chance_below(estimate, 0.0) if estimate.corrected is not None and estimate.corrected < 0 else None
        for _, estimate in found
    ]
    held = surviving(chances, of=len(found), alpha=alpha)
    yield from (replace(one, regressed=worse) for (one, _), worse in zip(found, held, strict=True))
