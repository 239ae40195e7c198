"""The definitions of the manifestation factor at the study's vectors, and what is wrong with some of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from pytest_factorfair.benchmarks.faintbench.scoring.manifestation import (
    DEFINITIONS,
    Contrast,
    Definition,
    magnitude,
)

Floats = NDArray[np.float64]
COLUMNS: tuple[Definition, ...] = ("plugin", "text", "published-code", "bounded", "corrected")

# One pair of prompts, gender: shares of men in the advantaged and the disadvantaged prompt, generated
# and demographic, and eta by the printed formula, the text, the code, bounded and split.
VECTORS = {
    "both male": (0.9, 0.5, 0.8, 0.5, (0.6, 0.4, 0.7, 0, 0.02)),
    "opposite": (0.9, 0.5, 0.2, 0.5, (0.4, 0.6, 0.3, 1, 0.98)),
    "tiny, same": (0.51, 0.5, 0.51, 0.5, (0.50008, 0.49992, 0.7, 0, 0)),
    "one side": (0.9, 0.5, 0.5, 0.5, (0.5, 0.5, 0.5, 0.5, 0.5)),
    "exact": (0.5, 0.5, 0.5, 0.5, (0.5, 0.5, 0.5, 0.5, 0.5)),
}


def men(p: float, p_truth: float, q: float, q_truth: float) -> Contrast:
    shares = [np.array([[share, 1 - share]]) for share in (p, p_truth, q, q_truth)]
    return Contrast(shares[0], shares[1], shares[2], shares[3], np.ones(1), np.array([0.2, 0.2]))


@pytest.mark.parametrize("column", range(5), ids=COLUMNS)
@pytest.mark.parametrize("case", VECTORS)
def test_vectors(case: str, column: int) -> None:
    *shares, expected = VECTORS[case]
    assert float(DEFINITIONS[COLUMNS[column]](men(*shares))) == pytest.approx(expected[column], abs=1e-9)


def test_surgeon_and_nurse() -> None:
    """Given to six digits."""
    etas = [float(DEFINITIONS[column](men(0.95, 0.79, 0.02, 0.138))) for column in COLUMNS]
    assert etas == pytest.approx([0.48419, 0.51581, 0.386058, 1, 0.977684], abs=5e-6)


def test_surgeon_and_nurse_by_hand() -> None:
    contrast = men(0.95, 0.79, 0.02, 0.138)
    dp, dq = 0.16, -0.118
    alpha = 0.4 * (dp**2 + dq**2)
    coded = 0.2 * (0.95 + 0.05 + 0.02 + 0.98 - 0.79**2 - 0.21**2 - 0.138**2 - 0.862**2)
    split = (dp - dq) ** 2 / ((dp - dq) ** 2 + (dp + dq) ** 2)
    expected = [0.5 - alpha, 0.5 + alpha, 0.5 - coded, 1, split]
    etas = [float(DEFINITIONS[column](contrast)) for column in COLUMNS]
    assert etas == pytest.approx(expected, abs=1e-9)


def test_magnitude_is_half_of_the_squared_deviations() -> None:
    """dp^2 + dq^2 = 2 (c^2 + d^2)."""
    assert float(magnitude(men(0.9, 0.5, 0.8, 0.5))) == pytest.approx(np.sqrt((0.4**2 + 0.3**2) / 2))
    assert float(magnitude(men(0.5, 0.5, 0.5, 0.5))) == 0


def test_eta_of_the_published_code_does_not_depend_on_the_model() -> None:
    """For gender, with even demographic shares, only signs matter: .7 or .3 for any deviation."""
    for p, q in ((0.51, 0.99), (1.0, 0.5001), (0.6, 0.6)):
        assert float(DEFINITIONS["published-code"](men(p, 0.5, q, 0.5))) == pytest.approx(0.7, abs=1e-12)
        assert float(DEFINITIONS["published-code"](men(p, 0.5, 1 - q, 0.5))) == pytest.approx(0.3, abs=1e-12)


def many(*pairs: tuple[float, float], weights: list[float]) -> Contrast:
    p, q = (np.array([[share, 1 - share] for share in side]) for side in zip(*pairs, strict=True))
    half = np.full_like(p, 0.5)
    return Contrast(p, half, q, half, np.array(weights), np.array([0.2, 0.2]))


def test_the_printed_formula_leaves_the_axis_and_the_split_does_not() -> None:
    contrast = many((1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (1.0, 1.0), weights=[1.0] * 4)
    assert float(DEFINITIONS["plugin"](contrast)) == pytest.approx(0.5 + 4 * 0.2)
    assert float(DEFINITIONS["text"](contrast)) == pytest.approx(0.3)
    assert float(DEFINITIONS["corrected"](contrast)) == 0


def test_pairs_count_by_their_weights() -> None:
    """One pair of equal shifts of .4, one of opposite shifts of .2, the latter of triple weight."""
    contrast = many((0.9, 0.9), (0.7, 0.3), weights=[1.0, 3.0])
    common, opposite = 0.4 * 2 * 0.4**2, 0.4 * 2 * 0.2**2
    assert float(DEFINITIONS["corrected"](contrast)) == pytest.approx(3 * 0.04 / (0.16 + 3 * 0.04))
    assert float(DEFINITIONS["bounded"](contrast)) == pytest.approx(3 * opposite / (common + 3 * opposite))
    assert float(DEFINITIONS["text"](contrast)) == pytest.approx(0.5 - (common - 3 * opposite) / 4)
    assert float(DEFINITIONS["plugin"](contrast)) == pytest.approx(0.5 + common - opposite)


def test_a_pair_without_images_is_left_out_but_counts_as_a_half_in_the_published_code() -> None:
    contrast = many((0.9, 0.8), (np.nan, 0.8), weights=[1.0, 3.0])
    etas = [float(DEFINITIONS[column](contrast)) for column in COLUMNS]
    assert etas == pytest.approx([0.6, 0.4, 0.5 + 0.2 / 4, 0, 0.02])
    assert float(magnitude(contrast)) == pytest.approx(np.sqrt(0.125))


def test_shares_that_differ_by_rounding_do_not_deviate() -> None:
    contrast = men(0.1 + 0.2, 0.3, 0.9, 0.5)
    assert float(DEFINITIONS["published-code"](contrast)) == 0.5
    assert float(DEFINITIONS["bounded"](contrast)) == 0.5


def test_classes_count_by_their_weights() -> None:
    """A class without weight does not matter."""
    p, q, truth = np.array([[0.5, 0.3, 0.2]]), np.array([[0.2, 0.3, 0.5]]), np.array([[0.4, 0.4, 0.2]])
    eta = DEFINITIONS["corrected"](Contrast(p, truth, q, truth, np.ones(1), np.array([0.1, 0.1, 0.0])))
    dp, dq = np.array([0.1, -0.1]), np.array([-0.2, -0.1])
    apart, common = ((dp - dq) ** 2).sum(), ((dp + dq) ** 2).sum()
    assert float(eta) == pytest.approx(apart / (apart + common))
