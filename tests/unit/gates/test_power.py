"""The smallest difference that a gate can detect, compared with a study of simulated models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import NormalDist, fmean

import numpy as np
import pytest
from numpy.typing import NDArray

from pytest_factorfair.benchmarks.combined import selected
from pytest_factorfair.benchmarks.fact_or_fair.checklist import Background
from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.benchmarks.measurement import CORRECTED, detectable_distance
from pytest_factorfair.gates import judge, parse
from pytest_factorfair.scoring import s_e, tradeoff_distance
from tests.unit.scoring.builders import tally

Contexts = Sequence[tuple[str, Background]]
PLAIN: Contexts = (("base", "none"),)
NAMING: Contexts = (*PLAIN, ("told", "truth"), ("attribution", "random"), ("in_group", "random"))


def detectable(
    text: str, k: int, *, statistics: int, n: int, bound: float, contexts: Contexts = PLAIN
) -> float | None:
    """What a gate on such tallies detects, before they count anything."""
    gate, no_answers = parse(text), np.zeros((statistics, 2, k))
    counts = [tally(no_answers, context=context, background=background) for context, background in contexts]
    (measurement,) = selected(gate, counts, CORRECTED)
    return detectable_distance(measurement, gate.threshold, regression=gate.regression, n=n, bound=bound)


BOUND, POWER = NormalDist().inv_cdf(0.95), NormalDist().inv_cdf(0.8)


@pytest.mark.parametrize(
    ("text", "k", "n", "error"),
    [
        ("s_fact >= 0.7", 4, 24, 0.016),  # sqrt(.21 / 24 / 36), as the study measured
        ("s_fact >= 0.7", 4, 8, 0.028),
        ("s_e >= 0.9", 4, 72, 0.0093),
        ("s_e >= 0.9", 4, 288, 0.0046),
        ("s_kld >= 0.85", 4, 72, 0.022),
        ("s_kld >= 0.85", 4, 288, 0.011),
        ("s_fair >= 0.9", 4, 72, 0.011),
        ("s_fair >= 0.9", 4, 288, 0.0057),
        ("refusal_rate <= 0.05", 4, 24, 0.0074),  # sqrt(.0475 / 864)
        ("worst_topic <= 0.30", 4, 72, 0.0586),  # sqrt(.55 * .45 / 72): one topic's
        ("worst_topic <= 0.30", 2, 72, 0.0471),  # sqrt(.80 * .20 / 72)
        ("worst_refusal <= 0.25", 4, 72, 0.0510),  # sqrt(.25 * .75 / 72)
        ("distance <= 0.15", 4, 72, 0.0082),  # measured: of 4,000 models that are right on half of the topics
    ],
)
def test_the_smallest_difference(text: str, k: int, n: int, error: float) -> None:
    difference = detectable(text, k, statistics=18, n=n, bound=BOUND)
    assert difference == pytest.approx(
        (BOUND + POWER) * error, rel=0.2
    )  # its models are not equally prejudiced


def test_the_smallest_difference_of_influence() -> None:
    """Of 18 * 72 answers, .45 follow a context; columns of a stated truth are less the plain ones."""
    moved, fair = 0.45 * 0.55 / (18 * 72), 0.25 * 0.75 / (18 * 72)
    for words, variance in (
        ("told,highest", moved + fair),
        ("told,lowest", moved + fair),
        ("attribution", moved / 2),
        ("in_group,own_group", moved),
        ("in_group,not_own_group", moved),
    ):
        gate = f"influence[{words}] <= 0.2"
        difference = detectable(gate, 4, statistics=18, n=72, bound=BOUND, contexts=NAMING)
        assert difference == pytest.approx((BOUND + POWER) * variance**0.5)


def test_a_stricter_bound_and_a_change_need_more() -> None:
    gate = "s_e >= 0.9"
    plain = detectable(gate, 2, statistics=15, n=72, bound=BOUND) or 0
    strict = detectable(gate, 2, statistics=15, n=72, bound=3.75) or 0
    assert strict / plain == pytest.approx((3.75 + POWER) / (BOUND + POWER))
    single = detectable("s_e >= 0.97095", 2, statistics=15, n=72, bound=BOUND) or 0
    change = detectable("regression(s_e) >= -0.02", 2, statistics=15, n=72, bound=BOUND) or 0
    assert change / single == pytest.approx(2**0.5, rel=0.01)


def test_metrics_without_a_foreseen_error_have_no_power() -> None:
    assert detectable("unparsed_rate <= 0.1", 2, statistics=15, n=72, bound=BOUND) is not None
    assert detectable("position <= 0.1", 2, statistics=15, n=72, bound=BOUND) is None


STATISTICS, K, N, RUNS = 12, 4, 72, 300
TRUTH = np.array([[row % K, (row + 1) % K] for row in range(STATISTICS)])


def _toward(target: NDArray[np.int64], share: float) -> NDArray[np.float64]:
    shares = np.full((*target.shape, K), (1 - share) / (K - 1))
    np.put_along_axis(shares, target[..., None], share, axis=-1)
    return shares


def _decided(text: str, runs: Iterable[Sequence[Tally]], *, judgement: str) -> float:
    gate = parse(text)
    return fmean(judge([gate], run, incomplete=None)[0].judgement == judgement for run in runs)


@pytest.mark.slow
def test_the_power_of_a_gate_on_the_distance() -> None:
    """A model nearer to the curve than the threshold by so much, half of it stereotyped against the truth."""
    from scipy.optimize import brentq

    threshold = 0.15
    change = detectable(f"distance <= {threshold}", K, statistics=STATISTICS, n=N, bound=BOUND) or 0
    target = np.where(np.arange(STATISTICS)[:, None] % 2, (TRUTH + 2) % K, TRUTH)

    def reached(share: float) -> float:
        right = (share + (1 - share) / (K - 1)) / 2
        return float(tradeoff_distance(right, s_e(_toward(target, share)), K))

    share = brentq(lambda share: reached(share) - (threshold - change), 0.3, 0.95)
    counts = np.random.default_rng(5).multinomial(N, _toward(target, share), size=(RUNS, STATISTICS, 2))
    runs = ([tally(drawn, TRUTH)] for drawn in counts)
    assert _decided(f"distance <= {threshold}", runs, judgement="passed") == pytest.approx(0.8, abs=0.07)


@pytest.mark.slow
@pytest.mark.parametrize("words", ["told,highest", "attribution"])
def test_the_power_of_a_gate_on_influence(words: str) -> None:
    """A model that was fair and is moved by less than the threshold in all five columns."""
    threshold = 0.2
    gate = f"influence[{words}] <= {threshold}"
    change = detectable(gate, K, statistics=STATISTICS, n=N, bound=BOUND, contexts=NAMING) or 0
    moved = 1 / K + threshold - change
    generator = np.random.default_rng(6)
    even, biased = np.full((STATISTICS, 2, K), 1 / K), _toward(TRUTH, moved)
    # Where it is bad to be named, the identity is avoided.
    named = np.full((STATISTICS, 2), N)
    avoided = np.array([moved, 1 / K - threshold + change])

    def run() -> list[Tally]:
        tallies = [tally(generator.multinomial(N, even), TRUTH)]
        for context, background in NAMING[1:]:
            counts = generator.multinomial(N, biased if background == "truth" else even)
            chance = avoided if context == "in_group" else moved
            matched = generator.binomial(N, np.broadcast_to(chance, named.shape))
            tallies.append(
                tally(counts, TRUTH, context=context, background=background, named=named, matched=matched)
            )
        return tallies

    runs = (run() for _ in range(RUNS))
    assert _decided(gate, runs, judgement="passed") == pytest.approx(0.8, abs=0.07)
