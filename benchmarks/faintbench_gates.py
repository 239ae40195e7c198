"""False alarms and misses of FAIntbench's regression gates, for models that are unchanged or have got worse.

    python -m benchmarks.faintbench_gates          500 pairs of runs per row
    python -m benchmarks.faintbench_gates --full   2,000 pairs; either way it fails where rates are not held

A prejudiced model is run, and then run again unchanged, with a score worse by the margin, and worse by three
times the margin; each run draws new pictures. The gate may not fail for the unchanged model, nor pass for the
second, in more than one of twenty pairs, and must never pass for the third.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from math import sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from benchmarks.harness import print_rows
from pytest_factorfair.benchmarks import cases, load
from pytest_factorfair.benchmarks.faintbench.checklist import Faintbench, prompt_cases
from pytest_factorfair.benchmarks.faintbench.metrics import METRICS
from pytest_factorfair.benchmarks.faintbench.scoring.gallery import Gallery, Selection
from pytest_factorfair.benchmarks.faintbench.scoring.gallery import gallery as hang
from pytest_factorfair.domain import Prompts, Sampling
from pytest_factorfair.gates import parse
from pytest_factorfair.gates.threshold import BoundedScore, meets, violates
from pytest_factorfair.statistics.estimate import Estimate
from pytest_factorfair.statistics.holm import ALPHA

SEED = 20261122
PREJUDICE = 0.3
"""The prejudice of the model in the first run: the fraction of the other groups' shares that moves to the
largest group, or of requests that are not fulfilled; for eta, the fraction of that shift that separates good
from bad words."""

MANY = 10**6
"""A number of pictures with which scores have practically no error."""


class Study(NamedTuple):
    """A gate, the words that select its prompts, and the number of pictures per prompt."""

    gate: str
    words: dict[str, frozenset[str]]
    prompts: Prompts
    n: int


STUDIES = (
    Study("regression(implicit) >= -0.02", {}, "characteristics", 50),
    Study("regression(implicit) >= -0.02", {}, "implicit", 50),
    Study("regression(implicit)[race] >= -0.02", {"attribute": frozenset({"race"})}, "implicit", 50),
    Study("regression(explicit) >= -0.02", {}, "all", 4),
    Study("regression(explicit)[intimate] >= -0.05", {"category": frozenset({"intimate"})}, "all", 20),
    Study("regression(eta)[gender] <= 0.15", {"attribute": frozenset({"gender"})}, "implicit", 100),
)
FALLS = (0.0, 1.0, 3.0)
"""How much worse the second run is, in multiples of the margin."""

# The maximum share of wrong decisions.
MOST = {(0.0, "failed"): 0.09, (1.0, "passed"): 0.09, (3.0, "passed"): 0.0}


@dataclass(frozen=True, slots=True)
class Row:
    """The shares of pairs that passed and failed, for a model that got worse by ``fall`` margins."""

    study: Study
    fall: float
    passed: float
    failed: float

    @property
    def held(self) -> bool:
        rates = {"passed": self.passed, "failed": self.failed}
        return all(rates[word] <= limit for (fall, word), limit in MOST.items() if fall == self.fall)

    def __str__(self) -> str:
        undecided = 1 - self.passed - self.failed
        note = "" if self.held else "  <- too many"
        return (
            f"{self.study.gate:<42}{self.study.n:>5}{self.fall:>6.0f}{self.passed:>10.2%}"
            f"{self.failed:>10.2%}{undecided:>14.2%}{note}"
        )


def rows(runs: int) -> Iterator[Row]:
    """The rows of all studies and falls; reproducible."""
    for study in STUDIES:
        for fall in FALLS:
            yield row(study, fall=fall, runs=runs)


def row(study: Study, *, fall: float, runs: int) -> Row:
    """Judge pairs of runs."""
    gate, selection = parse(study.gate), Selection(study.words)
    generator = np.random.default_rng([SEED, STUDIES.index(study), round(fall)])
    models = [shown(study, PREJUDICE), shown(study, _worse(study, gate.threshold * fall))]
    passed = failed = 0
    for _ in range(runs):
        old, new = (drawn(model, study.n, generator) for model in models)
        bounded = _bounded(METRICS[gate.metric].change(new, old, selection, "corrected"))
        passed += meets(gate, bounded)
        failed += not meets(gate, bounded) and violates(gate, bounded)
    return Row(study, fall, passed / runs, failed / runs)


def shown(study: Study, prejudice: float) -> Gallery:
    """The gallery of a model with its exact shares instead of counts."""
    empty = planned(study.prompts)
    shifts = np.full(len(empty.prompt), prejudice)
    if "eta" in study.gate:
        common, apart = sqrt(1 - prejudice), sqrt(prejudice)
        bad = {pair.disadvantaged for pair in empty.checklist.pairs}
        people = zip(empty.prompt, empty.side, strict=True)
        signs = [-1 if (empty.cases[prompt].subject, side) in bad else 1 for prompt, side in people]
        shifts = PREJUDICE * (common + apart * np.array(signs))
    counts = {}
    for name in empty.counts:
        shares = empty.shares(name)
        largest = np.eye(shares.shape[-1])[shares.argmax(axis=-1)]
        moved = np.maximum(shares + shifts[:, None] * (largest - shares), 0)
        counts[name] = moved / moved.sum(axis=-1, keepdims=True)
    side = [prejudice, 1 - prejudice]
    of_one, of_two = np.diag(side), np.outer(side, side)
    outcomes = [of_two if len(case.requested) > 1 else of_one for case in empty.cases]
    return replace(empty, counts=counts, delivered=np.array(outcomes))


def drawn(model: Gallery, n: int, generator: Generator) -> Gallery:
    """Draw n pictures of each prompt; attributes are drawn independently."""
    counts = {name: generator.multinomial(n, shares) for name, shares in model.counts.items()}
    outcomes = generator.multinomial(n, model.delivered.reshape(-1, 4)).reshape(-1, 2, 2)
    return replace(model, counts=counts, delivered=outcomes)


@cache
def planned(prompts: Prompts) -> Gallery:
    """The gallery of a run before its first answer."""
    checklist = load("faintbench", truth="audited", base=Path())
    if not isinstance(checklist, Faintbench):
        raise TypeError("another benchmark")
    asked = cases(checklist, Sampling("balanced", 1, 1, seed=0, prompts=prompts))
    return hang((), checklist, prompt_cases(asked), model="m")


def _bounded(estimate: Estimate) -> BoundedScore:
    low, high = estimate.lower(ALPHA), estimate.upper(ALPHA)
    if estimate.corrected is None or low is None or high is None:
        raise ValueError(estimate.reason)
    return BoundedScore(estimate.corrected, low, high)


def _worse(study: Study, by: float) -> float:
    """The prejudice that changes the score by this amount."""
    target, rising = _true(study, PREJUDICE) + by, "eta" in study.gate
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if (_true(study, middle) < target) == rising else (low, middle)
    return low


def _true(study: Study, prejudice: float) -> float:
    gate, selection = parse(study.gate), Selection(study.words)
    model = drawn(shown(study, prejudice), MANY, np.random.default_rng(SEED))
    return _bounded(METRICS[gate.metric].estimate(model, selection, "corrected")).value


def main() -> int:
    """Print the table; return 1 if a rate is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="2,000 pairs per row, not 500")
    runs = 2_000 if parser.parse_args().full else 500
    print(f"{runs:,} pairs of runs per row, errors of {ALPHA:.0%} each side")
    print(f"{'gate':<42}{'n':>5}{'worse':>6}{'passed':>10}{'failed':>10}{'inconclusive':>14}")
    return 0 if print_rows(rows(runs)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
