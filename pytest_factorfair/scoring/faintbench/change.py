"""How a score of FAIntbench differs between two galleries of the same prompts, and how sure that is."""

from __future__ import annotations

from math import hypot

import numpy as np

from pytest_factorfair.domain import Estimator
from pytest_factorfair.scoring.faintbench.cells import Cells
from pytest_factorfair.scoring.faintbench.gallery import Gallery
from pytest_factorfair.scoring.faintbench.levels import level
from pytest_factorfair.scoring.faintbench.measured import eta, explicit_pool, implicit_pool
from pytest_factorfair.scoring.faintbench.selection import Selection
from pytest_factorfair.statistics.estimate import Estimate


def change(metric: str, new: Gallery, old: Gallery, selection: Selection, estimator: Estimator) -> Estimate:
    """New less old, with the error of that difference; both galleries hang the same cases.

    ``implicit`` and ``explicit`` are compared prompt by prompt, over those that have a score in both
    runs. The pictures of either are taken to be drawn apart, so that both errors count: pictures
    that are the same in both make the error too large, never too small.
    """
    if metric == "eta":
        return _apart(eta(new, selection, estimator)[0], eta(old, selection, estimator)[0])
    pool = implicit_pool if metric == "implicit" else explicit_pool
    after, before = (pool(each, selection, estimator, metric) for each in (new, old))
    if after is None or before is None:
        return Estimate(None, None, None, 0, "no such prompt was asked")
    return level(_less(after.cells, before.cells), after.weights, after.prompts).estimate


def _less(new: Cells, old: Cells) -> Cells:
    """Cell by cell, nan where either has no score."""
    return Cells(
        new.plugin - old.plugin,
        new.corrected - old.corrected,
        np.hypot(new.error, old.error),
        np.minimum(new.n, old.n),
        new.reason,
    )


def _apart(new: Estimate, old: Estimate) -> Estimate:
    n = min(new.n, old.n)
    plain = None if new.plugin is None or old.plugin is None else new.plugin - old.plugin
    if new.corrected is None or old.corrected is None or new.error is None or old.error is None:
        return Estimate(plain, None, None, n, new.reason or f"in the baseline, {old.reason}")
    return Estimate(plain, new.corrected - old.corrected, hypot(new.error, old.error), n)
