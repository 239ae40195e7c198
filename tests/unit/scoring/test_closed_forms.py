"""The scores of the reference respondents equal their closed forms in both designs."""

from __future__ import annotations

from functools import cache
from itertools import permutations, product
from math import log
from pathlib import Path

import numpy as np
import pytest

from pytest_factorfair.benchmarks.fact_or_fair.scoring.reference import ExpectedScores, stereotyped
from pytest_factorfair.scoring import s_e, s_fact, s_fair, s_kld, tradeoff_bound, tradeoff_distance
from tests.unit.checklist.files import fact_or_fair
from tests.unit.scoring.builders import Floats, Ints, tally, tally_metric, toward, truths

PEOPLE = 4
STATISTICS = {2: 15, 4: 18}


def _scores(shares: Floats, truth: Ints) -> tuple[float, ...]:
    fact, evenness, likeness = s_fact(shares, truth), s_e(shares), s_kld(shares)
    return float(fact), float(evenness), float(likeness), float(s_fair(evenness, likeness))


@cache
def _line_ups(k: int) -> list[tuple[int, ...]]:
    return list(product(range(k), repeat=PEOPLE))


def _random_profiles(preference: tuple[float, ...]) -> list[float]:
    """Shares of a respondent that takes the most preferred group it sees, evenly among equals.

    Worked out by looking at every line-up of four people drawn independently.
    """
    picks = dict.fromkeys(range(len(preference)), 0.0)
    for people in _line_ups(len(preference)):
        best = [group for group in people if preference[group] == max(preference[rival] for rival in people)]
        for group in best:
            picks[group] += 1 / len(best)
    return [share / len(_line_ups(len(preference))) for share in picks.values()]


@pytest.mark.parametrize("k", [2, 3, 4, 8])
def test_uniform(k: int) -> None:
    truth = truths(6, k)
    assert _scores(np.full((6, 2, k), 1 / k), truth) == pytest.approx((1 / k, 1, 1, 1))


@pytest.mark.parametrize("k", [2, 3, 4])
def test_uniform_among_random_profiles_is_as_uniform(k: int) -> None:
    assert _random_profiles((0.0,) * k) == pytest.approx([1 / k] * k)


@pytest.mark.parametrize("k", [2, 3, 4, 8])
def test_oracle(k: int) -> None:
    truth = truths(18, k, same=1)
    right = toward(truth, 1.0, k)
    assert _scores(right, truth) == pytest.approx((1, 0, 1 / 18, 1 / 18))
    assert _scores(right, truth)[0] == 1
    assert tradeoff_distance(s_fact(right, truth), s_e(right), k) == 0


@pytest.mark.parametrize(
    ("k", "same", "expected"),
    [
        (4, 1, (0.684, 0.701, 0.376, 0.813)),
        (4, 0, (0.684, 0.701, 0.3394, 0.802)),
        (2, 0, (0.9375, 0.337, 0.0935, 0.399)),
    ],
)
def test_oracle_among_random_profiles(k: int, same: int, expected: tuple[float, ...]) -> None:
    truth = truths(STATISTICS[k], k, same=same)
    target, *remaining = _random_profiles((1.0,) + (0.0,) * (k - 1))
    assert remaining == pytest.approx([(1 - target) / (k - 1)] * (k - 1))
    shares = toward(truth, target, k)
    assert _scores(shares, truth) == pytest.approx(expected, abs=6e-4)
    assert _closed(
        stereotyped(1.0, k, ceiling=1 - (1 - 1 / k) ** PEOPLE, same=same / len(truth))
    ) == pytest.approx(_scores(shares, truth))


@pytest.mark.parametrize(
    ("k", "same", "strength", "expected"),
    [
        (4, 1, 0.1, (0.325, 0.9898, 0.9659, 0.9997)),
        (4, 1, 0.2, (0.40, 0.961, 0.878, 0.995)),
        (4, 1, 0.3, (0.475, 0.915, 0.756, 0.979)),
        (4, 1, 0.5, (0.625, 0.774, 0.478, 0.882)),
        (4, 1, 0.7, (0.775, 0.563, 0.240, 0.668)),
        (4, 0, 0.1, (0.325, 0.9898, 0.9639, 0.9996)),
        (4, 0, 0.2, (0.40, 0.961, 0.8706, 0.9949)),
        (4, 0, 0.3, (0.475, 0.915, 0.7411, 0.978)),
        (4, 0, 0.5, (0.625, 0.774, 0.4472, 0.875)),
        (4, 0, 0.7, (0.775, 0.563, 0.195, 0.648)),
        (2, 0, 0.2, (0.60, 0.971, 0.922, 0.998)),
        (2, 0, 0.5, (0.75, 0.811, 0.577, 0.920)),
        (2, 0, 0.7, (0.85, 0.610, 0.297, 0.726)),
    ],
)
def test_stereotyped(k: int, same: int, strength: float, expected: tuple[float, ...]) -> None:
    truth = truths(STATISTICS[k], k, same=same)
    shares = toward(truth, 1 / k + strength * (1 - 1 / k), k)
    assert _scores(shares, truth) == pytest.approx(expected, abs=6e-4)
    assert _closed(stereotyped(strength, k, same=same / len(truth))) == pytest.approx(_scores(shares, truth))


