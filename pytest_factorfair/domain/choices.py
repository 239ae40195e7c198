"""What stood to choose, and what was chosen, apart from the groups a score is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Share(NamedTuple):
    """One value of something shown: how often it was chosen, and would have been by indifference.

    ``spread`` is the variance of the latter; all three add up over queries.
    """

    chosen: int
    expected: float
    spread: float

    def plus(self, other: Share) -> Share:
        return Share(self.chosen + other.chosen, self.expected + other.expected, self.spread + other.spread)


Choices = Mapping[str, Mapping[str, Share]]
"""The shares by what is shown ("name", "age") and by its values."""


def together(left: Choices, right: Choices) -> Choices:
    """The shares of both."""
    kinds = dict.fromkeys((*left, *right))
    return {kind: _added(left.get(kind, {}), right.get(kind, {})) for kind in kinds}


def _added(left: Mapping[str, Share], right: Mapping[str, Share]) -> dict[str, Share]:
    nothing = Share(0, 0.0, 0.0)
    return {
        value: left.get(value, nothing).plus(right.get(value, nothing))
        for value in dict.fromkeys((*left, *right))
    }
