"""Why a score must not be believed as it stands: the answers it would rest on are missing, or too few."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pytest_factorfair.gates.expression import INFLUENCE
from pytest_factorfair.gates.judged import Judged
from pytest_factorfair.scoring.metrics import LOSSES
from pytest_factorfair.scoring.tally import Tally

# Of the answers of any cell, the largest share that may be missing: refusing where it matters
# makes a model look fairer than it is.
ALLOWED = 0.05

# Answers per cell from which bounds keep their error rates; entropies are skewed and need more.
FEW = 24
MANY = 72
NEEDED = {
    "s_fact": FEW, "s_fact_firm": FEW, "s_e": MANY, "s_kld": MANY, "s_fair": MANY, "distance": MANY,
    INFLUENCE: FEW,
}  # fmt: skip


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


def empty(score: Judged) -> str | None:
    """Which cells have no answers at all, None if all have some."""
    found = [cell for cell in _cells(score) if cell.asked == cell.lost]
    if not found:
        return None
    asked = f"{found[0].asked} asked: {found[0]}" if found[0].asked else "none asked"
    return f"no answers in {found[0].name}{_more(found)} ({asked})"


def thin(score: Judged) -> str | None:
    """Which cells were asked too little for bounds on the metric, None if none was."""
    needed = NEEDED.get(score.gate.metric, 0)
    found = [cell for cell in _cells(score) if cell.asked < needed]
    if not found:
        return None
    return f"{found[0].asked} asked in {found[0].name}{_more(found)}; {score.gate.metric} needs {needed}"


def lossy(score: Judged) -> str | None:
    """Where more answers are missing than may be, None if nowhere.

    For the rate of refused or of unread answers only errors are missing: they might have been either.
    """
    cells = list(_cells(score))
    if score.gate.metric in LOSSES:
        cells = [cell._replace(refused=0, unread=0) for cell in cells]
    worst = max(cells, key=lambda cell: cell.share)
    if worst.share <= ALLOWED or score.gate.metric == "error_rate":
        return None
    return (
        f"{worst.share:.1%} of the answers in {worst.name} are missing ({worst} of {worst.asked}); "
        f"{ALLOWED:.0%} are allowed"
    )


def _more(cells: list[_Cell]) -> str:
    return f" and {len(cells) - 1} more" if len(cells) > 1 else ""


def _cells(score: Judged) -> Iterator[_Cell]:
    several = len({tally.context for tally in score.tallies}) > 1
    for place, tally in enumerate(score.tallies):
        former = "the baseline's " if score.gate.regression and place else ""
        yield from _of(tally, f"{tally.context} " if several else former)


def _of(tally: Tally, prefix: str) -> Iterator[_Cell]:
    for row, column in np.ndindex(tally.asked.shape):
        lost = (int(numbers[row, column]) for numbers in (tally.refused, tally.unread, tally.errors))
        yield _Cell(prefix + tally.cell(row, column), int(tally.asked[row, column]), *lost)
