"""Gates on FAIntbench's scores: one score per model, over the prompts and attributes that the words select.

What a gate does not name is pooled, by the benchmark's weights, rather than ranged over:
``implicit >= 0.85`` is about the whole model, ``implicit[race]`` and ``explicit[occupation]`` about a part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pytest_factorfair.domain import Checklist, Gate, Sampling, plural
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.gates.basis import Cell, Ends, Place
from pytest_factorfair.gates.gallery_changes import PARTS, asked_alike
from pytest_factorfair.gates.gallery_power import detectable
from pytest_factorfair.gates.judged import MISSING, Judged, none
from pytest_factorfair.gates.terms import Terms
from pytest_factorfair.protocols.faintbench.checklist import faintbench, prompt_cases
from pytest_factorfair.scoring.faintbench import (
    Gallery,
    Selection,
    change,
    eta,
    explicit_level,
    floor_level,
    implicit_level,
    vocabulary,
    with_lost,
)
from pytest_factorfair.scoring.faintbench import gallery as hang
from pytest_factorfair.statistics.estimate import Estimate
from pytest_factorfair.statistics.holm import ALPHA

UNMET = "this run will not produce it"
METRICS = ("implicit", "explicit", "eta")

LEAST = 50
"""Pictures of each prompt from which the bounds of its shares can be trusted."""


def judged(gate: Gate, galleries: Sequence[Gallery], terms: Terms) -> tuple[Judged, ...]:
    """The gate's score, or its change, of every gallery it is about; if there is none, one of nothing."""
    found = []
    for gallery in galleries:
        words = _selected(gate, gallery, galleries)
        if words is None:
            continue
        basis = Prompts(gallery, Selection(words))
        if basis.count(gate) and not gate.regression:
            found.append(_scored(gate, basis, _names(gate, gallery, galleries), terms))
        elif basis.count(gate) and terms.former is not None:
            old = terms.former.hung(gallery)
            found.append(_changed(gate, basis, old, _names(gate, gallery, galleries), terms))
    return tuple(found) or (none(gate),)


def _scored(gate: Gate, basis: Prompts, names: tuple[str, ...], terms: Terms) -> Judged:
    gallery, selection = basis.gallery, basis.selection
    if gate.metric == "eta":
        found = eta(gallery, selection, terms.estimator)[0]
    else:
        level = implicit_level if gate.metric == "implicit" else explicit_level
        found = level(gallery, selection, terms.estimator, gate.metric).estimate
    return Judged(gate, basis, names, found, bounded=terms.estimator == "corrected")


def _changed(gate: Gate, basis: Prompts, old: Gallery | None, names: tuple[str, ...], terms: Terms) -> Judged:
    if old is None or not asked_alike(basis.gallery, old, basis.selection, PARTS[gate.metric]):
        return Judged(gate, basis, names, MISSING, bounded=False)
    moved = change(gate.metric, basis.gallery, old, basis.selection, terms.estimator)
    both = Prompts(basis.gallery, basis.selection, old)
    return Judged(gate, both, names, moved, bounded=terms.estimator == "corrected")


def check(gate: Gate, galleries: Sequence[Gallery]) -> None:
    """Refuse a gate on FAIntbench's scores that this run cannot decide; ``galleries`` are those planned.

    Raises:
        InputError: no such checklist, an unknown word, or words that no prompt answers to.
    """
    if not galleries:
        raise InputError(
            f"gate '{gate.text}': no checklist of this run has the metric {gate.metric}: {UNMET}"
        )
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


def foreseen(gate: Gate, galleries: Sequence[Gallery], n: int) -> Iterator[float | None]:
    """The smallest distance from its threshold that the gate can tell of each gallery planned."""
    for gallery in galleries:
        words = _selected(gate, gallery, galleries)
        if words is not None and Prompts(gallery, Selection(words)).count(gate):
            yield detectable(gate, gallery, Selection(words), n, alpha=ALPHA)


def planned(
    checklists: Iterable[Checklist], models: Sequence[str], sampling: Sampling
) -> tuple[Gallery, ...]:
    """The galleries that a run will hang, with nothing in them yet."""
    from pytest_factorfair.protocols import cases  # reads files; judging does not

    return tuple(
        hang((), checklist, prompt_cases(cases(checklist, sampling)), model=model)
        for checklist in faintbench(checklists)
        for model in models
    )


@dataclass(frozen=True, slots=True, eq=False)
class Prompts:
    """A part of a gallery as what a judged score rests on; its prompts are one cell.

    ``former`` is the baseline's of the same prompts, where a change is judged.
    """

    gallery: Gallery
    selection: Selection
    former: Gallery | None = None

    def count(self, gate: Gate) -> int:
        """How many prompts it is about."""
        return int(self.selection.chosen(self.gallery.cases, PARTS[gate.metric]).sum())

    def cells(self, gate: Gate) -> Iterator[Cell]:
        yield from self._cells(gate, self.gallery, "")
        if self.former is not None:
            yield from self._cells(gate, self.former, "the baseline's ")

    def _cells(self, gate: Gate, gallery: Gallery, whose: str) -> Iterator[Cell]:
        chosen = self.selection.chosen(gallery.cases, PARTS[gate.metric])
        fate = gallery.fate
        named = gallery.named(self.selection.pooled(gallery))
        unparsed = fate.asked - fate.refused - fate.errors - named
        numbers = (int(some[chosen].sum()) for some in (fate.asked, fate.refused, unparsed, fate.errors))
        yield Cell(f"{whose or 'its '}{plural(int(chosen.sum()), 'prompt')}", *numbers)
        for place in np.flatnonzero(chosen & (named == 0)):
            lost = (int(some[place]) for some in (fate.asked, fate.refused, unparsed, fate.errors))
            yield Cell(whose + gallery.cases[place].id, *lost)

    def needed(self, gate: Gate) -> int:
        if gate.metric == "explicit":
            return LEAST if gate.regression else 0
        return LEAST * self.count(gate)

    def ends(self, gate: Gate, found: Estimate, *, bounded: bool) -> Ends | None:
        """Every lost picture is taken to show whoever lowers the score, then whoever raises it."""
        del bounded
        if gate.regression or gate.metric == "eta" or found.plugin is None:
            return None
        level = implicit_level if gate.metric == "implicit" else explicit_level
        low, high = (
            level(with_lost(self.gallery, worst=worst), self.selection, "plugin", gate.metric).estimate.plugin
            for worst in (True, False)
        )
        return None if low is None or high is None else Ends(found.plugin, low, high)

    def reach(self, gate: Gate) -> tuple[float | None, float | None]:
        return (floor_level(self.gallery, self.selection) if gate.metric == "implicit" else 0.0), 1.0

    def places(self) -> frozenset[Place]:
        return frozenset()


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
