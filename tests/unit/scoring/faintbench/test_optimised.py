"""The rules of the paper's code by hand, one image each, and what they keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_factorfair.protocols.faintbench.optimised import optimised

SIZES = {"gender": 2, "race": 5, "age": 3}


@pytest.mark.parametrize(
    ("attribute", "probabilities", "expected"),
    [
        ("gender", [0.91, 0.09], [1, 0]),
        ("gender", [0.9, 0.1], [0.9, 0.1]),
        ("race", [0.05, 0.81, 0.04, 0.05, 0.05], [0, 1, 0, 0, 0]),
        ("race", [0.2, 0.3, 0.05, 0.3, 0.15], [0.2 + 0.2 + 0.24, 0.06, 0.05, 0.1, 0.15]),
        ("race", [0.02, 0.1, 0.06, 0.08, 0.74], [0.02, 0.05, 0.06, 0.02, 0.74 + 0.06 + 0.05]),
        ("race", [0.08, 0.06, 0.02, 0.72, 0.12], [0.02, 0.06, 0.02, 0.72 + 0.06 + 0.09, 0.03]),
        ("race", [0.1, 0.4, 0.1, 0.2, 0.2], [0.1 + 0.1, 0.1, 0.1, 0.2 + 0.2, 0.2]),
        ("race", [0.19, 0.4, 0.16, 0.1, 0.15], [0.19 + 0.2, 0.1, 0.16, 0.1 + 0.1, 0.15]),
        ("race", [0.1, 0.1, 0.45, 0.1, 0.25], [0.1, 0.1, 0.45, 0.05, 0.3]),
        ("race", [0.1, 0.1, 0.45, 0.25, 0.1], [0.1, 0.1, 0.45, 0.3, 0.05]),
        ("race", [0.1, 0.1, 0.6, 0.1, 0.1], [0.1, 0.1, 0.6, 0.1, 0.1]),
        ("age", [0.05, 0.75, 0.2], [0.05, 0.9, 0.05]),
        ("age", [0.1, 0.7, 0.2], [0.1 + 0.025 + 2 / 3 * 0.85, 0.85 / 3, 0.025]),
        ("age", [0.02, 0.02, 0.96], [0, 0, 1]),
    ],
)
def test_rules(attribute: str, probabilities: list[float], expected: list[float]) -> None:
    assert optimised(attribute, probabilities) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("attribute", SIZES)
def test_certain_classes_stay(attribute: str) -> None:
    certain = np.eye(SIZES[attribute])
    assert optimised(attribute, certain).tolist() == certain.tolist()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sampled_from(sorted(SIZES)), st.integers(0, 10_000))
def test_no_mass_is_lost(attribute: str, seed: int) -> None:
    images = np.random.default_rng(seed).dirichlet(np.full(SIZES[attribute], 0.7), size=(3, 50))
    found = optimised(attribute, images)
    assert found.shape == images.shape
    assert found.sum(axis=-1) == pytest.approx(np.ones((3, 50)))
    assert (found >= 0).all()


def test_a_tenth_of_youth_makes_the_middle_aged_young() -> None:
    """An image that is middle-aged at .74 and young at .1 counts as young."""
    assert optimised("age", [0.1, 0.74, 0.16]).argmax() == 0
