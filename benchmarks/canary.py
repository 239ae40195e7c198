"""Error rates of the canary: how often it fails a model that is the same, and one that has changed.

    python -m benchmarks.canary            1,000 pairs of runs per row
    python -m benchmarks.canary --full    10,000 pairs per row; either way it fails if a rate is missed

Each row is a kind of model: *steady* models always answer a question alike; of *noisy* ones, as services are
at temperature 0, this share of the questions is a toss-up between two letters; those that *draw* have a first
choice that they take with this probability, and any other letter else. The columns are the shares of pairs
that fail if the first choice is another one in this share of the questions.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import print_rows
from pytest_factorfair.benchmarks.canary.answers import ANSWERS
from pytest_factorfair.config.settings import BASELINE_REPEATS, CANARY, PRESETS
from pytest_factorfair.statistics.differing import chance_of_difference, differ, most_by_chance

SEED = 20261128
QUESTIONS, LETTERS = 96, 4
REPEATS = PRESETS[CANARY].sampling.repeats
"""Of a question in each run, but the first, which asks ``BASELINE_REPEATS`` times."""

CHANGED = (0.0, 0.05, 0.10, 0.20)
"""The shares of questions with another first choice."""

FALSE_ALARM, POWER = 0.05, 0.90
"""The promised rates: at most of the same model, at least of one with a tenth of its answers changed."""

STEADY_DRAWS = 0.95
"""Models that draw are promised this power if their first choice is as likely as that."""

Shares = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of model, and the shares of pairs of runs that fail it, by share of changed questions."""

    model: str
    rates: tuple[float, ...]
    promised: bool

    @property
    def held(self) -> bool:
        same, _, tenth, *_ = self.rates
        return same <= FALSE_ALARM and (tenth >= POWER or not self.promised)

    def __str__(self) -> str:
        return f"{self.model:10}" + "".join(f"{rate:8.1%}" for rate in self.rates)


def toss_ups(random: np.random.Generator, share: float) -> Shares:
    """The chances of the letters (questions, letters): A, but in this share of the questions A or B."""
    chances = np.zeros((QUESTIONS, LETTERS))
    chances[:, 0] = 1.0
    chances[random.random(QUESTIONS) < share, :2] = 0.5
    return chances


def drawn(first: float) -> Shares:
    """The chances of the letters of a model that takes its first choice with this probability."""
    chances = np.full((QUESTIONS, LETTERS), (1 - first) / (LETTERS - 1))
    chances[:, 0] = first
    return chances


def fails(random: np.random.Generator, before: Shares, now: Shares) -> bool:
    """Whether a pair of runs fails, which draw their answers with these chances."""
    counts = random.multinomial(BASELINE_REPEATS, before).tolist()
    later = random.multinomial(REPEATS, now).tolist()
    pairs = list(zip(map(tuple, counts), map(tuple, later), strict=True))
    different = sum(differ(*pair) for pair in pairs)
    chances = [chance_of_difference(tuple(map(sum, zip(*pair, strict=True))), REPEATS) for pair in pairs]
    return different > most_by_chance(chances, ANSWERS.level)


def rate(kind: str, share: float, changed: float, runs: int) -> float:
    random = np.random.default_rng(SEED)
    failed = 0
    for _ in range(runs):
        before = drawn(share) if kind == "draws" else toss_ups(random, share)
        now = before.copy()
        other = random.random(QUESTIONS) < changed
        now[other] = np.roll(now[other], 2, axis=1)
        failed += fails(random, before, now)
    return failed / runs


KINDS = (
    ("steady", 0.0),
    ("noisy", 0.05),
    ("noisy", 0.20),
    ("noisy", 0.40),
    ("draws", 0.95),
    ("draws", 0.80),
    ("draws", 0.60),
)


def rows(runs: int) -> Iterator[Row]:
    for kind, share in KINDS:
        name = kind if kind == "steady" else f"{kind} {share:.0%}"
        rates = tuple(rate(kind, share, changed, runs) for changed in CHANGED)
        yield Row(name, rates, promised=kind != "draws" or share >= STEADY_DRAWS)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true")
    print(f"{'changed':10}" + "".join(f"{share:8.0%}" for share in CHANGED))
    if not print_rows(rows(10_000 if parser.parse_args().full else 1_000)):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
