"""What other rooms use of a benchmark: its metrics, its counts and measurements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from pytest_factorfair.domain import (
    Better,
    Case,
    Change,
    Checklist,
    Comparison,
    Correction,
    Estimator,
    Gate,
    Headline,
    Interval,
    PromptCounts,
    Record,
    Sampling,
    Score,
    TopicCounts,
    plural,
)
from pytest_factorfair.statistics.bounds import BEYOND, POWER
from pytest_factorfair.statistics.confusion import Confusion
from pytest_factorfair.statistics.estimate import Estimate
from pytest_factorfair.statistics.holm import ALPHA

Missing = Literal["doubtful", "bounded", "counted", "all counted"]
"""What lost answers do to a metric.

``doubtful``: they could have moved it. ``bounded``: its bounds hold however they had gone. ``counted``: it
counts refused or unparsed answers, so that only errors are missing. ``all counted``: it counts errors, too.
"""


class InWords(NamedTuple):
    """A value of a metric as a sentence without its full stop, and the number in it.

    ``fair`` is a clause about a fair model, such as ``fair is 50``; empty where there is none. ``past`` is a
    clause that says the same of a former model, such as ``it was 55 before``.
    """

    sentence: str
    amount: str
    fair: str = ""
    past: str = ""


class Component(NamedTuple):
    """One component of a score: the value of the metric on it alone, and what was answered, in words.

    ``lost`` is the share of its answers that are missing; ``cases`` selects its cases by id, ``reply`` is
    typical of it.
    """

    name: str
    value: float
    share: str
    cases: str
    reply: str
    lost: float = 0.0


class Sense(NamedTuple):
    """The part in which a gate in one direction makes sense; ``elsewhere`` says why only there."""

    part: str
    elsewhere: str


class About(NamedTuple):
    """What a score of a model is about; ``context`` is what its part is divided into, None for all of it."""

    checklist: str
    part: str
    context: str | None
    attribute: str


Moved: TypeAlias = tuple[Change, "Measurement"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: its name, and everything else that does not depend on the answers.

    ``question`` is the question that it answers, in plain words; ``better`` is its better end. A ``signed``
    metric may be below 0. ``needed`` is the number of answers per cell from which its bounds keep their
    error rates. ``high`` is the part in which it should be high, ``low`` that in which it should be low;
    None if any. ``plain`` is a sentence that explains a value to a reader who does not know the metric,
    with ``{amount}`` in place of 100 times the value, and ``past`` a clause about a former value, empty if
    other metrics say as much and lists of changes need no sentence for this one. ``virtue`` says what a model
    with a good value does, and ``ahead`` what the better of two models does, followed by *than*. ``asks`` is
    what a run must ask to measure the metric, if not every run of the benchmark measures it. ``reading``
    explains its scale.
    """

    name: str
    label: str
    question: str
    better: Better
    signed: bool = False
    needed: int = 0
    missing: Missing = "doubtful"
    high: Sense | None = None
    low: Sense | None = None
    plain: str = ""
    past: str = "it was {amount} before"
    virtue: str = ""
    ahead: str = ""
    reading: str = ""
    asks: str = ""

    def in_words(self, value: float, *, digits: int = 0) -> InWords:
        """The value in a plain sentence, with this number of decimals."""
        amount = f"{100 * value:.{digits}f}"
        plain = self.plain or f"its {self.label} is {{amount}} on a scale to 100"
        return InWords(plain.format(amount=amount), amount, past=self.past.format(amount=amount))

    @property
    def meaning(self) -> str:
        """The question and which end is better, for a reader who does not know the metric."""
        question = f"{self.question[:1].upper()}{self.question[1:]}"
        if self.better == "neither":
            return question
        sense = self.high if self.better == "higher" else self.low
        where = f" in {sense.part} queries: {sense.elsewhere}" if sense else ""
        return f"{question} {self.better.capitalize()} is better{where}."

    def sense(self, comparison: Comparison) -> Sense | None:
        """The part in which a gate with this comparison makes sense; None if any."""
        return self.high if comparison == ">=" else self.low

    def worsens(self, comparison: Comparison) -> bool:
        """Whether a gate with this comparison wants values at the metric's worse end."""
        return self.better == ("lower" if comparison == ">=" else "higher")

    @property
    def counts_losses(self) -> bool:
        """Whether the metric counts missing answers."""
        return self.missing in ("counted", "all counted")

    def clipped(self, value: float | None) -> float | None:
        """A value as reports show it: an unbiased estimate may lie outside 0 to 1, a score cannot."""
        return value if value is None or self.signed else min(max(value, 0.0), 1.0)

    def score(
        self,
        model: str,
        about: About,
        found: Estimate,
        reach: tuple[float | None, float | None] = (None, None),
    ) -> Score:
        """A row of a report, with its 95 % interval; ``reach`` is the range that models can attain."""
        return Score(
            model,
            *about,
            self.name,
            value=found.plugin,
            n=found.n,
            floor=reach[0],
            ceiling=reach[1],
            corrected=self.clipped(found.corrected),
            low=self.clipped(found.lower(BEYOND)),
            high=self.clipped(found.upper(BEYOND)),
            reason=found.reason,
        )


