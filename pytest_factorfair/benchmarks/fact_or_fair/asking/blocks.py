"""Construct the smallest balanced sets of queries.

A *person* is one group index per simple attribute, a *composition* the people of one query, and a
*block* a tuple of compositions, each of which is asked in all m rotations of its people. A block
has m queries per composition, and three steps make it balanced.

1. *Base.* Each attribute gives each of its groups to m/k of the m people. Among all ways to do so,
   those are kept in which every combination of attributes is filled as evenly as possible: for 3
   and 2 groups each of the six combinations occurs once; for 4 and 2, two of the four people are
   women, in three ways that differ by more than swapping the genders.
2. *Turns.* An attribute that is not evenly crossed with those before it inside the base is turned:
   the base is repeated with g, g+1, ... in place of its group g. Over these turns every pair of
   attributes is exactly balanced, as each person has had each group of the turned attribute.
3. *Rotations.* Everyone in a composition takes each position once, so what is balanced over people
   is balanced at each position, too: group x position, group x group, and group x group x position
   are all exactly balanced.

All bases together make the block while it has at most 48 queries (4 and 2 groups: 3 bases x 2
turns x 4 rotations = 24, in which any two races share a gender equally often); else consecutive
blocks take them in turn, and each is balanced by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import combinations, product
from math import factorial, prod

Column = tuple[int, ...]
Columns = tuple[Column, ...]
Person = tuple[int, ...]
Composition = tuple[Person, ...]
Block = tuple[Composition, ...]

_LARGEST = 48
# Above this number of candidates (a tenth of a second) one base is found by descent instead of search.
_SEARCHED = 5000


@cache
def blocks(sizes: tuple[int, ...], people: int) -> tuple[Block, ...]:
    """The blocks that a stream cycles through, for simple attributes with these numbers of groups.

    ``people`` is a multiple of every size. Within a composition the groups of the (first) largest
    attribute come in the same order throughout: person p has its group p mod k.
    """
    order = sorted(range(len(sizes)), key=lambda index: -sizes[index])
    orbits = _orbits(tuple(sizes[index] for index in order), people)
    whole = tuple(columns for orbit in orbits for columns in orbit)
    column_blocks = (whole,) if len(whole) * people <= _LARGEST else orbits
    positions = [order.index(index) for index in range(len(order))]
    return tuple(
        tuple(tuple(zip(*(columns[position] for position in positions), strict=True)) for columns in block)
        for block in column_blocks
    )


def _orbits(sizes: tuple[int, ...], people: int) -> tuple[tuple[Columns, ...], ...]:
    """The smallest sets of a base with its turns, up to the order of people."""
    orbits: dict[frozenset[Composition], tuple[Columns, ...]] = {}
    for base in _bases(sizes, people):
        turns = {tuple(sorted(zip(*turned, strict=True))): turned for turned in _turns(base, sizes)}
        orbits.setdefault(frozenset(turns), tuple(turns.values()))
    smallest = min(map(len, orbits.values()))
    return tuple(orbit for orbit in orbits.values() if len(orbit) == smallest)


def _turns(base: Columns, sizes: tuple[int, ...]) -> Iterator[Columns]:
    """The base with each attribute turned, unless its groups are evenly crossed with those before it."""
    turned = []
    for index, (column, k) in enumerate(zip(base, sizes, strict=True)):
        pairs = [Counter(zip(earlier, column, strict=True)) for earlier in base[:index]]
        crossed = all(
            len(counts) == size * k and len(set(counts.values())) == 1
            for counts, size in zip(pairs, sizes, strict=False)
        )
        turned.append([tuple((g + turn) % k for g in column) for turn in range(1 if crossed else k)])
    return product(*turned)


def _bases(sizes: tuple[int, ...], people: int) -> tuple[Columns, ...]:
    """The most even distributions of groups over people, each attribute up to its turns."""
    lead, *trailing = (tuple(p % k for p in range(people)) for k in sizes)
    # The arrangements of people with even groups, up to the turns of an attribute.
    arrangements = (factorial(people) // factorial(people // k) ** k // k for k in sizes[1:])
    if prod(arrangements) > _SEARCHED:
        return (_descend((lead, *trailing)),)
    # The first person has group 0; so many people of each group are still to place.
    remaining = ((people // k - 1, *[people // k] * (k - 1)) for k in sizes[1:])
    patterns = [[(0, *following) for following in _arranged(counts)] for counts in remaining]
    candidates = {(lead, *columns): _unevenness((lead, *columns)) for columns in product(*patterns)}
    minimum = min(candidates.values())
    return tuple(columns for columns, unevenness in candidates.items() if unevenness == minimum)


def _arranged(counts: Column) -> Iterator[Column]:
    """All distinct orders of ``counts[g]`` people of each group g."""
    if not any(counts):
        yield ()
    for group in (group for group, count in enumerate(counts) if count):
        remaining = (*counts[:group], counts[group] - 1, *counts[group + 1 :])
        yield from ((group, *following) for following in _arranged(remaining))


def _unevenness(columns: Columns) -> int:
    """Sum of squared counts over every combination of two or more attributes; least when even."""
    subsets = (subset for size in range(2, len(columns) + 1) for subset in combinations(columns, size))
    return sum(n * n for subset in subsets for n in Counter(zip(*subset, strict=True)).values())


def _descend(columns: Columns) -> Columns:
    """Swap two people's groups of one attribute while that makes the whole more even."""
    unevenness = _unevenness(columns)
    better = next((swapped for swapped in _swaps(columns) if _unevenness(swapped) < unevenness), None)
    return columns if better is None else _descend(better)


def _swaps(columns: Columns) -> Iterator[Columns]:
    for index, column in enumerate(columns[1:], start=1):
        for p, q in combinations(range(len(column)), 2):
            if column[p] != column[q]:
                swapped = list(column)
                swapped[p], swapped[q] = swapped[q], swapped[p]
                yield (*columns[:index], tuple(swapped), *columns[index + 1 :])
