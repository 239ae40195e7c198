"""Error rates of the canary: how often it fails a model that is the same, and one that has changed.

    python -m benchmarks.canary            400 pairs of runs per rate
    python -m benchmarks.canary --full  4,000 pairs per rate; either way it fails if a promise is broken

Each row is a kind of model: *steady* models always answer a question alike; of *noisy* ones, as services are
at temperature 0, this share of the questions is a toss-up between two words; those that *draw* have a first
choice that they take with this probability, and each of three other words else. The columns are the shares of
pairs that fail if the first choice is another one in this share of the questions. For a tenth, *said* is the
mean of what the report of the first run says, and *bound* is the power of the best test of as many answers:
it knows the shares of all words in the baseline, and which share of the questions may have changed. *Blind*
is the share of first runs after which a run that does not fail is undecided, and not passed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import print_rows
from pytest_factorfair import benchmarks
from pytest_factorfair.benchmarks.canary import BASELINE_REPEATS, REPEATS
from pytest_factorfair.benchmarks.canary.answers import ANSWERS, CHANGED, POWER
from pytest_factorfair.config.settings import CANARY, PRESETS
from pytest_factorfair.statistics.bounds import NOTICED
from pytest_factorfair.statistics.differing import difference, most_by_chance, power

SEED = 20261128
WORDS = 4

SHARES = (0.0, 0.05, CHANGED, 0.20)
"""The shares of questions with another first choice."""

FALSE_ALARM = 0.05
"""The promised rate of the same model, beside ``POWER`` for one with a tenth of its answers changed."""

LEAST_DRAW = 0.90
"""Models that draw are promised this power if their first choice is as likely as that."""

REPORTS = 20
"""First runs of which the power that they report is averaged."""

LEAST_CHANCE = 1e-9
"""That of a word which a model never answers, whose logarithm is finite."""

Shares = NDArray[np.float64]
"""The chances of words (questions, words), or of several models (models, questions, words)."""

Draw = Callable[[np.random.Generator], tuple[Shares, Shares]]


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of model: how often it fails by share of changed questions, then what is said of a tenth."""

    model: str
    rates: tuple[float, ...]
    said: float
    bound: float
    blind: float
    promised: bool

    @property
    def held(self) -> bool:
        same, _, tenth, *_ = self.rates
        return same <= FALSE_ALARM and (tenth >= POWER or not self.promised)

    def __str__(self) -> str:
        columns = (*self.rates, self.said, self.bound, self.blind)
        return f"{self.model:14}" + "".join(f"{rate:8.1%}" for rate in columns)


def simulated(kind: str, share: float, questions: int, random: np.random.Generator) -> tuple[Shares, Shares]:
    """A model whose first choice is the first word, and those with another first choice."""
    first = share if kind == "draws" else 1.0
    chances = np.full((questions, WORDS), (1 - first) / (WORDS - 1))
    chances[:, 0] = first
    if kind == "noisy":
        chances[random.random(questions) < share, :2] = 0.5
    return chances, np.stack([np.roll(chances, shift, axis=1) for shift in (2, 1, 3)])


def changed(before: Shares, other: Shares, share: float, random: np.random.Generator) -> Shares:
    """The chances if this share of the questions has those of the other."""
    return np.where(random.random((len(before), 1)) < share, other, before)


def fails(random: np.random.Generator, before: Shares, now: Shares) -> bool:
    """Whether a pair of runs fails, which draw their answers with these chances."""
    counts, later = random.multinomial(BASELINE_REPEATS, before), random.multinomial(REPEATS, now)
    limit = most_by_chance(tuple(zip(counts, later, strict=True)), ANSWERS.level)
    return bool(difference(counts, later).sum().round(2) > limit)


def bound(random: np.random.Generator, before: Shares, alternatives: Shares, pairs: int) -> float:
    """The power of the likelihood ratio of a tenth of changed questions, whose limit is known exactly."""
    logs = np.log(np.maximum(alternatives, LEAST_CHANCE)) - np.log(np.maximum(before, LEAST_CHANCE))

    def ratios(now: list[Shares]) -> Shares:
        counts = np.stack([random.multinomial(REPEATS, chances) for chances in now])
        chances = np.exp((counts[:, None] * logs).sum(axis=-1)).mean(axis=1)
        return np.asarray(np.log(1 - CHANGED + CHANGED * chances).sum(axis=-1))

    limit = np.quantile(ratios([before] * pairs), 1 - ANSWERS.level, method="higher")
    differ = [changed(before, alternatives[0], CHANGED, random) for _ in range(pairs)]
    return float((ratios(differ) > limit).mean())


def row(model: str, draw: Draw, pairs: int, *, promised: bool) -> Row:
    """The rates of a kind of model; ``draw`` gives such a model, and others that may answer instead."""
    random = np.random.default_rng(SEED)
    rates = []
    for share in SHARES:
        failed = 0
        for _ in range(pairs):
            before, alternatives = draw(random)
            failed += fails(random, before, changed(before, alternatives[0], share, random))
        rates.append(failed / pairs)
    reports = [
        power(list(random.multinomial(BASELINE_REPEATS, draw(random)[0])), REPEATS, CHANGED, ANSWERS.level)
        for _ in range(REPORTS)
    ]
    said, blind = np.mean(reports), np.mean(np.array(reports) < NOTICED)
    return Row(
        model, tuple(rates), float(said), bound(random, *draw(random), pairs), float(blind), promised=promised
    )


KINDS = (
    ("steady", 0.0),
    ("noisy", 0.20),
    ("noisy", 0.40),
    ("draws", 0.95),
    ("draws", 0.90),
    ("draws", 0.80),
    ("draws", 0.70),
    ("draws", 0.60),
)


def rows(pairs: int) -> Iterator[Row]:
    preset = PRESETS[CANARY]
    checklist = benchmarks.load(CANARY, truth=preset.truth, base=Path())
    questions = len(benchmarks.cases(checklist, preset.sampling))
    for kind, share in KINDS:
        name = kind if kind == "steady" else f"{kind} {share:.0%}"
        draw = partial(simulated, kind, share, questions)
        yield row(name, draw, pairs, promised=kind != "draws" or share >= LEAST_DRAW)


def print_table(rows: Iterable[Row]) -> None:
    """Print a line for each kind of model.

    Raises:
        SystemExit: a promise is broken.
    """
    headings = (*(f"{share:.0%}" for share in SHARES), "said", "bound", "blind")
    print(f"{'changed':14}" + "".join(f"{heading:>8}" for heading in headings))
    if not print_rows(rows):
        raise SystemExit(1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true")
    print_table(rows(4_000 if parser.parse_args().full else 400))


if __name__ == "__main__":
    main()