TYPICAL = 0.20
"""The prejudice assumed for a model before it is asked, when the power to detect a change is computed."""

LEAST_MASS = 0.8
"""Below this mean probability of the letters, the remaining mass may have meant any of them."""


class Cell(NamedTuple):
    """A cell's name and its numbers of queries asked and answers lost, by reason.

    Where answers are probabilities, ``worth`` is the number of drawn answers that is as precise as one of
    them, and ``mass`` the mean total probability of the letters.
    """

    name: str
    asked: int
    refused: int
    unparsed: int
    errors: int
    worth: float = 1.0
    mass: float = 1.0

    @property
    def lost(self) -> int:
        return self.refused + self.unparsed + self.errors

    @property
    def share(self) -> float:
        return self.lost / self.asked if self.asked else 0.0

    def __str__(self) -> str:
        return f"{self.refused} refused, {self.unparsed} unparsed, {plural(self.errors, 'error')}"


class Place(NamedTuple):
    """A topic on which a model can be asked for more answers; the protocol defines topics."""

    model: str
    checklist: str
    topic: tuple[Hashable, ...]


ROUNDING = 1e-9
"""By how much sums of floats may leave their extremes."""


@dataclass(frozen=True, slots=True)
class Extremes:
    """A value, with the lowest and highest that the missing answers allow.

    Raises:
        ValueError: the value lies outside: then these are not the extremes of what it is computed from.
    """

    value: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if self.low - ROUNDING > self.value or self.value > self.high + ROUNDING:  # nan is unknown
            raise ValueError(f"the value {self.value} is not between its extremes {self.low} and {self.high}")

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


def total(cells: Iterable[Cell]) -> Cell:
    """What was asked and lost in all of these cells."""
    numbers = [cell[1:5] for cell in cells]
    return (
        Cell("all", *(sum(each) for each in zip(*numbers, strict=True)))
        if numbers
        else Cell("all", 0, 0, 0, 0)
    )


class Counts(Protocol):
    """What one model answered, counted in plain arrays that its protocol defines."""

    @property
    def protocol(self) -> str: ...
    @property
    def model(self) -> str: ...


C = TypeVar("C", bound=Counts)


@dataclass(frozen=True, slots=True, eq=False)
class Former:
    """The counts and records of a baseline, and the records of the run compared with it."""

    counts: tuple[Counts, ...] = ()
    former: tuple[Record, ...] = ()
    records: tuple[Record, ...] = ()

    def like(self, counts: C, about: Callable[[C], Hashable]) -> C | None:
        """The baseline's counts about the same, of the same model or else of its only one."""
        known = [
            each for each in self.counts if isinstance(each, type(counts)) and about(each) == about(counts)
        ]
        same = [each for each in known if each.model == counts.model]
        return next(iter(same or known * (len(known) == 1)), None)


