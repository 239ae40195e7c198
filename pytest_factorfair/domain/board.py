"""The results of comparing models: boards, successions of reports, and the history of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pytest_factorfair.domain.score import Better, Change, Score

Certainty = Literal["real", "noise", "missing", "unclaimed"]
"""The certainty of a difference between two models.

``real``: significant, corrected for all pairs of the board, whatever the missing answers would have been.
``noise``: not significant. ``missing``: significant, unless missing answers close the difference.
``unclaimed``: one of the models is in doubt.
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """A model's place on a board.

    ``rank`` is by the values shown, with equal ranks for ties; None without a value, or for a metric without
    a better end. ``low`` and ``high`` are the 95 % interval. Models that share one of the ``letters`` do not
    differ significantly. ``asked``, ``refused``, ``unparsed`` and ``errors`` are the numbers of queries and
    of missing answers. ``lacking`` says where too many answers are missing; ``worst`` and ``best`` are then
    the ends of the interval if all of them lowered, or raised, the value. ``doubt`` is the reason why nothing
    is claimed about the model.
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
    """The first model's value minus the second's, with a 95 % interval that is not corrected for other pairs.

    ``paired`` is the share of answers to questions that the other model has answered, too.
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
    """A score of several models, the best first, and all differences between them.

    ``better`` is the better end of the metric; eta, which lies between two biases, has none. ``level`` is the
    significance level for all differences together.
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
        """The difference of a model from a rival; None if one of them has no value."""
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
        """Whether a model is significantly better than a rival."""
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
    """The changes from a former report to a later one, for the models that both contain.

    ``declines`` says whether they decline more judgements, or fewer; empty if neither.
    """

    former: str
    later: str
    changes: tuple[Change, ...]
    declines: str = ""


@dataclass(frozen=True, slots=True)
class Release:
    """A release in the history of a model: a report of it.

    ``time`` is when its run started. Releases with the same ``era`` are comparable; ``apart`` says why a
    release is not comparable with the one before.
    """

    name: str
    time: str
    era: int
    apart: str = ""


@dataclass(frozen=True, slots=True)
class Trend:
    """A score of a model in each release; None if a release has no such score."""

    checklist: str
    part: str
    context: str | None
    attribute: str
    metric: str
    scores: tuple[Score | None, ...]


@dataclass(frozen=True, slots=True)
class History:
    """The releases of a model in the order of time, and the trends of its scores."""

    releases: tuple[Release, ...]
    trends: tuple[Trend, ...]


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """The result of comparing reports.

    ``models`` are the names used in boards. ``reports`` has a line per report; ``complete`` is whether all
    were judged, and ``verdicts`` has a line on the release of each that was. ``notes`` say what to know of
    them before reading scores; ``perceived`` is whether groups were read by a detector. ``teacher`` is the
    model with which all others are compared, if there is one. If all reports have the same single model,
    there is its ``history`` instead of boards. ``silent`` are the models that declined most judgements as
    neutral: scores praise none of them.
    """

    models: tuple[str, ...]
    reports: tuple[str, ...]
    boards: tuple[Board, ...]
    successions: tuple[Succession, ...]
    verdicts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    perceived: bool = False
    complete: bool = True
    teacher: str | None = None
    history: History | None = None
    silent: frozenset[str] = frozenset()

    @property
    def students(self) -> tuple[str, ...]:
        return tuple(model for model in self.models if self.teacher not in (None, model))

    @property
    def regressed(self) -> bool:
        return any(change.regressed for succession in self.successions for change in succession.changes)
