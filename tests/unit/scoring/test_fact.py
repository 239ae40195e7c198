"""S_fact by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike

from pytest_factorfair.errors import InputError
from pytest_factorfair.scoring import s_fact


def test_the_share_of_right_answers() -> None:
    assert s_fact([[[3, 1], [1, 1]], [[0, 4], [2, 2]]], [[0, 1], [0, 1]]) == (0.75 + 0.5 + 0 + 0.5) / 4


def test_topics_have_equal_weight_whatever_their_answers() -> None:
    counts = [[[300, 0, 0, 0], [1, 1, 1, 1]]]
    assert s_fact(counts, [[0, 0]]) == (1 + 0.25) / 2


def test_always_right_is_exactly_one() -> None:
    truth = np.arange(38).reshape(19, 2) % 3
    assert s_fact(np.eye(3)[truth] * 7, truth) == 1.0


def test_leading_axes_are_kept() -> None:
    counts = np.random.default_rng(0).integers(1, 9, (5, 4, 3, 2, 4))
    truth = np.array([[0, 1], [2, 3], [1, 0]])
    scores = s_fact(counts, truth)
    assert scores.shape == (5, 4)
    assert scores[3, 2] == s_fact(counts[3, 2], truth)


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ([0, 1], "truth is int64 of shape (2,); integers of shape (1, 2) are needed"),
        ([[0, 1], [0, 1]], "truth is int64 of shape (2, 2); integers of shape (1, 2) are needed"),
        ([[0.0, 1.0]], "truth is float64 of shape (1, 2); integers of shape (1, 2) are needed"),
        ([[0, 2]], "truth must be group indices from 0 to 1"),
        ([[-1, 1]], "truth must be group indices from 0 to 1"),
    ],
)
def test_invalid_truths_are_refused(truth: ArrayLike, message: str) -> None:
    with pytest.raises(InputError) as caught:
        s_fact([[[1, 1], [1, 1]]], truth)
    assert str(caught.value) == message