class Measurement(ABC):
    """One score of one model: its metric, the words that select it, its estimate and the cells behind it."""

    metric: Metric
    model: str
    words: tuple[str, ...]

    @property
    @abstractmethod
    def estimate(self) -> Estimate:
        """The score with its uncertainty, computed on first use."""

    @property
    @abstractmethod
    def cells(self) -> tuple[Cell, ...]:
        """The numbers of answers asked and lost, cell by cell."""

    @property
    def total(self) -> Cell:
        """The sum of its cells."""
        return total(self.cells)

    @property
    def held(self) -> frozenset[str]:
        """The filter words that match some of its answers."""
        return frozenset(self.words)

    @property
    def needed(self) -> int:
        """The number of answers asked per cell from which bounds are reliable."""
        return self.metric.needed

    def needed_at(self, alpha: float) -> int:
        """The same for one-sided bounds at this level."""
        del alpha
        return self.needed

    def needed_compared(self, alpha: float) -> int:
        """The same for bounds of a difference from another score."""
        return self.needed_at(alpha)

    def if_missing(self, *, bounded: bool) -> Extremes | None:
        """How far lost answers could move its value or, if ``bounded``, its centre; None if unknown."""
        del bounded
        return None

    @property
    def reach(self) -> tuple[float | None, float | None]:
        """The lowest and the highest value that any model can reach."""
        return None, None

    @property
    def driver(self) -> str:
        """The single share that determines the score, if there is one; else empty."""
        among = self.estimate.among
        return "" if among is None else among.largest

    def in_words(self, value: float, *, digits: int = 0) -> InWords:
        """A value of its metric in a plain sentence."""
        return self.metric.in_words(value, digits=digits)

    @property
    def components(self) -> Sequence[Component]:
        """The topics that the score covers, one by one."""
        return ()

    @property
    def sides(self) -> tuple[Measurement, Measurement] | None:
        """For a change, the score of this run and the former one; for a score, None."""
        return None

    @property
    def places(self) -> frozenset[Place]:
        """The topics in which more answers can be asked for; empty if there are no further looks."""
        return frozenset()

    def undecided(self, threshold: float, alpha: float) -> frozenset[Place]:
        """The places where more answers may move it across an upper threshold."""
        del threshold, alpha
        return self.places

    def change_from(self, former: Former) -> Measurement | None:
        """Its change since the baseline; None if the baseline has no such score."""
        del former
        return None

    def asks(self, case: Case) -> int:
        """The number of cases that share a topic's answers; 0 for a case that the score does not use."""
        del case
        return 0

    def error_at(self, threshold: float, n: int, *, regression: bool) -> float | None:
        """The standard error at a threshold with n answers per topic or prompt; None if unknown."""
        del threshold, n, regression
        return None

    def detectable(self, threshold: float, *, regression: bool, n: int, bound: float) -> float | None:
        """The smallest distance from a threshold that 80 % of runs detect; None if unknown.

        ``n`` is the number of answers per topic or prompt, ``bound`` that of standard errors. A regression
        has the errors of two runs without common answers.
        """
        error = self.error_at(threshold, n, regression=regression)
        return None if error is None else (bound + POWER) * error * (sqrt(2) if regression else 1)

    @property
    def place(self) -> tuple[str, ...]:
        """Its place in the table of a plan."""
        return ()

    @property
    def about(self) -> frozenset[Hashable]:
        """The answers that it covers, in the protocol's own terms."""
        return frozenset()


class Changed(Measurement):
    """The change from a former score to a new one."""

    def __init__(self, new: Measurement, old: Measurement, estimate: Estimate) -> None:
        self.metric, self.model, self.words = new.metric, new.model, new.words
        self._new, self._old, self._estimate = new, old, estimate

    @property
    def estimate(self) -> Estimate:
        return self._estimate

    @property
    def cells(self) -> tuple[Cell, ...]:
        former = (
            cell._replace(name=f"the baseline's {cell.name.removeprefix('its ')}") for cell in self._old.cells
        )
        return (*self._new.cells, *former)

    @property
    def needed(self) -> int:
        return self._new.needed_compared(ALPHA)

    def needed_at(self, alpha: float) -> int:
        return self._new.needed_compared(alpha)

    @property
    def components(self) -> Sequence[Component]:
        """The components of the score, with their changes."""
        former = {one.name: one.value for one in self._old.components}
        return tuple(
            one._replace(value=one.value - former[one.name])
            for one in self._new.components
            if one.name in former
        )

    @property
    def sides(self) -> tuple[Measurement, Measurement]:
        return self._new, self._old

    def row(self, about: About, *, churn: float = 0.0, statistic: str | None = None) -> Moved:
        """Itself as a row of a report, and what a regression gate judges.

        ``churn`` is the share of changed answers.
        """
        found, before, after = self._estimate, self._old.estimate.plugin, self._new.estimate.plugin
        ends, name = (found.lower(ALPHA), found.upper(ALPHA)), self.metric.name
        return Change(
            self.model, *about, name, statistic, before, after, found.shown, *ends, churn, found.n
        ), self

    @property
    def places(self) -> frozenset[Place]:
        return self._new.places

    @property
    def about(self) -> frozenset[Hashable]:
        return self._new.about


