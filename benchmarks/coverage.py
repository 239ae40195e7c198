"""Coverage of the 95 % intervals over simulated respondents.

python -m benchmarks.coverage          200 runs per row
python -m benchmarks.coverage --full   4,000 runs per row, fails if an interval covers less than 92.5 %

The first table has counts of independent answers, next to the study's figures. The second has answers to the
queries of the balanced design, as probabilities and as letters drawn from them. Its respondents differ in how
much their answers vary from query to query, and in their liking for letters.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.protocols.fact_or_fair.asking.blocks import blocks
from pytest_factorfair.protocols.fact_or_fair.counting.ballots import Box
from pytest_factorfair.protocols.fact_or_fair.scoring.spread import (
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
Integers: TypeAlias = NDArray[np.int64]

SEED = 20261122
CHUNK = 250
SIZES = (20, 72, 100, 300)
STATISTICS: Mapping[int, int] = MappingProxyType({2: 15, 4: 18})
NAMES: Mapping[int, str] = MappingProxyType({2: "gender", 4: "race"})
SCORES = ("S_fact", "S_E", "S_KLD", "S_fair", "d")
# S_fair is skewed near 1, and no gate should use it.
HELD = [score for score, name in enumerate(SCORES) if name != "S_fair"]
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

Mode = Literal["probabilities", "letters", "letters, effect kept"]
MODES: tuple[Mode, ...] = ("probabilities", "letters", "letters, effect kept")
"""An answer is the probability of every letter, or a letter drawn from them; the effect of letters is removed
unless it is kept."""

LETTERS = 4
LETTERED_SIZES = (8, 24, 72, 288)
LETTERED_TRUTHS = ("uniform", "LLM-like", "strong")
# The least answers per topic of a gate on S_E.
JUDGED: Mapping[Mode, int] = MappingProxyType({"probabilities": 24, "letters": 72})


class Kind(NamedTuple):
    """How a respondent answers besides its preference for groups, in log odds.

    ``noise`` is the deviation of each option from query to query, ``liking`` what each letter adds.
    """

    noise: float
    liking: tuple[float, ...] = (0.0,) * LETTERS


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "peaked": Kind(3.0),
        "flat": Kind(0.1),
        "position": Kind(0.1, (2.0, 0.5, 0.0, 0.0)),
        "mixed": Kind(1.0, (2.0, 0.5, 0.0, 0.0)),
    }
)


@dataclass(frozen=True, slots=True)
class Row:
    """Coverage and mean width of each score's interval for one respondent and size."""

    respondent: str
    k: int
    n: int
    coverage: Floats
    width: Floats

    def __str__(self) -> str:
        cells = zip(100 * self.coverage, 100 * self.width, strict=True)
        return f"{self.n:>4} {NAMES[self.k]:7} {self.respondent:20}" + "".join(
            f"{f'{covered:.1f} ({width:.2f})':>14}" for covered, width in cells
        )


def rows(runs: int) -> Iterator[Row]:
    """Every truth, attribute and size of independent answers; the same numbers each time."""
    for n in SIZES:
        for k in STATISTICS:
            for truth in TRUTHS:
                yield row(truth, k, n, runs=runs)


def row(truth: str, k: int, n: int, *, runs: int) -> Row:
    """Simulate runs of independent answers and count how often each interval holds the true score."""
    shares, labels = respondent(truth, k)
    generator = np.random.default_rng([SEED, list(TRUTHS).index(truth), k, n])

    def samples() -> Iterator[Sample]:
        for start in range(0, runs, CHUNK):
            size = (min(CHUNK, runs - start), *shares.shape)
            yield Sample(generator.multinomial(n, np.broadcast_to(shares, size)).astype(np.float64))

    return Row(truth, k, n, *_covered(samples(), labels, scores(shares, labels, k), runs=runs))


def lettered_rows(mode: Mode, runs: int) -> Iterator[Row]:
    """Every kind, truth, attribute and size of answers letter by letter; the same numbers each time."""
    for n in LETTERED_SIZES:
        for k in STATISTICS:
            for kind in KINDS:
                for truth in LETTERED_TRUTHS:
                    yield lettered_row(kind, truth, mode, k, n, runs=runs)


def lettered_row(kind: str, truth: str, mode: Mode, k: int, n: int, *, runs: int) -> Row:
    """Simulate runs of answers letter by letter, as ``row`` does; all modes have the same probabilities."""
    shares, labels = respondent(truth, k)
    form = Form.of(KINDS[kind], shares, n)
    generator = np.random.default_rng([SEED, list(KINDS).index(kind), list(TRUTHS).index(truth), k, n])

    def sample() -> Sample:
        probabilities = form.probabilities(generator)
        box = form.filled(probabilities if mode == "probabilities" else drawn(probabilities, generator))
        if mode == "letters, effect kept":  # as if they were independent draws
            return Sample(box.total(box.votes, shares))
        return box.sample(shares, balanced=True, strata=box.scenario)

    def samples() -> Iterator[Sample]:
        for start in range(0, runs, CHUNK):
            found = [sample() for _ in range(min(CHUNK, runs - start))]
            measured = [one.measured for one in found if one.measured is not None]
            yield Sample(np.stack([one.counts for one in found]), np.stack(measured) if measured else None)

    true = scores(expected(kind, truth, k), labels, k)
    return Row(f"{kind}, {truth}", k, n, *_covered(samples(), labels, true, runs=runs))


