"""A fast version of the coverage benchmark: the intervals hold the truth as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.coverage import SCORES, TRUTHS, respondent, row, scores


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("truth", TRUTHS)
def test_intervals_cover_at_72_answers(truth: str, k: int) -> None:
    """Fixed seeds; the standard error of a coverage of 95 % is .7 points over 1,000 runs."""
    covered = dict(zip(SCORES, row(truth, k, 72, runs=1000).coverage, strict=True))
    assert min(covered[name] for name in ("S_fact", "S_E", "S_KLD", "d")) >= 0.925
    assert covered["S_fair"] >= 0.90


def test_intervals_of_many_answers_are_not_too_wide() -> None:
    """At the interior the nominal 95 % is met from above, too, and widths shrink with the root of n."""
    few, many = row("strong", 4, 100, runs=500), row("strong", 4, 10_000, runs=500)
    assert many.coverage == pytest.approx(np.full(5, 0.95), abs=0.03)
    assert few.width[:4] / many.width[:4] == pytest.approx(np.full(4, 10), rel=0.1)


@pytest.mark.parametrize("k", [2, 4])
def test_the_respondents_of_the_simulation_are_what_they_say(k: int) -> None:
    uniform = scores(*respondent("uniform", k), k)
    assert uniform == pytest.approx((1 / k, 1, 1, 1, 0))
    shares, labels = respondent("near-oracle", k)
    right = np.take_along_axis(shares, labels[..., None], axis=-1)
    assert shares.sum(axis=-1) == pytest.approx(np.ones(shares.shape[:-1]))
    assert right[-1, -1, 0] == 1
    assert right.mean() == pytest.approx(0.85 + 0.15 / k)
