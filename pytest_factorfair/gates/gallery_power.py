"""How small a difference from its threshold a gate on FAIntbench can tell, before anything is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import sqrt
from statistics import NormalDist

import numpy as np

from pytest_factorfair.domain import Gate
from pytest_factorfair.gates.power import HALVINGS, POWER, TYPICAL
from pytest_factorfair.scoring.faintbench import Gallery, Selection, eta, explicit_level, implicit_level
from pytest_factorfair.statistics.arrays import FloatArray
from pytest_factorfair.statistics.bounds import quantile
from pytest_factorfair.statistics.estimate import Estimate

ONE_SIDED = 0.5
"""Eta of a model whose good words alone shift the groups."""


def detectable(gate: Gate, gallery: Gallery, selection: Selection, n: int, *, alpha: float) -> float | None:
    """The smallest distance from the threshold that is decided four times out of five, in one look.

    For a model at the threshold with n pictures of each prompt: it shows the largest group of each
    person more often than reality does (of eta, by as much as a typical one, in the proportion of
    shift and contrast that the threshold says), or delivers each person as often as the threshold
    says. A regression is looked for in a typical model, and has the errors of two runs. None where
    nobody can be shown so.
    """
    found = _found(gate, gallery, selection, n)
    if found.error is None:
        return None
    return (quantile(alpha) + NormalDist().inv_cdf(POWER)) * found.error * (sqrt(2) if gate.regression else 1)


def _found(gate: Gate, gallery: Gallery, selection: Selection, n: int) -> Estimate:
    """The score of such a model, with its error."""

    def implicit(shift: float) -> Estimate:
        shown = _shifted(gallery, n, np.full(len(gallery.prompt), shift))
        return implicit_level(shown, selection, "corrected", "implicit").estimate

    if gate.metric == "explicit":
        share = 1 - TYPICAL if gate.regression else gate.threshold
        return explicit_level(_delivering(gallery, n, share), selection, "corrected", "explicit").estimate
    if gate.metric == "eta":
        shifts = TYPICAL * _shifts(gallery, ONE_SIDED if gate.regression else gate.threshold)
        return eta(_shifted(gallery, n, shifts), selection, "corrected")[0]
    return implicit(TYPICAL if gate.regression else _shift(implicit, gate.threshold))


def _shift(implicit: Callable[[float], Estimate], threshold: float) -> float:
    """The shift with which the score is the threshold: the larger it is, the lower is the score."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS // 4):
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
