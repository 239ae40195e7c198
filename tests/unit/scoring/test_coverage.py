"""A small version of the coverage benchmark: intervals contain the truth as often as they should."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.coverage import (
    KINDS,
    SCORES,
    TRUTHS,
    Differing,
    Mode,
    lettered_row,
    respondent,
    row,
    scenario_row,
    scores,
)
from pytest_factorfair.domain import Design


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("truth", TRUTHS)
def test_intervals_cover_at_72_answers(truth: str, k: int) -> None:
    """Fixed seeds; the standard error of a coverage of 95 % is .7 points over 1,000 runs."""
    covered = dict(zip(SCORES, row(truth, k, 72, runs=1000).coverage, strict=True))
    assert min(covered[name] for name in ("S_fact", "S_E", "S_KLD", "d")) >= 0.925
    assert covered["S_fair"] >= 0.90


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["probabilities", "letters"])
@pytest.mark.parametrize(("kind", "k"), list(zip(KINDS, (4, 2, 2, 4), strict=True)))
def test_intervals_cover_at_24_answers_without_the_effect_of_letters(kind: str, k: int, mode: Mode) -> None:
    """Fixed seeds; the standard error of a coverage of 95 % is 1.1 points over 400 runs."""
    covered = dict(zip(SCORES, lettered_row(kind, "LLM-like", mode, k, 24, runs=400).coverage, strict=True))
    assert min(covered[name] for name in ("S_fact", "S_E", "S_KLD", "d")) >= 0.92
    assert covered["S_fair"] >= 0.88


@pytest.mark.slow
def test_a_favourite_letter_spoils_intervals_as_long_as_its_effect_is_kept() -> None:
    with_effect = lettered_row("position", "uniform", "letters, effect kept", 4, 24, runs=400)
    without_effect = lettered_row("position", "uniform", "letters", 4, 24, runs=400)
    surest = lettered_row("position", "uniform", "probabilities", 4, 24, runs=400)
    evenness = SCORES.index("S_E")
    assert with_effect.coverage[evenness] < 0.7
    assert without_effect.coverage[evenness] > 0.92
    assert surest.width[0] < without_effect.width[0] / 10


def test_intervals_cover_where_scenarios_differ() -> None:
    """Fixed seeds; the standard error of a coverage of 95 % is 1.5 points over 200 runs."""
    asked = Differing(1.5, "balanced", "probabilities", 4, 24)
    within = scenario_row(asked, runs=200)
    assert within.coverage.min() >= 0.925
    assert within.above.max() <= 0.1
    assert abs(within.bias[0]) < 0.001
    around_topics = scenario_row(asked, runs=200, within=False)
    assert around_topics.coverage[0] < 0.925
    assert around_topics.bias[0] > 0.006


@pytest.mark.slow
@pytest.mark.parametrize("design", ["balanced", "paper"])
@pytest.mark.parametrize("mode", ["probabilities", "letters"])
@pytest.mark.parametrize("k", [2, 4])
def test_intervals_cover_where_scenarios_differ_in_every_mode(k: int, mode: Mode, design: Design) -> None:
    """Fixed seeds; the standard error of a coverage of 95 % is .7 points over 1,000 runs."""
    assert scenario_row(Differing(1.5, design, mode, k, 48), runs=1000).coverage.min() >= 0.925


@pytest.mark.slow
def test_intervals_of_many_answers_are_not_too_wide() -> None:
    """Away from 0 and 1, coverage is not far above 95 %, and widths shrink with the root of n."""
    small, large = row("strong", 4, 100, runs=500), row("strong", 4, 10_000, runs=500)
    assert large.coverage == pytest.approx(np.full(5, 0.95), abs=0.03)
    assert small.width[:4] / large.width[:4] == pytest.approx(np.full(4, 10), rel=0.1)


@pytest.mark.parametrize("k", [2, 4])
def test_simulated_respondents_have_their_stated_shares(k: int) -> None:
    uniform = scores(*respondent("uniform", k), k)
    assert uniform == pytest.approx((1 / k, 1, 1, 1, 0))
    shares, labels = respondent("near-oracle", k)
    right = np.take_along_axis(shares, labels[..., None], axis=-1)
    assert shares.sum(axis=-1) == pytest.approx(np.ones(shares.shape[:-1]))
    assert right[-1, -1, 0] == 1
    assert right.mean() == pytest.approx(0.85 + 0.15 / k)
