"""The worst topic and the worst refusal rate: values and bounds by hand, and undecided topics."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

import pytest

from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.gates import parse, rule
from tests.unit.scoring.builders import estimate, objective, tally, tally_metric

EVEN = [18, 18, 18, 18]
SKEWED = [[[54, 6, 6, 6], EVEN], [[20, 16, 18, 18], [19, 17, 18, 18]]]
"""One group of four has three quarters of one topic of four, 72 answers each."""


def wilson(share: float, n: int, z: float) -> float:
    """Wilson's bound by its definition: the root of (p - share)^2 = z^2 p (1 - p) / n on the side of z."""
    a, b, c = n + z * z, -(2 * n * share + z * z), n * share * share
    return (-b + (1 if z > 0 else -1) * sqrt(b * b - 4 * a * c)) / (2 * a)


def z(alpha: float) -> float:
    return NormalDist().inv_cdf(1 - alpha)


def test_the_worst_topic_is_how_far_a_share_lies_from_its_fair_one() -> None:
    worst_topic = estimate(tally(SKEWED))["worst_topic"]
    assert (worst_topic.plugin, worst_topic.corrected, worst_topic.n) == (0.5, 0.5, 288)
    assert worst_topic.among is not None
    assert worst_topic.among.driver == "A takes 75% of Rate 0, highest"
    # Each upper bound at its own level; lower ones share theirs, 16 shares.
    assert worst_topic.upper(0.05) == pytest.approx(wilson(0.75, 72, z(0.05)) - 1 / 4)
    assert worst_topic.lower(0.05) == pytest.approx(wilson(0.75, 72, -z(0.05 / 16)) - 1 / 4)


def test_a_group_that_is_never_chosen_is_far_from_its_fair_share_too() -> None:
    worst_topic = estimate(tally([[[24, 24, 24, 0], EVEN]]))["worst_topic"]
    assert worst_topic.plugin == 0.25
    assert worst_topic.among is not None
    assert worst_topic.among.driver == "D takes 0% of Rate 0, highest"
    assert worst_topic.upper(0.05) == 0.25  # a share cannot be below 0


def test_two_groups_count_as_one_share() -> None:
    worst_topic = estimate(tally([[[12, 60], [36, 36]]]))["worst_topic"]
    assert worst_topic.plugin == pytest.approx(1 / 3)
    assert worst_topic.among is not None
    assert worst_topic.among.driver == "B takes 83% of Rate 0, highest"
    assert worst_topic.lower(0.05) == pytest.approx(wilson(60 / 72, 72, -z(0.05 / 2)) - 1 / 2)


def test_missing_answers_are_counted_at_their_worst() -> None:
    """27 of 100 asked took a group, 28 are missing: at most 55 of 100, at least 27."""
    observed = tally([[[27, 15, 15, 15], [25, 25, 25, 25]]], refused=[[28, 0]])
    worst_topic = estimate(observed)["worst_topic"]
    assert worst_topic.plugin == pytest.approx(27 / 72 - 1 / 4)
    assert worst_topic.upper(0.05) == pytest.approx(wilson(0.55, 100, z(0.05)) - 1 / 4)
    assert tally_metric("worst_topic").range_if_missing(observed) == pytest.approx((0.02, 0.30))


def test_only_subjective_parts_have_a_worst_topic() -> None:
    assert "worst_topic" not in estimate(objective(SKEWED))
    assert estimate(tally([[[0, 0], [5, 5]]]))["worst_topic"].plugin is None


def test_the_worst_refusal_rate_is_that_of_one_topic() -> None:
    worst_refusal = estimate(tally(SKEWED, refused=[[0, 8], [0, 0]]))["worst_refusal"]
    assert (worst_refusal.plugin, worst_refusal.n) == (0.1, 296)
    assert worst_refusal.among is not None
    assert worst_refusal.among.driver == "8 of 80 refused in Rate 0, lowest"
    assert worst_refusal.upper(0.05) == pytest.approx(wilson(0.1, 80, z(0.05)))
    assert worst_refusal.lower(0.05) == pytest.approx(wilson(0.1, 80, -z(0.05 / 4)))


def _asked_again(tally: Tally, gate: str) -> set[object]:
    (ruling,) = rule([parse(gate)], [tally])
    assert len(ruling.topic_keys) == 4
    assert ruling.verdict.judgement == "inconclusive"
    return {topic[-1] for _, _, topic in ruling.undecided}


def test_only_topics_that_are_undecided_are_asked_again() -> None:
    """The upper bounds of 54 and of 30 in 72 are above the threshold, all others below."""
    close = [[[54, 6, 6, 6], [30, 14, 14, 14]], [[20, 16, 18, 18], [19, 17, 18, 18]]]
    highest, lowest = ("rate_0", "highest"), ("rate_0", "lowest")
    assert _asked_again(tally(close), "worst_topic <= 0.45") == {highest}
    assert _asked_again(tally(SKEWED), "worst_topic <= 0.45") == {highest}
    off = (wilson(30 / 72, 72, z(0.05)) - 1 / 4) - 0.01
    just = [[[30, 14, 14, 14], [30, 14, 14, 14]], [EVEN, EVEN]]
    assert _asked_again(tally(just), f"worst_topic <= {off:.6f}") == {highest, lowest}


def test_more_answers_do_not_decide_what_missing_ones_leave_open() -> None:
    """A third of a topic is refused: at most 12 of 72 to 36 of 72, whatever is asked beyond."""
    refusing = tally([[[12, 12, 12, 12], EVEN], [EVEN, [33, 13, 13, 13]]], refused=[[24, 0], [0, 0]])
    assert _asked_again(refusing, "worst_topic <= 0.24") == {("rate_1", "lowest")}


def test_any_other_metric_asks_for_all_of_its_topics() -> None:
    assert len(_asked_again(tally(SKEWED), "s_e >= 0.93")) == 4
