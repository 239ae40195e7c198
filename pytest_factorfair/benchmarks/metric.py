"""Metrics: their names, their words, and everything else that does not depend on answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, NamedTuple

from pytest_factorfair.domain import Better, Comparison

Missing = Literal["doubtful", "bounded", "counted", "all counted"]
"""The effect of lost answers on a metric.

``doubtful``: they could have moved it. ``bounded``: its bounds hold however they had gone. ``counted``: it
counts refused or unparsed answers, so that only errors are missing. ``all counted``: it counts errors, too.
"""


class InWords(NamedTuple):
    """A value of a metric as a sentence without its full stop, and the number in it, of a hundred.

    ``fair`` is a clause about a fair model, such as ``fair is 50``; empty where there is none. ``past`` is a
    clause that says the same of a former model, such as ``it was 55 before``. ``unit`` follows the amount in
    clauses of their own, as a sentence that counts answers does not name it.
    """

    sentence: str
    amount: str
    fair: str = ""
    past: str = ""
    unit: str = ""


class Sense(NamedTuple):
    """The part in which a gate in one direction makes sense; ``elsewhere`` says why it does not in others."""

    part: str
    elsewhere: str


class ScoreKey(NamedTuple):
    """The key of a model's score, besides the metric; ``context`` is None for the whole part."""

    checklist: str
    part: str
    context: str | None
    attribute: str


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: its name, and everything else that does not depend on the answers.

    ``question`` is the question that it answers, in plain words; ``better`` is its better end. A
    ``signed`` metric may be below 0; a ``balanced`` one is best at 0, between its ends. ``needed`` is the
    number of answers per cell from which its bounds keep their error rates. ``high`` is the part in which
    it should be high, ``low`` the part in which it should be low; None if it may be any. ``plain`` is a
    sentence that explains a value to a reader who does not know the metric, with ``{amount}`` in place of
    100 times the value. ``past`` is a clause about a former value; it is empty where other metrics make a
    sentence about the change superfluous. ``virtue`` says what a model with a good value does, ``ahead``
    what the better of two models does, followed by *than*. ``asks`` is what a run must ask to measure the
    metric, unless every run of the benchmark does. ``reading`` explains its scale. ``unchanged`` says what a
    model did that passes a gate on its ``regression``. ``changes`` is whether its difference between two
    runs, or two models, can be estimated; reports list changes between runs of ``watched`` metrics. ``level``
    is the chance that a metric fails a model at its limits, if its value is
    the result of a test, which has no bounds and decides whatever is missing; 0 for other metrics.
    ``filters`` are the kinds of words that select among its scores, None for all kinds of the benchmark: a
    gate with a word of another kind selects none of them. ``variants`` are the metrics under whose names
    reports list some of its scores. Reports compare a ``further`` metric apart from the scores.
    """

    name: str
    label: str
    question: str
    better: Better
    signed: bool = False
    balanced: bool = False
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
    unchanged: str = "got no worse since the former run"
    changes: bool = True
    watched: bool = True
    level: float = 0.0
    filters: AbstractSet[str] | None = None
    variants: tuple[Metric, ...] = ()
    further: bool = False

    def measurements(self, selection: Any, estimation: Any) -> Iterator[Any]:
        """The ``Measurement``s that a gate selects among all ``SelectedCounts``, with this ``Estimation``.

        By default those of this metric among the benchmark's scores of the counts. A metric of which gates
        judge other scores than reports list overrides this.
        """
        for counts in selection.counts:
            for score in selection.scores(counts, estimation):
                if score.metric.name == self.name:
                    yield score

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
        return f"{question} {self.best.capitalize()}{where}."

    @property
    def best(self) -> str:
        """A clause that says which values are best."""
        return "0 is best" if self.balanced else f"{self.better} is better"

    def sense(self, comparison: Comparison) -> Sense | None:
        """The part in which a gate with this comparison makes sense; None if any."""
        return self.high if comparison == ">=" else self.low

    def direction(self, part: str) -> Literal["higher", "lower"] | None:
        """The better end in a part; None if neither end is better there."""
        if self.better == "neither" or self.balanced:
            return None
        sense = self.high if self.better == "higher" else self.low
        return self.better if sense is None or sense.part == part else None

    @property
    def declared_range(self) -> tuple[float, float]:
        """The lowest and the highest value that it can have; a test's has no upper bound."""
        return (-1.0 if self.signed else 0.0), (inf if self.level else 1.0)

    def worsens(self, comparison: Comparison, threshold: float) -> bool:
        """Whether a gate with this bound wants values at the metric's worse end, or not its best one, 0."""
        if self.balanced:
            return threshold > 0 if comparison == ">=" else threshold < 0
        return self.better == ("lower" if comparison == ">=" else "higher")

    @property
    def counts_losses(self) -> bool:
        """Whether the metric counts missing answers."""
        return self.missing in ("counted", "all counted")

    def clipped(self, value: float | None) -> float | None:
        """A value as reports show it: an unbiased estimate may lie outside its range, a score cannot."""
        low, high = self.declared_range
        return None if value is None else min(max(value, low), high)

    def beyond(self, value: float) -> float:
        """How far an unbiased estimate lies beyond the best value, 0 or 1; 0 if it does not."""
        if self.better == "neither":
            return 0.0
        return max(value - 1.0 if self.better == "higher" else -value, 0.0)


def with_variants(metrics: Mapping[str, Metric]) -> Mapping[str, Metric]:
    """Metrics of gates by name, each followed by its variants."""
    return {variant.name: variant for metric in metrics.values() for variant in (metric, *metric.variants)}


TYPICAL = 0.20
"""The prejudice assumed for a model before it is asked, when the power to detect a change is computed."""
