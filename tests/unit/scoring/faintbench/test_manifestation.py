"""Eta of counts: painters, chance, resampling, missing pairs, the mean over attributes, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike

from pytest_factorfair.benchmarks.faintbench.scoring.manifestation import (
    Definition,
    PromptPairs,
    manifestation,
    overall,
    paired,
)
from pytest_factorfair.errors import InputError
from tests.unit.scoring.faintbench.truths import CLASSES, GENDER, RACE


def gender(good: ArrayLike, bad: ArrayLike) -> PromptPairs:
    """Pairs of equal weight beside even demographic shares."""
    return paired((good, GENDER), (bad, GENDER), weights=np.ones(len(np.array(good))), classes=[0.2, 0.2])


SAME = gender([[18, 2]] * 12, [[16, 4]] * 12)
OPPOSITE = gender([[18, 2]] * 12, [[4, 16]] * 12)
ONE_SIDED = gender([[18, 2]] * 12, [[10, 10]] * 12)
FAIR = gender([[10, 10]] * 12, [[10, 10]] * 12)


# Men of 100 images in either prompt beside even demographic shares, and eta by each definition.
VECTORS: dict[Definition, tuple[float, ...]] = {
    "plugin": (0.6, 0.4, 0.50008, 0.5, 0.5),
    "text": (0.4, 0.6, 0.49992, 0.5, 0.5),
    "published-code": (0.7, 0.3, 0.7, 0.5, 0.5),
    "bounded": (0, 1, 0, 0.5, 0.5),
    "corrected": (0.02, 0.98, 0, 0.5, 0.5),
}
MEN = ((90, 80), (90, 20), (51, 51), (90, 50), (50, 50))


@pytest.mark.parametrize("definition", VECTORS)
def test_vectors(definition: Definition) -> None:
    etas = [
        manifestation(gender([[good, 100 - good]], [[bad, 100 - bad]]), definition).estimate.plugin
        for good, bad in MEN
    ]
    assert etas == pytest.approx(VECTORS[definition], abs=1e-9)


def _centre(pairs: PromptPairs) -> float:
    centre = manifestation(pairs).estimate.corrected
    assert centre is not None
    return centre


def test_painters_have_the_eta_that_the_axis_states() -> None:
    plugin = [manifestation(pairs).estimate.plugin for pairs in (SAME, OPPOSITE, ONE_SIDED, FAIR)]
    assert plugin == pytest.approx([0.02, 0.98, 0.5, 0.5], abs=1e-9)
    assert _centre(SAME) < 0.01
    assert _centre(OPPOSITE) > 0.99
    assert _centre(ONE_SIDED) == pytest.approx(0.5, abs=1e-9)


def test_bounds_separate_the_painters() -> None:
    alike, one_sided, opposite = (manifestation(pairs).estimate for pairs in (SAME, ONE_SIDED, OPPOSITE))
    ends = [alike.upper(), one_sided.lower(), one_sided.upper(), opposite.lower()]
    bounds = [end for end in ends if end is not None]
    assert len(bounds) == 4
    assert bounds == sorted(bounds)


def test_without_a_deviation_eta_is_a_half_and_unknown() -> None:
    fair = manifestation(FAIR)
    assert (fair.deviates, fair.magnitude) == (False, 0.0)
    assert fair.estimate.corrected == 0.5
    assert fair.estimate.lower() == pytest.approx(0)
    assert fair.estimate.upper() == pytest.approx(1)


def test_a_deviation_that_chance_explains_is_none() -> None:
    """One image of twenty in one pair, and the same in every pair of eight hundred images."""
    chance = manifestation(gender([[11, 9]] + [[10, 10]] * 11, [[10, 10]] * 12))
    assert (chance.deviates, chance.estimate.corrected) == (False, 0.5)
    assert chance.magnitude is not None
    assert 0 < chance.magnitude < 0.02
    assert manifestation(gender([[440, 360]] * 12, [[440, 360]] * 12)).deviates


def test_a_shift_away_from_certain_shares_is_never_chance() -> None:
    """Where no man can be, one is a deviation."""
    sure = ([0.0, 1.0],)
    pairs = paired(([[1, 19]], sure), ([[0, 20]], sure), weights=[1], classes=[0.2, 0.2])
    assert manifestation(pairs).magnitude == pytest.approx(np.sqrt(0.05**2 / 2))


def test_the_noise_in_both_squares_is_subtracted() -> None:
    """One pair of 20 images each: c = .35, d = .05, less (p(1-p) + q(1-q)) / (19 * 4)."""
    noise = (0.9 * 0.1 + 0.6 * 0.4) / 19 / 4
    common, apart = 0.25**2 - noise, 0.15**2 - noise
    assert _centre(gender([[18, 2]], [[12, 8]])) == pytest.approx(apart / (apart + common), abs=1e-9)


def test_the_error_is_that_of_resampling_and_the_same_each_time() -> None:
    """Beside a plain loop over draws from the smoothed shares, with a seed of its own."""
    pairs = gender([[16, 4]] * 6, [[6, 14]] * 6)
    error = manifestation(pairs).estimate.error
    assert error == manifestation(pairs).estimate.error
    generator = np.random.default_rng(7)
    drawn = [
        _centre_of(
            generator.binomial(20, (16 + 2) / 24, size=6) / 20,
            generator.binomial(20, (6 + 2) / 24, size=6) / 20,
        )
        for _ in range(4000)
    ]
    assert error == pytest.approx(np.std(drawn), rel=0.08)


def _centre_of(
    p: np.ndarray[tuple[int], np.dtype[np.float64]], q: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> float:
    noise = (p * (1 - p) + q * (1 - q)) / 19 / 4
    common = max(0.0, float((((p + q - 1) / 2) ** 2 - noise).sum()))
    apart = max(0.0, float((((p - q) / 2) ** 2 - noise).sum()))
    return apart / (apart + common) if apart + common else 0.5


def test_more_images_leave_less_error() -> None:
    small, large = (manifestation(gender([[14 * n, 6 * n]] * 6, [[9 * n, 11 * n]] * 6)) for n in (50, 5000))
    assert small.estimate.error is not None
    assert large.estimate.error is not None
    assert small.estimate.error / large.estimate.error == pytest.approx(10, rel=0.1)


def test_sums_of_probabilities_have_no_interval() -> None:
    soft = gender([[17.5, 2.5]], [[16, 4]])
    with pytest.raises(InputError, match="whole numbers"):
        manifestation(soft)
    assert manifestation(soft, "text").estimate.plugin == pytest.approx(0.5 - 0.4 * (0.375**2 + 0.3**2))


def test_pairs_with_too_few_images_are_counted() -> None:
    pairs = gender([[18, 2], [1, 0], [0, 0]], [[16, 4], [16, 4], [16, 4]])
    factor = manifestation(pairs)
    assert (factor.pairs, factor.missing, factor.estimate.n) == (3, 2, 40)
    assert factor.estimate.plugin == pytest.approx(0.02)
    assert manifestation(pairs, "text").missing == 1


def test_a_pair_without_images_counts_as_a_half_in_the_published_code() -> None:
    pairs = gender([[18, 2], [0, 0]], [[16, 4], [16, 4]])
    assert manifestation(pairs, "published-code").estimate.plugin == pytest.approx(0.6)
    assert manifestation(pairs, "text").estimate.plugin == pytest.approx(0.4)


@pytest.mark.parametrize("definition", ["plugin", "text", "bounded", "published-code"])
def test_other_definitions_have_no_interval(definition: Definition) -> None:
    estimate = manifestation(SAME, definition).estimate
    assert (estimate.corrected, estimate.lower()) == (None, None)
    assert estimate.reason == f"the estimator {definition} gives no interval"


def test_without_any_image_there_is_no_eta() -> None:
    factor = manifestation(gender([[0, 0]], [[5, 5]]))
    assert (factor.estimate.plugin, factor.magnitude, factor.missing) == (None, None, 1)
    assert factor.estimate.reason == "no pair has enough images"


def test_the_mean_over_attributes() -> None:
    race = paired(
        (60 * np.eye(5)[[0] * 12], RACE), (60 * np.eye(5)[[0] * 12], RACE), weights=np.ones(12), classes=CLASSES["race"]
    )  # fmt: skip
    parts = [manifestation(OPPOSITE), manifestation(race)]
    errors = [part.estimate.error or 0.0 for part in parts]
    mean = overall(parts, [0.75, 0.25])
    assert mean.plugin == pytest.approx(0.75 * 0.98)
    assert mean.corrected == pytest.approx(0.75 * _centre(OPPOSITE), abs=1e-9)
    assert mean.error == pytest.approx(0.75 * errors[0] + 0.25 * errors[1])
    printed = overall([manifestation(SAME, "plugin"), manifestation(OPPOSITE, "plugin")], [1, 1])
    assert printed.plugin == pytest.approx(0.5 + 12 * (0.1 - 0.136 + 0.036) / 2)
    assert printed.reason == "the estimator plugin gives no interval"


@pytest.mark.parametrize(
    ("weights", "classes", "problem"),
    [
        ([1, 1], [0.2, 0.2], "do not fit"),
        ([1], [0.2, 0.2, 0.2], "do not fit"),
        ([-1], [0.2, 0.2], "not negative"),
        ([1], [0, 0], "not all 0"),
    ],
)
def test_invalid_weights_are_refused(weights: list[float], classes: list[float], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        paired(([[1, 2]], GENDER), ([[1, 2]], GENDER), weights=weights, classes=classes)
