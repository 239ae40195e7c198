"""In how many questions do two runs differ, and in how many could they by chance? An exact permutation test.

If nothing has changed, the answers that both runs got to a question are exchangeable: it is chance which of
them are of which run. So, given the answers of both together, the chance that the runs have none in common
follows from counting the divisions (``chance_of_difference``), whatever the model's own noise. The number of
questions that differ is a sum of independent events with these chances (``most_by_chance``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product
from math import comb, prod


def differ(counts: Sequence[int], others: Sequence[int]) -> bool:
    """Whether two runs, which gave each answer as often as these counts say, have none in common."""
    return not any(count and other for count, other in zip(counts, others, strict=True))


@cache
def chance_of_difference(together: tuple[int, ...], size: int) -> float:
    """The chance that ``size`` of these answers, drawn at random, have none in common with the rest.

    >>> chance_of_difference((4, 2), 2)  # A A A A and B B, one of the 15 divisions
    0.06666666666666667
    >>> chance_of_difference((5, 1), 2)
    0.0
    """
    ways = 0
    for drawn in product(*(range(count + 1) for count in together)):
        rest = tuple(count - taken for count, taken in zip(together, drawn, strict=True))
        if sum(drawn) == size and differ(drawn, rest):
            ways += prod(map(comb, together, drawn))
    return ways / comb(sum(together), size)


def most_by_chance(chances: Iterable[float], alpha: float) -> int:
    """The smallest number that so many independent events exceed with probability alpha at most.

    >>> most_by_chance([1 / 3] * 14, 0.025)
    8
    """
    distribution = [1.0]
    for chance in chances:
        distribution = [
            happens * chance + not_yet * (1 - chance)
            for happens, not_yet in zip([0.0, *distribution], [*distribution, 0.0], strict=True)
        ]
    beyond = 0.0
    for number in range(len(distribution) - 1, 0, -1):
        beyond += distribution[number]
        if beyond > alpha:
            return number
    return 0
