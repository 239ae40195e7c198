"""Measurements: a score of a model with its metric, its estimate, its cells and its change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from pytest_factorfair.benchmarks.metric import InWords, Metric, ScoreKey
from pytest_factorfair.domain import (
    Case,
    CaseGroup,
    Change,
    Estimator,
    Interval,
    QuestionCondition,
    Score,
    plural,
)
from pytest_factorfair.errors import InputError, attributed
from pytest_factorfair.statistics.bounds import BEYOND, POWER
from pytest_factorfair.statistics.estimate import Estimate
from pytest_factorfair.statistics.holm import ALPHA

LEAST_MASS = 0.8
"""Below this mean probability of the letters, the remaining mass may have meant any of them."""

ALLOWED = 0.05
"""Largest share of a cell's answers that may be missing: a model that refuses selectively looks fairer."""


class TopicKey(NamedTuple):
    """A topic on which a model can be asked for more answers; the benchmark defines topics."""

    model: str
    checklist: str
    topic: tuple[Hashable, ...]


class Cell(NamedTuple):
    """A cell's name and its numbers of queries asked and answers lost, by reason.

    ``declined`` are refusals that are not lost, because they count as neutral; ``filtered`` are those of the
    ``refused`` that the provider withheld.

    Where answers are probabilities, ``worth`` is the number of drawn answers that is as precise as one of
    them, and ``mass`` the mean total probability of the letters. ``topic_keys`` are its topics, if more
    answers to them can be asked for.
    """

    name: str
    asked: int
    refused: int
    unparsed: int
    errors: int
    worth: float = 1.0
    mass: float = 1.0
    topic_keys: frozenset[TopicKey] = frozenset()
    declined: int = 0
    filtered: int = 0

    @property
    def lost(self) -> int:
        return self.refused + self.unparsed + self.errors

    @property
    def share(self) -> float:
        return self.lost / self.asked if self.asked else 0.0

    def __str__(self) -> str:
        return f"{self.refused} refused, {self.unparsed} unparsed, {plural(self.errors, 'error')}"


def total(cells: Iterable[Cell]) -> Cell:
    """The sum of these cells."""
    asked = refused = unparsed = errors = declined = filtered = 0
    for cell in cells:
        asked += cell.asked
        refused += cell.refused
        unparsed += cell.unparsed
        errors += cell.errors
        declined += cell.declined
        filtered += cell.filtered
    return Cell("all", asked, refused, unparsed, errors, declined=declined, filtered=filtered)


ROUNDING = 1e-9
"""The rounding error by which sums of floats may leave their range."""


@dataclass(frozen=True, slots=True)
class ValueRange:
    """A value, with the lowest and highest that the missing answers allow.

    Raises:
        ValueError: the value lies outside: then this is not the range of what it is computed from.
    """

    value: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if self.low - ROUNDING > self.value or self.value > self.high + ROUNDING:  # nan is unknown
            raise ValueError(f"the value {self.value} is not in its range, {self.low} to {self.high}")

    @property
    def fall(self) -> float:
        """How far the missing answers could have lowered it."""
        return self.value - self.low

    @property
    def rise(self) -> float:
        return self.high - self.value


class Estimation(NamedTuple):
    """How scores are estimated."""

    estimator: Estimator = "corrected"
    interval: Interval = "instrument"


CORRECTED = Estimation()


