"""In how many questions do the answers of two runs differ, and in how many could they by chance?

The difference of two runs in a question is how much oftener an answer of one run is unlike an answer of the
other than two answers of the same run are unlike each other. Without noise it is 1 where the answer changed,
and 0 elsewhere, so that its sum counts questions. If nothing changed, it is 0 on average, whatever the noise:
it is half the squared distance between the distributions of the answers, estimated without bias: the maximum
mean discrepancy with the kernel "equal or not", close to the one by which Gao, Liang and Guestrin tell models
behind APIs apart ("Model Equality Testing", ICLR 2025, arXiv 2410.20247).

If nothing changed, the answers that both runs got to a question are exchangeable: it is chance which of them
are of which run. So dividing them at random shows which differences occur by chance (``most_by_chance``).

Counts are arrays of how often each answer was given, in the last axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import ceil

import numpy as np

from pytest_factorfair.statistics.arrays import FloatArray, IntArray

PERMUTATIONS = 1_999

DECIMALS = 2
"""The decimals of differences and of their limit, which messages print."""

SIMULATED = 1_000
"""Pairs of runs, from which the power of a test is simulated."""

SEED = 41


def difference(before: IntArray, now: IntArray) -> FloatArray:
    """How two runs, which gave each answer as often as these counts (..., answers) say, differ in a question.

    Each run must have at least two answers.

    >>> difference(np.array([4, 0]), np.array([0, 2]))
    1.0
    >>> difference(np.array([2, 2]), np.array([1, 1]))
    -0.33333333333333337
    """

    def alike(counts: IntArray) -> FloatArray:
        total = counts.sum(-1)
        return np.asarray((counts * (counts - 1)).sum(-1) / (total * (total - 1)))

    between = (before * now).sum(-1) / (before.sum(-1) * now.sum(-1))
    return np.asarray((alike(before) + alike(now)) / 2 - between)[()]


@cache
def _by_chance(together: tuple[int, ...], size: int) -> FloatArray:
    """The differences if ``size`` of these answers, drawn at random, were those of one of the runs."""
    random = np.random.default_rng(SEED)
    drawn = random.multivariate_hypergeometric(together, size, size=PERMUTATIONS)
    return difference(np.array(together) - drawn, drawn)


def most_by_chance(pairs: Sequence[tuple[IntArray, IntArray]], alpha: float) -> float:
    """What the sum of the differences exceeds with probability alpha at most if nothing changed; at least 0.

    The ``pairs`` are the counts of both runs, one for each question. Always the same divisions are drawn.
    """
    random = np.random.default_rng(SEED)
    sums = np.zeros(PERMUTATIONS)
    for before, now in pairs:
        together = tuple(sorted((before + now).tolist(), reverse=True))
        if together[0] < sum(together):
            sums += random.permutation(_by_chance(together, int(now.sum())))
    limit = float(np.sort(sums)[-max(int(alpha * (PERMUTATIONS + 1)), 1)])
    scale: int = 10**DECIMALS
    return max(ceil(scale * limit - 1e-9) / scale, 0.0)


def power(questions: Sequence[IntArray], size: int | IntArray, changed: float, alpha: float) -> float:
    """The chance to notice that this share of the questions has another first choice, with ``size`` answers.

    ``questions`` are the counts of the answers in the baseline, whose shares the simulated runs draw from;
    ``size`` may differ between them. The other first choice is the second one: the two change places.
    """
    random = np.random.default_rng(SEED)
    # A question whose answers are all alike has another answer, too.
    shares = np.zeros((len(questions), 1 + max(map(len, questions))))
    for row, counts in zip(shares, questions, strict=True):
        row[: len(counts)] = np.sort(counts / counts.sum())[::-1]
    swapped = shares.copy()
    swapped[:, :2] = shares[:, 1::-1]

    def sums(answers: FloatArray) -> FloatArray:
        """The difference of simulated pairs of runs, the second of which draws from these shares."""
        asked = [counts.sum() for counts in questions]
        baseline = random.multinomial(asked, shares, size=(SIMULATED, len(shares)))
        return np.asarray(
            difference(baseline, random.multinomial(size, answers)).sum(axis=-1).round(DECIMALS)
        )

    same = np.broadcast_to(shares, (SIMULATED, *shares.shape))
    differ = random.random((SIMULATED, len(shares), 1)) < changed
    limit = max(float(np.quantile(sums(same), 1 - alpha, method="higher")), 0.0)
    return float((sums(np.where(differ, swapped, shares)) > limit).mean())
