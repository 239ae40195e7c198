"""Models compared with each other on one score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_factorfair.domain.score import Change

Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True, slots=True)
class Standing:
    """A model's place on a board.

    ``rank`` is among values as they are shown, ties share one; None where there is no value or no better end.
    ``low`` and ``high`` are the 95 % interval. ``letters`` are shared by models that cannot be told
    apart. ``asked``, ``refused``, ``unparsed`` and ``errors`` count what the value rests on. ``doubt`` is
    why nothing is claimed of the model.
    """

    model: str
    rank: int | None
    value: float | None
    low: float | None
    high: float | None
    letters: str
    asked: int
    refused: int
    unparsed: int
    errors: int
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first model's value less the second's, with its 95 % interval, taken alone.

    ``real`` is that it is no accident, at one level over all pairs of the board. ``paired`` is of how
    many of the answers the other has one to the same question.
    """

    first: str
    second: str
    value: float | None
    low: float | None
    high: float | None
    real: bool
    paired: float


@dataclass(frozen=True, slots=True)
class Board:
    """One score of several models, the best first, and all differences between them.

    ``better`` is the end that is: eta lies between two biases and has none.
    """

    checklist: str
    part: str
    context: str | None
    attribute: str
    metric: str
    better: Better
    standings: tuple[Standing, ...]
    differences: tuple[Difference, ...]

    def between(self, model: str, other: str) -> Difference | None:
        """How the first differs from the other; None where one of them has no value."""
        for one in self.differences:
            if (one.first, one.second) == (model, other):
                return one
            if (one.first, one.second) == (other, model):
                return _turned(one)
        return None

    def ahead(self, model: str, other: str) -> bool:
        """Whether the first is better than the other, and that is real."""
        found = self.between(model, other)
        if found is None or found.value is None or not found.real:
            return False
        return found.value > 0 if self.better == "higher" else found.value < 0 and self.better == "lower"


def _turned(one: Difference) -> Difference:
    low, high = (None if end is None else -end for end in (one.high, one.low))
    value = None if one.value is None else -one.value
    return Difference(one.second, one.first, value, low, high, one.real, one.paired)


@dataclass(frozen=True, slots=True)
class Succession:
    """What changed for the models of a former report in a later one, by their names."""

    former: str
    later: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Everything a comparison of reports says.

    ``models`` are the names that boards use. ``reports`` has a line for each report: which it is, and
    why it was not judged, if so; ``complete`` is that all were. ``notes`` are what must be said of
    them all; ``perceived`` is that a detector read the groups. ``teacher`` is the model that all others
    are held against, if there is one.
    """

    models: tuple[str, ...]
    reports: tuple[str, ...]
    boards: tuple[Board, ...]
    successions: tuple[Succession, ...]
    notes: tuple[str, ...] = ()
    perceived: bool = False
    complete: bool = True
    teacher: str | None = None

    @property
    def students(self) -> tuple[str, ...]:
        return tuple(model for model in self.models if self.teacher not in (None, model))

    @property
    def regressed(self) -> bool:
        return any(change.regressed for one in self.successions for change in one.changes)
