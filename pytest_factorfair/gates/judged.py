"""The scores a gate is about, computed from tallies and named for people and for node ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_factorfair.domain import Gate
from pytest_factorfair.gates.basis import Basis, Cell, Place, Tallies
from pytest_factorfair.gates.change import change
from pytest_factorfair.gates.expression import INFLUENCE
from pytest_factorfair.gates.subjects import select
from pytest_factorfair.gates.terms import Terms
from pytest_factorfair.scoring.estimate import estimate
from pytest_factorfair.scoring.influence import influence_estimate
from pytest_factorfair.scoring.tally import Tally
from pytest_factorfair.statistics.estimate import Estimate

NOTHING = Estimate(None, None, None, 0)
MISSING = Estimate(None, None, None, 0, "the baseline has no such score")


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """One score that a gate ranges over, and what it rests on; ``words`` tell it from the others.

    ``basis`` is None where the run has no such score. ``bounded`` is a score that is judged by its
    bounds rather than by its value.
    """

    gate: Gate
    basis: Basis | None
    words: tuple[str, ...]
    estimate: Estimate
    bounded: bool

    @property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(self.basis.cells(self.gate)) if self.basis else ()

    @property
    def needed(self) -> int:
        return self.basis.needed(self.gate) if self.basis else 0

    @property
    def reach(self) -> tuple[float | None, float | None]:
        return self.basis.reach(self.gate) if self.basis else (None, None)

    @property
    def places(self) -> frozenset[Place]:
        return self.basis.places() if self.basis else frozenset()

    def undecided(self, alpha: float) -> frozenset[Place]:
        """Where further answers may decide it at this level: of the worst topic only where it may be."""
        among = self.estimate.among
        if among is None or not among.parts or self.gate.comparison == ">=":
            return self.places
        parts = among.undecided(self.gate.threshold, alpha)
        return frozenset(place for place in self.places if place.topic in parts)

    @property
    def largest(self) -> str:
        """What its metric is the largest of takes that value, as the end of a sentence; empty for others."""
        return "" if self.estimate.among is None else f": {self.estimate.among.largest}"

    @property
    def subject(self) -> str:
        """Its name as a gate expression would have it: ``s_e[base,race]``."""
        metric = f"regression({self.gate.metric})" if self.gate.regression else self.gate.metric
        return f"{metric}[{','.join(self.words)}]" if self.words else metric

    @property
    def name(self) -> str:
        """Its name of the characters [a-z0-9._-]: ``s_e-base-race``."""
        change = ("regression",) if self.gate.regression else ()
        return "-".join((*change, self.gate.metric, *map(_plain, self.words)))


def judged(gate: Gate, tallies: Sequence[Tally], terms: Terms) -> tuple[Judged, ...]:
    """Every score of the tallies the gate ranges over, in their order; if there is none, one of nothing."""
    if gate.regression:
        return _changes(gate, tallies, terms) or (none(gate),)
    chosen = select(gate, tallies)
    groups: dict[object, list[Tally]] = {}
    for tally, statistics in chosen:
        # Influence is one score over all contexts of an attribute; any other belongs to one tally.
        key = _subject(tally) if gate.metric == INFLUENCE else id(tally)
        groups.setdefault(key, []).append(_restricted(tally, statistics))
    if gate.metric == INFLUENCE:
        groups = {key: [*group, *_plain_context(group[0], tallies)] for key, group in groups.items()}
    found = tuple(
        Judged(
            gate,
            Tallies(tuple(group)),
            _words(gate, group[0], tallies),
            _estimate(gate, group, terms),
            bounded=terms.estimator == "corrected",
        )
        for group in groups.values()
    )
    return found or (none(gate),)


def none(gate: Gate) -> Judged:
    """For a gate that fits no score: nothing is green by omission."""
    return Judged(gate, None, gate.filters, NOTHING, bounded=False)


def _subject(tally: Tally) -> tuple[str, str, str]:
    return tally.model, tally.checklist, tally.attribute


def _restricted(tally: Tally, statistics: tuple[str, ...]) -> Tally:
    return tally if statistics == tally.statistics else tally.restrict(statistics)


def _plain_context(tally: Tally, tallies: Iterable[Tally]) -> Iterator[Tally]:
    """The model's answers where nothing precedes a scenario: what stated truths are held against."""
    for each in tallies:
        if (each.part, each.background) == ("subjective", "none") and _subject(each) == _subject(tally):
            yield _restricted(each, tally.statistics)
            return


def _changes(gate: Gate, tallies: Sequence[Tally], terms: Terms) -> tuple[Judged, ...]:
    """The change of every score that the gate ranges over; the baseline's tally comes second."""
    if terms.former is None:
        return ()
    found = []
    for tally, statistics in select(gate, tallies):
        kept = _restricted(tally, statistics)
        old = terms.former.match(kept)
        words = _words(gate, kept, tallies)
        if old is None or old.statistics != kept.statistics:
            found.append(Judged(gate, Tallies((kept,)), words, MISSING, bounded=False))
            continue
        moved = change(gate.metric, kept, old, terms.former.pairs(kept, old))
        bounded = terms.estimator == "corrected"
        found.append(Judged(gate, Tallies((kept, old)), words, moved, bounded=bounded))
    return tuple(found)


def _estimate(gate: Gate, group: Sequence[Tally], terms: Terms) -> Estimate:
    if gate.metric == INFLUENCE:
        return influence_estimate(group, estimator=terms.estimator)
    return estimate(group[0], estimator=terms.estimator, interval=terms.interval)[gate.metric]


def _words(gate: Gate, tally: Tally, tallies: Iterable[Tally]) -> tuple[str, ...]:
    """Model and checklist where the run has several, then part or context, attribute, named statistics."""
    models, checklists = {each.model for each in tallies}, {each.checklist for each in tallies}
    contexts = {each.context for each in tallies}
    place: tuple[str, ...] = (tally.context or tally.part,)
    if gate.metric == INFLUENCE:
        place = tuple(word for word in gate.filters if word in contexts) or (tally.part,)
    return (
        *((tally.model,) if len(models) > 1 else ()),
        *((tally.checklist,) if len(checklists) > 1 else ()),
        *place,
        tally.attribute,
        *(word for word in tally.statistics if word in gate.filters),
    )


def _plain(word: str) -> str:
    return re.sub(r"[^a-z0-9._]+", "-", word.lower()).strip("-")
