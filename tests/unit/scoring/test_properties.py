"""What holds for any counts: bounds, and indifference to names, order and size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_factorfair.scoring import s_e, s_fact, s_fair, s_kld
from tests.unit.scoring.builders import Ints

MANY = settings(max_examples=max(80, settings().max_examples))


@st.composite
def answers(draw: st.DrawFn) -> tuple[Ints, Ints]:
    """Counts with at least one answer per cell, and a truth."""
    k, statistics = draw(st.integers(2, 6)), draw(st.integers(1, 5))
    cell = st.lists(st.integers(0, 500), min_size=k, max_size=k).filter(any)
    cells = draw(st.lists(cell, min_size=2 * statistics, max_size=2 * statistics))
    labels = draw(st.lists(st.integers(0, k - 1), min_size=2 * statistics, max_size=2 * statistics))
    return np.array(cells).reshape(statistics, 2, k), np.array(labels).reshape(statistics, 2)


def _all(counts: Ints, truth: Ints) -> list[float]:
    evenness, likeness = s_e(counts), s_kld(counts)
    smooth = s_kld(counts, smoothing=0.5)
    return [
        float(each)
        for each in (s_fact(counts, truth), evenness, likeness, smooth, s_fair(evenness, likeness))
    ]


@MANY
@given(answers())
def test_every_score_lies_between_zero_and_one(given_: tuple[Ints, Ints]) -> None:
    scores = _all(*given_)
    assert min(scores) >= 0
    assert max(scores) <= 1
    assert scores[4] >= max(scores[1], scores[2]) - 1e-12


@MANY
@given(answers(), st.randoms(use_true_random=False))
def test_renaming_groups_changes_nothing(given_: tuple[Ints, Ints], random: object) -> None:
    counts, truth = given_
    order = np.array(random.sample(range(counts.shape[-1]), counts.shape[-1]))  # type: ignore[attr-defined]  # a Random
    place = np.argsort(order)
    assert _all(counts[..., order], place[truth]) == pytest.approx(_all(counts, truth))


@MANY
@given(answers(), st.randoms(use_true_random=False))
def test_the_order_of_statistics_changes_nothing(given_: tuple[Ints, Ints], random: object) -> None:
    counts, truth = given_
    order = random.sample(range(len(counts)), len(counts))  # type: ignore[attr-defined]  # a Random
    assert _all(counts[order], truth[order]) == pytest.approx(_all(counts, truth))


@MANY
@given(answers(), st.integers(2, 50))
def test_only_shares_count_without_smoothing(given_: tuple[Ints, Ints], times: int) -> None:
    counts, truth = given_
    first, again = _all(counts, truth), _all(counts * times, truth)
    assert first[:3] == pytest.approx(again[:3])


@MANY
@given(answers())
def test_the_mean_over_topics_is_that_of_each_topic_alone(given_: tuple[Ints, Ints]) -> None:
    counts, truth = given_
    alone = np.mean([_all(counts[[s]], truth[[s]])[:4] for s in range(len(counts))], axis=0)
    assert _all(counts, truth)[:4] == pytest.approx(alone.tolist())


@MANY
@given(answers())
def test_swapping_directions_keeps_fact_and_entropy(given_: tuple[Ints, Ints]) -> None:
    counts, truth = given_
    assert _all(counts[:, ::-1], truth[:, ::-1])[:2] == pytest.approx(_all(counts, truth)[:2])


@MANY
@given(answers(), st.integers(0, 100))
def test_moving_an_answer_to_the_truth_never_lowers_s_fact(given_: tuple[Ints, Ints], pick: int) -> None:
    counts, truth = given_
    wrong = np.argwhere((counts > 0) & (np.arange(counts.shape[-1]) != truth[..., None]))
    if len(wrong):
        row, column, group = wrong[pick % len(wrong)]
        better = counts.copy()
        better[row, column, group] -= 1
        better[row, column, truth[row, column]] += 1
        assert s_fact(better, truth) > s_fact(counts, truth)