class Moves(NamedTuple):
    """Changes of scores, and of parts of scores."""

    scores: Sequence[Moved] = ()
    parts: Sequence[Moved] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Contender:
    """One model of one report. ``name`` is its name on boards, unique among contenders."""

    name: str
    counts: tuple[Counts, ...] = ()
    records: tuple[Record, ...] = ()
    scores: tuple[Score, ...] = ()


def shared(
    contenders: Iterable[Contender], kind: type[C], about: Callable[[C], Hashable]
) -> Iterator[Mapping[str, C]]:
    """Counts of one kind about the same thing, by contender, if at least two contenders have them."""
    found: dict[Hashable, dict[str, C]] = {}
    for contender in contenders:
        for one in contender.counts:
            if isinstance(one, kind):
                found.setdefault(about(one), {})[contender.name] = one
    return (some for some in found.values() if len(some) > 1)


class Entrant(NamedTuple):
    """A contender's score: ``total`` is what was asked for it and lost, ``cells`` the same in detail.

    ``needed_at`` says how many answers each cell must have been asked for bounds of a difference at a level.
    ``if_missing`` is how far lost answers could move its centre; it is called only where there are any.
    """

    name: str
    estimate: Estimate
    total: Cell
    cells: tuple[Cell, ...]
    needed_at: Callable[[float], int]
    if_missing: Callable[[], Extremes | None] = lambda: None

    @classmethod
    def of(cls, name: str, one: Measurement) -> Entrant:
        bounds = partial(one.if_missing, bounded=True)
        return cls(name, one.estimate, one.total, one.cells, one.needed_compared, bounds)


class Gap(NamedTuple):
    """The difference between two contenders, and the share of answers paired by question."""

    estimate: Estimate
    paired: float = 0.0


class Contest(NamedTuple):
    """A score of several contenders: what it is about, their entries, and the differences between them."""

    checklist: str
    part: str
    context: str | None
    attribute: str
    metric: Metric
    entrants: Sequence[Entrant]
    gaps: Mapping[tuple[str, str], Gap]

    @classmethod
    def of(
        cls,
        about: About,
        metric: Metric,
        scores: Mapping[str, Measurement],
        gaps: Mapping[tuple[str, str], Gap],
    ) -> Contest:
        return cls(*about, metric, [Entrant.of(name, one) for name, one in scores.items()], gaps)


