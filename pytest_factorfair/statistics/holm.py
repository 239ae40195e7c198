"""Several claims at once: Holm's correction of their levels, and letters for models that do not differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from string import ascii_lowercase

from pytest_factorfair.statistics.estimate import Estimate

ALPHA = 0.05
HALVINGS = 60
# Smaller p values make no difference.
SUREST = 1e-15


def surviving(chances: Sequence[float | None], *, of: int, alpha: float) -> tuple[bool, ...]:
    """Which claims hold together at level alpha (Holm, step-down); None is no claim.

    ``of`` is the number of gates among which the claims were found. Passing needs no correction: a release
    passes only if all its gates do.
    """
    claims = sorted((chance, index) for index, chance in enumerate(chances) if chance is not None)
    survives = [False] * len(chances)
    for rank, (chance, index) in enumerate(claims):
        if chance > alpha / (of - rank):
            break
        survives[index] = True
    return tuple(survives)


def chance_below(estimate: Estimate, threshold: float) -> float:
    """The smallest level at which the upper bound lies below the threshold: the p value of that claim."""
    return _smallest(lambda alpha: (estimate.upper(alpha) or 0.0) < threshold)


def chance_above(estimate: Estimate, threshold: float) -> float:
    """The smallest level at which the lower bound lies above the threshold."""
    return _smallest(lambda alpha: (estimate.lower(alpha) or 0.0) > threshold)


def _smallest(holds: Callable[[float], bool]) -> float:
    low, high = SUREST, 0.5
    if holds(low):
        return low
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def letters(order: Sequence[str], differing: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The letters of each model; the first in the order has an ``a``.

    Insert and absorb (Piepho 2004): all start in one group, every differing pair splits the groups that
    hold both, and a group within another is left out.
    """
    groups: list[frozenset[str]] = [frozenset(order)]
    for pair in differing:
        split: set[frozenset[str]] = set()
        for group in groups:
            split |= {group - {model} for model in pair} if group.issuperset(pair) else {group}
        groups = [group for group in split if not any(group < larger for larger in split)]
    ranks = {model: rank for rank, model in enumerate(order)}
    groups.sort(key=lambda group: sorted(ranks[model] for model in group))
    # a to z, then a2 to z2, and so on.
    turns = (divmod(number, len(ascii_lowercase)) for number in range(len(groups)))
    names = [f"{ascii_lowercase[letter]}{turn + 1 if turn else ''}" for turn, letter in turns]
    return {
        model: "".join(name for name, group in zip(names, groups, strict=True) if model in group)
        for model in order
    }
