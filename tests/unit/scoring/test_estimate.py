"""Centres, errors and bounds of all metrics, and metrics that cannot be estimated."""

from __future__ import annotations

import dataclasses
from math import sqrt
from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import ArrayLike

from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.benchmarks.fact_or_fair.metrics import METRICS
from pytest_factorfair.benchmarks.fact_or_fair.metrics.base import TallyMetric
from pytest_factorfair.scoring import s_e, s_kld
from pytest_factorfair.statistics.estimate import Estimate, SeveralScores
from tests.unit.scoring.builders import estimate, objective, score_rows, tally, toward, truths

Z = 1.6448536269514722  # the normal distribution exceeds it with probability .05


def _stereotyped(strength: float, n: int, k: int = 4, *, statistics: int = 18) -> Tally:
    truth = truths(statistics, k)
    shares = toward(truth, 1 / k + strength * (1 - 1 / k), k)
    return tally(np.random.default_rng(5).multinomial(n, shares), truth)


def test_every_metric_has_an_estimate_in_the_order_of_scores() -> None:
    named = dataclasses.replace(_stereotyped(0.2, 72), background="random")
    # Nothing varies between the questions of this tally, so there is no condition to be even within.
    # No single context has a score of combined attributes.
    names = [
        name
        for name, metric in METRICS.items()
        if isinstance(metric, TallyMetric)
        and metric.applies("subjective", "random")
        and name not in ("s_e_within", "crossed")
    ]
    names += ["refusal_rate", "unparsed_rate", "error_rate", "filtered_rate"]
    assert list(estimate(named)) == names
    plain = [metric for metric in names if metric != "refusal_gap"]
    assert list(estimate(_stereotyped(0.2, 72))) == plain


def test_s_fact_by_hand() -> None:
    """Two cells of 40 answers, 30 and 20 of them right; the error on shares (30.5/41, 20.5/41)."""
    fact = estimate(tally([[[30, 10], [20, 20]]]))["s_fact"]
    variance = (30.5 * 10.5 + 20.5 * 20.5) / 41**2 / 40 / 4
    assert fact.plugin == fact.corrected == 0.625
    assert fact.error == pytest.approx(sqrt(variance))
    assert fact.lower() == pytest.approx(0.625 - Z * sqrt(variance))
    assert fact.upper(0.5) == pytest.approx(0.625)
    assert (fact.n, fact.reason) == (80, "")


def test_the_centres_of_fairness_and_distance_follow_from_those_of_their_parts() -> None:
    estimates = estimate(_stereotyped(0.4, 72))
    evenness, likeness = estimates["s_e"].corrected, estimates["s_kld"].corrected
    assert evenness is not None
    assert likeness is not None
    assert estimates["s_fair"].corrected == pytest.approx(1 - (1 - evenness) * (1 - likeness))
    assert estimates["distance"].corrected == pytest.approx(0, abs=0.02)


def test_a_score_has_both_the_plugin_and_the_corrected_value() -> None:
    observed = _stereotyped(0.2, 72)
    estimates = estimate(observed)
    assert estimates["s_e"].plugin == s_e(observed.counts)
    assert estimates["s_kld"].plugin == s_kld(observed.counts)
    assert (estimates["s_e"].plugin or 1) < (estimates["s_e"].corrected or 0)


def test_errors_shrink_with_the_root_of_the_answers() -> None:
    small, large = estimate(_stereotyped(0.5, 100)), estimate(_stereotyped(0.5, 10_000))
    for metric in ("s_fact", "s_e", "s_kld", "s_fair"):
        assert (small[metric].error or 0) / (large[metric].error or 1) == pytest.approx(10, rel=0.15)


def test_a_cell_with_too_few_answers_is_named() -> None:
    estimates = estimate(tally([[[10, 9], [20, 20]], [[10, 9], [20, 20]]]))
    assert estimates["s_fact"].reason == ""
    for metric in ("s_e", "s_kld", "s_fair", "distance"):
        assert estimates[metric].reason == "fewer than 20 valid answers in Rate 0, highest and 1 more"
        assert estimates[metric].corrected is estimates[metric].error is estimates[metric].lower() is None
        assert estimates[metric].plugin is not None


def test_twenty_answers_are_enough() -> None:
    estimates = estimate(tally([[[10, 10], [20, 0]]]))
    assert {estimates[metric].reason for metric in ("s_fact", "s_e", "s_kld", "s_fair", "distance")} == {""}


def test_an_empty_cell_leaves_the_rates() -> None:
    estimates = estimate(tally([[[0, 0], [30, 30]]], refused=[[60, 0]]))
    assert estimates["s_fact"].reason == "no valid answer in Rate 0, highest"
    assert estimates["s_fact"].lower() is None
    assert estimates["refusal_rate"].corrected == 0.5


