"""The dependence of choices on the conditions of a question: rows of a report."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.benchmarks.fact_or_fair.metrics.within import ALLOWED, ENOUGH, by_value
from pytest_factorfair.benchmarks.fact_or_fair.rows import ConditionCounts, Dependence
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, variance_along
from pytest_factorfair.statistics.bounds import BEYOND, quantile
from pytest_factorfair.statistics.jackknife import jackknifed_entropies
from pytest_factorfair.statistics.sample import Sample

# Decimals of a row: a report has many rows.
DIGITS = 4


def dependences(tally: Tally) -> Iterator[Dependence]:
    """A row per condition of a tally; two attributes of the first person are two conditions."""
    for name, condition in tally.conditions.items():
        for attribute in dict.fromkeys(value.attribute for value in condition.values):
            columns = [index for index, value in enumerate(condition.values) if value.attribute == attribute]
            yield _row(tally, name, attribute, columns)


def _row(tally: Tally, name: str, attribute: str, columns: list[int]) -> Dependence:
    condition = tally.conditions[name]
    sample = condition.sample.at(np.s_[:, :, columns])
    n = sample.counts.sum(axis=-1)
    counted = np.rint(n) >= ENOUGH
    compared = counted.sum(axis=-1) > 1
    asked, missing = condition.asked[..., columns].sum(), condition.missing[..., columns].sum()
    left_out = n[~(counted & compared[..., None])].sum()
    s_e = within = value = error = None
    reasons = []
    if not compared.any():
        reasons.append(f"fewer than {ENOUGH} valid answers for two of the values in every topic")
    else:
        every = np.where(counted, n, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            weights = every / every.sum(axis=-1, keepdims=True)
            pooled = (sample.counts * counted[..., None]).sum(axis=2)
            whole = jackknifed_entropies(pooled, effect=tally.sample.design_effect)
            parts = np.where(counted, weights * sample.entropies, 0.0).sum(axis=-1)
            variances = _variances(sample, counted, weights)
        s_e, within = float(whole[compared].mean()), float(parts[compared].mean())
        value = s_e - within
        error = float(np.sqrt(variances[compared].sum())) / int(compared.sum())
        if missing > ALLOWED * asked:
            error = None
            reasons.append(f"no interval: {missing / asked:.0%} of the answers are missing")
        if left_out:
            reasons.append(
                f"without {left_out / asked:.1%} of the answers: fewer than {ENOUGH} to a value in a topic"
            )
    margin = None if error is None else quantile(BEYOND) * error
    return Dependence(
        model=tally.model,
        checklist=tally.checklist,
        part=tally.part,
        context=tally.context,
        attribute=tally.attribute,
        condition=name,
        first=attribute if name == "first" else "",
        s_e=_shown(s_e),
        within=_shown(within),
        value=_shown(value),
        # Around the clipped value, because an unbiased one may lie below 0.
        low=None if value is None or margin is None else _shown(_clipped(value) - margin),
        high=None if value is None or margin is None else _shown(_clipped(value) + margin),
        reason="; ".join(reasons),
        cells=tuple(_cells(tally, name, columns)),
    )


def _variances(sample: Sample, counted: BoolArray, weights: FloatArray) -> FloatArray:
    """The variance of each topic's mutual information over log k, (S, 2): delta method and second order.

    An answer of group i with value v pulls it by log p(i given v) / p(i). If the choice does not depend on
    the condition, this vanishes, and 2 n times the information is chi-square with (V - 1)(k - 1) degrees of
    freedom.
    """
    smoothed, k = sample.smoothed, sample.counts.shape[-1]
    shares = np.where(counted[..., None], smoothed.shares, 1.0)
    counted_weights = np.where(counted, weights, 0.0)
    overall = (counted_weights[..., None] * shares).sum(axis=2, keepdims=True)
    pull = np.log(shares / overall) / np.log(k)
    pull = pull - (shares * pull).sum(axis=-1, keepdims=True)
    first_order = variance_along(pull, smoothed.covariance) / sample.n
    squared = np.einsum("...ij,...ji->...", smoothed.surprise, smoothed.surprise)
    spread = (counted_weights * np.where(counted, squared, 0.0)).sum(axis=-1) * (counted.sum(axis=-1) - 1)
    n = np.where(counted, sample.n, 0.0).sum(axis=-1)
    second_order = spread / (2 * (n * np.log(k)) ** 2)
    return np.asarray(np.where(counted, counted_weights**2 * first_order, 0.0).sum(axis=-1) + second_order)


def _cells(tally: Tally, name: str, columns: list[int]) -> Iterator[ConditionCounts]:
    condition = tally.conditions[name]
    with np.errstate(invalid="ignore", divide="ignore"):
        entropies = condition.sample.entropies
    counted = np.rint(condition.sample.counts.sum(axis=-1)) >= ENOUGH
    for stratum in by_value(tally, name):
        if stratum.value not in columns or not condition.asked[stratum.cells].any():
            continue
        counts = condition.sample.counts[stratum.cells].sum(axis=0)
        shares = (counts / counts.sum()).tolist() if counts.any() else ()
        judged = entropies[stratum.cells & counted]
        value = condition.values[stratum.value]
        yield ConditionCounts(
            value=value.name,
            valence=stratum.valence,
            told=stratum.told,
            ages=value.ages,
            asked=int(condition.asked[stratum.cells].sum()),
            missing=round(float(condition.missing[stratum.cells].sum()), 1),
            shares={group: round(share, DIGITS) for group, share in zip(tally.groups, shares, strict=False)},
            evenness=_shown(float(judged.mean())) if judged.size else None,
        )


def _clipped(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def _shown(value: float | None) -> float | None:
    return None if value is None else round(_clipped(value), DIGITS)
