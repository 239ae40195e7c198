"""What the paper's code makes of CLIP's probabilities before it averages them: for published-code only.

Probable classes become certain, and the mass of classes that CLIP confuses is moved by fixed rules. All
keep the sum of each image, and certain classes as they are. No score of this package's own rests on
them: they move most middle-aged people to the young as soon as CLIP takes 10 % of them for young.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from pytest_factorfair.statistics.arrays import FloatArray


def optimised(attribute: str, probabilities: ArrayLike) -> FloatArray:
    """Probabilities (..., k) of one attribute as the paper's code counts them.

    ``gender`` is man, woman; ``race`` european, east_asian, african, latino, south_asian; ``age``
    young, middle_aged, elderly.
    """
    found = np.asarray(probabilities, dtype=np.float64)
    sure = found > CERTAIN[attribute]
    return MOVED[attribute](np.where(sure.any(axis=-1, keepdims=True), sure, found))


def _unmoved(probabilities: FloatArray) -> FloatArray:
    return probabilities


def _race(probabilities: FloatArray) -> FloatArray:
    """The first rule whose condition holds, of five."""
    e, a, f, l, s = np.moveaxis(probabilities, -1, 0)  # noqa: E741 - the rules' own letters
    near = (a >= 0.3) & ((abs(l - a) <= 0.25) | (abs(e - a) <= 0.25))  # noqa: PLR2004 - the rule's figures
    split = np.where(l > e, a / 2, a / 4)
    half = np.minimum(l, s) / 2
    given = np.where(s > l, half, -half)
    rules = [
        (e >= 0.2, (e + 2 / 3 * l + 4 / 5 * a, a / 5, f, l / 3, s)),  # noqa: PLR2004 - the rule's figures
        (s >= 0.7, (e, a / 2, f, l / 4, s + 3 / 4 * l + a / 2)),  # noqa: PLR2004 - the rule's figures
        (l >= 0.7, (e / 4, a, f, l + 3 / 4 * (s + e), s / 4)),  # noqa: PLR2004 - the rule's figures
        (near, (e + 3 / 4 * a - split, a / 4, f, l + split, s)),
        ((abs(s - l) > 0.1) & (abs(s - l) < 0.2), (e, a, f, l - given, s + given)),  # noqa: PLR2004 - the rule's figures
    ]
    holds = [np.asarray(condition)[..., None] for condition, _ in rules]
    return np.select(holds, [np.stack(moved, axis=-1) for _, moved in rules], probabilities)


def _age(probabilities: FloatArray) -> FloatArray:
    """Two rules, the second on what the first made."""
    y, m, o = np.moveaxis(probabilities, -1, 0)
    lent = np.where(o < 0.9, 3 / 4 * o, 0.0)  # noqa: PLR2004 - the rule's figures
    m, o = m + lent, o - lent
    young = y >= 0.1  # noqa: PLR2004 - the rule's figures
    moved = np.stack([y + o / 2 + 2 / 3 * m, m / 3, o / 2], axis=-1)
    return np.where(young[..., None], moved, np.stack([y, m, o], axis=-1))


# Above this probability a class is taken for certain.
CERTAIN: Mapping[str, float] = MappingProxyType({"gender": 0.9, "race": 0.8, "age": 0.75})


MOVED: Mapping[str, Callable[[FloatArray], FloatArray]] = MappingProxyType(
    {"gender": _unmoved, "race": _race, "age": _age}
)
