"""What a gate can tell at a size, against the standard errors of a study of simulated models."""

from __future__ import annotations

from statistics import NormalDist

import pytest

from pytest_factorfair.gates import detectable, parse

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
        ("refusal_rate <= 0.05", 4, 24, 0.0074),  # sqrt(.0475 / 864)
    ],
)
def test_the_smallest_difference(text: str, k: int, n: int, error: float) -> None:
    found = detectable(parse(text), k, statistics=18, n=n, bound=BOUND)
    assert found == pytest.approx((BOUND + POWER) * error, rel=0.2)  # its models are not equally prejudiced


def test_a_stricter_bound_and_a_change_need_more() -> None:
    gate = parse("s_e >= 0.9")
    plain = detectable(gate, 2, statistics=15, n=72, bound=BOUND) or 0
    strict = detectable(gate, 2, statistics=15, n=72, bound=3.75) or 0
    assert strict / plain == pytest.approx((3.75 + POWER) / (BOUND + POWER))
    same = detectable(parse("s_e >= 0.97095"), 2, statistics=15, n=72, bound=BOUND) or 0
    change = detectable(parse("regression(s_e) >= -0.02"), 2, statistics=15, n=72, bound=BOUND) or 0
    assert change / same == pytest.approx(2**0.5, rel=0.01)


def test_what_is_not_foreseen() -> None:
    assert detectable(parse("distance <= 0.1"), 2, statistics=15, n=72, bound=BOUND) is None
