"""Gates on FAIntbench's scores: one score per model, over the prompts and attributes that the words select.

What a gate does not name is pooled, by the benchmark's weights, rather than ranged over:
``implicit >= 0.85`` is about the whole model, ``implicit[race]`` and ``explicit[occupation]`` about a part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pytest_factorfair.domain import Checklist, Gate, Sampling, faintbench, prompt_cases
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.gates.basis import Cell, Ends
from pytest_factorfair.gates.judged import Judged, none
from pytest_factorfair.gates.terms import Terms
from pytest_factorfair.scoring.estimate import Estimate
from pytest_factorfair.scoring.faintbench import (
    Gallery,
    Selection,
    eta,
    explicit_level,
    floor_level,
    implicit_level,
    vocabulary,
    with_lost,
)
from pytest_factorfair.scoring.faintbench import gallery as hang

UNMET = "this run will not produce it"
METRICS = ("implicit", "explicit", "eta")
PARTS = {"implicit": "implicit", "explicit": "explicit", "eta": "implicit"}

LEAST = 50
"""Pictures of each prompt from which the bounds of its shares can be trusted."""


def judged(gate: Gate, galleries: Sequence[Gallery], terms: Terms) -> tuple[Judged, ...]:
    """The gate's score of every gallery it is about; if there is none, one of nothing."""
    found = []
    for gallery in galleries:
        words = _selected(gate, gallery, galleries)
        if words is None:
            continue
        selection = Selection(words)
        basis = Prompts(gallery, selection)
        if basis.count(gate):
            estimate = _estimate(gate, gallery, selection, terms)
            bounded = terms.estimator == "corrected"
            found.append(Judged(gate, basis, _names(gate, gallery, galleries), estimate, bounded=bounded))
    return tuple(found) or (none(gate),)


def check(gate: Gate, galleries: Sequence[Gallery]) -> None:
    """Refuse a gate on FAIntbench's scores that this run cannot decide; ``galleries`` are those planned.

    Raises:
        InputError: no such checklist, an unknown word, words that no prompt answers to, or a regression.
    """
    if not galleries:
        raise InputError(
            f"gate '{gate.text}': no checklist of this run has the metric {gate.metric}: {UNMET}"
        )
    if gate.regression:
        raise InputError(f"gate '{gate.text}': {gate.metric} is not compared with former runs")
    names = frozenset(name for one in galleries for name in (one.model, one.checklist.name))
    known = [vocabulary(one.checklist, one.cases) for one in galleries]
    words = names.union(*(some for each in known for some in each.values()))
    for word in gate.filters:
        if word not in words:
            raise InputError(f"gate '{gate.text}': unknown filter '{word}'{nearest(word, words)}")
    if gate.metric == "eta" and not names.union(*(each["attribute"] for each in known)) >= set(gate.filters):
        raise InputError(f"gate '{gate.text}': eta is of all pairs of prompts; name attributes only")
    held = [_held(gate, one, galleries) for one in galleries]
    if not any(held):
        fitting = " and ".join(gate.filters)
        what = f"is {fitting}" if fitting else "is asked"
        raise InputError(f"gate '{gate.text}': no {PARTS[gate.metric]} prompt of this run {what}: {UNMET}")
    for word in gate.filters:
        if word not in frozenset().union(*held):
            raise InputError(f"gate '{gate.text}': none of the prompts that it selects is '{word}': {UNMET}")


def planned(
    checklists: Iterable[Checklist], models: Sequence[str], sampling: Sampling
) -> tuple[Gallery, ...]:
    """The galleries that a run will hang, with nothing in them yet."""
    from pytest_factorfair.checklist import cases  # reads files; judging does not

    return tuple(
        hang((), checklist, prompt_cases(cases(checklist, sampling)), model=model)
        for checklist in faintbench(checklists)
        for model in models
    )


