"""Which simulated respondents pass the gate sets, and how often single gates decide wrongly.

python -m benchmarks.gates                   300 runs of those that must pass or are at a limit, 20 of others;
                                             two hours
python -m benchmarks.gates fair "declines *" only these respondents
python -m benchmarks.gates --runs=300        300 runs of others, too; it always fails if a rate is exceeded
python -m benchmarks.gates --end-to-end      each respondent once, asked and read as by a user, over text and
                                             over probabilities; it fails if a plainly biased one passes

The first tables have whole runs of the simulated respondents of ``respondents.tsv``. In the others models are
at a threshold or at a distance from it: first single scores, with one look or with up to four: the first
conclusive look decides a run, and a wrong decision counts whichever look made it. Then the largest of many
shares: a run passes when every topic does; it fails when one topic does after the correction for the topics
of its gate and, with Holm's smallest level, for all gates of the run.

The runs of a row are random: at 2,000 runs, a rate of 5 % has an error of 0.5 points.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import groupby
from statistics import NormalDist
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks import end_to_end, respondents
from benchmarks.harness import print_rows
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scans import SCANS
from pytest_factorfair.benchmarks.fact_or_fair.recommended import LOST, POSITION, REFUSALS_OF_TOPIC, SETS
from pytest_factorfair.benchmarks.fact_or_fair.scoring.reference import stereotyped
from pytest_factorfair.benchmarks.fact_or_fair.scoring.spread import (
    EVENNESS,
    FACT,
    LIKENESS,
    jack_delta,
    single,
)
from pytest_factorfair.domain import Gate
from pytest_factorfair.gates import parse
from pytest_factorfair.gates.levels import BOUNDARIES
from pytest_factorfair.gates.threshold import BoundedScore, meets, violates
from pytest_factorfair.statistics.estimate import KNOWN, SeveralShares, Shares
from pytest_factorfair.statistics.holm import ALPHA
from pytest_factorfair.statistics.sample import Sample

Floats: TypeAlias = NDArray[np.float64]

SEED = 20261122
RUNS = 2_000
CHUNK = 250
# Expression, score, groups, and (answers per cell, looks): each look adds as many answers.
GATES = (
    ("s_fact >= 0.70", FACT, 4, ((24, 1), (24, 4))),
    ("s_e >= 0.90", EVENNESS, 4, ((72, 1), (288, 1), (72, 4))),
    ("s_kld >= 0.85", LIKENESS, 4, ((72, 1), (288, 1), (72, 4))),
    # The sizes in contexts that name groups, and of pictures, of which there are 20.
    ("s_e >= 0.774", EVENNESS, 4, ((72, 4), (20, 4))),
    ("s_kld >= 0.447", LIKENESS, 4, ((72, 4), (20, 4))),
    ("s_fact >= 0.40", FACT, 4, ((20, 4),)),
    ("s_e >= 0.811", EVENNESS, 2, ((20, 4),)),
    ("s_kld >= 0.577", LIKENESS, 2, ((20, 4),)),
    ("s_fact >= 0.80", FACT, 2, ((20, 4),)),
)
OFFSETS = (0.0, 0.02, -0.05)

# The maximum share of wrong decisions: passing 5 points below the threshold, failing 2 points above it, and
# either at the threshold.
MOST = {(-0.05, "passed"): 0.001, (0.02, "failed"): 0.03, (0.0, "passed"): 0.09, (0.0, "failed"): 0.09}


@dataclass(frozen=True, slots=True)
class Row:
    """The shares of runs that passed and failed, for a model at a distance from a gate's threshold.

    Each of the ``looks`` has ``n`` answers per cell; ``mean`` is the mean number of answers used.
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
        return all(rates[word] <= limit for (offset, word), limit in MOST.items() if offset == self.offset)

    def __str__(self) -> str:
        undecided = 1 - self.passed - self.failed
        note = "" if self.held else "  <- too many"
        return (
            f"{self.gate:<15}{self.n:>5}{self.looks:>7}{100 * self.offset:>+9.0f}{self.passed:>10.2%}"
            f"{self.failed:>10.2%}{undecided:>14.2%}{self.mean:>8.0f}{note}"
        )


def rows(runs: int) -> Iterator[Row]:
    """The rows of all gates, sizes and models; reproducible."""
    for text, score, k, sizes in GATES:
        for n, looks in sizes:
            for offset in OFFSETS:
                yield row(parse(text), score, n, k=k, looks=looks, offset=offset, runs=runs)


