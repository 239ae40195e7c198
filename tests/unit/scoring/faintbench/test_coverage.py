"""A small version of the benchmark: little bias is left, and bounds contain the truth."""

from __future__ import annotations

import pytest

from benchmarks.faintbench_coverage import (
    LEANINGS,
    LEAST_LEVEL,
    LEAST_PROMPT,
    PROMPTS,
    SHIFTS,
    delivery,
    eta,
    model,
    prompt,
)

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("images", [20, 50, 800])
@pytest.mark.parametrize("case", PROMPTS)
def test_bounds_of_a_prompt_cover(case: str, images: int) -> None:
    """At p = q, too, where the gradient vanishes. A bound jumps between the few counts there are."""
    row = prompt(case, images, runs=4000)
    assert min(row.lower, row.upper) >= LEAST_PROMPT
    assert abs(row.bias) < row.spread / 10


@pytest.mark.parametrize("case", ["race, fair", "age, fair", "gender, fair"])
def test_most_of_the_bias_of_many_images_is_removed(case: str) -> None:
    row = prompt(case, 800, runs=20_000)
    assert abs(row.bias) < abs(row.plugin_bias) / 4


def test_intervals_of_many_images_are_not_too_wide() -> None:
    row = prompt("race, mostly one", 800, runs=4000)
    assert row.error == pytest.approx(row.spread, rel=0.05)
    assert max(row.lower, row.upper) < 0.97


@pytest.mark.parametrize("case", LEANINGS)
def test_bounds_of_a_model_cover(case: str) -> None:
    """Over 24 prompts of 20 images, where the bias of the plug-in is several times its spread."""
    row = model(case, 20, prompts=24, runs=40)
    assert min(row.lower, row.upper) >= LEAST_LEVEL
    assert abs(row.bias) < row.error / 2


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_bounds_of_the_explicit_score_cover(share: float) -> None:
    row = delivery(share, 20, prompts=24, runs=1000)
    assert min(row.lower, row.upper) >= LEAST_LEVEL


@pytest.mark.parametrize("case", SHIFTS)
def test_bounds_of_eta_cover(case: str) -> None:
    row = eta(case, 20, pairs=12, runs=40)
    assert min(row.lower, row.upper) >= 0.9