@dataclass(frozen=True, slots=True, eq=False)
class Prompts:
    """A part of a gallery as what a judged score rests on; its prompts are one cell."""

    gallery: Gallery
    selection: Selection

    def count(self, gate: Gate) -> int:
        """How many prompts it is about."""
        return int(self.selection.chosen(self.gallery.cases, PARTS[gate.metric]).sum())

    def cells(self, gate: Gate) -> Iterator[Cell]:
        chosen = self.selection.chosen(self.gallery.cases, PARTS[gate.metric])
        fate = self.gallery.fate
        named = self.gallery.named(self.selection.pooled(self.gallery))
        unread = fate.asked - fate.refused - fate.errors - named
        numbers = (int(some[chosen].sum()) for some in (fate.asked, fate.refused, unread, fate.errors))
        yield Cell(f"its {int(chosen.sum()):,} prompts", *numbers)
        for place in np.flatnonzero(chosen & (named == 0)):
            lost = (int(some[place]) for some in (fate.asked, fate.refused, unread, fate.errors))
            yield Cell(self.gallery.cases[place].id, *lost)

    def needed(self, gate: Gate) -> int:
        return 0 if gate.metric == "explicit" else LEAST * self.count(gate)

    def ends(self, gate: Gate, found: Estimate, *, bounded: bool) -> Ends | None:
        """Every lost picture is taken to show whoever lowers the score, then whoever raises it."""
        del bounded
        if gate.metric == "eta" or found.plugin is None:
            return None
        level = implicit_level if gate.metric == "implicit" else explicit_level
        low, high = (
            level(with_lost(self.gallery, worst=worst), self.selection, "plugin", gate.metric).estimate.plugin
            for worst in (True, False)
        )
        return None if low is None or high is None else Ends(found.plugin, low, high)

    def reach(self, gate: Gate) -> tuple[float | None, float | None]:
        return (floor_level(self.gallery, self.selection) if gate.metric == "implicit" else 0.0), 1.0

    def places(self) -> frozenset[tuple[str | None, ...]]:
        return frozenset()


def _estimate(gate: Gate, gallery: Gallery, selection: Selection, terms: Terms) -> Estimate:
    if gate.metric == "eta":
        return eta(gallery, selection, terms.estimator)[0]
    level = implicit_level if gate.metric == "implicit" else explicit_level
    return level(gallery, selection, terms.estimator, gate.metric).estimate


def _selected(
    gate: Gate, gallery: Gallery, galleries: Sequence[Gallery]
) -> Mapping[str, frozenset[str]] | None:
    """The gate's words by kind, None where they name another model or checklist."""
    left = frozenset(gate.filters)
    for own, every in (
        (gallery.model, {one.model for one in galleries}),
        (gallery.checklist.name, {one.checklist.name for one in galleries}),
    ):
        if left & every and own not in left:
            return None
        left -= every
    found = {}
    for kind, some in vocabulary(gallery.checklist, gallery.cases).items():
        found[kind] = left & some
        left -= some
    return None if left else found


def _held(gate: Gate, gallery: Gallery, galleries: Sequence[Gallery]) -> frozenset[str]:
    """Every word that the prompts it selects answer to; none where it selects none."""
    words = _selected(gate, gallery, galleries)
    if words is None:
        return frozenset()
    chosen = Selection(words).chosen(gallery.cases, PARTS[gate.metric])
    found = [case.words.values() for case, holds in zip(gallery.cases, chosen, strict=True) if holds]
    own = {gallery.model, gallery.checklist.name} if found else set()
    return frozenset(own).union(*(some for each in found for some in each))


def _names(gate: Gate, gallery: Gallery, galleries: Sequence[Gallery]) -> tuple[str, ...]:
    several = len({one.model for one in galleries}) > 1, len({one.checklist.name for one in galleries}) > 1
    own = (gallery.model, gallery.checklist.name)
    told = tuple(name for name, shown in zip(own, several, strict=True) if shown)
    return (*told, *(word for word in gate.filters if word not in own))
