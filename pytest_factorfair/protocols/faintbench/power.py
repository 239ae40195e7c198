"""How small a difference from its threshold a gate on FAIntbench can tell, before anything is asked."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np

from pytest_factorfair.protocols.faintbench.gallery import Gallery, Selection
from pytest_factorfair.protocols.faintbench.levels import eta, explicit_pool, implicit_pool, pooled
from pytest_factorfair.protocols.measurement import TYPICAL
from pytest_factorfair.statistics.arrays import FloatArray
from pytest_factorfair.statistics.estimate import Estimate

HALVINGS = 12


ONE_SIDED = 0.5

"""Eta of a model whose good words alone shift the groups."""


def of_implicit(
    threshold: float, gallery: Gallery, selection: Selection, n: int, *, regression: bool
) -> float | None:
    """The standard error at a threshold, with n pictures of each prompt.

    The model shows the largest group of each person more often than reality does. A regression is looked for
    in a typical model.
    """

    def implicit(shift: float) -> Estimate:
        shown = _shifted(gallery, n, np.full(len(gallery.prompt), shift))
        return pooled(implicit_pool(shown, selection, "corrected", "implicit"))

    low, high = 0.0, 1.0
    for _ in range(0 if regression else HALVINGS):  # the larger the shift, the lower is the score
        middle = (low + high) / 2
        reached = implicit(middle).plugin
        low, high = (middle, high) if reached is not None and reached > threshold else (low, middle)
    return implicit(TYPICAL if regression else low).error


def of_explicit(
    threshold: float, gallery: Gallery, selection: Selection, n: int, *, regression: bool
) -> float | None:
    """The same of a model that delivers each person, two of them independently, this often."""
    share = 1 - TYPICAL if regression else threshold
    one = np.diag([1 - share, share])
    two = np.outer([1 - share, share], [1 - share, share])
    shown = [n * (two if len(case.requested) > 1 else one) for case in gallery.cases]
    delivering = replace(gallery, outcomes=np.array(shown))
    return pooled(explicit_pool(delivering, selection, "corrected", "explicit")).error


def of_eta(
    threshold: float, gallery: Gallery, selection: Selection, n: int, *, regression: bool
) -> float | None:
    """The same of a model that shifts groups by as much as a typical one.

    The threshold is the share of what tells good and bad words apart, in proportion to what both share.
    """
    share = ONE_SIDED if regression else threshold
    common, apart = sqrt(1 - share), sqrt(share)
    bad = {pair.disadvantaged for pair in gallery.checklist.pairs}
    people = zip(gallery.prompt, gallery.side, strict=True)
    is_bad = [(gallery.cases[prompt].subject, int(side)) in bad for prompt, side in people]
    shifts = np.where(is_bad, common - apart, common + apart)
    return eta(_shifted(gallery, n, TYPICAL * shifts), selection, "corrected")[0].error


def _shifted(gallery: Gallery, n: int, shift: FloatArray) -> Gallery:
    """Each person's largest group is shown more often by a share of what is left of the others."""
    counts = {}
    for name in gallery.counts:
        shares = gallery.shares(name)
        largest = np.eye(shares.shape[-1])[shares.argmax(axis=-1)]
        shown = np.maximum(shares + shift[:, None] * (largest - shares), 0.0)
        # Whole pictures: rounded down, and what is left goes to the largest remainders.
        exact = shown / shown.sum(axis=-1, keepdims=True) * n
        whole = np.floor(exact)
        rank = (whole - exact).argsort(axis=-1).argsort(axis=-1)
        counts[name] = whole + (rank < (n - whole.sum(axis=-1, keepdims=True)))
    return replace(gallery, counts=counts)
