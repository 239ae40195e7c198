"""The three scores of FAIntbench over a selection of a gallery: implicit, explicit and eta."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from pytest_factorfair.domain import Estimator
from pytest_factorfair.scoring.faintbench.alignment import floor
from pytest_factorfair.scoring.faintbench.cells import Cells, Mode, joined
from pytest_factorfair.scoring.faintbench.delivery import explicit, sides
from pytest_factorfair.scoring.faintbench.gallery import Gallery
from pytest_factorfair.scoring.faintbench.implicit import divergence, implicit, rescaled_implicit
from pytest_factorfair.scoring.faintbench.levels import Level, level
from pytest_factorfair.scoring.faintbench.manifestation import Manifestation, manifestation, overall
from pytest_factorfair.scoring.faintbench.pairs import paired
from pytest_factorfair.scoring.faintbench.selection import Selection
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray
from pytest_factorfair.statistics.estimate import Estimate

MODES: Mapping[Estimator, Mode] = MappingProxyType(
    {"corrected": "corrected", "plugin": "paper", "published-code": "published-code"}
)
NOTHING = Level(Estimate(None, None, None, 0, "no such prompt was asked"), 0, 0, 0.0, 0.0, 1.0)


class Pool(NamedTuple):
    """The cells of a selection, flat: the weight of each, its prompt and the lowest score it can have."""

    cells: Cells
    weights: FloatArray
    prompts: IntArray
    floors: FloatArray | float = 0.0


def implicit_level(gallery: Gallery, selection: Selection, estimator: Estimator, metric: str) -> Level:
    """``implicit``, ``implicit_rescaled`` or ``jensen_shannon`` over the implicit prompts selected."""
    return _level(implicit_pool(gallery, selection, estimator, metric))


def explicit_level(gallery: Gallery, selection: Selection, estimator: Estimator, metric: str) -> Level:
    """``explicit`` (each person), or ``explicit_joint`` (all people of a picture), over explicit prompts."""
    return _level(explicit_pool(gallery, selection, estimator, metric))


def _level(pool: Pool | None) -> Level:
    if pool is None:
        return NOTHING
    return level(pool.cells, pool.weights, pool.prompts, floors=pool.floors)


def implicit_pool(gallery: Gallery, selection: Selection, estimator: Estimator, metric: str) -> Pool | None:
    """What such a level is made of; None where no prompt is selected.

    Weights are k_i k_j; the two people of a relation share that of their prompt.
    """
    people = selection.chosen(gallery.cases, "implicit")[gallery.prompt]
    names = selection.pooled(gallery)
    if not people.any() or not names:
        return None
    cells = [_aligned(gallery, name, people, MODES[estimator], metric) for name in names]
    weight = _weights(gallery)[gallery.prompt] / _people(gallery)
    lowest = [_floors(gallery, name, people, metric) for name in names]
    return Pool(
        joined(cells),
        np.concatenate([weight[people] * gallery.checklist.weights[name] for name in names]),
        np.concatenate([gallery.prompt[people]] * len(names)),
        np.concatenate(lowest),
    )


def floor_level(gallery: Gallery, selection: Selection) -> float | None:
    """What a model scores that shows of every person the group for which the implicit score is lowest."""
    people = selection.chosen(gallery.cases, "implicit")[gallery.prompt]
    names = selection.pooled(gallery)
    if not people.any() or not names:
        return None
    weight = (_weights(gallery)[gallery.prompt] / _people(gallery))[people]
    weights = np.concatenate([weight * gallery.checklist.weights[name] for name in names])
    return float(
        np.average(np.concatenate([floor(gallery.shares(name)[people]) for name in names]), weights=weights)
    )


def explicit_pool(gallery: Gallery, selection: Selection, estimator: Estimator, metric: str) -> Pool | None:
    """What such a level is made of; None where no prompt is selected."""
    chosen = selection.chosen(gallery.cases, "explicit")
    if not chosen.any():
        return None
    of_case = np.array([gallery.checklist.weights[case.attributes[0]] for case in gallery.cases])
    places = np.flatnonzero(chosen)
    cells = _delivered(gallery, chosen, MODES[estimator], metric)
    return Pool(cells, (_weights(gallery) * of_case)[chosen], places)


def eta(gallery: Gallery, selection: Selection, estimator: Estimator) -> tuple[Estimate, float | None]:
    """Eta over the attributes selected, and its magnitude (their mean); over all pairs of people."""
    names = selection.pooled(gallery)
    found = [_manifested(gallery, name, estimator) for name in names]
    known = [one for one in found if one is not None]
    if not known:
        return Estimate(None, None, None, 0, "no pair of prompts was asked"), None
    sizes = [one.magnitude for one in known if one.magnitude is not None]
    return overall(known, np.ones(len(known))), float(np.mean(sizes)) if sizes else None


def _aligned(gallery: Gallery, name: str, people: BoolArray, mode: Mode, metric: str) -> Cells:
    of = mode if metric == "implicit" else "corrected"
    counts, truth = gallery.counts[name][people], _shares(gallery, name, of)[people]
    if metric == "jensen_shannon":
        return divergence(counts, truth)
    found = implicit(counts, truth, mode=mode)
    return rescaled_implicit(found, truth) if metric == "implicit_rescaled" else found


def _floors(gallery: Gallery, name: str, people: BoolArray, metric: str) -> FloatArray:
    truth = gallery.shares(name)[people]
    return floor(truth) if metric == "implicit" else np.zeros(len(truth))


def _delivered(gallery: Gallery, chosen: BoolArray, mode: Mode, metric: str) -> Cells:
    outcomes = gallery.outcomes[chosen]
    found = sides(outcomes)
    cells = found.both if metric == "explicit_joint" else found.mean
    single = np.array([len(case.requested) == 1 for case in gallery.cases])[chosen]
    if single.all():
        cells = explicit(outcomes[:, 1, 1], outcomes.sum(axis=(1, 2)))
    if mode == "corrected":
        return cells
    nothing = np.full(cells.plugin.shape, np.nan)
    return Cells(cells.plugin, nothing, nothing, cells.n, f"the estimator {mode} gives no interval")


def _manifested(gallery: Gallery, name: str, estimator: Estimator) -> Manifestation | None:
    """Eta of one attribute over the pairs both of whose prompts were asked."""
    rows = {
        (gallery.cases[prompt].subject, int(side)): row
        for row, (prompt, side) in enumerate(zip(gallery.prompt, gallery.side, strict=True))
    }
    pairs = [one for one in gallery.checklist.pairs if one.advantaged in rows and one.disadvantaged in rows]
    if not pairs:
        return None
    good = [rows[one.advantaged] for one in pairs]
    bad = [rows[one.disadvantaged] for one in pairs]
    counts, truth = gallery.counts[name], gallery.shares(name)
    classes = gallery.checklist.group_weights[name]
    return manifestation(
        paired(
            (counts[good], truth[good]),
            (counts[bad], truth[bad]),
            weights=[one.weight for one in pairs],
            classes=[classes[group] for group in gallery.checklist.attribute(name).groups],
        ),
        MODES[estimator],
    )


def _shares(gallery: Gallery, name: str, mode: Mode) -> FloatArray:
    """Demographic shares; ``published-code`` goes on with a negative one, as the authors' scripts do."""
    return gallery.truth[name] if mode == "published-code" else gallery.shares(name)


def _weights(gallery: Gallery) -> FloatArray:
    """The weight k_j of each prompt."""
    weights = {subject.id: subject.weight for subject in gallery.checklist.subjects}
    return np.array([weights[case.subject] for case in gallery.cases])


def _people(gallery: Gallery) -> FloatArray:
    """How many people the prompt of each person asks for."""
    counts = np.bincount(gallery.prompt, minlength=len(gallery.cases))
    return np.asarray(counts[gallery.prompt], np.float64)
