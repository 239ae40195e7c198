"""Counts of one model's answers about one attribute in one part and context."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pytest_factorfair.benchmarks.fact_or_fair.checklist import IN_GROUP, Background
from pytest_factorfair.benchmarks.fact_or_fair.counting.by_query import AnswersByQuery
from pytest_factorfair.benchmarks.fact_or_fair.counting.first_look import FirstAnswers
from pytest_factorfair.benchmarks.fact_or_fair.rows import TopicCounts
from pytest_factorfair.benchmarks.measurement import LEAST_MASS
from pytest_factorfair.benchmarks.metric import ScoreKey
from pytest_factorfair.benchmarks.scan import LENIENT
from pytest_factorfair.domain import (
    DIRECTIONS,
    CaseGroup,
    Design,
    Direction,
    Modality,
    Outcome,
    Record,
    titled,
)
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray, divided
from pytest_factorfair.statistics.sample import Sample

TAKEN, EXPECTED, SPREAD = range(3)

# The number of tallies whose estimates, influences and pairs are kept for several scores.
KEPT = 256

OWN_GROUP = ("own_group", "not_own_group")
"""Columns of a context that assigns an identity: its group for good topics, other groups for bad ones."""


SCANNED_OUTCOMES: tuple[Outcome, ...] = ("refused", "unparsed")
"""The words that select scans of lost answers."""


@dataclass(frozen=True, slots=True, eq=False)
class ChosenCells:
    """For each value shown: how often it was chosen, and how often an indifferent model would choose it.

    ``cells`` (S, 2, values, 3) are answers that took it, their expectation among those who were
    shown, and the variance of that.
    """

    values: tuple[str, ...]
    cells: FloatArray

    def __post_init__(self) -> None:
        self.cells.flags.writeable = False

    @property
    def whole(self) -> FloatArray:
        """The sums over all cells, (values, 3), for values that not all people of a query have."""
        total = self.cells.sum(axis=(0, 1))
        return np.asarray(total[total[:, SPREAD] > 0])

    def restrict(self, rows: Sequence[int]) -> ChosenCells:
        return ChosenCells(self.values, self.cells[list(rows)])


class ConditionValue(NamedTuple):
    """A value of a condition: its name, its attribute if it is a group, its ages if it is a band of them."""

    name: str
    attribute: str = ""
    ages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """The answers to a topic by the V values of a condition that varies between its questions.

    ``sample`` (S, 2, V, k) are the answers without the effect of their letters, ``asked`` (S, 2, V) the
    queries, ``missing`` (S, 2, V) those without an answer.
    """

    values: tuple[ConditionValue, ...]
    sample: Sample
    asked: IntArray
    missing: FloatArray

    def restrict(self, rows: Sequence[int]) -> Condition:
        return Condition(self.values, self.sample.restrict(rows), self.asked[rows], self.missing[rows])


@dataclass(frozen=True, slots=True, eq=False)
class CrossedCounts:
    """The answers by the chosen person's group of another attribute, (S, 2, groups, k)."""

    groups: tuple[str, ...]
    counts: FloatArray

    def restrict(self, rows: Sequence[int]) -> CrossedCounts:
        return CrossedCounts(self.groups, self.counts[rows])


# The most drawn answers that one probability counts for, in the expected scores of a fair model.
MOST_WORTH = 1000

