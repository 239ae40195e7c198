"""Coverage of the 95 % intervals over simulated respondents.

python -m benchmarks.coverage          200 runs per row
python -m benchmarks.coverage --full   4,000 runs per row, fails if an interval covers less than 92.5 %

The first table has counts of independent answers, next to the study's figures. The second has answers to the
queries of the balanced design, as probabilities and as letters drawn from them. Its respondents differ in how
much their answers vary from query to query, and in their liking for letters. In the third, preferences differ
between the scenarios of a topic, in both designs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.benchmarks.fact_or_fair.asking.blocks import blocks
from pytest_factorfair.benchmarks.fact_or_fair.counting.answer_arrays import AnswerArrays
from pytest_factorfair.benchmarks.fact_or_fair.scoring.spread import (
    EVENNESS,
    FIRM,
    LIKENESS,
    Spread,
    distance,
    fairness,
    jack_delta,
    single,
)
from pytest_factorfair.domain import Design
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

# The lowest and highest coverage in the study, over truth sets and attributes, by answers per cell.
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
"""Kinds of answers: the probability of every letter, or a letter drawn from them, with the effect of letters
removed or kept."""

DESIGNS: tuple[Design, ...] = ("balanced", "paper")
LETTERS = 4
LETTERED_SIZES = (8, 24, 72, 288)
LETTERED_TRUTHS = ("uniform", "LLM-like", "strong")
# The minimum number of answers per topic for a gate on S_E.
JUDGED: Mapping[Mode, int] = MappingProxyType({"probabilities": 24, "letters": 72})


class Kind(NamedTuple):
    """A respondent's behaviour besides its preference for groups, in log odds.

    ``noise`` is the standard deviation of each option between queries, ``liking`` the preference for each
    letter.
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


SCENARIOS = 3
DEVIATIONS = (0.0, 0.3, 0.6, 1.0, 1.5)
"""Standard deviations of what a scenario adds to each group's log odds in a topic."""
SCENARIO_SIZES = (24, 48, 72)
VARYING = Kind(0.3)
ONE_SIDED = 1.6448536269514722


@dataclass(frozen=True, slots=True)
class Row:
    """The coverage and mean width of each score's interval, for a respondent and a sample size."""

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
    """The rows of all truths, attributes and sizes with independent answers; reproducible."""
    for n in SIZES:
        for k in STATISTICS:
            for truth in TRUTHS:
                yield row(truth, k, n, runs=runs)


def row(truth: str, k: int, n: int, *, runs: int) -> Row:
    """Simulate runs of independent answers, and count how often each interval contains the true score."""
    shares, labels = respondent(truth, k)
    generator = np.random.default_rng([SEED, list(TRUTHS).index(truth), k, n])

    def samples() -> Iterator[Sample]:
        for start in range(0, runs, CHUNK):
            size = (min(CHUNK, runs - start), *shares.shape)
            yield Sample(generator.multinomial(n, np.broadcast_to(shares, size)).astype(np.float64))

    return Row(truth, k, n, *_covered(samples(), labels, scores(shares, labels, k), runs=runs))


def lettered_rows(mode: Mode, runs: int) -> Iterator[Row]:
    """The rows of all kinds, truths, attributes and sizes with answers by letter; reproducible."""
    for n in LETTERED_SIZES:
        for k in STATISTICS:
            for kind in KINDS:
                for truth in LETTERED_TRUTHS:
                    yield lettered_row(kind, truth, mode, k, n, runs=runs)


def lettered_row(kind: str, truth: str, mode: Mode, k: int, n: int, *, runs: int) -> Row:
    """Like ``row``, with answers by letter; all modes have the same probabilities."""
    shares, labels = respondent(truth, k)
    form = Form.of(KINDS[kind], shares, n)
    generator = np.random.default_rng([SEED, list(KINDS).index(kind), list(TRUTHS).index(truth), k, n])

    def sample() -> Sample:
        answer_arrays = form.answer_arrays(mode, generator)
        if mode == "letters, effect kept":  # treated as independent draws
            return Sample(answer_arrays.total(answer_arrays.votes, shares))
        return answer_arrays.sample(shares, balanced=True, strata=answer_arrays.scenario)

    true = scores(expected(kind, truth, k), labels, k)
    return Row(f"{kind}, {truth}", k, n, *_covered(_stacked(sample, runs), labels, true, runs=runs))