class Counts(Protocol):
    """The answers of one model, counted in plain arrays that its benchmark defines."""

    @property
    def benchmark(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def comparison_key(self) -> Hashable:
        """The key of what was asked: counts with the same key can be compared."""

    @property
    def vocabulary(self) -> Mapping[str, AbstractSet[str]]:
        """The words that filter gates, by kind. Every benchmark has the kinds ``model`` and ``checklist``.

        A word of two kinds is taken as the first kind.
        """


CountsT = TypeVar("CountsT", bound=Counts)


@dataclass(frozen=True, slots=True, eq=False)
class BaselineCounts:
    """The counts of a baseline, and the day of its run."""

    counts: tuple[Counts, ...] = ()
    date: str = ""

    def like(self, counts: CountsT) -> CountsT | None:
        """The baseline's counts with the same key, of the same model or else of its only one."""
        candidates = [
            candidate
            for candidate in self.counts
            if isinstance(candidate, type(counts)) and candidate.comparison_key == counts.comparison_key
        ]
        of_model = [candidate for candidate in candidates if candidate.model == counts.model]
        return next(iter(of_model or candidates * (len(candidates) == 1)), None)


class PieceName(NamedTuple):
    """The id of a part of a score, such as a statistic, and its name for people."""

    id: str
    title: str


class Component(NamedTuple):
    """One component of a score, such as a topic: the metric's value for it, and a summary of its answers.

    ``lost`` is the share of its answers that are missing; ``reply`` is what typical answers name. Only
    questions that meet the ``condition`` count.
    """

    name: str
    value: float
    share: str
    cases: CaseGroup
    reply: str
    lost: float
    condition: QuestionCondition = QuestionCondition()


def detectable_distance(
    measurement: Measurement, threshold: float, *, regression: bool, n: int, bound: float
) -> float | None:
    """The smallest distance from a threshold that 80 % of runs detect; None if unknown.

    ``n`` is the number of answers per topic or prompt, ``bound`` that of standard errors. A regression has
    the errors of two runs without common answers.
    """
    error = measurement.error_at(threshold, n, regression=regression)
    return None if error is None else (bound + POWER) * error * (sqrt(2) if regression else 1)


class Measurement(ABC):
    """One score of one model: its metric, the words that select it, its estimate and the cells behind it."""

    metric: Metric
    model: str
    words: tuple[str, ...]
    narrowed_by_repeats: bool = True
    """Whether more answers to the same questions make its error smaller: not where questions are a sample."""

    @property
    @abstractmethod
    def estimate(self) -> Estimate:
        """The score with its uncertainty, computed on first use."""

    @property
    @abstractmethod
    def cells(self) -> tuple[Cell, ...]:
        """The numbers of answers asked and lost, cell by cell."""

    @property
    def score_key(self) -> ScoreKey:
        """The key of the score's row in a report."""
        raise NotImplementedError

    @property
    def about(self) -> str:
        """The answers that it scores, in words; empty if its benchmark has none for them."""
        return ""

    @property
    def total(self) -> Cell:
        """The sum of its cells."""
        return total(self.cells)

    @property
    def matched_words(self) -> frozenset[str]:
        """The filter words that match some of its answers."""
        return frozenset(self.words)

    def needed_at(self, alpha: float, *, compared: bool = False) -> int:
        """The number of answers asked per cell from which one-sided bounds at this level are reliable.

        ``compared`` is whether they are those of a difference from another score.
        """
        return self.metric.needed

    def enough(self, alpha: float, *, limit: float | None = None, compared: bool = False) -> int:
        """The number of answers per topic or prompt from which bounds at this level can decide a gate.

        ``limit`` is its threshold if it is an upper one; ``compared`` is whether it judges a change.
        """
        return self.needed_at(alpha, compared=compared)

    def if_missing(self, *, bounded: bool) -> ValueRange | None:
        """How far lost answers could move its value or, if ``bounded``, its centre; None if unknown."""
        return None

    @property
    def possible_range(self) -> tuple[float | None, float | None]:
        """The lowest and the highest value that any model can reach."""
        return None, None

    @property
    def driver(self) -> str:
        """The single share that determines the score; empty if there is none."""
        among = self.estimate.among
        return "" if among is None else among.driver

    @property
    def result(self) -> str:
        """The result of a test in plain words, without a full stop; empty for other metrics."""
        return ""

    @property
    def remedy(self) -> str:
        """How to raise the power of a test that is too low; empty for other metrics."""
        return ""

    def in_words(self, value: float, *, digits: int = 0) -> InWords:
        """A value of its metric in a plain sentence."""
        return self.metric.in_words(value, digits=digits)

    @property
    def components(self) -> Sequence[Component]:
        """The topics that the score covers, one by one."""
        return ()

    @property
    def topic_keys(self) -> frozenset[TopicKey]:
        """The topics in which more answers can be asked for; empty if there are no further looks."""
        return frozenset().union(*(cell.topic_keys for cell in self.cells))

    def undecided(self, threshold: float, alpha: float) -> frozenset[TopicKey]:
        """The topics where more answers may move the score across an upper threshold."""
        return self.topic_keys

    def row(self) -> Score:
        """The score as a row of a report, with its 95 % interval."""
        metric, estimate, (floor, ceiling) = self.metric, checked_estimate(self), self.possible_range
        return Score(
            self.model,
            *self.score_key,
            metric.name,
            value=estimate.plugin,
            n=estimate.n,
            floor=floor,
            ceiling=ceiling,
            corrected=metric.clipped(estimate.corrected),
            low=metric.clipped(estimate.lower(BEYOND)),
            high=metric.clipped(estimate.upper(BEYOND)),
            reason=estimate.reason,
        )

    def earlier(self, baseline: BaselineCounts) -> Measurement | None:
        """The baseline's score of the same answers, if it has one."""
        return None

    def minus(self, other: Any) -> Estimate:
        """The difference from the same score of another model or run; by default answers are independent."""
        estimate: Estimate = self.estimate.less(other.estimate)
        return estimate

    def paired(self, other: Any) -> float:
        """The share of answers that ``minus`` pairs by question."""
        return 0.0

    def churn(self, other: Any) -> float:
        """The share of its answers that differ from the other score's or have no counterpart."""
        return 0.0

    def pieces(self) -> Iterator[tuple[PieceName, Measurement]]:
        """Parts of a compared score, with their names; reports list those that got worse."""
        return iter(())

    def tested_change(self, baseline: BaselineCounts) -> Change | None:
        """The change of a test's result, which is judged already; None if it has none."""
        return None

    def change_from(self, baseline: BaselineCounts) -> ScoreChange | None:
        """Its change since the baseline; None if the baseline has no such score."""
        old = self.earlier(baseline)
        return None if old is None else ScoreChange(self, old, self.minus(old))

    def sharing_cases(self, case: Case) -> int:
        """The number of cases that share a topic's answers; 0 for a case that the score does not use."""
        return 0

    def error_at(self, threshold: float, n: int, *, regression: bool) -> float | None:
        """The standard error at a threshold with n answers per topic or prompt; None if unknown."""
        return None

    @property
    def plan_labels(self) -> tuple[str, ...]:
        """Its labels in the table of a plan: context or part, and attribute."""
        return ()

    @property
    def plan_note(self) -> str:
        """What a plan says about it besides the distance that it detects; may be empty."""
        return ""

    @property
    def covers(self) -> frozenset[Hashable]:
        """The keys of the answers that it covers, in the benchmark's own terms."""
        return frozenset()


def checked_estimate(measurement: Measurement) -> Estimate:
    """The estimate of a score, or of its change; it may be computed by a user's benchmark.

    Raises:
        InputError: it cannot be computed, has a number that is not finite, a negative error, or a value
            outside the metric's range.
    """
    metric = measurement.metric
    subject = f"metric '{metric.name}' of {measurement.model}"
    with attributed(subject):
        estimate = measurement.estimate
    if not isinstance(estimate, Estimate):
        raise InputError(f"{subject}: its estimate is {estimate!r}; expected an Estimate")
    for name in ("plugin", "corrected", "error"):
        number = getattr(estimate, name)
        if number is not None and not (isinstance(number, int | float) and isfinite(number)):
            expected = "expected a finite number or None"
            raise InputError(f"{subject}: its estimate has {name}={number!r}; {expected}")
    if estimate.error is not None and estimate.error < 0:
        raise InputError(f"{subject}: its estimate has error={estimate.error!r}; expected at least 0")
    n: object = estimate.n  # as a user's benchmark gives it
    if not isinstance(n, int) or n < 0:
        raise InputError(f"{subject}: its estimate has n={n!r}; expected a number of answers")
    lowest, highest = metric.declared_range
    if isinstance(measurement, ScoreChange):
        lowest, highest = lowest - highest, highest - lowest
    value, only_reported = estimate.plugin, estimate.corrected is None and estimate.reason
    if value is not None and not only_reported and not lowest - ROUNDING <= value <= highest + ROUNDING:
        raise InputError(
            f"{subject}: its estimate has plugin={value!r}, outside {lowest:g} to {highest:g}, its range"
        )
    return estimate


Moved: TypeAlias = tuple[Change, "ScoreChange"]


class ScoreChange(Measurement):
    """The change from a former score to a new one."""

    def __init__(self, new: Measurement, old: Measurement, estimate: Estimate) -> None:
        self.metric, self.model, self.words = new.metric, new.model, new.words
        self.narrowed_by_repeats = new.narrowed_by_repeats
        self._new, self._old, self._estimate = new, old, estimate

    @property
    def about(self) -> str:
        return self._new.about

    @property
    def estimate(self) -> Estimate:
        return self._estimate

    @property
    def cells(self) -> tuple[Cell, ...]:
        baseline = (
            cell._replace(name=f"the baseline's {cell.name.removeprefix('its ')}", topic_keys=frozenset())
            for cell in self._old.cells
        )
        return (*self._new.cells, *baseline)

    def needed_at(self, alpha: float, *, compared: bool = False) -> int:
        return self._new.needed_at(alpha, compared=True)

    @property
    def components(self) -> Sequence[Component]:
        """The components of the score, with their changes."""
        baseline = {component.name: component.value for component in self._old.components}
        return tuple(
            component._replace(value=component.value - baseline[component.name])
            for component in self._new.components
            if component.name in baseline
        )

    @property
    def sides(self) -> tuple[Measurement, Measurement]:
        """The score of this run and the former one."""
        return self._new, self._old

    def moved(self, piece: PieceName | None = None) -> Moved:
        """The change as a row of a report, with the estimate that a regression gate judges."""
        estimate, new, old = checked_estimate(self), self._new, self._old
        id_, title = piece or (None, "")
        row = Change(
            self.model,
            *new.score_key,
            self.metric.name,
            id_,
            before=self.metric.clipped(old.estimate.shown),
            after=self.metric.clipped(new.estimate.shown),
            change=estimate.shown,
            low=estimate.lower(ALPHA),
            high=estimate.upper(ALPHA),
            churn=new.churn(old),
            n=estimate.n,
            title=title,
        )
        return row, self

    @property
    def covers(self) -> frozenset[Hashable]:
        return self._new.covers
