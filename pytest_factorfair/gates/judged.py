"""The scores a gate is about, computed from tallies and named for people and for node ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_factorfair.domain import Gate
from pytest_factorfair.gates.expression import INFLUENCE
from pytest_factorfair.gates.subjects import select
from pytest_factorfair.scoring.influence import influence
from pytest_factorfair.scoring.metrics import size, value
from pytest_factorfair.scoring.tally import Tally


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """One score that a gate ranges over, and the tallies it comes from; ``words`` tell it from the others."""

    gate: Gate
    tallies: tuple[Tally, ...]
    words: tuple[str, ...]
    value: float | None
    n: int

    @property
    def subject(self) -> str:
        """Its name as a gate expression would have it: ``s_e[baseline,race]``."""
        return f"{self.gate.metric}[{','.join(self.words)}]" if self.words else self.gate.metric

    @property
    def name(self) -> str:
        """Its name of the characters [a-z0-9._-]: ``s_e-baseline-race``."""
        return "-".join((self.gate.metric, *map(_plain, self.words)))


def judged(gate: Gate, tallies: Sequence[Tally]) -> tuple[Judged, ...]:
    """Every score of the tallies that the gate ranges over, in their order."""
    chosen = select(gate, tallies)
    groups: dict[object, list[Tally]] = {}
    for tally, statistics in chosen:
        kept = tally if statistics == tally.statistics else tally.restrict(statistics)
        # Influence is one score over all contexts of an attribute; any other belongs to one tally.
        key = (tally.model, tally.checklist, tally.attribute) if gate.metric == INFLUENCE else id(tally)
        groups.setdefault(key, []).append(kept)
    return tuple(_judged(gate, tuple(group), tallies) for group in groups.values())


def _judged(gate: Gate, group: tuple[Tally, ...], tallies: Sequence[Tally]) -> Judged:
    words = _words(gate, group[0], tallies)
    if gate.metric == INFLUENCE:
        summary = influence(group)[-1]
        return Judged(gate, group, words, summary.value, summary.n)
    return Judged(gate, group, words, value(gate.metric, group[0]), size(gate.metric, group[0]))


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
