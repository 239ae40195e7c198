"""The spread of scores over scenarios: for claims about scenarios in general."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pytest_factorfair.scoring.fact import right_shares
from pytest_factorfair.scoring.tally import Tally
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray
from pytest_factorfair.statistics.jackknife import jackknifed_entropies, jackknifed_likenesses

# Scenarios a statistic needs, and answers each direction must keep when one of them is left out.
LEAST = 2


class Across(NamedTuple):
    """The covariance (4, 4) of S_fact, S_E, S_KLD and firm S_fact over scenarios; its degrees of freedom."""

    covariance: FloatArray
    freedom: int


def lacking(tally: Tally) -> str:
    """A statistic that cannot spare a scenario; empty if all can."""
    used, kept = _used(tally), _without(tally).sum(axis=-1).min(axis=-1)
    short = (used.sum(axis=-1) < LEAST) | (used & (kept < LEAST)).any(axis=-1)
    if not short.any():
        return ""
    return f"answers from fewer than {LEAST} scenarios in {tally.statistics[int(np.argmax(short))]}"


def across(tally: Tally) -> Across:
    """The interval ``scenario_jack``: leave out one scenario of a statistic, in both directions, in turn.

    Statistics are strata: each adds (m-1)/m times the squared deviations of its m values without
    one scenario, and m-1 degrees of freedom.
    """
    used = _used(tally)[..., None]
    values = np.where(used, _values(tally, _without(tally)), 0.0)
    m = used.sum(axis=1, keepdims=True)
    centred = np.where(used, values - values.sum(axis=1, keepdims=True) / m, 0.0) * np.sqrt((m - 1) / m)
    flat = centred.reshape(-1, centred.shape[-1]) / len(tally.statistics)
    return Across(flat.T @ flat, int((m - 1).sum()))


def _used(tally: Tally) -> BoolArray:
    """Which scenarios of a statistic have answers in both directions, (S, scenarios)."""
    return np.asarray((tally.scenarios.sum(axis=-1) > 0).all(axis=1))


def _without(tally: Tally) -> IntArray:
    """Counts without each scenario in turn, (S, scenarios, 2, k)."""
    return np.asarray(tally.counts[:, None] - tally.scenarios.swapaxes(1, 2))


def _values(tally: Tally, counts: IntArray) -> FloatArray:
    """The four scores of each statistic without each scenario, (S, scenarios, 4)."""
    rows = counts.reshape(-1, *counts.shape[2:])
    m = counts.shape[1]
    right = right_shares(rows, np.repeat(tally.truth, m, axis=0))
    firm = np.repeat(~tally.fragile, m, axis=0)
    scale = len(tally.statistics) / max(1, int((~tally.fragile).sum()))
    scores = (
        right.mean(axis=-1),
        jackknifed_entropies(rows).mean(axis=-1),
        jackknifed_likenesses(rows),
        np.where(firm, right, 0.0).sum(axis=-1) * scale,
    )
    return np.asarray(np.stack(scores, axis=-1).reshape(-1, m, len(scores)))
