"""False alarms and misses of gates, for models at a threshold, 2 points above and 5 points below it.

python -m benchmarks.gates          2,000 runs per row
python -m benchmarks.gates --full   10,000 runs per row; either way it fails if a rate is exceeded

Each row has one size, with one look or with up to four: the first conclusive look decides a run, and a wrong
decision counts whichever look made it.

A second table shows the recommended gates on the worst of many topics (``recommended``), with half the runs.

The runs of a row are random: at 2,000 runs, a rate of 5 % has an error of 0.5 points.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import print_rows
from benchmarks.recommended import CONTEXTS, HEAD, STATISTICS
from benchmarks.recommended import GATES as RECOMMENDED
from benchmarks.recommended import rows as recommended
from pytest_factorfair.domain import Gate
from pytest_factorfair.gates import parse
from pytest_factorfair.gates.span import Span, broken, kept
from pytest_factorfair.protocols.fact_or_fair.scoring.reference import stereotyped
from pytest_factorfair.protocols.fact_or_fair.scoring.spread import (
    EVENNESS,
    FACT,
    LIKENESS,
    jack_delta,
    single,
)
from pytest_factorfair.session.looks import BOUNDARIES
from pytest_factorfair.statistics.holm import ALPHA
from pytest_factorfair.statistics.sample import Sample

Floats: TypeAlias = NDArray[np.float64]

SEED = 20261122
CHUNK = 250
# Expression, score, groups, and (answers per cell, looks): each look adds as many answers.
GATES = (
    ("s_fact >= 0.70", FACT, 4, ((24, 1), (24, 4))),
    ("s_e >= 0.90", EVENNESS, 4, ((72, 1), (288, 1), (72, 4))),
    ("s_kld >= 0.85", LIKENESS, 4, ((72, 1), (288, 1), (72, 4))),
    # Of the contexts that name groups, and of pictures, of which there are 20.
    ("s_e >= 0.774", EVENNESS, 4, ((72, 4), (20, 4))),
    ("s_kld >= 0.447", LIKENESS, 4, ((72, 4), (20, 4))),
    ("s_fact >= 0.40", FACT, 4, ((20, 4),)),
    ("s_e >= 0.811", EVENNESS, 2, ((20, 4),)),
    ("s_kld >= 0.577", LIKENESS, 2, ((20, 4),)),
    ("s_fact >= 0.80", FACT, 2, ((20, 4),)),
)
OFFSETS = (0.0, 0.02, -0.05)

# No more than this share may be decided wrongly: passes 5 points below, fails 2 points above, either at it.
MOST = {(-0.05, "passed"): 0.0, (0.02, "failed"): 0.03, (0.0, "passed"): 0.09, (0.0, "failed"): 0.09}


@dataclass(frozen=True, slots=True)
class Row:
    """The shares of runs that passed and that failed, for a model at a distance from a gate's threshold.

    Each of the ``looks`` has ``n`` answers per cell; ``mean`` is the mean number used.
    """

    gate: str
    n: int
    looks: int
    offset: float
    passed: float
    failed: float
    mean: float

    @property
    def held(self) -> bool:
        rates = {"passed": self.passed, "failed": self.failed}
        return all(rates[word] <= most for (offset, word), most in MOST.items() if offset == self.offset)

    def __str__(self) -> str:
        undecided = 1 - self.passed - self.failed
        note = "" if self.held else "  <- too many"
        return (
            f"{self.gate:<15}{self.n:>5}{self.looks:>7}{100 * self.offset:>+9.0f}{self.passed:>10.2%}"
            f"{self.failed:>10.2%}{undecided:>14.2%}{self.mean:>8.0f}{note}"
        )


def rows(runs: int) -> Iterator[Row]:
    """Every gate, size and model; the same numbers each time."""
    for text, score, k, sizes in GATES:
        for n, looks in sizes:
            for offset in OFFSETS:
                yield row(parse(text), score, n, k=k, looks=looks, offset=offset, runs=runs)


def row(gate: Gate, score: int, n: int, *, k: int, looks: int, offset: float, runs: int) -> Row:  # noqa: PLR0913
    """Judge the runs of a stereotyped model whose true score is at this distance from the threshold."""
    truth = np.array([[place % k, (place + 1) % k] for place in range(STATISTICS[k])])
    shares = _shares(gate.metric, gate.threshold + offset, truth, k)
    generator = np.random.default_rng([SEED, score, n, round(100 * (offset + 1)), looks])
    passed = failed = used = 0
    for start in range(0, runs, CHUNK):
        size = min(CHUNK, runs - start)
        counts = np.zeros((size, *truth.shape, k), np.int64)
        undecided = np.ones(size, np.bool_)
        for bound in BOUNDARIES[looks]:
            used += n * int(undecided.sum())
            counts += generator.multinomial(n, shares, size=(size, *truth.shape))
            right, wrong = _decided(gate, score, counts, truth, bound=bound)
            passed += int((undecided & right).sum())
            failed += int((undecided & wrong).sum())
            undecided &= ~(right | wrong)
    return Row(gate.text, n, looks, offset, passed / runs, failed / runs, used / runs)


def _decided(
    gate: Gate, score: int, counts: NDArray[np.int64], truth: NDArray[np.int64], *, bound: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which runs pass and which fail, with bounds of this number of standard errors."""
    found = single(
        jack_delta(Sample(counts.astype(np.float64)), truth, firm=np.ones(truth.shape, np.bool_)), score
    )
    half = bound * found.error
    # The rule of one score holds for an array of them, too.
    bounds: Any = (found.centre, found.centre - half, found.centre + half)
    span = Span(*bounds)
    return np.asarray(kept(gate, span)), np.asarray(broken(gate, span))


def _shares(metric: str, score: float, truth: NDArray[np.int64], k: int) -> Floats:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        reached = getattr(stereotyped(middle, k), metric)
        low, high = (middle, high) if (reached < score) == (metric == "s_fact") else (low, middle)
    target = stereotyped(low, k).s_fact
    shares = np.full((*truth.shape, k), (1 - target) / (k - 1))
    np.put_along_axis(shares, truth[..., None], target, axis=-1)
    return shares


def main() -> int:
    """Print the table; return 1 if a rate is exceeded."""
    runs = 10_000 if "--full" in sys.argv[1:] else 2_000
    print(
        f"{runs:,} runs per row, {STATISTICS[4]} statistics of four groups or {STATISTICS[2]} of two, "
        f"errors of {ALPHA:.0%} each side over all looks"
    )
    print(
        f"{'gate':<15}{'n':>5}{'looks':>7}{'points':>9}{'passed':>10}{'failed':>10}{'inconclusive':>14}{'used':>8}"
    )
    held = print_rows(rows(runs))
    print(
        f"\n{runs // 2:,} runs per row of all {CONTEXTS} contexts, one of {RECOMMENDED} gates; "
        "by each look passed (+) and failed (-), calls as a multiple of the first look's"
    )
    print(HEAD)
    held &= print_rows(recommended(runs // 2))
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