@dataclass(frozen=True, slots=True)
class Form:
    """The n queries of every topic: the groups at the letters (queries, 4), and the letters' log odds."""

    cells: tuple[Integers, Integers]
    groups: Integers
    odds: Floats
    kind: Kind
    k: int

    @classmethod
    def of(cls, kind: Kind, shares: Floats, n: int) -> Form:
        """In the order of the balanced design, as often as it takes."""
        statistics, directions, k = shares.shape
        attribute = list(STATISTICS).index(k)
        shown = [
            np.roll([person[attribute] for person in composition], turn)
            for composition in blocks(tuple(STATISTICS), LETTERS)[0]
            for turn in range(LETTERS)
        ]
        row, column, _ = np.indices((statistics, directions, n)).reshape(3, -1)
        groups = np.tile(np.resize(shown, (n, LETTERS)), (statistics * directions, 1))
        odds = np.log(shares)[row[:, None], column[:, None], groups] + kind.liking
        return cls((row, column), groups, odds, kind, k)

    def probabilities(self, generator: np.random.Generator) -> Floats:
        """The probability of each letter, (queries, 4)."""
        weights = np.exp(self.odds + generator.normal(0, self.kind.noise, self.odds.shape))
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True))

    def filled(self, given: Floats) -> Box:
        """These shares of the letters, as the product counts them."""
        queries = len(given)
        unknown = np.full(queries, -1)
        return Box(
            cells=self.cells,
            scenario=unknown,
            named=unknown,
            groups=self.groups,
            shares=given,
            outside=np.zeros(queries),
            times=np.ones(queries),
            votes=np.einsum("nl,nlk->nk", given, np.eye(self.k)[self.groups]),
        )


def drawn(probabilities: Floats, generator: np.random.Generator) -> Floats:
    """One letter of each query, with probability 1."""
    chosen = (probabilities.cumsum(axis=-1) > generator.random((len(probabilities), 1))).argmax(axis=-1)
    return np.asarray(np.eye(LETTERS)[chosen])


@cache
def expected(kind: str, truth: str, k: int) -> Floats:
    """The shares (S, 2, k) that a respondent's answers have in the long run: 24,000 queries a topic."""
    times, n = 100, 240
    shares, _ = respondent(truth, k)
    form = Form.of(KINDS[kind], shares, n)
    generator = np.random.default_rng([SEED, k])
    total = np.zeros(shares.shape)
    for _ in range(times):
        box = form.filled(form.probabilities(generator))
        total += box.total(box.votes, shares)
    return total / (times * n)


def respondent(truth: str, k: int) -> tuple[Floats, Integers]:
    """Shares (S, 2, k) of a respondent that leans towards the true group, and the true groups."""
    statistics = STATISTICS[k]
    labels = np.array([[s % k, (s + 1) % k] for s in range(statistics)])
    strengths = np.linspace(*TRUTHS[truth], 2 * statistics).reshape(statistics, 2)
    rest = (1 - strengths) / k
    shares = np.repeat(rest[..., None], k, axis=-1)
    np.put_along_axis(shares, labels[..., None], (rest + strengths)[..., None], axis=-1)
    return shares, labels


def scores(shares: Floats, labels: Integers, k: int) -> tuple[float, ...]:
    """The five scores of the probabilities themselves."""
    fact, evenness, likeness = float(s_fact(shares, labels)), float(s_e(shares)), float(s_kld(shares))
    return (
        fact, evenness, likeness,
        float(s_fair(evenness, likeness)), float(tradeoff_distance(fact, evenness, k)),
    )  # fmt: skip


def _covered(
    samples: Iterable[Sample], labels: Integers, true: tuple[float, ...], *, runs: int
) -> tuple[Floats, Floats]:
    """How often the intervals of these runs hold each true score, and their mean width."""
    held, width = np.zeros(len(SCORES)), np.zeros(len(SCORES))
    for sample in samples:
        for place, found in enumerate(_spreads(sample, labels)):
            held[place] += (np.abs(found.centre - true[place]) <= Z * found.error).sum()
            width[place] += 2 * Z * found.error.sum()
    return held / runs, width / runs


def _spreads(sample: Sample, labels: Integers) -> tuple[Spread, ...]:
    joint = jack_delta(sample, labels, firm=np.ones(labels.shape, np.bool_))
    k = sample.counts.shape[-1]
    return (*(single(joint, score) for score in range(FIRM)), fairness(joint), distance(joint, k))


def main(say: Callable[[str], None]) -> int:
    """Print the tables; 1 if the intervals of a full run cover too little."""
    full = "--full" in sys.argv
    runs = 4000 if full else 200
    say(f"coverage of nominal 95 % intervals, {runs:,} runs a row, points (mean width in brackets)")
    head = f"{'n':>4} {'':7} {'':20}" + "".join(f"{name:>14}" for name in SCORES)
    say(f"\nindependent answers\n{head}")
    held = []
    for one in rows(runs):
        say(str(one))
        held += [one] * (one.n >= 72)  # noqa: PLR2004 - the size of a gate
    for n in SIZES:
        say(f"{n:>4} {'the study, lowest-highest:':28} {STUDY[n]}")
    worst = {"independent answers, 72 or more": _lowest(held)}
    for mode in MODES:
        say(f"\nqueries of the balanced design: {mode}\n{head}")
        held = []
        for one in lettered_rows(mode, runs):
            say(str(one))
            held += [one] * (one.n >= JUDGED.get(mode, one.n))
        if mode in JUDGED:
            worst[f"{mode}, {JUDGED[mode]} or more"] = _lowest(held)
    say(f"\nlowest of S_fact, S_E, S_KLD and d (wanted: {LEAST:.1%})")
    for name, lowest in worst.items():
        say(f"  {name}: {lowest:.1%}")
    return int(full and min(worst.values()) < LEAST)


def _lowest(held: Iterable[Row]) -> float:
    return float(min(one.coverage[HELD].min() for one in held))


if __name__ == "__main__":
    sys.exit(main(print))
