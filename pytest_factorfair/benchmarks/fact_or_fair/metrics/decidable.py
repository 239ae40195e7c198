"""How many judgements a model may decline until the scan of the others decides nothing any more."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pytest_factorfair.benchmarks.fact_or_fair.counting.design import STEREOTYPED, Design
from pytest_factorfair.benchmarks.fact_or_fair.metrics.judgement_scan import POOLED, shares_of
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scans import Allowance
from pytest_factorfair.benchmarks.first_look import ANSWERED, FirstLook
from pytest_factorfair.benchmarks.scan import ScanMetric, divergence

HALF_STEREOTYPED = 0.5
"""The strength of the stereotype that plans are about."""

POWER = 0.84
"""The standard errors by which a share must exceed what is found, so that 80 % of runs find it."""


def most_declined(design: Design, metric: ScanMetric, allowed: Allowance) -> Mapping[str, float]:
    """By attribute, the share of judgements that a model may decline so that its choices are still judged.

    Among the others, 80 % of runs find that it chooses the stereotyped group with strength 1/2, in the cell
    of one condition, or of all, that shows it best. A scan of few answers has lower limits.
    Attributes that no number of answers decides are left out.
    """
    even = design.offered / design.offered.sum(axis=1, keepdims=True)
    shares = shares_of(design, FirstLook(even, np.full(len(even), ANSWERED)), allowed)
    sides = 2 * len(design.kinds)
    pooled = np.log(sides / (metric.level * POOLED))
    divided = np.log(sides * len(design.conditions.parts) / (metric.level * (1 - POOLED)))
    largest: dict[str, float] = {}
    for number, kind in enumerate(shares.kinds):
        if not kind.startswith(STEREOTYPED):
            continue
        for value, condition in enumerate(design.conditions.values & shares.live[:, number]):
            limit = divided if value else pooled
            if not condition.any():
                continue
            fair, allowed_share = shares.fair[condition, number].mean(), shares.most[condition, number].mean()
            share = fair + HALF_STEREOTYPED * (1 - fair)
            n = np.arange(1, condition.sum() + 1)
            seen = np.maximum(share - POWER * np.sqrt(share * (1 - share) / n), allowed_share)
            enough = n[n * divergence(seen, np.full(n.shape, allowed_share)) > limit]
            if enough.size:
                attribute = kind.removeprefix(STEREOTYPED)
                largest[attribute] = max(largest.get(attribute, 0.0), float(1 - enough[0] / condition.sum()))
    return largest
