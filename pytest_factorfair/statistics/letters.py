"""Which models cannot be told apart, as letters: two share one exactly when they do not differ."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from string import ascii_lowercase


def letters(order: Sequence[str], differing: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The letters of each model; the first in the order has an ``a``.

    Insert and absorb (Piepho 2004): all start in one group, every differing pair splits the groups that
    hold both, and a group within another is left out.
    """
    groups: list[frozenset[str]] = [frozenset(order)]
    for pair in differing:
        groups = _largest(part for group in groups for part in _split(group, frozenset(pair)))
    places = {name: place for place, name in enumerate(order)}
    groups.sort(key=lambda group: sorted(places[name] for name in group))
    names = [_name(place) for place in range(len(groups))]
    return {
        one: "".join(name for name, group in zip(names, groups, strict=True) if one in group) for one in order
    }


def _split(group: frozenset[str], pair: frozenset[str]) -> Collection[frozenset[str]]:
    return [group - {one} for one in pair] if pair <= group else [group]


def _largest(groups: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    found = set(groups)
    return [group for group in found if not any(group < other for other in found)]


def _name(place: int) -> str:
    """a to z, then a2 to z2, and so on."""
    turn, letter = divmod(place, len(ascii_lowercase))
    return f"{ascii_lowercase[letter]}{turn + 1 if turn else ''}"