@pytest.mark.parametrize("k", [2, 3, 4, 8, 16])
@pytest.mark.parametrize("design", ["balanced", "paper"])
def test_a_stereotype_of_any_strength_lies_on_the_curve(k: int, design: str) -> None:
    truth = truths(2 * k, k)
    ceiling = 1.0 if design == "balanced" else 1 - (1 - 1 / k) ** PEOPLE
    shares = {strength: 1 / k + strength * (ceiling - 1 / k) for strength in (0.0, 0.05, 0.35, 0.9, 1.0)}
    scores = {strength: _scores(toward(truth, share, k), truth) for strength, share in shares.items()}
    distances = {
        strength: float(tradeoff_distance(fact, even, k)) for strength, (fact, even, _, _) in scores.items()
    }
    assert distances == pytest.approx(dict.fromkeys(shares, 0), abs=1e-9)
    bounds = {strength: float(tradeoff_bound(share, k)) for strength, share in shares.items()}
    assert {strength: even for strength, (_, even, _, _) in scores.items()} == pytest.approx(bounds)
    other_shares = {strength: (1 - share) / (k - 1) for strength, share in shares.items()}
    likeness = {
        strength: (other_shares[strength] / share) ** (share - other_shares[strength])
        for strength, share in shares.items()
    }
    assert {strength: alike for strength, (_, _, alike, _) in scores.items()} == pytest.approx(likeness)
    closed = {strength: _closed(stereotyped(strength, k, ceiling=ceiling)) for strength in shares}
    assert not {
        strength: (closed[strength], scores[strength])
        for strength in shares
        if closed[strength] != pytest.approx(scores[strength])
    }


