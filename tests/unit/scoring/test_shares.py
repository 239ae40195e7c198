"""Converting counts to shares, and invalid counts."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike

from pytest_factorfair.benchmarks.fact_or_fair.scoring.formulas import shares
from pytest_factorfair.errors import InputError
from pytest_factorfair.scoring import s_e, s_fact, s_kld


def test_shares_of_each_cell() -> None:
    assert shares([[[1, 3], [0, 5]]]).tolist() == [[[0.25, 0.75], [0.0, 1.0]]]


def test_smoothing_adds_a_pseudo_count_to_every_group() -> None:
    assert shares([[[1, 2], [0, 4]]], smoothing=0.5).tolist() == [[[1.5 / 4, 2.5 / 4], [0.5 / 5, 4.5 / 5]]]


def test_a_cell_without_answers_has_no_distribution_however_smooth() -> None:
    assert np.isnan(shares([[[0, 0], [1, 1]]], smoothing=1.0)[0, 0]).all()


@pytest.mark.parametrize("empty", [(0, 0), (0, 1)])
def test_one_topic_without_answers_leaves_no_score(empty: tuple[int, int]) -> None:
    counts = np.full((3, 2, 2), 5)
    counts[empty] = 0
    assert np.isnan(s_fact(counts, [[0, 1]] * 3))
    assert np.isnan(s_e(counts))
    assert np.isnan(s_kld(counts))


def test_an_empty_topic_leaves_scores_of_other_runs() -> None:
    runs = np.ones((2, 3, 2, 4))
    runs[1, 2, 1] = 0
    assert s_e(runs).tolist()[0] == 1
    assert np.isnan([s_e(runs)[1], s_kld(runs)[1], s_fact(runs, [[0, 1]] * 3)[1]]).all()


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1, 2], "counts have shape (2,); (..., statistics, 2, groups) is needed"),
        ([[[1], [1]]], "counts have shape (1, 2, 1); (..., statistics, 2, groups) is needed"),
        ([[[1, 1]]], "counts have shape (1, 1, 2); (..., statistics, 2, groups) is needed"),
        (np.ones((0, 2, 2)), "counts have shape (0, 2, 2); (..., statistics, 2, groups) is needed"),
        ([[[1, -1], [1, 1]]], "counts must be finite and not negative"),
        ([[[1, np.nan], [1, 1]]], "counts must be finite and not negative"),
        ([[[1, np.inf], [1, 1]]], "counts must be finite and not negative"),
    ],
)
def test_invalid_counts_are_refused(counts: ArrayLike, message: str) -> None:
    with pytest.raises(InputError) as caught:
        s_e(counts)
    assert str(caught.value) == message


@pytest.mark.parametrize("smoothing", [-0.5, np.inf, np.nan])
def test_invalid_smoothing_is_refused(smoothing: float) -> None:
    with pytest.raises(InputError, match="a finite pseudo-count of 0 or more is needed"):
        s_kld([[[1, 1], [1, 1]]], smoothing=smoothing)
