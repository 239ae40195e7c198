"""Models compared with each other on one score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pytest_factorfair.domain.score import Change, Score

Better = Literal["higher", "lower", "neither"]

Certainty = Literal["real", "noise", "missing", "unclaimed"]
"""What a difference is.

``real``: significant at one level over all pairs of its board, for every way missing answers could have
gone. ``noise``: not significant. ``missing``: only missing answers could close it. ``unclaimed``: one of the
models is in doubt.
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """A model's place on a board.

    ``rank`` orders the values as shown, and ties share one; None without a value or a better end.
    ``low`` and ``high`` are the 95 % interval. ``letters`` are shared by models that do not differ
    significantly. ``asked``, ``refused``, ``unparsed`` and ``errors`` count what the value rests on.
    ``lacking`` says where too many answers are missing; ``worst`` and ``best`` are then the ends of the
    interval if all of them lowered, or raised, the value. ``doubt`` is why nothing is claimed about the
    model.
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
    lacking: str = ""
    worst: float | None = None
    best: float | None = None
    doubt: str = ""

    @property
    def missing(self) -> int:
        return self.refused + self.unparsed + self.errors


@dataclass(frozen=True, slots=True)
class Difference:
    """The first model's value minus the second's, with its 95 % interval, not corrected for other pairs.

    ``paired`` is the share of answers for which the other model has one to the same question.
    """

    first: str
    second: str
    value: float | None
    low: float | None
    high: float | None
    certainty: Certainty
    paired: float

    @property
    def real(self) -> bool:
        return self.certainty == "real"


@dataclass(frozen=True)
class Board:
    """One score of several models, the best first, and all differences between them.

    ``better`` is the better end of the metric; eta lies between two biases and has none.
    ``level`` is that at which differences are significant, all of them together.
    """

    checklist: str
    part: str
    context: str | None
    attribute: str
    metric: str
    better: Better
    standings: tuple[Standing, ...]
    differences: tuple[Difference, ...]
    level: float = 0.05

    def between(self, model: str, rival: str) -> Difference | None:
        """How the model differs from its rival; None where one of them has no value."""
        if (model, rival) in self._by_pair:
            return self._by_pair[model, rival]
        reverse = self._by_pair.get((rival, model))
        if reverse is None:
            return None
        low, high = (None if end is None else -end for end in (reverse.high, reverse.low))
        value = None if reverse.value is None else -reverse.value
        return Difference(model, rival, value, low, high, reverse.certainty, reverse.paired)

    @cached_property
    def _by_pair(self) -> Mapping[tuple[str, str], Difference]:
        return {(difference.first, difference.second): difference for difference in self.differences}

    def ahead(self, model: str, rival: str) -> bool:
        """Whether the model is significantly better than its rival."""
        difference = self.between(model, rival)
        if difference is None or difference.value is None or not difference.real:
            return False
        return (
            difference.value > 0
            if self.better == "higher"
            else difference.value < 0 and self.better == "lower"
        )


@dataclass(frozen=True, slots=True)
class Succession:
    """What changed from a former report to a later one, for the models that both have."""

    former: str
    later: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """A report of a model's history.

    ``time`` is when its run started. Releases of one ``era`` are comparable; ``apart`` says why one is not
    comparable with the release before.
    """

    name: str
    time: str
    era: int
    apart: str = ""


@dataclass(frozen=True, slots=True)
class Trend:
    """One score of a model, release by release; None where a release has no such score."""

    checklist: str
    part: str
    context: str | None
    attribute: str
    metric: str
    scores: tuple[Score | None, ...]


@dataclass(frozen=True, slots=True)
class History:
    """A model's releases by their time, and its scores in each."""

    releases: tuple[Release, ...]
    trends: tuple[Trend, ...]


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Everything a comparison of reports says.

    ``models`` are the names that boards use. ``reports`` has a line per report: its name, and why it was not
    judged, if so; ``complete`` is whether all were. ``notes`` apply to
    all of them; ``perceived`` says that a detector read the groups. ``teacher`` is the model that all others
    are compared with, if there is one. ``history`` is that of the only model of several reports, which has
    no boards.
    """

    models: tuple[str, ...]
    reports: tuple[str, ...]
    boards: tuple[Board, ...]
    successions: tuple[Succession, ...]
    notes: tuple[str, ...] = ()
    perceived: bool = False
    complete: bool = True
    teacher: str | None = None
    history: History | None = None

    @property
    def students(self) -> tuple[str, ...]:
        return tuple(model for model in self.models if self.teacher not in (None, model))

    @property
    def regressed(self) -> bool:
        return any(change.regressed for succession in self.successions for change in succession.changes)