CELL_FIELDS = (
    "counts", "truth", "fragile", "positive", "asked", "refused", "unparsed", "errors", "named", "matched",
    "addressed", "declined", "scenarios", "letters", "letter_squares", "outside", "filtered", "neutral",
    "neutral_named", "neutral_matched",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """All counts of one attribute in one part and context, as plain arrays.

    S is the number of statistics; direction 0 is highest and 1 lowest; a cell is a statistic in a direction.

    - ``counts`` (S, 2, k): answers per group, or sums of their shares if answers are probabilities of
      letters.
    - ``outside`` (S, 2): the probability of everything but a letter, summed over such answers.
    - ``adjusted``: the answers without the effect of their letters, with their covariance within scenarios;
      None if there are neither letters nor scenarios.
    - ``probable``: whether some answers are probabilities of several letters; ``noise`` is the largest
      standard error of a letter's share in them that comes from the service's other requests.
    - ``truth`` (S, 2): group indices; ``fragile`` marks labels that depend on the choice of measure,
      ``positive`` topics in which it is good to be named.
    - ``asked``, ``refused``, ``unparsed``, ``errors`` (S, 2): they add up with the counts, except for
      pictures, whose faces are counted one by one. ``filtered`` (S, 2): those of the refused answers that the
      provider withheld.
    - ``named``: answers to queries with a group in the context; ``matched``: those that equal that group.
    - ``addressed`` (S, 2, k): queries with each random group in the context, answered or not;
      ``declined``: those that were refused.
    - ``neutral`` (S, 2, k): the part of the counts that declined judgements are, as even choices;
      ``neutral_named``, ``neutral_matched``: their part of ``named`` and ``matched``.
    - ``scenarios`` (S, 2, scenarios, k): the counts by scenario, if the part has scenarios.
    - ``letters`` (S, 2, options): how often each letter was chosen, or sums of its shares;
      ``letter_squares``: the sums of their squares; ``names``, ``ages``: how often people with each were
      chosen.
    - ``conditions``: the answers by what varies between the questions of a topic: the ``scenario``, the
      group of this attribute that the context ``named``, the ``age`` of the people, and the groups of who
      is ``first``, at letter A. ``crossed``: the answers by the chosen person's group of each other
      attribute.
    - ``unlabelled`` (S', 2, k): the same counts of further statistics, whose answers have a group of the
      attribute although no group is true; only the authors' scripts count them. None if there are none.
    - ``people``: the number of people that a subjective query shows; ``shown``: the groups of a crossed
      attribute that each query of a block shows, empty if the design's rule suffices.
    - ``answers``: the answers by query, also those to further statistics of a restricted tally; empty if
      the records are unknown.
    - ``first_answers``: the model's answers to all questions of its first look, of either part; None for
      pictures, and if the counts were read from a report.
    - ``case_ids``: the cases by statistic and direction; ``other_contexts``: those that the checklist has
      besides. Both are empty if the counts were read from a report.
    - ``names_of_statistics``, by id, in the language of the checklist.

    Arrays are read-only; tallies compare by identity.
    """

    model: str
    checklist: str
    part: str
    context: str | None
    background: Background
    attribute: str
    groups: tuple[str, ...]
    statistics: tuple[str, ...]
    design: Design
    people: int
    counts: FloatArray
    truth: IntArray
    fragile: BoolArray
    positive: BoolArray
    asked: IntArray
    refused: IntArray
    unparsed: IntArray
    errors: IntArray
    filtered: IntArray
    named: IntArray
    matched: FloatArray
    addressed: IntArray
    declined: IntArray
    scenarios: FloatArray
    letters: FloatArray
    letter_squares: FloatArray
    outside: FloatArray
    neutral: FloatArray
    neutral_named: IntArray
    neutral_matched: FloatArray
    names: ChosenCells | None = None
    ages: ChosenCells | None = None
    adjusted: Sample | None = None
    probable: bool = False
    noise: float = 0.0
    shown: tuple[frozenset[int], ...] = ()
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    crossed: Mapping[str, CrossedCounts] = field(default_factory=dict)
    modality: Modality = "text"
    unlabelled: FloatArray | None = None
    case_ids: Mapping[tuple[str, Direction], tuple[str, ...]] = field(default_factory=dict)
    other_contexts: tuple[str, ...] = ()
    names_of_statistics: Mapping[str, str] = field(default_factory=dict)
    answers: AnswersByQuery = field(default_factory=AnswersByQuery)
    first_answers: FirstAnswers | None = None

    def __post_init__(self) -> None:
        for name in CELL_FIELDS:
            getattr(self, name).flags.writeable = False

    @property
    def benchmark(self) -> str:
        return "fact_or_fair"

    @property
    def k(self) -> int:
        return len(self.groups)

    @property
    def sample(self) -> Sample:
        """The answers that scores are estimated from."""
        return self.adjusted or Sample(np.asarray(self.counts, np.float64))

    @property
    def answered(self) -> IntArray:
        """Answers that name a group, (S, 2)."""
        total: IntArray = np.rint(self.counts.sum(axis=-1)).astype(np.int64)
        return total

    @property
    def drawn(self) -> IntArray:
        """Answers, (S, 2); for probabilities, the equivalent number of sampled answers."""
        if not self.probable:
            return self.answered
        worth = self.answered / np.maximum(self.sample.design_effect, 1 / MOST_WORTH)
        return np.rint(worth).astype(np.int64)

    @property
    def lost(self) -> IntArray:
        """Refused, unparsed and errored answers, (S, 2)."""
        missing: IntArray = self.refused + self.unparsed + self.errors
        return missing

    @property
    def neutral_answers(self) -> IntArray:
        """Declined judgements that count as neutral, (S, 2)."""
        return np.asarray(np.rint(self.neutral.sum(axis=-1)), np.int64)

    @property
    def refusals(self) -> IntArray:
        """All refusals, (S, 2): lost answers, and declined judgements that count as neutral."""
        return np.asarray(self.refused + self.neutral_answers)

    @property
    def missing(self) -> FloatArray:
        """Missing answers, (S, 2): lost ones, and the probability outside the letters if it is large."""
        vague = self.outside > (1 - LEAST_MASS) * self.answered
        return np.asarray(self.lost + np.where(vague, self.outside, 0.0))

    @property
    def certain(self) -> FloatArray:
        """The counts without missing answers, (S, 2, k)."""
        answered, lost = self.answered[..., None], self.lost[..., None]
        certain = answered - (self.missing[..., None] - lost)
        return np.asarray(
            self.counts * np.divide(certain, answered, out=np.ones_like(certain), where=answered > 0)
        )

    def restrict(self, statistics: Collection[str]) -> Tally:
        """The tally restricted to these statistics, in its own order."""
        if set(self.statistics) <= set(statistics):
            return self
        row_indices = [row for row, statistic in enumerate(self.statistics) if statistic in statistics]
        cells = {name: getattr(self, name)[row_indices] for name in CELL_FIELDS}
        cells |= {
            name: arrays.restrict(row_indices)
            for name in ("names", "ages", "adjusted")
            if (arrays := getattr(self, name))
        }
        for name in ("conditions", "crossed"):
            cells[name] = {key: part.restrict(row_indices) for key, part in getattr(self, name).items()}
        selected = tuple(self.statistics[row] for row in row_indices)
        return dataclasses.replace(self, statistics=selected, unlabelled=None, **cells)

    def within(self, condition: str) -> Tally:
        """The tally with only one of its conditions."""
        return dataclasses.replace(self, conditions={condition: self.conditions[condition]})

    @property
    def kind(self) -> str:
        """What its answers are, in words."""
        return "facts" if self.part == "objective" else "judgements"

    @property
    def score_key(self) -> ScoreKey:
        """The key of the tally's scores, which tallies of other models share."""
        return ScoreKey(self.checklist, self.part, self.context, self.attribute)

    @property
    def comparison_key(self) -> ScoreKey:
        return self.score_key

    @property
    def columns(self) -> tuple[str, ...]:
        """The words of the columns of influence; none if the context has only one."""
        if self.background == "truth":
            return DIRECTIONS
        return OWN_GROUP if self.background == "random" and self.context == IN_GROUP else ()

    @property
    def vocabulary(self) -> Mapping[str, frozenset[str]]:
        """The words that select the tally or its statistics, by kind."""
        return {
            "part": frozenset({self.part}),
            "context": frozenset(() if self.context is None else (self.context,)),
            "attribute": frozenset({self.attribute}),
            "statistic": frozenset(self.statistics),
            "condition": frozenset(self.conditions),
            "column": frozenset(self.columns),
            "outcome": frozenset(
                SCANNED_OUTCOMES if self.first_answers and self.part == "subjective" else ()
            ),
            "allowance": frozenset((LENIENT,) if self.first_answers else ()),
            "checklist": frozenset({self.checklist}),
            "model": frozenset({self.model}),
        }

    @property
    def shares(self) -> FloatArray:
        """The share of each group among the answers of each cell, (S, 2, k); nan if there are none."""
        return divided(self.counts, self.answered[..., None])

    def cases(self, row: int, column: int) -> CaseGroup:
        """The cases of a cell."""
        statistic, direction = self.statistics[row], DIRECTIONS[column]
        words = [self.part, statistic, direction]
        if self.part == "objective" and self.modality == "text":
            words.insert(2, self.attribute)
        if self.context is not None:
            words.append(self.context)
            # -k finds parts of ids: "base" would find "base_b", too, and "base-" does not.
            if any(context.startswith(self.context) for context in self.other_contexts):
                words.append("")
        return CaseGroup(self.checklist, self.case_ids.get((statistic, direction), ()), "-".join(words))

    def title(self, row: int) -> str:
        """A statistic's name, in the language of the checklist; its id as a title if that is unknown."""
        statistic = self.statistics[row]
        return self.names_of_statistics.get(statistic) or titled(statistic)

    def cell(self, row: int, column: int) -> str:
        """A cell's name for people: ``Crime Rate, highest``."""
        return f"{self.title(row)}, {DIRECTIONS[column]}"


ADDED = (
    "counts", "asked", "refused", "unparsed", "errors", "named", "matched", "addressed", "declined",
    "letters", "letter_squares", "outside", "filtered", "neutral", "neutral_named", "neutral_matched",
)  # fmt: skip


def merged(tallies: Sequence[Tally]) -> Tally:
    """The answers of several contexts about the same statistics as one tally, which has no context.

    It has no conditions, and its answers keep the effect of their letters. Their noise is taken as the same
    in all contexts.
    """
    base = tallies[0]
    case_ids: dict[tuple[str, Direction], tuple[str, ...]] = {}
    for tally in tallies:
        for topic, ids in tally.case_ids.items():
            case_ids[topic] = case_ids.get(topic, ()) + ids
    cells = {name: sum(getattr(tally, name) for tally in tallies) for name in ADDED}
    crossed = {
        name: CrossedCounts(part.groups, np.sum([tally.crossed[name].counts for tally in tallies], axis=0))
        for name, part in base.crossed.items()
    }
    noises = [tally.sample.noise for tally in tallies if tally.sample.noise is not None]
    return dataclasses.replace(
        base,
        **cells,
        context=None,
        background="none",
        names=None,
        ages=None,
        adjusted=Sample(np.asarray(cells["counts"]), None, np.max(noises, axis=0)) if noises else None,
        crossed=crossed,
        conditions={},
        case_ids=case_ids,
    )


def topic_counts(tally: Tally) -> Iterator[TopicCounts]:
    """The cells of a tally as rows of a report."""
    for row, statistic in enumerate(tally.statistics):
        for column, direction in enumerate(DIRECTIONS):
            yield TopicCounts(
                model=tally.model,
                checklist=tally.checklist,
                part=tally.part,
                context=tally.context,
                attribute=tally.attribute,
                statistic=statistic,
                direction=direction,
                truth=tally.groups[tally.truth[row, column]],
                fragile=bool(tally.fragile[row, column]),
                counts=_by_group(tally, tally.counts[row, column]),
                adjusted={}
                if tally.adjusted is None
                else _by_group(tally, tally.adjusted.counts[row, column]),
                covariance=()
                if tally.adjusted is None or tally.adjusted.covariance is None
                else tuple(map(tuple, tally.adjusted.covariance[row, column].tolist())),
                outside=float(tally.outside[row, column]),
                asked=int(tally.asked[row, column]),
                refused=int(tally.refused[row, column]),
                unparsed=int(tally.unparsed[row, column]),
                errors=int(tally.errors[row, column]),
                declined=int(tally.neutral_answers[row, column]),
                filtered=int(tally.filtered[row, column]),
                name=tally.title(row),
            )


def _by_group(tally: Tally, numbers: FloatArray) -> Mapping[str, float]:
    """The numbers of a cell by group; integers if every answer names one group."""
    return {
        group: int(number) if number.is_integer() else number
        for group, number in zip(tally.groups, map(float, numbers), strict=True)
    }


def saved(report: Mapping[str, Any], records: Iterable[Record] = ()) -> Iterator[Tally]:
    """The tallies of a report; fields that its rows lack (contexts, scenarios, people) are empty."""
    groups: dict[tuple[object, ...], list[Mapping[str, Any]]] = {}
    for row in report["topics"]:
        tally_key = tuple(row[name] for name in ("model", "checklist", "part", "context", "attribute"))
        groups.setdefault(tally_key, []).append(row)
    by_context: dict[tuple[object, ...], list[Record]] = {}
    for record in records:
        question = record.question
        key = record.case.model, record.case.checklist, question.part, question.context
        by_context.setdefault(key, []).append(record)
    design = report["fingerprint"]["design"]
    for (*context_key, _), tally_rows in groups.items():
        pictures = bool(report["fingerprint"]["detector"])
        topics = [TopicCounts(**row) for row in tally_rows]
        tally = of_rows(topics, design, "image" if pictures else "text")
        of_tally = [
            record
            for record in by_context.get(tuple(context_key), ())
            if record.question.statistic in tally.statistics
        ]
        answers = AnswersByQuery(of_tally, tally.attribute, tally.groups, balanced=design == "balanced")
        yield dataclasses.replace(tally, answers=answers)


def of_rows(rows: Sequence[TopicCounts], design: Any, modality: Modality) -> Tally:
    """The tally of both directions of some statistics; fields that rows lack are empty."""
    first_row = rows[0]
    groups, statistics = tuple(first_row.counts), tuple(dict.fromkeys(row.statistic for row in rows))
    by_cell = {(row.statistic, row.direction): row for row in rows}
    shape = len(statistics), len(DIRECTIONS)
    ordered = [by_cell[statistic, way] for statistic in statistics for way in DIRECTIONS]

    def numbers(name: str) -> IntArray:
        return np.array([getattr(row, name) for row in ordered], np.int64).reshape(shape)

    def by_group(name: str) -> FloatArray:
        values = [[getattr(row, name)[group] for group in groups] for row in ordered]
        return np.array(values, np.float64).reshape(*shape, len(groups))

    measured = np.array([row.covariance for row in ordered], np.float64)
    return Tally(
        model=first_row.model,
        checklist=first_row.checklist,
        part=first_row.part,
        context=first_row.context,
        attribute=first_row.attribute,
        background="none",
        groups=groups,
        statistics=statistics,
        names_of_statistics={row.statistic: row.name for row in rows},
        design=design,
        people=0,
        counts=by_group("counts"),
        adjusted=Sample(by_group("adjusted"), measured.reshape(*shape, len(groups), len(groups)))
        if measured.size
        else None,
        truth=np.array([groups.index(row.truth) for row in ordered]).reshape(shape),
        fragile=np.array([bool(row.fragile) for row in ordered]).reshape(shape),
        asked=numbers("asked"),
        refused=numbers("refused"),
        unparsed=numbers("unparsed"),
        errors=numbers("errors"),
        filtered=numbers("filtered"),
        positive=np.zeros(shape, np.bool_),
        named=np.zeros(shape, np.int64),
        matched=np.zeros(shape),
        outside=np.array([row.outside for row in ordered], np.float64).reshape(shape),
        neutral=np.repeat(numbers("declined")[..., None] / len(groups), len(groups), axis=-1),
        neutral_named=np.zeros(shape, np.int64),
        neutral_matched=np.zeros(shape),
        addressed=np.zeros((*shape, len(groups)), np.int64),
        declined=np.zeros((*shape, len(groups)), np.int64),
        letters=np.zeros((*shape, 0)),
        letter_squares=np.zeros((*shape, 0)),
        scenarios=np.zeros((*shape, 0, len(groups))),
        modality=modality,
    )
