"""Multiple testing: Holm's correction, and the compact letter display for models that do not differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from string import ascii_lowercase

from pytest_factorfair.statistics.estimate import Estimate

ALPHA = 0.05
HALVINGS = 32  # eight digits of a p value
# Smaller p values are not distinguished.
SUREST = 1e-15


def surviving(chances: Sequence[float | None], *, of: int, alpha: float) -> tuple[bool, ...]:
    """Which claims, given as p values, hold together at level alpha (Holm, step-down); None is no claim.

    ``of`` is the number of gates that could have made a claim. Only failures are corrected: passing needs no
    correction, because a release passes only if all its gates do.
    """
    claims = sorted((chance, index) for index, chance in enumerate(chances) if chance is not None)
    survives = [False] * len(chances)
    for rank, (chance, index) in enumerate(claims):
        if chance > alpha / (of - rank):
            break
        survives[index] = True
    return tuple(survives)


def chance_below(estimate: Estimate, threshold: float) -> float:
    """The p value of "below the threshold": the smallest level at which the upper bound lies below it."""
    return _smallest(lambda alpha: (estimate.upper(alpha) or 0.0) < threshold)


def chance_above(estimate: Estimate, threshold: float) -> float:
    """The p value of "above the threshold": the smallest level at which the lower bound lies above it."""
    return _smallest(lambda alpha: (estimate.lower(alpha) or 0.0) > threshold)


def _smallest(holds: Callable[[float], bool]) -> float:
    low, high = SUREST, 0.5
    if holds(low):
        return low
    if not holds(high):
        return high
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def letters(order: Sequence[str], differing: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The compact letter display: models that share a letter do not differ; the first model has an ``a``.

    Insert and absorb (Piepho 2004): all models start in one group, every differing pair splits the groups
    that contain both, and a group that is part of another is dropped.
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
