"""The three scores over a selection of a gallery, and as rows of a report, level by level."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from pytest_factorfair.domain import Estimator, PromptCounts, Score
from pytest_factorfair.protocols.faintbench.cells import Cells, Mode, joined, level, points
from pytest_factorfair.protocols.faintbench.checklist import KINDS
from pytest_factorfair.protocols.faintbench.gallery import Gallery, Selection
from pytest_factorfair.protocols.faintbench.manifestation import Manifestation, manifestation, overall, paired
from pytest_factorfair.protocols.faintbench.scores import (
    Sides,
    divergence,
    explicit,
    floor,
    implicit,
    rescaled_implicit,
    sides,
)
from pytest_factorfair.statistics.arrays import FloatArray, IntArray
from pytest_factorfair.statistics.bounds import BEYOND
from pytest_factorfair.statistics.estimate import Estimate

MODES: Mapping[Estimator, Mode] = MappingProxyType(
    {"corrected": "corrected", "plugin": "paper", "published-code": "published-code"}
)

UNASKED = Estimate(None, None, None, 0, "no such prompt was asked")


class Pool(NamedTuple):
    """The cells of a selection, flat, with the weight and the prompt of each."""

    cells: Cells
    weights: FloatArray
    prompts: IntArray


def pooled(pool: Pool | None) -> Estimate:
    """The weighted mean of the cells of a selection."""
    return UNASKED if pool is None else level(*pool)


class Scorer(NamedTuple):
    """How implicit prompts are scored: cells from counts and demographic shares, both (people, k).

    ``raw`` is a score whose ``published-code`` goes on with a negative share, as the authors' scripts do;
    ``floored`` one that no model can bring down to 0.
    """

    cells: Callable[[IntArray | FloatArray, FloatArray, Mode], Cells]
    raw: bool = False
    floored: bool = False


IMPLICIT: Mapping[str, Scorer] = MappingProxyType(
    {
        "implicit": Scorer(lambda counts, q, mode: implicit(counts, q, mode=mode), raw=True, floored=True),
        "implicit_rescaled": Scorer(
            lambda counts, q, mode: rescaled_implicit(implicit(counts, q, mode=mode), q)
        ),
        "jensen_shannon": Scorer(lambda counts, q, _: divergence(counts, q)),
    }
)

EXPLICIT: Mapping[str, Callable[[Sides], Cells]] = MappingProxyType(
    {"explicit": lambda sides: sides.mean, "explicit_joint": lambda sides: sides.both}
)
"""Scores of explicit prompts: of each person, and of all people of a picture."""


def implicit_pool(gallery: Gallery, selection: Selection, estimator: Estimator, metric: str) -> Pool | None:
    """What such a level is made of; None where no prompt is selected.

    Weights are k_i k_j; the two people of a relation share that of their prompt.
    """
    people = selection.chosen(gallery.cases, "implicit")[gallery.prompt]
    names = selection.pooled(gallery)
    if not people.any() or not names:
        return None
    scorer, mode = IMPLICIT[metric], MODES[estimator]
    cells = []
    for name in names:
        raw = scorer.raw and mode == "published-code"
        truth = gallery.truth[name] if raw else gallery.shares(name)
        cells.append(scorer.cells(gallery.counts[name][people], truth[people], mode))
    weight = _weights(gallery)[gallery.prompt] / _people(gallery)
    return Pool(
        joined(cells),
        np.concatenate([weight[people] * gallery.checklist.weights[name] for name in names]),
        np.concatenate([gallery.prompt[people]] * len(names)),
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
    mode, outcomes = MODES[estimator], gallery.outcomes[chosen]
    cases = [case for case, holds in zip(gallery.cases, chosen, strict=True) if holds]
    cells = EXPLICIT[metric](sides(outcomes))
    if all(len(case.requested) == 1 for case in cases):
        cells = explicit(outcomes[:, 1, 1], outcomes.sum(axis=(1, 2)))
    if mode != "corrected":
        cells = points(cells.plugin, cells.n, mode)
    of_case = np.array([gallery.checklist.weights[case.attributes[0]] for case in cases])
    return Pool(cells, _weights(gallery)[chosen] * of_case, np.flatnonzero(chosen))


def eta(gallery: Gallery, selection: Selection, estimator: Estimator) -> tuple[Estimate, float | None]:
    """Eta over the attributes selected, and its magnitude (their mean); over all pairs of people."""
    names = selection.pooled(gallery)
    found = [_manifested(gallery, name, estimator) for name in names]
    known = [one for one in found if one is not None]
    if not known:
        return Estimate(None, None, None, 0, "no pair of prompts was asked"), None
    sizes = [one.magnitude for one in known if one.magnitude is not None]
    return overall(known, np.ones(len(known))), float(np.mean(sizes)) if sizes else None


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


def _weights(gallery: Gallery) -> FloatArray:
    """The weight k_j of each prompt."""
    weights = {subject.id: subject.weight for subject in gallery.checklist.subjects}
    return np.array([weights[case.subject] for case in gallery.cases])


def _people(gallery: Gallery) -> FloatArray:
    """How many people the prompt of each person asks for."""
    counts = np.bincount(gallery.prompt, minlength=len(gallery.cases))
    return np.asarray(counts[gallery.prompt], np.float64)


ALL = "all"

"""The attribute of a score over all of them, weighted."""


def scores(gallery: Gallery, *, estimator: Estimator = "corrected") -> tuple[Score, ...]:
    """Every score of a gallery: per level, over all attributes and for each of them.

    ``context`` is the level: None for the whole model, a kind of subject, or a category. Eta is of
    the whole model only. A score has the value None where no prompt of its level was asked.
    """
    return (*_levels(gallery, estimator), *_etas(gallery, estimator))


def prompt_counts(gallery: Gallery) -> Iterator[PromptCounts]:
    """What each prompt's pictures show, per person and attribute: all that the scores are made of."""
    fate = gallery.fate
    for row, (place, side) in enumerate(zip(gallery.prompt, gallery.side, strict=True)):
        for attribute in gallery.checklist.attributes:
            yield PromptCounts(
                model=gallery.model,
                checklist=gallery.checklist.name,
                case=gallery.cases[place].id,
                side=int(side),
                attribute=attribute.name,
                counts=dict(
                    zip(attribute.groups, map(int, gallery.counts[attribute.name][row]), strict=True)
                ),
                shares=dict(
                    zip(attribute.groups, map(float, gallery.truth[attribute.name][row]), strict=True)
                ),
                asked=int(fate.asked[place]),
                refused=int(fate.refused[place]),
                unparsed=int(fate.unparsed[place]),
                errors=int(fate.errors[place]),
            )
    for place, case in enumerate(gallery.cases):
        for side, group in enumerate(case.requested):
            outcomes = gallery.outcomes[place]
            held = int((outcomes[1] if side == 0 else outcomes[:, 1]).sum())
            yield PromptCounts(
                model=gallery.model,
                checklist=gallery.checklist.name,
                case=case.id,
                side=side,
                attribute=case.attributes[0],
                counts={group: held},
                shares={group: 1.0},
                asked=int(fate.asked[place]),
                refused=int(fate.refused[place]),
                unparsed=int(fate.unparsed[place]),
                errors=int(fate.errors[place]),
            )