def _stacked(sample: Callable[[], Sample], runs: int) -> Iterator[Sample]:
    """The samples of many runs, several runs stacked in each."""
    for start in range(0, runs, CHUNK):
        samples = [sample() for _ in range(min(CHUNK, runs - start))]
        measured = [sample.measured for sample in samples if sample.measured is not None]
        yield Sample(
            np.stack([sample.counts for sample in samples]), np.stack(measured) if measured else None
        )


class Differing(NamedTuple):
    """A respondent whose preferences differ between scenarios, and the way it is asked."""

    deviation: float
    design: Design
    mode: Mode
    k: int
    n: int

    def form(self, n: int) -> Form:
        """A form with n queries per topic; the scenarios are the same for all sizes."""
        shares, _ = respondent("LLM-like", self.k)
        generator, shape = np.random.default_rng([SEED, self.k, 1]), (*shares.shape[:-1], SCENARIOS, self.k)
        effects = self.deviation * generator.normal(size=shape)
        return Form.of(VARYING, shares, n, effects=effects, design=self.design)


@dataclass(frozen=True, slots=True)
class ScenarioRow:
    """Coverage and bias of S_E and S_KLD, and how often the lower 5 % bound is ``above`` the true score."""

    asked: Differing
    coverage: Floats
    bias: Floats
    above: Floats

    def __str__(self) -> str:
        deviation, design, mode, k, n = self.asked
        cells = zip(100 * self.coverage, 100 * self.bias, 100 * self.above, strict=True)
        return f"{n:>4} {NAMES[k]:7} {design:9}{mode:14}{deviation:>4}" + "".join(
            f"{f'{covered:.1f} ({bias:+.2f}) {above:.1f}':>22}" for covered, bias, above in cells
        )


def scenario_rows(runs: int) -> Iterator[ScenarioRow]:
    """The rows of all designs, modes, sizes, attributes and deviations; reproducible."""
    for design, mode, n, k, deviation in product(DESIGNS, JUDGED, SCENARIO_SIZES, STATISTICS, DEVIATIONS):
        yield scenario_row(Differing(deviation, design, mode, k, n), runs=runs)


def scenario_row(asked: Differing, *, runs: int, within: bool = True) -> ScenarioRow:
    """Simulate runs with the same scenarios; the true scores are those of the scenarios' mean shares.

    The covariance is that ``within`` scenarios, otherwise around the mean of the topic.
    """
    shares, labels = respondent("LLM-like", asked.k)
    form, balanced = asked.form(asked.n), asked.design == "balanced"
    generator = np.random.default_rng([SEED, DEVIATIONS.index(asked.deviation), asked.k, asked.n])

    def sample() -> Sample:
        answer_arrays = form.answer_arrays(asked.mode, generator)
        return answer_arrays.sample(
            shares, balanced=balanced, strata=answer_arrays.scenario if within else 0 * answer_arrays.scenario
        )

    measured = [EVENNESS, LIKENESS]
    spreads = [_spreads(samples, labels) for samples in _stacked(sample, runs)]
    centres = np.concatenate([[chunk[score].centre for score in measured] for chunk in spreads], axis=1)
    errors = np.concatenate([[chunk[score].error for score in measured] for chunk in spreads], axis=1)
    true = scores(differing_shares(asked.deviation, asked.design, asked.k), labels, asked.k)
    away = centres - np.array(true)[measured, None]
    covered, above = np.abs(away) <= Z * errors, away > ONE_SIDED * errors
    return ScenarioRow(asked, covered.mean(axis=1), away.mean(axis=1), above.mean(axis=1))


