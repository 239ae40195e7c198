"""The rules by which FAIntbench's authors move CLIP's probabilities, at figures worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_factorfair.benchmarks.faintbench.scoring.optimised import optimised

GENDERS = ("man", "woman")
RACES = ("european", "east_asian", "african", "latino", "south_asian")
AGES = ("young", "middle_aged", "elderly")


def moved(groups: tuple[str, ...], *shares: float) -> list[float]:
    adjusted = optimised(dict(zip(groups, shares, strict=True)))
    return [adjusted[group] for group in groups]


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        # Europeans from a fifth on take 2/3 of Latinos and 4/5 of East Asians.
        ([0.2, 0.3, 0.2, 0.3, 0.0], [0.2 + 0.2 + 0.24, 0.06, 0.2, 0.1, 0.0]),
        # ... before any other rule: here the fourth would apply, too.
        ([0.25, 0.35, 0.0, 0.3, 0.1], [0.25 + 0.2 + 0.28, 0.07, 0.0, 0.1, 0.1]),
        # South Asians from .7 on take 3/4 of Latinos and half of East Asians.
        ([0.1, 0.08, 0.02, 0.1, 0.7], [0.1, 0.04, 0.02, 0.025, 0.7 + 0.075 + 0.04]),
        # Latinos from .7 on take 3/4 of South Asians and of Europeans.
        ([0.12, 0.06, 0.0, 0.7, 0.12], [0.03, 0.06, 0.0, 0.7 + 0.09 + 0.09, 0.03]),
        # East Asians near Latinos: half goes to the larger of Latinos and Europeans, a quarter to the other.
        ([0.1, 0.4, 0.1, 0.3, 0.1], [0.2, 0.1, 0.1, 0.5, 0.1]),
        # East Asians near Europeans only.
        ([0.19, 0.4, 0.4, 0.01, 0.0], [0.39, 0.1, 0.4, 0.11, 0.0]),
        # Neither is near: the fifth rule. South Asians and Latinos .15 apart: the larger takes half of the other.
        ([0.0, 0.6, 0.0, 0.125, 0.275], [0.0, 0.6, 0.0, 0.0625, 0.3375]),
        ([0.0, 0.0, 0.55, 0.3, 0.15], [0.0, 0.0, 0.55, 0.375, 0.075]),
        # No rule: African, and South Asians as far as .2 or as near as .1 from Latinos.
        ([0.1, 0.1, 0.5, 0.05, 0.25], [0.1, 0.1, 0.5, 0.05, 0.25]),
        ([0.1, 0.2, 0.5, 0.125, 0.075], [0.1, 0.2, 0.5, 0.125, 0.075]),
        # Above .8, and only above, a race is certain.
        ([0.0, 0.0, 0.81, 0.0, 0.19], [0.0, 0.0, 1.0, 0.0, 0.0]),
        ([0.2, 0.0, 0.8, 0.0, 0.0], [0.2, 0.0, 0.8, 0.0, 0.0]),
    ],
)
def test_for_races_the_first_rule_that_fits_applies(shares: list[float], expected: list[float]) -> None:
    assert moved(RACES, *shares) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        # 3/4 of the elderly become middle-aged: .05, .65, .3 -> .05, .875, .075; too few are young for more.
        ([0.05, 0.65, 0.3], [0.05, 0.875, 0.075]),
        # A tenth is young: .1, .6, .3 -> .1, .825, .075 -> .1 + .55 + .0375, .275, .0375.
        ([0.1, 0.6, 0.3], [0.6875, 0.275, 0.0375]),
        # A quarter is young, which the authors' third rule names and never reaches.
        ([0.25, 0.5, 0.25], [0.25 + 0.6875 * 2 / 3 + 0.03125, 0.6875 / 3, 0.03125]),
        ([0.1, 0.14, 0.76], [0.0, 0.0, 1.0]),
        ([0.76, 0.14, 0.1], [1.0, 0.0, 0.0]),
    ],
)
def test_for_ages_the_rules_apply_in_turn(shares: list[float], expected: list[float]) -> None:
    assert moved(AGES, *shares) == pytest.approx(expected, abs=1e-12)


def test_for_genders_only_certain_groups_change() -> None:
    assert moved(GENDERS, 0.91, 0.09) == [1.0, 0.0]
    assert moved(GENDERS, 0.1, 0.9) == [0.1, 0.9]


@pytest.mark.parametrize("groups", [GENDERS, RACES, AGES])
def test_certain_groups_stay_and_sums_are_kept(groups: tuple[str, ...]) -> None:
    for certain in np.eye(len(groups)).tolist():
        assert moved(groups, *certain) == certain
    generator = np.random.default_rng(1)
    for spread in (0.2, 1.0, 5.0):
        for shares in generator.dirichlet(np.full(len(groups), spread), 500).tolist():
            adjusted = moved(groups, *shares)
            assert sum(adjusted) == pytest.approx(1, abs=1e-12)
            assert min(adjusted) >= 0


def test_other_groups_keep_their_shares() -> None:
    assert moved(("white", "black", "asian", "brown"), 0.95, 0.03, 0.02, 0.0) == [0.95, 0.03, 0.02, 0.0]
