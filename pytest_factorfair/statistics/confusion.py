"""Correct pooled shares for a detector's errors: maximum likelihood by EM, intervals by bootstrap.

If C[t, c] is the probability that a face that people see as t is perceived as c, and pi are the true shares,
then perceived faces have shares C^T pi. EM stays within the simplex, and equals the matrix inverse where the
inverse does, too. The correction increases the variance: it is meant for counts pooled over topics, and
reported with its interval; no gate depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pytest_factorfair.statistics.arrays import FloatArray, IntArray

DRAWS = 2000
SEED = 0
# Jeffreys' prior for a row of the table.
PRIOR = 0.5
# Above this condition number, errors of the rates dominate, so that the table cannot be inverted.
WORST_CONDITION = 10.0
LEAST_DISCRIMINATION = 0.2
TAILS = (2.5, 97.5)

# EM converges linearly; it is slowest where a share tends to 0.
STEPS = 10_000
STILL = 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class Confusion:
    """A confusion matrix: ``counts[t, c]`` faces are seen as t by people, and perceived as c by a detector.

    ``counts`` has shape (k, k) in the order of ``groups``, or (k+1, k+1) with a last row for pictures in
    which people see no face, and a last column for those in which the detector finds no group. It is
    read-only.
    """

    attribute: str
    groups: tuple[str, ...]
    counts: IntArray

    def __post_init__(self) -> None:
        self.counts.flags.writeable = False

    @property
    def missing(self) -> bool:
        """Whether the table can correct for pictures in which no face is found.

        This requires pictures in which people see no face either; otherwise every such picture would count as
        a missed person.
        """
        return len(self.counts) > len(self.groups) and bool(self.counts[-1].any())

    @property
    def used(self) -> IntArray:
        """The counts used for the correction, a square; with the last row and column only if ``missing``."""
        size = len(self.groups) + self.missing
        return self.counts[:size, :size]

    @property
    def rates(self) -> FloatArray:
        """P(perceived as c | seen as t) from ``used``; rows sum to 1, a row without faces is nan."""
        labelled = self.used.sum(axis=-1, keepdims=True)
        return np.asarray(self.used / np.where(labelled > 0, labelled, np.nan))

    @property
    def refusal(self) -> str:
        """The reason why this table cannot correct shares; empty if it can."""
        k, rates = len(self.groups), self.rates
        for group, row in zip(self.groups, rates, strict=False):
            if np.isnan(row).any():
                return f"no labelled face is {group}"
        if k == 2:  # noqa: PLR2004 - with two groups: true and false positive rate
            among_faces = rates[:k, :k] / rates[:k, :k].sum(axis=-1, keepdims=True)
            discrimination = float(among_faces[0, 0] - among_faces[1, 0])
            if not discrimination >= LEAST_DISCRIMINATION:
                return (
                    f"the detector hardly distinguishes the groups: it perceives {self.groups[0]} in "
                    f"{among_faces[0, 0]:.0%} of the faces that people call so and in "
                    f"{among_faces[1, 0]:.0%} of the others; a difference of "
                    f"{100 * LEAST_DISCRIMINATION:.0f} points is needed"
                )
        condition = float(np.linalg.cond(rates))
        if not condition <= WORST_CONDITION:
            return (
                f"the table is ill-conditioned: {condition:.1f}, at most {WORST_CONDITION:.0f} can be undone"
            )
        return ""


@dataclass(frozen=True, slots=True, eq=False)
class CorrectedShares:
    """Corrected shares of the groups with 95 % intervals, each of shape (k,)."""

    value: FloatArray
    low: FloatArray
    high: FloatArray


def expectation_maximisation(counts: FloatArray, rates: FloatArray) -> FloatArray:
    """The maximum-likelihood estimate of the true shares, from counts of perceived groups.

    w_tc = pi_t C_tc / sum_u pi_u C_uc; pi_t <- sum_c n_c w_tc / n, from uniform shares (Dempster,
    Laird & Rubin, 1977). ``counts`` (..., c) and ``rates`` (..., t, c) broadcast over leading axes;
    the result is (..., t). Counts with rate 0 in every row are left out; if there are no others, the shares
    are nan.
    """
    leading = np.broadcast_shapes(counts.shape[:-1], rates.shape[:-2])
    table = np.broadcast_to(rates, (*leading, *rates.shape[-2:])).reshape(-1, *rates.shape[-2:])
    perceived = np.broadcast_to(counts, (*leading, counts.shape[-1])).reshape(-1, counts.shape[-1])
    seen = np.where(table.sum(axis=-2) > 0, perceived, 0)
    total = seen.sum(axis=-1, keepdims=True)
    seen = seen / np.where(total > 0, total, np.nan)
    estimates = np.full(table.shape[:-1], 1 / table.shape[-2])
    moving = np.arange(len(estimates))
    for _ in range(STEPS):
        shares, faces, chances = estimates[moving], seen[moving], table[moving]
        expected = np.einsum("bt,btc->bc", shares, chances)
        observed = (faces > 0) | np.isnan(faces)
        ratio = np.divide(faces, expected, out=np.zeros_like(faces), where=observed)
        estimates[moving] = step = shares * np.einsum("btc,bc->bt", chances, ratio)
        moving = moving[np.abs(step - shares).max(axis=-1) > STILL]
        if not moving.size:
            break
    return estimates.reshape(*leading, table.shape[-2])


def correct(table: Confusion, counts: Sequence[int] | IntArray, missing: int = 0) -> CorrectedShares:
    """Correct pooled counts of perceived groups; the table must have no ``refusal``.

    ``counts`` (k,) are the faces of each perceived group, ``missing`` the pictures without a face, which are
    used only if the table covers them. The interval comes from 2,000 bootstrap draws of pictures
    (multinomial) and of the table's rows (Dirichlet(counts + 1/2)), with a fixed seed. In simulations with 25
    to 100 labelled faces per group it contains the truth in 93 to 98 of 100 runs.
    """
    seen = np.array([*counts, missing][: len(table.used)], np.float64)
    random = np.random.default_rng(SEED)
    pictures = random.multinomial(int(seen.sum()), seen / seen.sum(), size=DRAWS)
    rows = [random.dirichlet(row + PRIOR, size=DRAWS) for row in table.used]
    drawn = expectation_maximisation(pictures.astype(np.float64), np.stack(rows, axis=1))
    value = _among(expectation_maximisation(seen, table.rates), len(table.groups))
    low, high = np.nanpercentile(_among(drawn, len(table.groups)), TAILS, axis=0)
    return CorrectedShares(value, np.minimum(low, value), np.maximum(high, value))


def _among(shares: FloatArray, k: int) -> FloatArray:
    """Rescale shares to those among faces, without the share of pictures that show none."""
    faces = shares[..., :k]
    total = faces.sum(axis=-1, keepdims=True)
    return np.asarray(faces / np.where(total > 0, total, np.nan))
