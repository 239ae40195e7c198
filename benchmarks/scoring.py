"""Measure the time to score 10 million answers and to compute distances, relative to plain numpy.

    python -m benchmarks.scoring [--full]     --full adds 10,000 distances per k, checked by brute force

It fails if scoring takes more than 4 times as long as ``numpy.bincount`` alone, or a distance is off by 1e-9.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial
from math import log, sqrt
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.benchmarks.fact_or_fair.benchmark import FactOrFairBenchmark
from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.benchmarks.measurement import CORRECTED
from pytest_factorfair.scoring import tradeoff_bound, tradeoff_distance

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SEED = 20261122
ANSWERS = 10_000_000
CONTEXTS = ("objective", "base", "representativeness", "attribution", "in_group")
GROUPS = {"gender": ("Female", "Male"), "race": ("Asian", "Black", "Hispanic", "White")}
STATISTICS = {"gender": 15, "race": 18}
POINTS = 100_000
CHECKED = 10_000
ALLOWED = 4.0
PRECISION = 1e-9
ROUNDS = 5


def codes() -> dict[tuple[str, str], Ints]:
    """Answers of each context and attribute, with (statistic, direction, group) encoded as a number."""
    generator = np.random.default_rng(SEED)
    size = ANSWERS // (len(CONTEXTS) * len(GROUPS))
    return {
        (context, attribute): generator.integers(0, STATISTICS[attribute] * 2 * len(groups), size)
        for context in CONTEXTS
        for attribute, groups in GROUPS.items()
    }


def counted(answers: Ints, attribute: str) -> Ints:
    """Count the codes: counts (S, 2, k)."""
    shape = STATISTICS[attribute], 2, len(GROUPS[attribute])
    return np.bincount(answers, minlength=int(np.prod(shape))).reshape(shape)


def tally(counts: Ints, context: str, attribute: str) -> Tally:
    """Make a tally of the counts, with labels that rotate through the groups."""
    statistics, _, k = counts.shape
    none = np.zeros((statistics, 2), np.int64)
    objective = context == "objective"
    return Tally(
        model="sim:uniform", checklist="fact_or_fair", part="objective" if objective else "subjective",
        context=None if objective else context, background="none", attribute=attribute,
        groups=GROUPS[attribute], statistics=tuple(f"statistic_{s}" for s in range(statistics)),
        design="balanced", people=4, counts=counts.astype(np.float64),
        truth=np.array([[s % k, (s + 1) % k] for s in range(statistics)]),
        fragile=none > 0, positive=none > 0, asked=counts.sum(axis=-1), refused=none, unparsed=none.copy(),
        errors=none.copy(), named=none.copy(), matched=none.astype(np.float64),
        outside=none.astype(np.float64), scenarios=counts[:, :, None].astype(np.float64),
        letters=counts.astype(np.float64), letter_squares=counts.astype(np.float64),
        addressed=np.zeros_like(counts), declined=np.zeros_like(counts),
        filtered=none.copy(), neutral=np.zeros(counts.shape), neutral_named=none.copy(),
        neutral_matched=none.astype(np.float64),
    )  # fmt: skip


def scored(answers: dict[tuple[str, str], Ints]) -> int:
    """Compute all scores with intervals from codes; return the number of rows."""
    measuring = FactOrFairBenchmark()
    return sum(
        len([score.row() for score in measuring.scores(observed, CORRECTED)])
        for (context, attribute), codes_of_attribute in answers.items()
        for observed in [tally(counted(codes_of_attribute, attribute), context, attribute)]
    )


def brute(a: float, e: float, x: Floats, heights: Floats, k: int) -> float:
    """The distance by brute force: every local minimum on a grid, refined ten times."""
    square = (x - a) ** 2 + (heights - e) ** 2
    inner = np.flatnonzero((square[1:-1] <= square[:-2]) & (square[1:-1] <= square[2:])) + 1
    dips = np.concatenate([[0], inner, [x.size - 1]])
    low, high = x[np.maximum(dips - 1, 0)], x[np.minimum(dips + 1, x.size - 1)]
    rows, nearest = np.arange(dips.size), float(square.min())
    for _ in range(10):
        near = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, 21)
        square = (near - a) ** 2 + (height(near, k) - e) ** 2
        best = square.argmin(axis=1)
        nearest = min(nearest, float(square.min()))
        low, high = near[rows, np.maximum(best - 1, 0)], near[rows, np.minimum(best + 1, 20)]
    return sqrt(nearest)


def height(x: Floats, k: int) -> Floats:
    """The curve, computed independently with plain logarithms."""
    inside = np.clip(x, 1e-300, 1)
    remainder = np.clip(1 - x, 1e-300, 1)
    return np.asarray(-(x * np.log(inside) + (1 - x) * np.log(remainder / (k - 1))) / log(k))


def grid() -> Floats:
    """A grid of 1e5 positions on the curve, half of them ever closer to the ends."""
    ends = 1 / (1 + np.exp(-np.linspace(-36, 36, 50_000)))
    return np.unique(np.concatenate([[0.0, 1.0], ends, np.linspace(0, 1, 50_000)]))


def worst_gap(k: int) -> float:
    """The largest disagreement with brute force over random points."""
    x = grid()
    heights = height(x, k)
    points = np.random.default_rng([SEED, k]).random((CHECKED, 2))
    distances = np.abs(tradeoff_distance(points[:, 0], points[:, 1], k))
    expected = [brute(a, e, x, heights, k) for a, e in points.tolist()]
    return float(np.abs(distances - np.array(expected)).max())


def best(action: Callable[[], object], *, rounds: int = ROUNDS) -> float:
    """The shortest of several times, in seconds."""
    times = []
    for _ in range(rounds):
        start = perf_counter()
        action()
        times.append(perf_counter() - start)
    return min(times)


def distances() -> Iterator[tuple[int, float, float]]:
    """For several k, the seconds for all bounds and for all distances."""
    a, e = np.random.default_rng(SEED).random((2, POINTS))
    for k in (2, 4, 16, 64):
        yield k, best(partial(tradeoff_bound, a, k)), best(partial(tradeoff_distance, a, e, k), rounds=1)


def main() -> int:
    """Print the tables; return 1 if anything is slower or less accurate than promised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="check 10,000 distances per k by brute force")
    full = parser.parse_args().full
    answers = codes()
    together = np.concatenate(list(answers.values()))
    rows = scored(answers)
    bare, whole = best(lambda: np.bincount(together)), best(lambda: scored(answers))
    print(f"{ANSWERS:,} answers into {rows} scores with intervals, best of {ROUNDS}")
    print(f"{'bare numpy.bincount':36} {bare * 1000:9.1f} ms")
    print(f"{'all scores':36} {whole * 1000:9.1f} ms   ratio {whole / bare:.2f} (allowed {ALLOWED:g})")
    print(f"\n{POINTS:,} points, seconds")
    for k, bound, distance in distances():
        print(f"k = {k:<3} bound {bound:7.3f}   distance {distance:7.3f}   ratio {distance / bound:6.1f}")
    gaps = {k: worst_gap(k) for k in (2, 3, 4, 5, 7, 16)} if full else {}
    for k, gap in gaps.items():
        print(f"k = {k:<3} largest gap to brute force over {CHECKED:,} points: {gap:.1e}")
    return int(whole > ALLOWED * bare or any(gap > PRECISION for gap in gaps.values()))


if __name__ == "__main__":
    sys.exit(main())