@cache
def differing_shares(deviation: float, design: Design, k: int) -> Floats:
    """The expected shares (S, 2, k) of the answers."""
    form = Differing(deviation, design, "probabilities", k, 240).form(240)
    return _long_run(form, np.random.default_rng([SEED, k, 2]), runs=100)


@dataclass(frozen=True, slots=True)
class Form:
    """The n queries of every topic: their scenarios, and the log odds (queries, k) of the groups.

    ``groups`` (queries, 4) are the groups at the letters; without, people are drawn at random in every run.
    """

    cells: tuple[Integers, Integers]
    scenario: Integers
    odds: Floats
    groups: Integers | None
    kind: Kind
    k: int

    @classmethod
    def of(
        cls, kind: Kind, shares: Floats, n: int, *, effects: Floats | None = None, design: Design = "balanced"
    ) -> Form:
        """Build a form with as many blocks of the design as are needed.

        The ``effects`` (S, 2, scenarios, k) are added to the log odds. Each block has a single scenario, and
        its queries are in random order.
        """
        statistics, directions, k = shares.shape
        attribute = list(STATISTICS).index(k)
        shown = [
            np.roll([person[attribute] for person in composition], turn)
            for composition in blocks(tuple(STATISTICS), LETTERS)[0]
            for turn in range(LETTERS)
        ]
        row, column, query = np.indices((statistics, directions, n)).reshape(3, -1)
        scenario, odds = np.full(len(row), -1), np.log(shares)[row, column]
        groups = np.tile(np.resize(shown, (n, LETTERS)), (statistics * directions, 1))
        if effects is not None:
            scenario = query * effects.shape[2] // n
            odds = odds + effects[row, column, scenario]
            whole = groups.reshape(-1, len(shown), LETTERS)
            order = np.random.default_rng(SEED).random(whole.shape[:2]).argsort(axis=1)
            groups = np.take_along_axis(whole, order[..., None], axis=1).reshape(-1, LETTERS)
        return cls((row, column), scenario, odds, groups if design == "balanced" else None, kind, k)

    def answer_arrays(self, mode: Mode, generator: np.random.Generator) -> AnswerArrays:
        """Draw the answers of a run, in the form in which they are counted."""
        queries, groups = len(self.odds), self.groups
        if groups is None:
            groups = generator.integers(self.k, size=(queries, LETTERS))
        noise = generator.normal(0, self.kind.noise, groups.shape)
        weights = np.exp(np.take_along_axis(self.odds, groups, axis=-1) + self.kind.liking + noise)
        shares = weights / weights.sum(axis=-1, keepdims=True)
        if mode != "probabilities":
            shares = drawn(shares, generator)
        return AnswerArrays(
            cells=self.cells,
            scenario=self.scenario,
            named=np.full(queries, -1),
            groups=groups,
            shares=shares,
            outside=np.zeros(queries),
            times=np.ones(queries),
            votes=np.einsum("nl,nlk->nk", shares, np.eye(self.k)[groups]),
            noise=np.zeros(queries),
        )


def drawn(probabilities: Floats, generator: np.random.Generator) -> Floats:
    """Draw a letter for each query, as a distribution with probability 1."""
    letters = (probabilities.cumsum(axis=-1) > generator.random((len(probabilities), 1))).argmax(axis=-1)
    return np.asarray(np.eye(LETTERS)[letters])


@cache
def expected(kind: str, truth: str, k: int) -> Floats:
    """The expected shares (S, 2, k) of a respondent's answers."""
    shares, _ = respondent(truth, k)
    return _long_run(Form.of(KINDS[kind], shares, 240), np.random.default_rng([SEED, k]), runs=100)


def _long_run(form: Form, generator: np.random.Generator, *, runs: int) -> Floats:
    """The mean shares (S, 2, k) of the answers to a form over many runs."""
    boxes = (form.answer_arrays("probabilities", generator) for _ in range(runs))
    total = sum(
        answer_arrays.total(answer_arrays.votes, np.zeros((STATISTICS[form.k], 2, form.k)))
        for answer_arrays in boxes
    )
    return np.asarray(total / np.sum(total, axis=-1, keepdims=True))


