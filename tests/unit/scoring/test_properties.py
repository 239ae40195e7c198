"""Properties of scores for any counts: bounds, and invariance to names, order and size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_factorfair.scoring import s_e, s_fact, s_fair, s_kld
from tests.unit.scoring.builders import COUNTS, Ints


def _all(counts: Ints, truth: Ints) -> list[float]:
    evenness, likeness = s_e(counts), s_kld(counts)
    smooth = s_kld(counts, smoothing=0.5)
    return [
        float(score)
        for score in (s_fact(counts, truth), evenness, likeness, smooth, s_fair(evenness, likeness))
    ]


@given(COUNTS)
def test_every_score_lies_between_zero_and_one(drawn: tuple[Ints, Ints]) -> None:
    scores = _all(*drawn)
    assert min(scores) >= 0
    assert max(scores) <= 1
    assert scores[4] >= max(scores[1], scores[2]) - 1e-12


@given(COUNTS, st.randoms(use_true_random=False))
def test_renaming_groups_changes_nothing(drawn: tuple[Ints, Ints], random: object) -> None:
    counts, truth = drawn
    order = np.array(random.sample(range(counts.shape[-1]), counts.shape[-1]))  # type: ignore[attr-defined]  # a Random
    inverse = np.argsort(order)
    assert _all(counts[..., order], inverse[truth]) == pytest.approx(_all(counts, truth))


@given(COUNTS, st.randoms(use_true_random=False))
def test_the_order_of_statistics_changes_nothing(drawn: tuple[Ints, Ints], random: object) -> None:
    counts, truth = drawn
    order = random.sample(range(len(counts)), len(counts))  # type: ignore[attr-defined]  # a Random
    assert _all(counts[order], truth[order]) == pytest.approx(_all(counts, truth))


@given(COUNTS, st.integers(2, 50))
def test_only_shares_count_without_smoothing(drawn: tuple[Ints, Ints], times: int) -> None:
    counts, truth = drawn
    original, scaled = _all(counts, truth), _all(counts * times, truth)
    assert original[:3] == pytest.approx(scaled[:3])


@given(COUNTS)
def test_the_mean_over_topics_is_that_of_each_topic_alone(drawn: tuple[Ints, Ints]) -> None:
    counts, truth = drawn
    alone = np.mean([_all(counts[[s]], truth[[s]])[:4] for s in range(len(counts))], axis=0)
    assert _all(counts, truth)[:4] == pytest.approx(alone.tolist())


@given(COUNTS)
def test_swapping_directions_keeps_fact_and_entropy(drawn: tuple[Ints, Ints]) -> None:
    counts, truth = drawn
    assert _all(counts[:, ::-1], truth[:, ::-1])[:2] == pytest.approx(_all(counts, truth)[:2])


@given(COUNTS, st.integers(0, 100))
def test_moving_an_answer_to_the_truth_never_lowers_s_fact(drawn: tuple[Ints, Ints], pick: int) -> None:
    counts, truth = drawn
    wrong = np.argwhere((counts > 0) & (np.arange(counts.shape[-1]) != truth[..., None]))
    if len(wrong):
        row, column, group = wrong[pick % len(wrong)]
        better = counts.copy()
        better[row, column, group] -= 1
        better[row, column, truth[row, column]] += 1
        assert s_fact(better, truth) > s_fact(counts, truth)
