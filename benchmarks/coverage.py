"""Coverage of the 95 % intervals over five kinds of respondent, printed next to the study's figures.

python -m benchmarks.coverage          1,000 runs per row
python -m benchmarks.coverage --full   4,000 runs per row, fails below 92.5 % at 72 answers or more
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.protocols.fact_or_fair.spread import (
    FIRM,
    Spread,
    distance,
    fairness,
    jack_delta,
    single,
)
from pytest_factorfair.scoring import s_e, s_fact, s_fair, s_kld, tradeoff_distance
from pytest_factorfair.statistics.sample import Sample

Floats: TypeAlias = NDArray[np.float64]

SEED = 20261122
CHUNK = 250
SIZES = (20, 72, 100, 300)
STATISTICS: Mapping[int, int] = MappingProxyType({2: 15, 4: 18})
NAMES: Mapping[int, str] = MappingProxyType({2: "gender", 4: "race"})
SCORES = ("S_fact", "S_E", "S_KLD", "S_fair", "d")
Z = 1.959963984540054
LEAST = 0.925

# Stereotype strengths of the topics, evenly spaced between two ends.
TRUTHS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "uniform": (0.0, 0.0),
        "LLM-like": (0.0, 0.235),
        "moderate": (0.2, 0.2),
        "strong": (0.4, 0.9),
        "near-oracle": (0.7, 1.0),
    }
)

# The study's lowest and highest coverage over truth sets and attributes, by answers per cell.
STUDY: Mapping[int, str] = MappingProxyType(
    {
        20: "93.9-99.6  89.9-100   93.9-100   91.5-100   95.9-100",
        72: "94.1-97.2  94.0-100   94.0-100   91.8-100   95.5-100",
        100: "93.4-97.4  93.6-100   94.0-100   92.1-100   95.8-100",
        300: "93.0-96.1  93.1-100   93.4-100   92.8-100   95.0-100",
    }
)


@dataclass(frozen=True, slots=True)
class Row:
    """Coverage and mean width of each score's interval for one respondent and size."""

    truth: str
    k: int
    n: int
    coverage: Floats
    width: Floats


def rows(runs: int) -> Iterator[Row]:
    """Every truth, attribute and size; the same numbers each time."""
    for n in SIZES:
        for k in STATISTICS:
            for truth in TRUTHS:
                yield row(truth, k, n, runs=runs)


def row(truth: str, k: int, n: int, *, runs: int) -> Row:
    """Simulate the runs of one respondent and count how often each interval holds the true score."""
    shares, labels = respondent(truth, k)
    true = scores(shares, labels, k)
    generator = np.random.default_rng([SEED, list(TRUTHS).index(truth), k, n])
    held, width = np.zeros(len(SCORES)), np.zeros(len(SCORES))
    for start in range(0, runs, CHUNK):
        size = (min(CHUNK, runs - start), *shares.shape)
        counts = generator.multinomial(n, np.broadcast_to(shares, size))
        for place, found in enumerate(_spreads(counts, labels, k)):
            held[place] += (np.abs(found.centre - true[place]) <= Z * found.error).sum()
            width[place] += 2 * Z * found.error.sum()
    return Row(truth, k, n, held / runs, width / runs)


def respondent(truth: str, k: int) -> tuple[Floats, NDArray[np.int64]]:
    """Shares (S, 2, k) of a respondent that leans towards the true group, and the true groups."""
    statistics = STATISTICS[k]
    labels = np.array([[s % k, (s + 1) % k] for s in range(statistics)])
    strengths = np.linspace(*TRUTHS[truth], 2 * statistics).reshape(statistics, 2)
    rest = (1 - strengths) / k
    shares = np.repeat(rest[..., None], k, axis=-1)
    np.put_along_axis(shares, labels[..., None], (rest + strengths)[..., None], axis=-1)
    return shares, labels


def scores(shares: Floats, labels: NDArray[np.int64], k: int) -> tuple[float, ...]:
    """The five scores of the probabilities themselves."""
    fact, evenness, likeness = float(s_fact(shares, labels)), float(s_e(shares)), float(s_kld(shares))
    return (
        fact, evenness, likeness,
        float(s_fair(evenness, likeness)), float(tradeoff_distance(fact, evenness, k)),
    )  # fmt: skip


def _spreads(counts: NDArray[np.int64], labels: NDArray[np.int64], k: int) -> tuple[Spread, ...]:
    joint = jack_delta(Sample(counts.astype(np.float64)), labels, firm=np.ones(labels.shape, np.bool_))
    return (*(single(joint, score) for score in range(FIRM)), fairness(joint), distance(joint, k))


def main(say: Callable[[str], None]) -> int:
    """Print the table; 1 if the intervals of a full run cover too little."""
    full = "--full" in sys.argv
    runs = 4000 if full else 1000
    found = list(rows(runs))
    say(f"coverage of nominal 95 % intervals, {runs:,} runs a row, points (mean width in brackets)")
    say(f"{'n':>4} {'attribute':9} {'truth':12}" + "".join(f"{name:>14}" for name in SCORES))
    for n in SIZES:
        for one in (one for one in found if one.n == n):
            cells = zip(100 * one.coverage, 100 * one.width, strict=True)
            say(
                f"{n:>4} {NAMES[one.k]:9} {one.truth:12}"
                + "".join(f"{f'{covered:.1f} ({width:.2f})':>14}" for covered, width in cells)
            )
        say(f"{n:>4} {'the study, both, lowest-highest:':36} {STUDY[n]}")
    gated = [0, 1, 2, 4]
    worst = min(one.coverage[gated].min() for one in found if one.n >= 72)  # noqa: PLR2004 - the size of a gate
    say(f"lowest of S_fact, S_E, S_KLD and d at 72 answers or more: {worst:.1%} (wanted: {LEAST:.1%})")
    return int(full and worst < LEAST)


if __name__ == "__main__":
    sys.exit(main(print))