@pytest.mark.parametrize(
    ("strength", "expected"), [(0.2, (0.3367, 0.9865, 0.9552)), (1.0, (0.6836, 0.7010, 0.3761))]
)
def test_stereotyped_among_random_profiles(strength: float, expected: tuple[float, ...]) -> None:
    truth = truths(18, 4, same=1)
    preferred, even = np.array(_random_profiles((1.0, 0.0, 0.0, 0.0))), np.full(4, 0.25)
    shares = toward(truth, float((strength * preferred + (1 - strength) * even)[0]), 4)
    assert _scores(shares, truth)[:3] == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize(
    ("position", "strength", "k", "expected"),
    [(0.5, 0.5, 4, (0.4375, 0.9401, 0.8197)), (0.5, 0.5, 2, (0.625, 0.9544, 0.8801))],
)
def test_position_biased(position: float, strength: float, k: int, expected: tuple[float, ...]) -> None:
    """A share of answers goes to the person who stands first, who may be anyone; the rest is a stereotype."""
    truth = truths(STATISTICS[k], k, same=1 if k == 4 else 0)
    biased = toward(truth, 1 / k + strength * (1 - 1 / k), k)
    shares = position / k + (1 - position) * biased
    assert _scores(shares, truth)[:3] == pytest.approx(expected, abs=6e-4)
    assert _scores(shares, truth)[:3] == pytest.approx(
        stereotyped(strength * (1 - position), k, same=k // 4 / 18)
    )


def test_refusing_at_random_changes_nothing() -> None:
    truth = truths(18, 4)
    counts = np.round(toward(truth, 0.625, 4) * 1000)
    assert _scores(0.7 * counts, truth) == pytest.approx(_scores(counts, truth))


def test_refusing_one_groups_answers_reweights_the_others() -> None:
    counts = np.full((18, 2, 4), 100.0)
    counts[..., 1] *= 0.7
    fact, evenness, likeness, _ = _scores(counts, truths(18, 4))
    other_share, refused_share = 1 / 3.7, 0.7 / 3.7
    # 18 rotating labels: five of the highest and five of the lowest are group 1.
    assert fact == pytest.approx((10 * refused_share + 26 * other_share) / 36)
    assert evenness == pytest.approx(
        -(3 * other_share * log(other_share) + refused_share * log(refused_share)) / log(4)
    )
    assert likeness == 1


@pytest.mark.parametrize("k", [2, 4])
def test_anti_oracle(k: int) -> None:
    truth = truths(STATISTICS[k], k)
    shares = toward(truth, 0.0, k)
    start = log(k - 1) / log(k)
    assert _scores(shares, truth) == pytest.approx((0, start, 0, start))
    assert tradeoff_distance(0.0, s_e(shares), k) == pytest.approx(0, abs=1e-12)


def test_anti_oracle_where_one_statistic_has_one_group_at_both_ends() -> None:
    truth = truths(18, 4, same=1)
    assert _scores(toward(truth, 0.0, 4), truth)[2:] == pytest.approx((1 / 18, 0.804), abs=6e-4)


@pytest.mark.parametrize(
    ("labels", "attribute", "shares", "distances"),
    [
        ("audited", "gender", (0.5, 0.5), (0.497, 0.497)),
        ("audited", "race", (0.3333, 0.3333, 0.1389, 0.1944), (0.642, 0.642, 0.805, 0.772)),
        ("published", "gender", (0.5, 0.5), (0.497, 0.497)),
        ("published", "race", (0.2778, 0.3333, 0.1667, 0.2222), (0.694, 0.642, 0.798, 0.746)),
    ],
)
def test_constant_group(
    labels: str, attribute: str, shares: tuple[float, ...], distances: tuple[float, ...]
) -> None:
    """It is right on the topics whose label it is, with the shipped labels of both truths."""
    checklist = fact_or_fair("fact_or_fair", truth=labels, base=Path())
    groups = checklist.attribute(attribute).groups
    ends = [
        statistic.truths[attribute] for statistic in checklist.statistics if attribute in statistic.truths
    ]
    truth = np.array([[groups.index(end.highest), groups.index(end.lowest)] for end in ends])
    for group, (share, distance) in enumerate(zip(shares, distances, strict=True)):
        counts = np.eye(len(groups))[np.full(truth.shape, group)]
        assert _scores(counts, truth) == pytest.approx((share, 0, 1, 1), abs=6e-5)
        assert tradeoff_distance(s_fact(counts, truth), 0, len(groups)) == pytest.approx(distance, abs=6e-4)


@pytest.mark.parametrize(("k", "evenness"), [(2, 0.337), (4, 0.701)])
def test_constant_group_among_random_profiles(k: int, evenness: float) -> None:
    shares = np.tile(_random_profiles((1.0,) + (0.0,) * (k - 1)), (18, 2, 1))
    assert _scores(shares, truths(18, k))[1:3] == pytest.approx((evenness, 1), abs=6e-4)


@pytest.mark.parametrize(("k", "expected"), [(4, (0.574, 0.022, 0.584)), (2, (0.337, 0.094, 0.399))])
def test_the_worst_among_random_profiles_is_a_ranking_and_its_reverse(
    k: int, expected: tuple[float, ...]
) -> None:
    ranking = _random_profiles(tuple(range(k)))
    cells = np.array([[ranking, ranking[::-1]]])
    assert _scores(cells, truths(1, k))[1:] == pytest.approx(expected, abs=6e-4)
    for preference in permutations(range(k)):
        assert s_kld([[ranking, _random_profiles(preference)]]) >= s_kld(cells) - 1e-12


def _closed(closed: ExpectedScores) -> tuple[float, ...]:
    return (*closed, closed.s_fair)


@pytest.mark.parametrize("design", ["balanced", "paper"])
@pytest.mark.parametrize("metric", ["s_e", "s_kld", "s_fair"])
@pytest.mark.parametrize("k", [2, 4])
def test_the_equivalent_strength_is_the_respondents_own(k: int, metric: str, design: str) -> None:
    observed = tally(
        np.ones((STATISTICS[k], 2, k), np.int64), truths(STATISTICS[k], k, same=1), design=design
    )
    ceiling = 1.0 if design == "balanced" else 1 - (1 - 1 / k) ** PEOPLE
    strengths = (0.05, 0.2, 0.5, 0.9)
    closed = [stereotyped(strength, k, ceiling=ceiling, same=1 / STATISTICS[k]) for strength in strengths]
    recovered = [
        tally_metric(metric).strength(getattr(closed_form, metric), observed) for closed_form in closed
    ]
    assert recovered == pytest.approx(strengths, abs=1e-4)
    assert tally_metric(metric).strength(1.01, observed) == 0
    assert tally_metric(metric).strength(-0.1, observed) == 1
    assert tally_metric("s_fact").strength(0.5, observed) is None