def respondent(truth: str, k: int) -> tuple[Floats, Integers]:
    """Shares (S, 2, k) of a respondent that leans towards the true group, and the true groups."""
    statistics = STATISTICS[k]
    labels = np.array([[s % k, (s + 1) % k] for s in range(statistics)])
    strengths = np.linspace(*TRUTHS[truth], 2 * statistics).reshape(statistics, 2)
    evenly = (1 - strengths) / k
    shares = np.repeat(evenly[..., None], k, axis=-1)
    np.put_along_axis(shares, labels[..., None], (evenly + strengths)[..., None], axis=-1)
    return shares, labels


def scores(shares: Floats, labels: Integers, k: int) -> tuple[float, ...]:
    """The five scores of exact shares."""
    fact, evenness, likeness = float(s_fact(shares, labels)), float(s_e(shares)), float(s_kld(shares))
    return (
        fact, evenness, likeness,
        float(s_fair(evenness, likeness)), float(tradeoff_distance(fact, evenness, k)),
    )  # fmt: skip


def _covered(
    samples: Iterable[Sample], labels: Integers, true: tuple[float, ...], *, runs: int
) -> tuple[Floats, Floats]:
    """How often the runs' intervals contain each true score, and their mean width."""
    held, width = np.zeros(len(SCORES)), np.zeros(len(SCORES))
    for sample in samples:
        for score, spread in enumerate(_spreads(sample, labels)):
            held[score] += (np.abs(spread.centre - true[score]) <= Z * spread.error).sum()
            width[score] += 2 * Z * spread.error.sum()
    return held / runs, width / runs


def _spreads(sample: Sample, labels: Integers) -> tuple[Spread, ...]:
    joint = jack_delta(sample, labels, firm=np.ones(labels.shape, np.bool_))
    k = sample.counts.shape[-1]
    return (*(single(joint, score) for score in range(FIRM)), fairness(joint), distance(joint, k))


def main() -> int:
    """Print the tables; return 1 if the coverage of a full run is too low."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="4,000 runs per row, not 200")
    full: bool = parser.parse_args().full
    runs = 4000 if full else 200
    print(f"coverage of nominal 95 % intervals, {runs:,} runs a row, points (mean width in brackets)")
    head = f"{'n':>4} {'':7} {'':20}" + "".join(f"{name:>14}" for name in SCORES)
    print(f"\nindependent answers\n{head}")
    held = []
    for row in rows(runs):
        print(row, flush=True)
        held += [row] * (row.n >= 72)  # noqa: PLR2004 - the size of a gate
    for n in SIZES:
        print(f"{n:>4} {'the study, lowest-highest:':28} {STUDY[n]}")
    worst = {"independent answers, 72 or more": _lowest(held)}
    for mode in MODES:
        print(f"\nqueries of the balanced design: {mode}\n{head}")
        held = []
        for row in lettered_rows(mode, runs):
            print(row, flush=True)
            held += [row] * (row.n >= JUDGED.get(mode, row.n))
        if mode in JUDGED:
            worst[f"{mode}, {JUDGED[mode]} or more"] = _lowest(held)
    print(
        "\nscenarios that differ by this deviation: coverage (bias), and lower 5 % bounds that are too high\n"
        f"{'':39}{'S_E':>22}{'S_KLD':>22}"
    )
    worst["scenarios that differ"] = 1.0
    for scenarios in scenario_rows(runs):
        print(scenarios, flush=True)
        worst["scenarios that differ"] = min(worst["scenarios that differ"], float(scenarios.coverage.min()))
    print(f"\nlowest of S_fact, S_E, S_KLD and d (wanted: {LEAST:.1%})")
    for name, lowest in worst.items():
        print(f"  {name}: {lowest:.1%}")
    return int(full and min(worst.values()) < LEAST)


def _lowest(held: Iterable[Row]) -> float:
    return float(min(row.coverage[HELD].min() for row in held))


if __name__ == "__main__":
    sys.exit(main())
