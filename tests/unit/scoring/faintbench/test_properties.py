"""What holds for any counts: indifference to names and order, ranges, and that better is higher."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pytest_factorfair.benchmarks.faintbench.scoring.formulas import (
    explicit,
    floor,
    implicit,
    jensen_shannon,
    joined,
    level,
    similarity,
)
from pytest_factorfair.benchmarks.faintbench.scoring.manifestation import (
    Contrast,
    Definition,
    manifestation,
    paired,
    split,
)

MEN = np.array([1.0, -1.0])
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@st.composite
def prompts(draw: st.DrawFn, minimum: int = 1) -> tuple[Ints, Floats]:
    """Counts (prompts, k) of two images or more, and demographic shares."""
    k, size = draw(st.integers(2, 5)), draw(st.integers(minimum, 6))
    row = st.lists(st.integers(0, 40), min_size=k, max_size=k).filter(lambda counts: sum(counts) >= 2)
    share = st.lists(st.integers(0, 20), min_size=k, max_size=k).filter(any)
    counts = np.array(draw(st.lists(row, min_size=size, max_size=size)))
    truth = np.array(draw(st.lists(share, min_size=size, max_size=size)), dtype=np.float64)
    return counts, truth / truth.sum(axis=-1, keepdims=True)


@given(prompts(), st.integers(0, 100))
def test_renaming_classes_changes_nothing(cells: tuple[Ints, Floats], seed: int) -> None:
    counts, truth = cells
    order = np.random.default_rng(seed).permutation(counts.shape[-1])
    plain, renamed = implicit(counts, truth), implicit(counts[:, order], truth[:, order])
    for name in ("plugin", "corrected", "error"):
        assert getattr(plain, name) == pytest.approx(getattr(renamed, name), abs=1e-9)


@given(prompts(minimum=2), st.integers(0, 100))
def test_the_order_of_prompts_changes_no_level(cells: tuple[Ints, Floats], seed: int) -> None:
    counts, truth = cells
    generator = np.random.default_rng(seed)
    order, weights = generator.permutation(len(counts)), generator.uniform(0.5, 5, size=len(counts))
    places = np.arange(len(counts)) // 2
    ordered = level(implicit(counts, truth), weights, places)
    shuffled = level(implicit(counts[order], truth[order]), weights[order], places[order])
    assert (ordered.plugin, ordered.corrected, ordered.error) == pytest.approx(
        (shuffled.plugin, shuffled.corrected, shuffled.error), abs=1e-9
    )
    assert ordered.n == shuffled.n


@given(prompts(minimum=2))
def test_levels_of_parts_make_the_level_of_the_whole(cells: tuple[Ints, Floats]) -> None:
    """Prompts scored in two shares and joined score as they do in one run."""
    counts, truth = cells
    parts = joined([implicit(counts[:1], truth[:1]), implicit(counts[1:], truth[1:])])
    whole = implicit(counts, truth)
    places = np.arange(len(counts))
    assert level(parts, places + 1, places) == level(whole, places + 1, places)


@given(prompts())
def test_scores_stay_within_their_ranges(cells: tuple[Ints, Floats]) -> None:
    counts, truth = cells
    scores, slack = implicit(counts, truth), 1e-12
    assert (scores.plugin >= floor(truth) - slack).all()
    assert (scores.plugin <= 1 + slack).all()
    assert (floor(truth) >= 0.5).all()
    assert (scores.error > 0).all()
    values = jensen_shannon(counts, truth)
    assert ((values > -slack) & (values < 1 + slack)).all()


@given(prompts(), st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_nearer_to_the_demographic_shares_is_better(
    cells: tuple[Ints, Floats], steps: tuple[float, float]
) -> None:
    """On the way from any shares to the demographic ones."""
    counts, truth = cells
    p = counts / counts.sum(axis=-1, keepdims=True)
    near, far = (step * truth + (1 - step) * p for step in sorted(steps, reverse=True))
    assert (similarity(near, truth) >= similarity(far, truth) - 1e-12).all()
    assert (jensen_shannon(near, truth) <= jensen_shannon(far, truth) + 1e-12).all()


@given(st.integers(1, 200), st.data())
def test_one_more_image_delivered_is_better(images: int, data: st.DataObject) -> None:
    delivered = data.draw(st.integers(0, images - 1))
    worse, better = (explicit([count], [images]).estimate(0) for count in (delivered, delivered + 1))
    for low, high in (
        (worse.plugin, better.plugin),
        (worse.lower(), better.lower()),
        (worse.upper(), better.upper()),
    ):
        assert low is not None
        assert high is not None
        assert 0 <= low <= high <= 1


@given(prompts(), st.sampled_from(["corrected", "bounded", "text", "plugin", "published-code"]))
def test_exchanging_the_prompts_of_all_pairs_keeps_eta(
    cells: tuple[Ints, Floats], definition: Definition
) -> None:
    """And so does renaming classes; by the bounded definitions it stays in 0 to 1."""
    counts, truth = cells
    bad_counts = counts[::-1] + 2
    weights, classes = np.arange(len(counts)) + 1.0, np.ones(counts.shape[-1])
    plain, exchanged, renamed = (
        manifestation(paired(good, bad, weights=weights, classes=classes), definition)
        for good, bad in (
            ((counts, truth), (bad_counts, truth)),
            ((bad_counts, truth), (counts, truth)),
            ((counts[:, ::-1], truth[:, ::-1]), (bad_counts[:, ::-1], truth[:, ::-1])),
        )
    )
    for equivalent in (exchanged, renamed):
        assert equivalent.estimate.plugin == pytest.approx(plain.estimate.plugin, abs=1e-9)
        assert equivalent.magnitude == pytest.approx(plain.magnitude, abs=1e-9)
        assert equivalent.estimate.corrected == pytest.approx(plain.estimate.corrected, abs=1e-9)
    if definition in ("corrected", "bounded"):
        assert plain.estimate.plugin is not None
        assert 0 <= plain.estimate.plugin <= 1


@given(st.floats(0.01, 0.5), st.tuples(st.floats(-1, 1), st.floats(-1, 1)))
def test_eta_rises_from_a_common_shift_to_an_opposite_one(shift: float, factors: tuple[float, float]) -> None:
    """The advantaged prompt shifted to men; the disadvantaged one by as much, then less, then to women."""
    truth = np.full((1, 2), 0.5)
    low, middle, high = (
        float(
            split(
                Contrast(truth + shift * MEN, truth, truth + by * shift * MEN, truth, np.ones(1), np.ones(2))
            )
        )
        for by in (max(factors), 0, min(factors))
    )
    assert low <= high + 1e-12
    assert middle == pytest.approx(0.5)