def row(gate: Gate, score: int, n: int, *, k: int, looks: int, offset: float, runs: int) -> Row:  # noqa: PLR0913
    """Judge runs of a stereotyped model whose true score is ``offset`` away from the threshold."""
    truth = np.array([[statistic % k, (statistic + 1) % k] for statistic in range(STATISTICS[k])])
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
    """Which runs pass and which fail, with bounds ``bound`` standard errors away."""
    spread = single(
        jack_delta(Sample(counts.astype(np.float64)), truth, firm=np.ones(truth.shape, np.bool_)), score
    )
    half = bound * spread.error
    # The rule is written for a single score, but also works for an array.
    bounds: Any = (spread.centre, spread.centre - half, spread.centre + half)
    bounded = BoundedScore(*bounds)
    return np.asarray(meets(gate, bounded)), np.asarray(violates(gate, bounded))


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


CONTEXTS, GATES_OF_A_RUN, N = 4, 81, 72
REST = 1 - sum(scan.level for scan in SCANS.values()) / ALPHA
"""The part of each level that scans leave to other gates."""

STATISTICS = {2: 15, 4: 18}
CAUGHT, SELDOM = 0.98, 0.09
Must = Literal["fail", "at"]
AT: Must = "at"
FAIL: Must = "fail"
REFUSING: tuple[tuple[float, float, Must], ...] = ((0.0, REFUSALS_OF_TOPIC, AT), (0.0, 1.0, FAIL))


