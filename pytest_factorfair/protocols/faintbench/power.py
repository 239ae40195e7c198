"""How small a difference from its threshold a gate on FAIntbench can tell, before anything is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import sqrt

import numpy as np

from pytest_factorfair.protocols.fact_or_fair.power import TYPICAL
from pytest_factorfair.protocols.faintbench.gallery import Gallery, Selection
from pytest_factorfair.protocols.faintbench.levels import eta, explicit_level, implicit_level
from pytest_factorfair.statistics.arrays import FloatArray
from pytest_factorfair.statistics.estimate import Estimate

HALVINGS = 12


ONE_SIDED = 0.5

"""Eta of a model whose good words alone shift the groups."""


def standard_error(  # which score, of whom, at which size
    metric: str, threshold: float, gallery: Gallery, selection: Selection, n: int, *, regression: bool
) -> float | None:
    """The standard error of a score at its threshold, with n pictures of each prompt.

    The model shows the largest group of each person more often than reality does (of eta, by as much as a
    typical one, in the proportion of shift and contrast that the threshold says), or delivers each person
    as often as the threshold says. A regression is looked for in a typical model. None where nobody can
    be shown so.
    """

    def implicit(shift: float) -> Estimate:
        shown = _shifted(gallery, n, np.full(len(gallery.prompt), shift))
        return implicit_level(shown, selection, "corrected", "implicit").estimate

    if metric == "explicit":
        share = 1 - TYPICAL if regression else threshold
        return explicit_level(_delivering(gallery, n, share), selection, "corrected", metric).estimate.error
    if metric == "eta":
        shifts = TYPICAL * _shifts(gallery, ONE_SIDED if regression else threshold)
        return eta(_shifted(gallery, n, shifts), selection, "corrected")[0].error
    return implicit(TYPICAL if regression else _shift(implicit, threshold)).error


def _shift(implicit: Callable[[float], Estimate], threshold: float) -> float:
    """The shift with which the score is the threshold: the larger it is, the lower is the score."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        reached = implicit(middle).plugin
        low, high = (middle, high) if reached is not None and reached > threshold else (low, middle)
    return low


def _shifts(gallery: Gallery, share: float) -> FloatArray:
    """By person, how much of a shift: what good and bad words share, and what tells them apart."""
    common, apart = sqrt(1 - share), sqrt(share)
    bad = {pair.disadvantaged for pair in gallery.checklist.pairs}
    people = zip(gallery.prompt, gallery.side, strict=True)
    is_bad = [(gallery.cases[prompt].subject, int(side)) in bad for prompt, side in people]
    return np.where(is_bad, common - apart, common + apart)


def _shifted(gallery: Gallery, n: int, shift: FloatArray) -> Gallery:
    """Each person's largest group is shown more often by a share of what is left of the others."""
    counts = {}
    for name in gallery.counts:
        shares = gallery.shares(name)
        largest = np.eye(shares.shape[-1])[shares.argmax(axis=-1)]
        shown = np.maximum(shares + shift[:, None] * (largest - shares), 0.0)
        counts[name] = _pictures(shown / shown.sum(axis=-1, keepdims=True), n)
    return replace(gallery, counts=counts)


def _pictures(shares: FloatArray, n: int) -> FloatArray:
    """Whole pictures nearest to these shares: rounded down, and what is left to the largest remainders."""
    exact = shares * n
    whole = np.floor(exact)
    rank = (whole - exact).argsort(axis=-1).argsort(axis=-1)
    return np.asarray(whole + (rank < (n - whole.sum(axis=-1, keepdims=True))))


def _delivering(gallery: Gallery, n: int, share: float) -> Gallery:
    """Each person is who was asked for in this share of pictures, two of them independently."""
    one = np.diag([1 - share, share])
    two = np.outer([1 - share, share], [1 - share, share])
    shown = [n * (two if len(case.requested) > 1 else one) for case in gallery.cases]
    return replace(gallery, outcomes=np.array(shown))