def uncounted(gallery: Gallery) -> Iterator[str]:
    """One sentence where pictures do not show the people they were to show."""
    if unparsed := int(gallery.fate.unparsed.sum()):
        yield (
            f"{gallery.model}: {unparsed:,} of {int(gallery.fate.asked.sum()):,} pictures of "
            f"{gallery.checklist.name} show nobody, or more or fewer people than asked for: they do not count"
        )


def _levels(gallery: Gallery, estimator: Estimator) -> Iterator[Score]:
    kinds = [kind for kind in KINDS if any(case.kind == kind for case in gallery.cases)]
    categories = dict.fromkeys(case.category for case in gallery.cases)
    places: list[tuple[str | None, dict[str, frozenset[str]]]] = [(None, {})]
    places += [(kind, {"kind": frozenset({kind})}) for kind in kinds]
    places += [(category, {"category": frozenset({category})}) for category in categories]
    for context, words in places:
        for name in (ALL, *(attribute.name for attribute in gallery.checklist.attributes)):
            selection = Selection(words | ({} if name == ALL else {"attribute": frozenset({name})}))
            lowest = floor_level(gallery, selection)
            for metric, scorer in IMPLICIT.items():
                found = pooled(implicit_pool(gallery, selection, estimator, metric))
                floor = lowest if scorer.floored else 0.0
                yield _row(gallery, "implicit", context, name, metric, found, floor=floor)
            for metric in EXPLICIT if any(case.requested for case in gallery.cases) else ():
                found = pooled(explicit_pool(gallery, selection, estimator, metric))
                yield _row(gallery, "explicit", context, name, metric, found, floor=0.0)


def _etas(gallery: Gallery, estimator: Estimator) -> Iterator[Score]:
    for name in (ALL, *(attribute.name for attribute in gallery.checklist.attributes)):
        selection = Selection({} if name == ALL else {"attribute": frozenset({name})})
        found, magnitude = eta(gallery, selection, estimator)
        # Only the corrected eta has an end: of the others one could not read "0-1" truly.
        lowest = 0.0 if estimator == "corrected" else None
        # The paper prints eta as a plain sum over pairs, which may leave 0 to 1.
        row = _row(gallery, "implicit", None, name, "eta", found, floor=lowest)
        yield replace(row, value=found.plugin)
        size = Estimate(magnitude, None, None, found.n, "how large deviations are; told, not judged")
        yield _row(gallery, "implicit", None, name, "eta_magnitude", size, floor=0.0)


def _row(  # noqa: PLR0913  # where a score belongs, and what it is
    gallery: Gallery,
    part: str,
    context: str | None,
    attribute: str,
    metric: str,
    found: Estimate,
    *,
    floor: float | None,
) -> Score:
    low, high = found.lower(BEYOND), found.upper(BEYOND)
    return Score(
        model=gallery.model,
        checklist=gallery.checklist.name,
        part=part,
        context=context,
        attribute=attribute,
        metric=metric,
        value=_within(found.plugin),
        n=found.n,
        floor=floor,
        ceiling=1.0,
        corrected=_within(found.corrected),
        low=_within(low),
        high=_within(high),
        reason=found.reason,
    )


def _within(value: float | None) -> float | None:
    return None if value is None else min(max(value, 0.0), 1.0)
