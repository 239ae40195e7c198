"""Why a score must not be judged: the answers it would rest on are missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pytest_factorfair.gates.judged import Judged
from pytest_factorfair.scoring.metrics import RATES
from pytest_factorfair.scoring.tally import Tally

# Of the answers of any cell, the largest share that may be missing: refusing where it matters
# makes a model look fairer than it is.
ALLOWED = 0.05


class _Cell(NamedTuple):
    """A cell's name and its numbers of queries asked and answers lost, by reason."""

    name: str
    asked: int
    refused: int
    unread: int
    errors: int

    @property
    def lost(self) -> int:
        return self.refused + self.unread + self.errors

    @property
    def share(self) -> float:
        return self.lost / self.asked if self.asked else 0.0

    def __str__(self) -> str:
        return f"{self.refused} refused, {self.unread} unread, {self.errors} errors"


def doubt(score: Judged) -> str | None:
    """The reason not to judge a score, None if there is none."""
    return None if score.gate.metric in RATES else _empty(_all(score)) or _lossy(_all(score))


def unknown(score: Judged) -> str | None:
    """Why a share of refused or unread answers may be larger than it looks: errors might be either."""
    if score.gate.metric not in RATES - {"error_rate"}:
        return None
    return _lossy([cell._replace(refused=0, unread=0) for cell in _all(score)])


def _all(score: Judged) -> list[_Cell]:
    return [cell for tally in score.tallies for cell in _cells(tally, several=len(score.tallies) > 1)]


def _empty(cells: list[_Cell]) -> str | None:
    empty = [cell for cell in cells if cell.asked == cell.lost]
    if not empty:
        return None
    more = f" and {len(empty) - 1} more" if len(empty) > 1 else ""
    asked = f"{empty[0].asked} asked: {empty[0]}" if empty[0].asked else "none asked"
    return f"no answers in {empty[0].name}{more} ({asked})"


def _lossy(cells: list[_Cell]) -> str | None:
    worst = max(cells, key=lambda cell: cell.share)
    if worst.share <= ALLOWED:
        return None
    return (
        f"{worst.share:.1%} of the answers in {worst.name} are missing ({worst} of {worst.asked}); "
        f"{ALLOWED:.0%} are allowed"
    )


def _cells(tally: Tally, *, several: bool) -> Iterator[_Cell]:
    prefix = f"{tally.context} " if several else ""
    for row, column in np.ndindex(tally.asked.shape):
        lost = (int(numbers[row, column]) for numbers in (tally.refused, tally.unread, tally.errors))
        yield _Cell(prefix + tally.cell(row, column), int(tally.asked[row, column]), *lost)
