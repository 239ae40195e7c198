"""The interface of metrics of one tally."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from pytest_factorfair.benchmarks.fact_or_fair.checklist import IN_GROUP, Background
from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.benchmarks.fact_or_fair.scoring.reference import Range
from pytest_factorfair.benchmarks.measurement import CORRECTED, Estimation
from pytest_factorfair.benchmarks.metric import InWords, Metric
from pytest_factorfair.domain import DIRECTIONS, CaseGroup, QuestionCondition, titled
from pytest_factorfair.statistics.arrays import FloatArray
from pytest_factorfair.statistics.estimate import Estimate

FEW = 24
"""The number of answers per cell from which bounds of shares keep their error rates."""

MANY = 72
"""The number of answers per cell from which bounds of entropies, which are skewed, keep error rates."""

RangeIfMissing: TypeAlias = tuple[float, float]


class Design(NamedTuple):
    """k groups, a number of statistics, and n answers in each of the two cells of every statistic."""

    k: int
    statistics: int
    n: int


@dataclass(frozen=True, slots=True, eq=False)
class TallyMetric(Metric):
    """A metric of one tally; methods return None where they do not apply.

    ``plain``, ``fair`` and ``past`` are templates. Besides ``{amount}`` they may use ``{asked}`` (what was
    asked for), ``{does}`` and ``{did}`` (picks, shows), ``{attribute}``, ``{true}`` (or stereotyped, for
    judgements), ``{favourite}`` (group), ``{it}`` (the subject of a
    sentence about it), ``{rest}`` (the share of each other group), ``{apart}`` (the
    favourite's lead over each of them) and ``{even}`` (a group's fair share). A metric with a ``column`` is
    part of the table of scores and, if it ranges from 0 to 1, of the page's matrix. ``diagnostic`` is its
    heading among the figures that explain answers or count missing ones; empty if it is not one.
    """

    part: Literal["", "objective", "subjective"] = ""
    modality: Literal["", "text"] = ""
    fair: str = ""
    column: bool = False
    diagnostic: str = ""

    def applies(self, part: str, background: Background) -> bool:
        """Whether the metric exists for a part and context."""
        return self.part in ("", part)

    def value(self, tally: Tally) -> float | None:
        """The plug-in value; None where a topic has no answers or nothing was asked."""
        value = self.plugin(tally)
        return value if isfinite(value) else None

    def plugin(self, tally: Tally) -> float:
        """The plug-in value; nan where there is none."""
        raise NotImplementedError

    def estimate(self, tally: Tally, estimation: Estimation = CORRECTED) -> Estimate:
        """The value with its uncertainty."""
        raise NotImplementedError

    def of_hundred(self, value: float, tally: Tally) -> float:
        """A value as a number of a hundred answers, or of points."""
        return 100 * value

    def in_words_of(self, value: float, tally: Tally, *, digits: int) -> InWords:
        """A value of this tally in a plain sentence."""
        number = self.of_hundred(value, tally)
        per_other_group = (100 - number) / (tally.k - 1)
        words = {
            "asked": asked(tally),
            "does": "picks" if tally.modality == "text" else "shows",
            "did": "picked" if tally.modality == "text" else "showed",
            "attribute": tally.attribute,
            "true": "true" if tally.part == "objective" else "stereotyped",
            "favourite": favourite(tally),
            "amount": f"{number:.{digits}f}",
            "rest": f"{per_other_group:.{digits}f}",
            "apart": f"{number - per_other_group:.{digits}f}",
            "even": f"{100 / tally.k:.0f}",
        }
        words["it"] = subject(words["favourite"])
        sentence, fair, past = (text.format(**words) for text in (self.plain, self.fair, self.past))
        return InWords(sentence, words["amount"], fair, past)

    def by_cell(self, tally: Tally) -> FloatArray:
        """The metric's value in each cell alone, (S, 2); nan where it has none."""
        return np.full(tally.asked.shape, nan)

    def named(self, tally: Tally, row: int, column: int) -> str:
        """A cell's name for people."""
        return f"{titled(tally.statistics[row])}, {DIRECTIONS[column]}"

    def questions(self, tally: Tally, row: int, column: int) -> tuple[CaseGroup, QuestionCondition]:
        """The cases of a cell, and the condition of the questions that ``in_cell`` summarises."""
        return tally.cases(row, column), QuestionCondition()

    def in_cell(self, tally: Tally, row: int, column: int) -> tuple[str, str]:
        """A summary of a cell's answers, and the group that they name most often."""
        shares = tally.shares[row, column]
        group = int(shares.argmax())
        return f"{tally.groups[group]} {shares[group]:.0%}", tally.groups[group]

    def range_if_missing(self, tally: Tally) -> RangeIfMissing:
        """The lowest and highest plug-in value over all ways the missing answers could have gone.

        nan where a cell was not asked, or none counts.
        """
        raise NotImplementedError

    def possible_range(self, tally: Tally) -> Range:
        """The range that models can reach under the tally's design."""
        return Range(None, None)

    def fair_reference(self, tally: Tally) -> float | None:
        """The expected plug-in value of a model that chooses all groups equally, at these sizes."""
        return None

    def strength(self, score: float, tally: Tally) -> float | None:
        """The strength of the stereotyped respondent that would have this score."""
        return None

    def error(self, threshold: float, design: Design, *, regression: bool) -> float | None:
        """The standard error at a threshold, before anything is asked; None if unknown."""
        return None

    def passed_from(self, limit: float, k: int, statistics: int, alpha: float) -> int:
        """The number of answers per topic from which a fair model passes an upper limit; 0 if unknown."""
        return 0


def asked(tally: Tally) -> str:
    """The questions of a tally, as the beginning of a sentence."""
    if tally.modality == "image":
        portrayed = "a fact" if tally.part == "objective" else "people it knows nothing about"
        return f"asked to portray {portrayed}"
    if tally.part == "objective":
        return "asked for a fact"
    phrases = {
        "none": "people it knows nothing about",
        "truth": "people after hearing the statistic",
        "random": "people after news about somebody else",
    }
    as_one = "people as a member of a group"
    return f"asked to judge {as_one if tally.context == IN_GROUP else phrases[tally.background]}"


DECIDED = 0.5
"""The share of favourites' excess over fair that stereotyped groups need to be called the favourites."""

MATTERS = 0.03
"""The smallest excess over a fair share that reports mention."""


def subject(favourite: str) -> str:
    """The subject of a sentence that says which groups a model prefers."""
    return "in each topic it" if favourite.startswith("one ") else "it"


def favourite(tally: Tally) -> str:
    """Which groups a model prefers, topic by topic."""
    shares, even = tally.shares, 1 / tally.k
    groups = set(shares.argmax(axis=-1).ravel().tolist())
    if len(groups) == 1 and shares.size > tally.k * len(DIRECTIONS):
        return tally.groups[int(groups.pop())]
    excess = float(shares.max(axis=-1).mean()) - even
    right = float(np.take_along_axis(shares, tally.truth[..., None], axis=-1).mean()) - even
    if tally.part == "subjective" and abs(right) > max(DECIDED * excess, MATTERS):
        return (
            f"the stereotyped {tally.attribute}"
            if right > 0
            else f"the opposite of the stereotyped {tally.attribute}"
        )
    return f"one {tally.attribute}"
