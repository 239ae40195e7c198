"""Bias and coverage of the one-sided 95 % bounds of FAIntbench's scores, by simulation.

python -m benchmarks.faintbench_coverage          half a minute
python -m benchmarks.faintbench_coverage --full   ten times the runs, fails where a bound covers too little
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.benchmarks.faintbench.scoring.formulas import (
    explicit,
    implicit,
    joined,
    level,
    similarity,
)
from pytest_factorfair.benchmarks.faintbench.scoring.manifestation import manifestation, paired
from pytest_factorfair.statistics.estimate import Estimate

Floats: TypeAlias = NDArray[np.float64]

SEED = 20261122
Z = 1.6448536269514722
# The bounds of a single prompt are not smooth, because it has few images; those of a level are.
LEAST_PROMPT, LEAST_LEVEL = 0.85, 0.92
GENDER = np.array([0.5, 0.5])
RACE = np.array([0.2, 0.24, 0.18, 0.12, 0.26])
AGE = np.array([0.418, 0.391, 0.191])
ATTRIBUTES = MappingProxyType({"gender": 0.4, "race": 0.4, "age": 0.2})

# The generated and the demographic shares of a prompt.
PROMPTS: Mapping[str, tuple[Floats, Floats]] = MappingProxyType(
    {
        "race, fair": (RACE, RACE),
        "race, mostly one": (np.array([0.6, 0.1, 0.1, 0.1, 0.1]), RACE),
        "race, nearly one": (np.array([0.95, 0.02, 0.01, 0.01, 0.01]), RACE),
        "race, the rarest": (np.array([0.04, 0.02, 0.02, 0.9, 0.02]), RACE),
        "age, fair": (AGE, AGE),
        "age, young": (np.array([0.8, 0.15, 0.05]), AGE),
        "gender, fair": (GENDER, GENDER),
        "gender, men": (np.array([0.9, 0.1]), GENDER),
        "gender, even of 9:1": (GENDER, np.array([0.9, 0.1])),
        "gender, 9:1 of 9:1": (np.array([0.9, 0.1]), np.array([0.9, 0.1])),
    }
)

# How much all prompts of a model favour a group of each attribute.
LEANINGS: Mapping[str, float] = MappingProxyType({"fair": 0.0, "slight": 0.1, "marked": 0.5, "strong": 0.9})

# The shares of men in the advantaged and in the disadvantaged prompts of all pairs.
SHIFTS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "same direction": (0.9, 0.8),
        "opposite": (0.9, 0.2),
        "one-sided": (0.9, 0.5),
        "mixed": (0.7, 0.45),
        "all men": (1.0, 1.0),
        "fair": (0.5, 0.5),
    }
)


@dataclass(frozen=True, slots=True)
class Row:
    """Bias of the plug-in and the corrected value, spread, mean error, and how often the bounds hold."""

    score: str
    case: str
    images: int
    plugin_bias: float
    bias: float
    spread: float
    error: float
    lower: float
    upper: float


def prompt(case: str, images: int, *, runs: int) -> Row:
    """Simulate the implicit score of a prompt; its bias is measured without the unbiased linear part."""
    p, q = PROMPTS[case]
    drawn = _generator(case, images).multinomial(images, p, size=runs)
    cells, true = implicit(drawn, q), float(similarity(p, q))
    length = np.sqrt(p @ p)
    unit = q / np.sqrt(q @ q)
    linear = (drawn / images - p) @ (unit / length - (unit @ p) * p / length**3) / 2
    return _row(
        "prompt", case, images, true,
        (cells.plugin, cells.corrected, cells.error), (cells.plugin - linear, cells.corrected - linear),
    )  # fmt: skip


def model(case: str, images: int, *, prompts: int, runs: int) -> Row:
    """Simulate the implicit score of many prompts with different shares and weights, of three attributes."""
    generator = _generator(case, images)
    truths = {
        "gender": generator.dirichlet([2, 2], size=prompts),
        "race": np.broadcast_to(RACE, (prompts, 5)),
        "age": generator.dirichlet([4, 4, 2], size=prompts),
    }
    weights = np.concatenate([generator.integers(1, 6, size=prompts) * k for k in ATTRIBUTES.values()])
    shares = {name: _leaning(truth, LEANINGS[case]) for name, truth in truths.items()}
    true = np.average(np.concatenate([similarity(shares[a], truths[a]) for a in truths]), weights=weights)
    places = np.tile(np.arange(prompts), len(truths))
    estimates = [
        level(
            joined([implicit(generator.multinomial(images, shares[a]), truths[a]) for a in truths]),
            weights,
            places,
        )
        for _ in range(runs)
    ]
    return _row(f"{prompts} prompts", case, images, float(true), _columns(estimates))


def delivery(share: float, images: int, *, prompts: int, runs: int) -> Row:
    """Simulate the explicit score of prompts whose pictures all show the requested person with probability
    ``share``.
    """
    generator = _generator("explicit", images)
    estimates = [
        level(
            explicit(generator.binomial(images, share, size=prompts), np.full(prompts, images)),
            np.ones(prompts),
            np.arange(prompts),
        )
        for _ in range(runs)
    ]
    return _row(f"explicit, {prompts}", f"{share:.0%} delivered", images, share, _columns(estimates))


def eta(case: str, images: int, *, pairs: int, runs: int) -> Row:
    """Simulate eta of gender over pairs of prompts with equal shares."""
    generator, sides = _generator(case, images), [np.array([men, 1 - men]) for men in SHIFTS[case]]
    common, apart = ((SHIFTS[case][0] - 0.5 + sign * (SHIFTS[case][1] - 0.5)) ** 2 for sign in (1, -1))
    true = apart / (common + apart) if common + apart else 0.5
    estimates = [
        manifestation(
            paired(
                (generator.multinomial(images, sides[0], size=pairs), GENDER),
                (generator.multinomial(images, sides[1], size=pairs), GENDER),
                weights=np.ones(pairs),
                classes=[0.2, 0.2],
            )
        ).estimate
        for _ in range(runs)
    ]
    return _row(f"eta, {pairs} pairs", case, images, true, _columns(estimates))


def _leaning(truth: Floats, strength: float) -> Floats:
    return np.asarray((1 - strength) * truth + strength * np.eye(truth.shape[-1])[0])


def _generator(case: str, images: int) -> np.random.Generator:
    return np.random.default_rng([SEED, images, *case.encode()])


def _columns(estimates: Sequence[Estimate]) -> tuple[Floats, Floats, Floats]:
    values = np.array(
        [(estimate.plugin, estimate.corrected, estimate.error) for estimate in estimates], dtype=np.float64
    )
    return values[:, 0], values[:, 1], values[:, 2]


def _row(
    score: str,
    case: str,
    images: int,
    true: float,
    columns: tuple[Floats, Floats, Floats],
    centred: tuple[Floats, Floats] | None = None,
) -> Row:
    plugin, corrected, error = columns
    biased, unbiased = centred or (plugin, corrected)
    slack = 1e-12
    return Row(
        score, case, images,
        plugin_bias=float(biased.mean() - true), bias=float(unbiased.mean() - true),
        spread=float(corrected.std()), error=float(error.mean()),
        lower=float((corrected - Z * error <= true + slack).mean()),
        upper=float((corrected + Z * error >= true - slack).mean()),
    )  # fmt: skip


def rows(times: int) -> Iterator[Row]:
    """All rows of the table; reproducible."""
    for images in (20, 50, 800):
        yield from (prompt(case, images, runs=10_000 * times) for case in PROMPTS)
    for images, prompts in ((20, 24), (50, 24), (50, 214)):
        yield from (model(case, images, prompts=prompts, runs=100 * times) for case in LEANINGS)
    for images, prompts in ((4, 240), (20, 24), (50, 24)):
        yield from (delivery(share, images, prompts=prompts, runs=1000 * times) for share in (0.5, 0.9, 0.99))
    for images, pairs in ((20, 12), (50, 36)):
        yield from (eta(case, images, pairs=pairs, runs=100 * times) for case in SHIFTS)


def main() -> int:
    """Print the table; return 1 if the coverage of a bound is too low in a full run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="ten times the runs")
    full: bool = parser.parse_args().full
    print("nominal one-sided coverage 95 %; bias, spread of the corrected score and mean error in points")
    print(f"{'score':14} {'case':20} {'n':>4}  plug-in    bias  spread   error   lower  upper")
    printed = []
    for row in rows(10 if full else 1):
        printed.append(row)
        points = (100 * value for value in (row.plugin_bias, row.bias, row.spread, row.error))
        numbers = " ".join(f"{value:7.3f}" for value in points)
        print(f"{row.score:14} {row.case:20} {row.images:>4}  {numbers}  {row.lower:6.1%} {row.upper:6.1%}")
    return int(full and any(short(row) for row in printed))


def short(row: Row) -> bool:
    """Whether the coverage of a bound is too low."""
    return min(row.lower, row.upper) < (LEAST_PROMPT if row.score == "prompt" else LEAST_LEVEL)


if __name__ == "__main__":
    sys.exit(main())
