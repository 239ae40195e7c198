"""False claims of differences: how often models that do not differ seem to, from 20 answers per case on.

    python -m benchmarks.differences          1,000 runs per row
    python -m benchmarks.differences --full   10,000 runs per row; either way it fails if a rate is exceeded

All models of a row answer alike, and no answers are paired. The columns are the shares of runs that claim a
difference on a board of *two* or of *five* models (two-sided, Holm), that a score *regressed* (one-sided,
like a gate with one look), that it regressed after up to four *looks* at the new model, each with as many
additional answers, and that some single *statistic* regressed (Holm over all statistics of a run).

With fewer answers than bounds need, differences of scores are judged at half the level
(``gates.evidence.IF_FEW``), and single statistics are not judged. With more groups than ``FEW_GROUPS`` such
differences are *refused*, too; their rates show why.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from benchmarks.gates import STATISTICS
from benchmarks.harness import print_rows
from pytest_factorfair.benchmarks.fact_or_fair.metrics.base import FEW, MANY
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scores import ENOUGH, FEW_GROUPS
from pytest_factorfair.benchmarks.fact_or_fair.scoring.reference import stereotyped
from pytest_factorfair.benchmarks.fact_or_fair.scoring.spread import (
    EVENNESS,
    FACT,
    LIKENESS,
    Spread,
    jack_delta,
    single,
)
from pytest_factorfair.gates.evidence import IF_FEW
from pytest_factorfair.gates.levels import BOUNDARIES
from pytest_factorfair.statistics.holm import ALPHA
from pytest_factorfair.statistics.sample import Sample

Floats: TypeAlias = NDArray[np.float64]

SEED = 20261123
SCORES = {"S_fact": (FACT, FEW), "S_E": (EVENNESS, MANY), "S_KLD": (LIKENESS, MANY)}
STRENGTHS = (0.0, 0.2, 0.5, 0.8)
GROUPS = {**STATISTICS, 5: 18, 8: 18}
"""The number of statistics by number of groups: of the shipped checklist, and of some with more groups."""
MODELS = 5
MOST, MOST_OF_STATISTICS = 0.09, 0.04
"""The allowed rates of false claims: of scores, 5 % and an allowance for the tails; and of single statistics,
whose measured rate is at most 3.3 %, with a binomial standard error of 0.6 points in 1,000 runs."""


@dataclass(frozen=True, slots=True)
class Row:
    """The shares of runs with a false claim about a score, at a sample size and a strength of prejudice."""

    score: str
    k: int
    n: int
    strength: float
    two: float
    five: float
    regressed: float
    looks: float
    statistics: float | None

    @property
    def refused(self) -> bool:
        return self.n < SCORES[self.score][1] and self.k > FEW_GROUPS

    @property
    def held(self) -> bool:
        if self.refused:
            return True
        worst = max(self.two, self.five, self.regressed, self.looks)
        return worst <= MOST and (self.statistics or 0) <= MOST_OF_STATISTICS

    def __str__(self) -> str:
        statistics = "         -" if self.statistics is None else f"{self.statistics:>10.2%}"
        note = "  refused" if self.refused else "" if self.held else "  <- too many"
        return (
            f"{self.score:<8}{self.k:>6}{self.n:>5}{self.strength:>9.1f}{self.two:>12.2%}{self.five:>13.2%}"
            f"{self.regressed:>11.2%}{self.looks:>8.2%}{statistics}{note}"
        )


def rows(runs: int) -> Iterator[Row]:
    """The rows of all scores, numbers of groups, sizes and strengths; reproducible."""
    for name, (_, needed) in SCORES.items():
        for k in GROUPS:
            for n in sorted({ENOUGH, needed, MANY}):
                for strength in STRENGTHS:
                    yield row(name, k, n, strength, runs)


def row(name: str, k: int, n: int, strength: float, runs: int) -> Row:
    """Simulate models that all follow the truth with the same strength, on the statistics of a checklist."""
    score, needed = SCORES[name]
    generator = np.random.default_rng([SEED, score, k, n, round(10 * strength)])
    truth = np.array([[statistic % k, (statistic + 1) % k] for statistic in range(GROUPS[k])])
    share = stereotyped(strength, k).s_fact
    shares = np.full((*truth.shape, k), (1 - share) / (k - 1))
    np.put_along_axis(shares, truth[..., None], share, axis=-1)
    drawn = [generator.multinomial(n, shares, size=(runs, *truth.shape)) for _ in range(MODELS)]
    part = 1.0 if n >= needed else IF_FEW
    level = part * ALPHA
    spreads = [_spread(counts, truth, score) for counts in drawn]
    falls = np.stack([_below(spread, rival) for spread, rival in combinations(spreads, 2)])
    chances = 2 * np.minimum(falls, 1 - falls)
    fell = np.zeros(runs, np.bool_)
    for look, bound in enumerate(BOUNDARIES[MODELS - 1], 1):
        fell |= _below(_spread(np.sum(drawn[1 : look + 1], axis=0), truth, score), spreads[0]) < part * ndtr(
            -bound
        )
    statistics = None
    if n >= needed:
        alone = [
            _below(
                *(
                    _spread(counts[:, statistic : statistic + 1], truth[statistic : statistic + 1], score)
                    for counts in drawn[:2]
                )
            )
            for statistic in range(len(truth))
        ]
        claimed = np.min(alone, axis=0) < ALPHA / (len(SCORES) * sum(STATISTICS.values()))
        statistics = float(claimed.mean())
    return Row(
        name,
        k,
        n,
        strength,
        float((chances[0] < level).mean()),
        float((chances.min(axis=0) < level / len(chances)).mean()),
        float((falls[0] < level).mean()),
        float(fell.mean()),
        statistics,
    )


def _spread(counts: NDArray[np.int64], truth: NDArray[np.int64], score: int) -> Spread:
    sample = Sample(counts.astype(np.float64))
    return single(jack_delta(sample, truth, firm=np.ones(truth.shape, np.bool_)), score)


def _below(spread: Spread, rival: Spread) -> Floats:
    """The one-sided p value of the claim that the first score is lower than its rival."""
    error = np.maximum(np.hypot(spread.error, rival.error), 1e-12)
    return np.asarray(ndtr((spread.centre - rival.centre) / error))


def main() -> int:
    """Print the table; return 1 if a rate is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="10,000 runs per row, not 1,000")
    runs = 10_000 if parser.parse_args().full else 1_000
    level_of_few = f"{IF_FEW * ALPHA:.1%} where answers are few"
    print(f"{runs:,} runs per row of models that do not differ; a level of {ALPHA:.0%}, of {level_of_few}")
    print(
        f"{'score':<8}{'groups':>6}{'n':>5}{'strength':>9}{'two models':>12}{'five models':>13}"
        f"{'regressed':>11}{'looks':>8}{'statistics':>11}"
    )
    return 0 if print_rows(rows(runs)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