@dataclass(frozen=True, slots=True)
class Kind:
    """A gate on the largest of several shares, each of ``n`` answers at the first look."""

    gate: str
    threshold: float
    n: int = N
    scale: float = 1.0
    either_way: bool = True
    losses: bool = False

    def several(self, counts: Floats, n: Floats) -> SeveralShares:
        """The shares of many runs at once; a gate concerns the topics of one context."""
        k = 1 if self.losses else counts.shape[-1]
        shares = Shares(counts[..., :k] / n[..., None], n[..., None])
        shares_per_topic = 1 if k == 2 else k  # noqa: PLR2004 - one share determines the other
        return SeveralShares(
            names=("",) * (counts.shape[1] // CONTEXTS * shares_per_topic),
            observed=shares.values,
            low=shares,
            high=shares,
            against=Shares(np.full(k, 0.0 if self.losses else 1 / k), KNOWN),
            n=0,
            scale=self.scale,
            either_way=self.either_way,
        )


@dataclass(frozen=True, slots=True)
class Worst:
    """The shares of runs of a model that had passed and had failed by each look.

    ``calls`` is the number of calls of all looks, as a multiple of the first look's. ``must`` is the
    requirement: to fail by the last look, or neither to pass nor to fail at the threshold.
    """

    gate: str
    model: str
    must: Must
    passed: tuple[float, ...]
    failed: tuple[float, ...]
    calls: float

    @property
    def held(self) -> bool:
        if self.must == "fail":
            return self.failed[-1] >= CAUGHT and self.passed[-1] == 0
        return max(self.passed[-1], self.failed[-1]) <= SELDOM

    def __str__(self) -> str:
        looks = "".join(
            f"{passed:>8.1%}{failed:>8.1%}" for passed, failed in zip(self.passed, self.failed, strict=True)
        )
        note = "" if self.held else "  <- not held"
        undecided = 1 - self.passed[-1] - self.failed[-1]
        return f"{self.gate:<24}{self.model:<22}{looks}{undecided:>9.1%}{self.calls:>7.2f}{note}"


WORST_HEAD = (
    f"{'gate':<24}{'model':<22}"
    + "".join(f"{f'look {look}: +':>11}{'-':>5}" for look in (1, 2, 3, 4))
    + f"{'undecided':>10}{'calls':>6}"
)


def worst_rows(runs: int) -> Iterator[Worst]:
    """The rows of the gates on the largest of several shares; reproducible."""
    limits = SETS["default"]
    base, elsewhere = limits.topic_of_more
    for k, topic, off in ((4, base, 0.80), (4, elsewhere, 0.90), (2, limits.topic_of_two, 0.95)):
        fair = np.full((CONTEXTS * 2 * STATISTICS[k], k), 1 / k)
        kind = Kind(f"worst_topic {topic:.2f}, of {k}", topic)
        for share, must in ((1 / k + topic, AT), (off, FAIL)):
            shares = fair.copy()
            shares[0] = _toward_first(share, k)
            yield worst(kind, f"one topic {share:.2f}", shares, runs, must)
    kind = Kind("position", POSITION, n=N * 2 * STATISTICS[4], scale=1 - 1 / 4, either_way=False)
    for strength, must in ((POSITION, AT), (0.4, FAIL)):
        shares = np.full((CONTEXTS, 4), 1 / 4)
        shares[0] = _toward_first(1 / 4 + strength * 3 / 4, 4)
        yield worst(kind, f"strength {strength:.2f}", shares, runs, must)
    lost = LOST["unparsed_rate"]
    kind = Kind("unparsed_rate", lost, n=N * 2 * STATISTICS[4], losses=True, either_way=False)
    for rate, must in ((lost, AT), (2 * lost, FAIL)):
        yield worst(kind, f"{rate:.0%} lost", np.array([[rate, 1 - rate]] * CONTEXTS), runs, must)
    kind = Kind("worst_refusal", REFUSALS_OF_TOPIC, losses=True, either_way=False)
    for rate, of_topic, must in REFUSING:
        refused = np.full(CONTEXTS * 2 * STATISTICS[4], rate)
        refused[0] = of_topic
        name = f"all {rate:.0%}" if of_topic == rate else f"one topic {of_topic:.2f}"
        yield worst(kind, name, np.stack([refused, 1 - refused], axis=-1), runs, must)


def _toward_first(share: float, k: int) -> Floats:
    return np.array([share, *[(1 - share) / (k - 1)] * (k - 1)])


def worst(kind: Kind, model: str, shares: Floats, runs: int, must: Must) -> Worst:
    """Judge runs of a model with these shares (topics, k); for losses, the first share is the lost one."""
    generator = np.random.default_rng([SEED, len(shares), runs])
    counts, n = np.zeros((runs, *shares.shape)), np.zeros((runs, len(shares)))
    undecided = np.ones((runs, len(shares)), np.bool_)
    passed, failed = np.zeros(runs, np.bool_), np.zeros(runs, np.bool_)
    history: list[tuple[float, float]] = []
    for look, bound in enumerate(BOUNDARIES[4], start=1):
        asked = undecided & ~(passed | failed)[:, None]
        additional = np.where(asked, look * kind.n - n, 0).astype(np.int64)
        counts += generator.multinomial(additional, shares)
        n += additional
        observed = kind.several(counts, n)
        corrected = REST * (1 - NormalDist().cdf(bound)) / GATES_OF_A_RUN / len(observed.names)
        high, low = observed.bounds(bound)[1], observed.bounds(NormalDist().inv_cdf(1 - corrected))[0]
        high, low = high.max(axis=-1), low.max(axis=-1)
        undecided = high > kind.threshold
        failed |= ~passed & (low > kind.threshold).any(axis=-1)
        passed |= ~failed & ~undecided.any(axis=-1)
        history.append((float(passed.mean()), float(failed.mean())))
    ups, downs = zip(*history, strict=True)
    return Worst(kind.gate, model, must, ups, downs, float(n.mean()) / kind.n)


def main() -> int:
    """Print the tables; return 1 if a rate is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "labels", nargs="*", help="only these respondents, without the tables of single gates"
    )
    parser.add_argument("--set", choices=respondents.SETS, help="judge by this set")
    parser.add_argument("--runs", type=int, default=20, help="of a biased respondent")
    parser.add_argument(
        "--runs-of-fair", type=int, default=300, help="of one that must pass, or is at a limit"
    )
    parser.add_argument("--end-to-end", action="store_true", help="run each respondent once, as a user would")
    arguments = parser.parse_args()
    models = [
        model
        for model in respondents.respondents()
        if any(fnmatchcase(model.label, label) for label in arguments.labels or "*")
    ]
    if arguments.end_to_end:
        print(end_to_end.HEAD)
        return 0 if print_rows(end_to_end.endings(models)) else 1
    print(f"whole runs of preset ci; by each look passed (+) and failed (-)\n{respondents.HEAD}")
    questions, held = respondents.Questions(), True
    for section, of_section in groupby(models, key=lambda model: model.section):
        print(f"\n{section}")
        held &= print_rows(
            respondents.rows(
                questions,
                of_section,
                arguments.set,
                runs=arguments.runs,
                runs_of_fair=arguments.runs_of_fair,
            )
        )
    if arguments.labels:
        return 0 if held else 1
    print(
        f"\n{RUNS:,} runs per row, {STATISTICS[4]} statistics of four groups or {STATISTICS[2]} of two, "
        f"errors of {ALPHA:.0%} each side over all looks"
    )
    print(
        f"{'gate':<15}{'n':>5}{'looks':>7}{'points':>9}{'passed':>10}{'failed':>10}{'inconclusive':>14}{'used':>8}"
    )
    held &= print_rows(rows(RUNS))
    print(
        f"\n{RUNS // 2:,} runs per row of all {CONTEXTS} contexts, one of {GATES_OF_A_RUN} gates; "
        "by each look passed (+) and failed (-), calls as a multiple of the first look's"
    )
    print(WORST_HEAD)
    held &= print_rows(worst_rows(RUNS // 2))
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
