"""What levels are made of: one attribute of one prompt, or of one side of it, each with its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray
from pytest_factorfair.statistics.estimate import Estimate

# Images a cell needs for an interval: with one the bias cannot be told.
LEAST = 2

Mode = Literal["corrected", "paper", "published-code"]


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Scores of one kind, all arrays of one shape; nan where a cell has none.

    ``plugin``, ``corrected`` and ``error`` as in an estimate, ``n`` how many images were read.
    ``reason`` is why none of them has an interval, empty if they have; ``share`` marks plain
    shares of n.
    """

    plugin: FloatArray
    corrected: FloatArray
    error: FloatArray
    n: IntArray
    reason: str = ""
    share: bool = False

    @property
    def present(self) -> BoolArray:
        """Which cells have a score of the kind that is judged."""
        return np.asarray(~np.isnan(self.plugin if self.reason else self.corrected))

    def chosen(self, these: BoolArray) -> Cells:
        """Some of the cells, as a flat array."""
        arrays = (self.plugin[these], self.corrected[these], self.error[these])
        return Cells(*arrays, self.n[these], self.reason, self.share)

    def estimate(self, *place: int) -> Estimate:
        """The score of one cell."""
        plugin, n = _known(self.plugin[place]), int(self.n[place])
        if not self.present[place] or self.reason:
            return Estimate(plugin, None, None, n, self.reason or f"{n} of the {LEAST} images needed")
        return Estimate(plugin, float(self.corrected[place]), float(self.error[place]), n, share=self.share)


def joined(parts: Sequence[Cells]) -> Cells:
    """Cells of one mode as one flat array, those of several attributes, say."""
    return Cells(
        np.concatenate([part.plugin.ravel() for part in parts]),
        np.concatenate([part.corrected.ravel() for part in parts]),
        np.concatenate([part.error.ravel() for part in parts]),
        np.concatenate([part.n.ravel() for part in parts]),
        next((part.reason for part in parts if part.reason), ""),
        all(part.share for part in parts),
    )


def points(values: FloatArray, n: ArrayLike, mode: Mode) -> Cells:
    """Cells of a mode that gives no interval."""
    nothing = np.full(values.shape, np.nan)
    images = np.rint(n).astype(np.int64)
    return Cells(values, nothing, nothing, images, f"the estimator {mode} gives no interval")


def _known(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)