def test_firm_labels_need_no_answers_behind_fragile_ones() -> None:
    estimates = estimate(tally([[[0, 0], [10, 30]]], fragile=np.array([[True, False]])))
    assert estimates["s_fact"].corrected is None
    assert estimates["s_fact_firm"].corrected == 0.75
    assert estimates["s_fact_firm"].error == pytest.approx(sqrt(10.5 * 30.5 / 41**2 / 40))
    assert (
        estimate(tally([[[9, 9], [9, 9]]], fragile=np.ones((1, 2), bool)))["s_fact_firm"].reason
        == "every label is fragile; s_fact counts fragile labels, too"
    )


@pytest.mark.parametrize(
    ("refused", "low", "high"), [(0, 0.0, 0.0263), (10, 0.0607, 0.1604), (100, 0.9737, 1)]
)
def test_rates_have_wilson_bounds(refused: int, low: float, high: float) -> None:
    """x of 100 at 95 % one-sided: (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n)."""
    rate = estimate(tally([[[50 - refused // 2] * 2, [0, 0]]], refused=[[refused, 0]]))["refusal_rate"]
    assert rate.lower() == pytest.approx(low, abs=1e-4)
    assert rate.upper() == pytest.approx(high, abs=1e-4)


def test_nothing_asked_has_no_rate() -> None:
    rate = estimate(tally([[[0, 0], [0, 0]]]))["refusal_rate"]
    assert (rate.corrected, rate.upper(), rate.reason) == (None, None, "nothing was asked")


@pytest.mark.parametrize("estimator", ["plugin", "published-code"])
def test_estimators_without_errors_give_no_interval(estimator: str) -> None:
    estimates = estimate(_stereotyped(0.2, 72), estimator=estimator)  # type: ignore[arg-type]  # from a list of words
    assert estimates["s_e"].plugin is not None
    assert estimates["s_e"].corrected is estimates["s_e"].upper() is None
    assert estimates["s_e"].reason == f"the estimator {estimator} gives no interval"
    assert estimates["refusal_rate"].upper() is not None


def test_scenarios_that_agree_exactly_have_no_spread_and_those_that_differ_have() -> None:
    alike, apart = [[[20, 10]] * 3, [[10, 20]] * 3], [[[30, 0], [20, 10], [10, 20]], [[10, 20]] * 3]
    for counts, error in ((alike, 0.0), (apart, sqrt(1 / 108))):
        estimates = estimate(_with_scenarios([counts]), interval="scenarios")
        # Without one scenario the highest share is 1/2, 2/3 or 5/6: S_fact is off by 1/12, 0 or 1/12.
        assert estimates["s_fact"].error == pytest.approx(error)
        assert estimates["s_fact"].freedom == 2
        assert estimates["s_fact"].corrected == estimate(_with_scenarios([counts]))["s_fact"].corrected


def test_scenarios_are_strata_within_statistics() -> None:
    counts = np.random.default_rng(3).integers(10, 40, (5, 2, 3, 4))
    estimates = estimate(_with_scenarios(counts), interval="scenarios")
    assert estimates["s_e"].freedom == 10
    values = []
    for statistic in counts:
        without = [statistic.sum(axis=1) - statistic[:, q] for q in range(3)]
        shares = [np.take_along_axis(c, np.array([[0], [1]]), 1)[:, 0] / c.sum(axis=1) for c in without]
        values.append([share.mean() for share in shares])
    variance = sum((2 / 3) * ((np.array(scores) - np.mean(scores)) ** 2).sum() for scores in values) / 25
    assert estimates["s_fact"].error == pytest.approx(sqrt(variance))
    assert estimates["s_fact_firm"].error == pytest.approx(sqrt(variance))


def test_students_quantile_is_wider_than_the_normal_one() -> None:
    observed = _with_scenarios([[[[30, 0], [20, 10], [10, 20]], [[10, 20]] * 3]])
    fact = estimate(observed, interval="scenarios")["s_fact"]
    assert fact.upper() == pytest.approx((fact.corrected or 0) + 2.919986 * (fact.error or 0), abs=1e-6)


def test_a_single_scenario_gives_no_interval_over_scenarios() -> None:
    observed = _with_scenarios([[[[30, 10]], [[20, 20]]]])
    estimates = estimate(observed, interval="scenarios")
    assert estimates["s_fact"].reason == "answers from fewer than 2 scenarios in rate_0"
    assert estimates["s_fact"].error is None


def test_objective_parts_have_no_scenarios() -> None:
    observed = objective([[[30, 10], [20, 20]]])
    assert estimate(observed, interval="scenarios") == estimate(observed)


def test_scores_show_the_clipped_centre_and_both_bounds() -> None:
    even = {row.metric: row for row in score_rows(tally(np.full((3, 2, 2), 36)))}
    evenness = even["s_e"]
    assert evenness.value == evenness.corrected == evenness.high == 1
    assert 0.98 < (evenness.low or 0) < 1
    assert evenness.strength == 0
    assert (even["distance"].low or 0) < 0


def test_the_position_is_how_far_the_favourite_letter_is_ahead() -> None:
    """Half of 80 answers on one of four letters: (1/2 - 1/4) / (3/4), with Wilson's bounds of 40 in 80."""
    letters = np.array([[[10, 10, 20, 0], [10, 0, 20, 10]]])
    position = estimate(tally([[[20, 20], [20, 20]]], letters=letters), estimator="plugin")["position"]
    assert position.plugin == position.corrected == pytest.approx(1 / 3)
    assert position.n == 80
    half = 1.6448536 * sqrt(1 / 4 / (80 + 1.6448536**2))  # Wilson's, symmetric for a half
    assert position.upper(0.05) == pytest.approx((1 / 4 + half) / (3 / 4))
    assert position.lower(4 * 0.05) == pytest.approx((1 / 4 - half) / (3 / 4))  # one of four letters
    assert position.among is not None
    assert position.among.driver == "letter C takes 50%"


def test_the_position_score_is_0_for_letters_in_turn_and_1_for_a_single_letter() -> None:
    even, one_letter = np.full((1, 2, 4), 10), np.zeros((1, 2, 4), np.int64)
    one_letter[..., 2] = 40
    for letters, strength in ((even, 0), (one_letter, 1)):
        assert estimate(tally([[[20, 20], [20, 20]]], letters=letters))["position"].plugin == strength
    empty = estimate(tally([[[0, 0], [0, 0]]]))["position"]
    assert (empty.plugin, empty.error, empty.reason) == (None, None, "there is nothing to compare")


def _extremes(centres: ArrayLike, errors: ArrayLike, *, smallest: bool, lost: float = 0.0) -> SeveralScores:
    values = np.array(centres, np.float64)
    missing = np.full(values.shape, lost)
    return SeveralScores(
        names=("x",) * len(values), n=9, smallest=smallest, centres=values,
        errors=np.broadcast_to(np.array(errors, np.float64), values.shape), fall=missing, rise=missing,
    )  # fmt: skip


def _difference(after: SeveralScores, before: SeveralScores) -> Estimate:
    new, old = (Estimate(side.extreme, side.extreme, None, 9, among=side) for side in (after, before))
    return new.less(old)


def test_the_difference_of_extremes_is_bounded_by_all_pairs_of_values() -> None:
    """The smallest of two less the smallest of three, and the largest, by hand.

    .6 less the largest of .1, .3 and .2 above is the smaller: .6 - .5 = .1. One step divides the level by the
    number of its values, the other does not.
    """
    after, before = ([0.9, 0.6], 0.03), ([0.7, 0.5, 0.8], 0.04)
    z = NormalDist().inv_cdf
    difference = _difference(_extremes(*after, smallest=True), _extremes(*before, smallest=True))
    assert difference.corrected == difference.plugin == pytest.approx(0.1)
    assert difference.lower() == pytest.approx(0.1 + z(0.05 / 3) * 0.05)
    assert difference.upper() == pytest.approx(0.1 - z(0.05 / 2) * 0.05)
    difference = _difference(_extremes(*after, smallest=False), _extremes(*before, smallest=False))
    assert difference.corrected == pytest.approx(0.1)
    assert difference.lower() == pytest.approx(0.1 + z(0.05 / 2) * 0.05)
    assert difference.upper() == pytest.approx(0.1 - z(0.05 / 3) * 0.05)


def test_missing_answers_move_both_extremes_apart() -> None:
    """Missing answers are no random errors: .02 and .03 add up, in addition to the root of the squared errors."""
    sides = _extremes([0.6], 0.03, smallest=True, lost=0.02), _extremes([0.5], 0.04, smallest=True, lost=0.03)
    difference = _difference(*sides)
    assert difference.lower() == pytest.approx(0.1 - 0.05 - Z * 0.05)
    assert difference.upper() == pytest.approx(0.1 + 0.05 + Z * 0.05)


@pytest.mark.parametrize("smallest", [True, False])
@pytest.mark.parametrize(
    ("after", "before"), [((0, 9), (0, 0)), ((0, 0), (0, 9)), ((0, 0, 0, 0), (0, 0, 0, 0))]
)
def test_the_difference_of_equal_extremes_is_seldom_significant(
    after: tuple[int, ...], before: tuple[int, ...], *, smallest: bool
) -> None:
    """At most 5 % on either side, give or take four standard errors of 1,000 runs.

    If one side has equal values and the other one extreme alone, chance moves the former only.
    """
    generator, sign, missed = np.random.default_rng(6), 1 if smallest else -1, [0, 0]
    for _ in range(1000):
        sides = [
            _extremes(
                sign * np.array(centres) + generator.standard_normal(len(centres)), 1, smallest=smallest
            )
            for centres in (after, before)
        ]
        difference = _difference(*sides)
        missed[0] += (difference.lower() or 0) > 0
        missed[1] += (difference.upper() or 0) < 0
    assert max(missed) <= 50 + 4 * sqrt(1000 * 0.05 * 0.95), missed


def _with_scenarios(counts: ArrayLike) -> Tally:
    """A tally with counts (S, 2, scenarios, k)."""
    scenarios = np.array(counts)
    return tally(scenarios.sum(axis=2), scenarios=scenarios)
