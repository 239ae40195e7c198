"""Correcting pooled shares for a detector's errors, compared with closed forms and simulations."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_factorfair.benchmarks.fact_or_fair.pictures import corrections
from pytest_factorfair.statistics.arrays import FloatArray
from pytest_factorfair.statistics.confusion import Confusion, correct, expectation_maximisation
from tests.unit.scoring.builders import tally, truths

GENDERS = ("Male", "Female")
RACES = ("White", "Black", "Asian", "Hispanic")
# Mean recall .80, and Hispanic often taken for White, as detectors do.
RATES = np.array([[0.90, 0.03, 0.02, 0.05], [0.05, 0.87, 0.02, 0.06], [0.06, 0.02, 0.82, 0.10], [0.24, 0.06, 0.09, 0.61]])  # fmt: skip


def _table(counts: object, groups: tuple[str, ...] = GENDERS) -> Confusion:
    return Confusion("gender", groups, np.array(counts, np.int64))


def _entropy(shares: FloatArray) -> FloatArray:
    """The entropy over log k, with 0 log 0 = 0."""
    terms = shares * np.log(np.where(shares > 0, shares, 1))
    return np.asarray(-terms.sum(axis=-1) / np.log(shares.shape[-1]))


@pytest.mark.parametrize(("male", "expected"), [(530, 0.5), (190, 0.1), (870, 0.9), (60, 0.0), (990, 1.0)])
def test_two_groups_have_a_closed_form(male: int, expected: float) -> None:
    """pi = (r - FPR) / (TPR - FPR), here with rates of .955 and .105; clipped to 0..1."""
    rates = np.array([[0.955, 0.045], [0.105, 0.895]])
    shares = expectation_maximisation(np.array([male, 1000 - male], np.float64), rates)
    closed = min(max((male / 1000 - 0.105) / (0.955 - 0.105), 0), 1)
    assert shares[0] == pytest.approx(closed, abs=1e-5)
    assert shares[0] == pytest.approx(expected, abs=1e-5)


def test_the_interior_is_the_exact_inverse() -> None:
    """In the interior, the result is the exact inverse: the only solution of C^T pi = r."""
    truth = np.array([0.5, 0.2, 0.2, 0.1])
    counts = 10_000 * truth @ RATES
    inverse = np.linalg.solve(RATES.T, counts / counts.sum())
    assert inverse == pytest.approx(truth)
    assert expectation_maximisation(counts, RATES) == pytest.approx(inverse, abs=1e-6)


def test_each_draw_is_corrected_independently() -> None:
    random = np.random.default_rng(3)
    counts = random.multinomial(200, [0.4, 0.3, 0.2, 0.1], size=7).astype(np.float64)
    tables = np.stack([random.dirichlet(40 * row, size=7) for row in RATES], axis=1)
    together = expectation_maximisation(counts, tables)
    assert together.shape == (7, 4)
    for shares, count, rates in zip(together, counts, tables, strict=True):
        assert expectation_maximisation(count, rates) == pytest.approx(shares, abs=1e-12)
    assert expectation_maximisation(counts, RATES)[2] == pytest.approx(
        expectation_maximisation(counts[2], RATES), abs=1e-12
    )


@pytest.mark.parametrize("flipped", [0.05, 0.2])
@pytest.mark.parametrize("truth", [[0.7, 0.1, 0.15, 0.05], [0.25, 0.25, 0.25, 0.25], [0.1, 0.6, 0.2, 0.1]])
def test_known_shares_with_known_flips_land_on_the_truth(truth: list[float], flipped: float) -> None:
    """Four standard errors of the inverse: the covariance of the perceived shares, carried through it."""
    n = 4000
    rates = (1 - flipped) * np.eye(4) + flipped / 3 * (1 - np.eye(4))
    perceived = np.array(truth) @ rates
    counts = np.random.default_rng(11).multinomial(n, perceived)
    inverse = np.linalg.inv(rates.T)
    covariance = inverse @ ((np.diag(perceived) - np.outer(perceived, perceived)) / n) @ inverse.T
    away = np.abs(expectation_maximisation(counts.astype(np.float64), rates) - truth)
    assert (away <= 4 * np.sqrt(np.diag(covariance))).all()


@pytest.mark.parametrize(("n", "raw", "em"), [(20, 0.18, 0.08), (100, 0.23, 0.02), (400, 0.24, 0.003)])
def test_error_makes_a_homogeneous_model_look_even(n: int, raw: float, em: float) -> None:
    """300 runs of shares .97/.01/.01/.01: the bias of normalised entropy, raw and corrected."""
    truth = np.array([0.97, 0.01, 0.01, 0.01])
    counts = np.random.default_rng(5).multinomial(n, truth @ RATES, size=300).astype(np.float64)
    bias = _entropy(counts / n).mean() - _entropy(truth)
    assert bias == pytest.approx(raw, abs=0.03)
    assert _entropy(expectation_maximisation(counts, RATES)).mean() - _entropy(truth) == pytest.approx(
        em, abs=0.03
    )


@pytest.mark.parametrize(
    ("truth", "n", "raw", "em"), [([0.25] * 4, 400, 0.155, 0.097), ([0.7, 0.1, 0.15, 0.05], 20, 0.245, 0.326)]
)
def test_with_few_pictures_correction_increases_the_error(
    truth: list[float], n: int, raw: float, em: float
) -> None:
    """L1 errors over 300 runs: what 400 pictures gain, 20 lose; hence only pooled counts are corrected."""
    counts = np.random.default_rng(6).multinomial(n, np.array(truth) @ RATES, size=300).astype(np.float64)
    shares = expectation_maximisation(counts, RATES)
    assert np.abs(counts / n - truth).sum(axis=-1).mean() == pytest.approx(raw, abs=0.03)
    assert np.abs(shares - truth).sum(axis=-1).mean() == pytest.approx(em, abs=0.03)


def test_the_interval_covers() -> None:
    """60 runs of 50 labelled faces a group and 100 pictures; at 95 % fewer than 51 is a chance of 1e-4."""
    truth, rates, random = (
        np.array([0.6, 0.4]),
        np.array([[0.95, 0.05], [0.10, 0.90]]),
        np.random.default_rng(8),
    )
    covered = 0
    for _ in range(60):
        table = _table([random.multinomial(50, row) for row in rates])
        correction = correct(table, random.multinomial(100, truth @ rates))
        covered += bool(correction.low[0] <= truth[0] <= correction.high[0])
    assert covered >= 51


def test_the_interval_is_about_pictures_and_table() -> None:
    """Delta method: (r - FPR) / (TPR - FPR) has variance (V(r) + pi^2 V(TPR) + (1-pi)^2 V(FPR)) / (TPR - FPR)^2."""
    correction = correct(_table([[90, 10], [10, 90]]), [500, 500])
    error = np.sqrt(0.25 / 1000 + 2 * 0.25 * 0.09 / 100) / 0.8
    assert correction.value[0] == pytest.approx(0.5, abs=1e-6)
    assert (correction.high[0] - correction.low[0]) / 2 == pytest.approx(1.96 * error, rel=0.1)
    assert correct(_table([[90, 10], [10, 90]]), [500, 500]).low.tolist() == correction.low.tolist()


def test_faces_missed_more_often_in_one_group_are_corrected() -> None:
    """40 of 100 women are missed and no man; with rows and columns for "none", 60 and 100 become even.

    Of 240 pictures with 100 men, 60 women and 80 without a face, 40 show nobody.
    """
    table = _table([[100, 0, 0], [0, 60, 40], [0, 0, 50]])
    correction = correct(table, [100, 60], missing=80)
    assert table.missing
    assert correction.value == pytest.approx([0.5, 0.5], abs=1e-5)
    without = _table([[100, 0, 0], [0, 60, 40], [0, 0, 0]])
    assert not without.missing
    assert correct(without, [100, 60], missing=80).value == pytest.approx([0.625, 0.375], abs=1e-5)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            _table([[59, 41], [41, 59]]),
            "the detector hardly distinguishes the groups: it perceives Male in 59% of the faces that people call so and in 41%",
        ),
        (_table([[10, 90], [90, 10]]), "hardly distinguishes"),
        (_table([[90, 10], [0, 0]]), "no labelled face is Female"),
        (_table(np.rint(100 * RATES), RACES), ""),
        (_table(np.full((4, 4), 20) + np.diag([1, 2, 3, 4]), RACES), "the table is ill-conditioned: "),
        (_table([[6, 4, 90], [4, 6, 90], [0, 0, 50]]), "the table is ill-conditioned: "),
        (_table([[61, 39], [39, 61]]), ""),
    ],
)
def test_a_table_that_cannot_be_inverted_is_refused(table: Confusion, words: str) -> None:
    assert words in table.refusal
    assert bool(table.refusal) == bool(words)


@given(st.permutations(range(4)), st.lists(st.integers(0, 200), min_size=4, max_size=4).filter(any))
def test_the_order_of_groups_does_not_matter(order: list[int], counts: list[int]) -> None:
    seen = np.array(counts, np.float64)
    shares = expectation_maximisation(seen, RATES)
    assert shares.sum() == pytest.approx(1)
    assert (shares >= 0).all()
    assert expectation_maximisation(seen[order], RATES[np.ix_(order, order)]) == pytest.approx(
        shares[order], abs=1e-5
    )


def test_counts_are_pooled_over_topics_and_stand_beside_the_raw_ones() -> None:
    counts = np.tile([[30, 10], [20, 20]], (5, 1, 1))
    observed = tally(counts, truths(5, 2), context="base", attribute="gender")
    groups = observed.groups
    (row,) = corrections([observed], [_table([[90, 10], [10, 90]], groups)])
    assert (row.model, row.part, row.context, row.attribute, row.n) == (
        observed.model, observed.part, observed.context, "gender", 400,
    )  # fmt: skip
    assert row.raw == {groups[0]: 250 / 400, groups[1]: 150 / 400}
    assert row.corrected[groups[0]] == pytest.approx((0.625 - 0.1) / 0.8, abs=1e-5)
    assert row.low[groups[0]] < 0.65625 < row.high[groups[0]]
    assert row.reason == ""


def test_a_refused_table_leaves_the_raw_shares() -> None:
    observed = tally(np.full((2, 2, 2), 7), truths(2, 2), attribute="gender")
    (row,) = corrections([observed], [_table([[5, 5], [5, 5]], observed.groups)])
    assert set(row.raw.values()) == {0.5}
    assert (row.corrected, row.low, row.high) == ({}, {}, {})
    assert "hardly distinguishes the groups" in row.reason


def test_without_faces_there_is_nothing_to_correct() -> None:
    observed = tally(np.zeros((2, 2, 2), np.int64), truths(2, 2), attribute="gender")
    (row,) = corrections([observed], [_table([[9, 1], [1, 9]], observed.groups)])
    assert (row.n, row.raw, row.reason) == (0, {}, "no face was perceived")


def test_an_attribute_without_a_table_is_not_corrected() -> None:
    observed = tally(np.full((2, 2, 2), 7), truths(2, 2), attribute="race")
    (row,) = corrections([observed], [_table([[9, 1], [1, 9]], observed.groups)])
    assert (row.corrected, row.reason) == ({}, "the table of the detector's errors is not about race")
    assert corrections([observed], []) == ()


def test_a_table_cannot_be_changed() -> None:
    table = _table([[9, 1], [1, 9]])
    with pytest.raises(ValueError, match="read-only"):
        table.counts[0, 0] = 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.attribute = "race"  # type: ignore[misc]  # this is what must not be possible