class Reported(NamedTuple):
    """What a report says about the counts of one protocol."""

    scores: tuple[Score, ...] = ()
    headline: tuple[Headline, ...] = ()
    topics: tuple[TopicCounts, ...] = ()
    prompts: tuple[PromptCounts, ...] = ()
    corrections: tuple[Correction, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportInputs:
    """What a report is about besides counts: the records, and how they were asked and read.

    ``tables`` are the detector's error tables; ``read_otherwise`` are models whose pictures another detector
    read.
    """

    records: Sequence[Record] = ()
    checklists: Sequence[Checklist] = ()
    models: Sequence[str] = ()
    estimation: Estimation = CORRECTED
    tables: Sequence[Confusion] = ()
    read_otherwise: AbstractSet[str] = frozenset()


class Scope(NamedTuple):
    """The ``words`` by which a gate selects scores.

    ``narrowed`` is whether the last of them is a part that the gate did not name but is meant for. ``beside``
    are parts and contexts that it judges although it is not meant for them, ``named`` whether it names them.
    """

    words: tuple[str, ...]
    narrowed: bool = False
    beside: tuple[str, ...] = ()
    named: bool = False


M = TypeVar("M", bound=Metric)


class Measuring(ABC, Generic[C, M]):
    """The half of a protocol that starts from recorded answers: counts, metrics, measurements."""

    unit: str
    """The unit of the sizes in a plan: "answers per topic"."""
    metrics: dict[str, M]

    def count(
        self,
        records: Iterable[Record],
        checklist: Any,
        cases: Sequence[Case],
        *,
        models: Sequence[str],
        sampling: Sampling,
    ) -> tuple[C, ...]:
        """Count the answers to these cases of a checklist, model by model."""
        del sampling
        return self.recount(tuple(records), checklist, cases, models=models)

    def recount(
        self, records: Sequence[Record], checklist: Any, cases: Sequence[Case], *, models: Sequence[str]
    ) -> tuple[C, ...]:
        """The same for counts that reports do not hold; these do not depend on the sampling."""
        del records, checklist, cases, models
        return ()

    @abstractmethod
    def measure(
        self, metric: str, words: Sequence[str], counts: Sequence[C], estimation: Estimation
    ) -> tuple[Measurement, ...]:
        """The scores that the words of a gate select among all counts of this protocol."""

    @abstractmethod
    def vocabulary(self, counts: C) -> Mapping[str, AbstractSet[str]]:
        """The words that may filter a gate, by kind; ``model`` and ``checklist`` are kinds of every protocol.

        A word of two kinds counts as the first.
        """

    def filters(self, counts: Sequence[C]) -> Mapping[str, frozenset[str]]:
        """The vocabulary of a run with such counts."""
        found: dict[str, set[str]] = {}
        for one in counts:
            for kind, words in self.vocabulary(one).items():
                found.setdefault(kind, set()).update(words)
        return {kind: frozenset(words) for kind, words in found.items()}

    def matching(
        self, words: Sequence[str], counts: Sequence[C]
    ) -> Iterator[tuple[C, Mapping[str, frozenset[str]]]]:
        """The counts that match the words, and the words by kind.

        Words of one kind are alternatives, words of different kinds must all match; unknown words match
        nothing.
        """
        left, wanted = frozenset(words), dict[str, frozenset[str]]()
        for kind, known in self.filters(counts).items():
            wanted[kind] = left & known
            left -= known
        for one in () if left else counts:
            held = self.vocabulary(one)
            if all(not some or some & held[kind] for kind, some in wanted.items()):
                yield one, wanted

    def run_words(self, one: C, filters: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
        """The words for its model and its checklist, each where the filters of the run have several."""
        own = self.vocabulary(one)
        return tuple(word for kind in ("model", "checklist") if len(filters[kind]) > 1 for word in own[kind])

    def held(self, metric: str, words: Sequence[str], counts: Sequence[C]) -> AbstractSet[str]:
        """All words that match the scores these words select; empty if they select none."""
        selected = self.measure(metric, words, counts, CORRECTED)
        return frozenset[str]().union(*(one.held for one in selected))

    def scope(self, gate: Gate, counts: Sequence[C]) -> Scope:
        """What selects the scores of a gate: its filters, and the part it is meant for if they name none."""
        del counts
        return Scope(gate.filters)

    def changeable(self, metric: str) -> bool:
        """Whether its change between two runs can be estimated."""
        del metric
        return True

    def saved(self, report: Mapping[str, Any]) -> tuple[C, ...]:
        """The counts that a report holds."""
        del report
        return ()

    @abstractmethod
    def report(self, counts: Sequence[C], inputs: ReportInputs) -> Reported:
        """What a report says about them."""

    def changes(self, counts: Sequence[C], former: Former) -> Iterator[Moves]:
        """What changed since a former run."""
        del counts, former
        return iter(())

    def contests(self, contenders: Sequence[Contender]) -> Iterator[Contest]:
        """The scores on which contenders are compared, in the order of boards."""
        del contenders
        return iter(())

    def recommended(self, checklist: Any, sampling: Sampling, *, baseline: bool) -> Iterator[Expression]:
        """The gates that ``default`` stands for."""
        del checklist, sampling, baseline
        return iter(())

    def topics(self, case: Case) -> Iterator[tuple[Hashable, ...]]:
        """The topics on which a case can be asked for more answers; none if there are no further looks."""
        del case
        return iter(())

    def subjects(self, counts: C) -> Iterator[tuple[Hashable, str, str]]:
        """What the answers are about: the key in ``Measurement.about``, place and attribute."""
        del counts
        return iter(())


class Expression(NamedTuple):
    """A gate before its words are joined: ``regression(s_e)``, ``("base", "race")``, ``>= -0.02``."""

    metric: str
    words: tuple[str, ...]
    bound: str
