"""Count the answers of records, in any order, as tallies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, chain
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np

from pytest_factorfair.domain import (
    DIRECTIONS,
    LOST,
    Answer,
    Choices,
    Direction,
    Outcome,
    Record,
    Sampling,
    Share,
)
from pytest_factorfair.errors import InputError
from pytest_factorfair.protocols.fact_or_fair.asking.people import age_bands, people_count
from pytest_factorfair.protocols.fact_or_fair.asking.queries import queries
from pytest_factorfair.protocols.fact_or_fair.checklist import (
    Context,
    FactOrFair,
    Statistic,
    TopicCase,
    background,
    scenario_name,
)
from pytest_factorfair.protocols.fact_or_fair.counting.answer_arrays import (
    AnswerArrays,
    AnswerRow,
    given,
    summed,
)
from pytest_factorfair.protocols.fact_or_fair.counting.by_query import AnswersByQuery
from pytest_factorfair.protocols.fact_or_fair.counting.tally import (
    ChosenCells,
    Condition,
    ConditionValue,
    CrossedCounts,
    Tally,
)
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray

Shown: TypeAlias = tuple[frozenset[int], ...]

Offered: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""The groups at the letters of a query, by attribute."""


def sets_shown(checklist: FactOrFair, cases: Sequence[TopicCase], sampling: Sampling) -> Mapping[str, Shown]:
    """For each crossed attribute of a balanced design, the groups that each query of one topic shows.

    Other attributes are left out: balanced queries show all their groups, and the ``paper`` design draws
    people independently.
    """
    crossed = [attribute for attribute in checklist.attributes if attribute.crossed]
    if sampling.design != "balanced" or checklist.modality == "image" or not crossed:
        return {}
    # All queries of one topic in one context are whole blocks, the same for every topic.
    stream = [case for case in cases if case.part == "subjective"]
    block = [
        query
        for case in stream
        if (case.statistic, case.direction, case.context)
        == (stream[0].statistic, stream[0].direction, stream[0].context)
        for query in queries(checklist, case, sampling)
    ]
    return {
        attribute.name: tuple(
            frozenset(attribute.groups.index(option.groups[attribute.name]) for option in query.options)
            for query in block
        )
        for attribute in crossed
    }


class Counting:
    """Counts case by case how often each name or age was shown and chosen."""

    def __init__(self, shape: tuple[int, int], values: Sequence[str]) -> None:
        self._columns = {value: index for index, value in enumerate(values)}
        self._cells: FloatArray = np.zeros((*shape, len(self._columns), 3))

    def enter(self, cell: tuple[int, int], shares: Mapping[str, Share]) -> None:
        """Add the shares of one case."""
        if shares:
            columns = [self._columns[value] for value in shares]
            self._cells[cell][columns] += np.array(list(shares.values()))

    def cells(self) -> ChosenCells:
        return ChosenCells(tuple(self._columns), self._cells)


def features(checklist: FactOrFair) -> Mapping[str, tuple[str, ...]]:
    """The names and ages of a checklist's people, by kind."""
    people = (checklist.people, checklist.paper_people)
    names = dict.fromkeys(name for pool in people for name in pool.names)
    ages = sorted({age for pool in people for age in pool.ages})
    return MappingProxyType({"name": tuple(names), "age": tuple(map(str, ages))})


NO_CONTEXT = Context(id="")


class TallyKey(NamedTuple):
    """The key of a tally in a checklist."""

    model: str
    part: str
    context: str | None
    attribute: str


def tabulate(
    records: Iterable[Record],
    checklist: FactOrFair,
    cases: Sequence[TopicCase],
    *,
    models: Sequence[str],
    sampling: Sampling,
) -> tuple[Tally, ...]:
    """Count the answers of a checklist's records: one tally per model, part, context and attribute.

    They are ordered by model, then part (objective first) and context, then attribute. ``cases`` are the
    checklist's cases in this run: a tally has every statistic that they ask about, answered or not; the
    scenarios of a topic are pooled. Records of other checklists and models are ignored.

    Raises:
        InputError: a record belongs to none of the cases, or names a group that the checklist lacks.
    """
    cases_by_id = {case.id: case for case in cases}
    attributes = [attribute.name for attribute in checklist.attributes]
    entries = {
        key: _Entries(checklist, key, statistics, sampling)
        for key, statistics in tally_keys(checklist, cases, models)
    }
    for record in records:
        if record.case.checklist == checklist.name and record.case.model in models:
            _enter(record, cases_by_id, entries, attributes)
    shown = sets_shown(checklist, cases, sampling)
    case_ids: dict[tuple[str, str | None, str], dict[tuple[str, Direction], tuple[str, ...]]] = {}
    for case in cases:
        for attribute in case.attributes:
            by_topic = case_ids.setdefault((case.part, case.context, attribute), {})
            topic = case.statistic, case.direction
            by_topic[topic] = (*by_topic.get(topic, ()), case.id)
    return tuple(
        tally_entries.builder.tally(
            tally_entries.counted(),
            records=tally_entries.records,
            case_ids=case_ids[key.part, key.context, key.attribute],
            shown=shown.get(key.attribute, ()) if key.context is not None else (),
        )
        for key, tally_entries in entries.items()
    )


def tally_keys(
    checklist: FactOrFair, cases: Sequence[TopicCase], models: Sequence[str]
) -> Iterator[tuple[TallyKey, tuple[Statistic, ...]]]:
    """The keys of a checklist's tallies, each with the statistics that its cases ask about."""
    asked = {
        (case.part, case.context, attribute, case.statistic)
        for case in cases
        for attribute in case.attributes
    }
    parts_and_contexts: list[tuple[str, str | None]] = [("objective", None)]
    parts_and_contexts += [("subjective", context.id) for context in checklist.contexts]
    for model in models:
        for part_and_context in parts_and_contexts:
            for attribute in checklist.attributes:
                statistics = tuple(
                    statistic
                    for statistic in checklist.statistics
                    if (*part_and_context, attribute.name, statistic.id) in asked
                )
                if statistics:
                    yield TallyKey(model, *part_and_context, attribute.name), statistics


def _enter(
    record: Record,
    cases_by_id: Mapping[str, TopicCase],
    entries: Mapping[TallyKey, _Entries],
    attributes: Sequence[str],
) -> None:
    case = cases_by_id.get(record.case.case)
    if case is None:
        raise InputError(
            f"{record.case.case}: checklist '{record.case.checklist}' has no such case in this run"
        )
    answers = tuple(record.answers)  # those kept by column are unpacked once, not for every attribute
    keys = {name: TallyKey(record.case.model, case.part, case.context, name) for name in attributes}
    for name, key in keys.items():
        if name in case.attributes:
            entries[key].records.append(record)
            entries[key].enter(case, answers, record.choices)
        elif key in entries:
            entries[key].enter_unlabelled(case, answers)


@dataclass(frozen=True, slots=True, eq=False)
class CellArrays:
    """The counts of one tally, as arrays of cells (S, 2).

    ``lost`` are lost answers by outcome. ``conditioned`` (S, 2, V, 2) are, for the values of each condition,
    the queries and those without an answer; ``people`` what was chosen besides groups.
    """

    answer_arrays: AnswerArrays
    asked: IntArray
    lost: Mapping[Outcome, IntArray]
    named: IntArray
    addressed: IntArray
    declined: IntArray
    conditioned: Mapping[str, IntArray]
    people: Mapping[str, ChosenCells]
    unlabelled: FloatArray | None = None


class LineUp(NamedTuple):
    """The groups at the letters of a query as indices, by attribute.

    ``first`` are the groups of the person at the first letter, among those of all simple attributes.
    """

    groups: Mapping[str, tuple[int, ...]]
    first: tuple[int, ...]


class TallyBuilder:
    """Builds one tally, and divides its answers by the conditions that vary within a topic."""

    def __init__(
        self,
        checklist: FactOrFair,
        key: TallyKey,
        statistics: tuple[Statistic, ...],
        sampling: Sampling,
    ) -> None:
        self.key = key
        self.checklist = checklist
        self.sampling = sampling
        self.people = people_count(checklist, sampling.design)
        self.attribute = checklist.attribute(key.attribute)
        self.context = next(
            (context for context in checklist.contexts if context.id == key.context), NO_CONTEXT
        )
        self.statistics = statistics
        self.rows = {statistic.id: row for row, statistic in enumerate(self.statistics)}
        self.groups = {group: index for index, group in enumerate(self.attribute.groups)}
        self.shape = len(self.statistics), len(DIRECTIONS)
        self.options = self.attribute.k if key.part == "objective" else self.people
        judged = key.part == "subjective"
        self.features = features(checklist) if judged else {}
        lettered = judged and checklist.modality == "text"
        self.simple = [attribute for attribute in checklist.attributes if lettered and not attribute.crossed]
        self.other_attributes = [attribute for attribute in self.simple if attribute.name != key.attribute]
        self.bands = age_bands(checklist) if lettered else ()
        self.conditions = self._conditions() if lettered else {}

    def _conditions(self) -> Mapping[str, tuple[ConditionValue, ...]]:
        """The conditions that vary between the questions of a topic, with their values."""
        scenarios = max((len(topic.scenarios) for topic in self.checklist.topics), default=0)
        names_group = background(self.context, self.attribute) == "random"
        every = {
            "scenario": tuple(ConditionValue(scenario_name(number + 1)) for number in range(scenarios)),
            "named": tuple(
                ConditionValue(group, self.attribute.name) for group in self.attribute.groups if names_group
            ),
            "age": tuple(
                ConditionValue(" to ".join(map(str, sorted({band[0], band[-1]}))), ages=band)
                for band in self.bands
            ),
            "first": tuple(
                ConditionValue(group, attribute.name)
                for attribute in self.simple
                for group in attribute.groups
            ),
        }
        return {name: values for name, values in every.items() if len(values) > 1}

    def values(
        self, scenario: int, named_index: int, age: int | None, line_up: LineUp
    ) -> tuple[tuple[int, ...], ...]:
        """The indices of the values that each condition has for a question."""
        every = {
            "scenario": (scenario,) if scenario >= 0 else (),
            "named": (named_index,) if named_index >= 0 else (),
            "age": self._bands_of_ages.get(age, ()),
            "first": line_up.first,
        }
        return tuple([every[name] for name in self.conditions])

    @cached_property
    def _bands_of_ages(self) -> Mapping[int | None, tuple[int, ...]]:
        """The indices of the bands that each age is in."""
        return {
            age: tuple(number for number, band in enumerate(self.bands) if age in band)
            for age in chain(*self.bands)
        }

    def line_up(self, offered: Offered) -> LineUp:
        """The people of a query."""
        people = {
            name: tuple(map(self.checklist.attribute(name).groups.index, groups)) for name, groups in offered
        }
        starts = accumulate((attribute.k for attribute in self.simple), initial=0)
        first = [
            start + people[attribute.name][0]
            for start, attribute in zip(starts, self.simple, strict=False)
            if people.get(attribute.name)
        ]
        return LineUp(people, tuple(first))

    def _condition(self, number: int, name: str, counted: CellArrays, *, balanced: bool) -> Condition:
        """The answers by the values of a condition."""
        asked, lost = np.moveaxis(counted.conditioned[name], -1, 0)
        valued = counted.answer_arrays.by_value(number)
        like = np.zeros((*asked.shape, self.attribute.k))
        sample = valued.sample(like, balanced=balanced, strata=valued.scenario)
        missing = lost + valued.total(valued.outside, np.zeros(asked.shape))
        return Condition(self.conditions[name], sample, asked, missing)

    def _crossed(self, answer_arrays: AnswerArrays) -> Iterator[tuple[str, CrossedCounts]]:
        """The answers by the chosen person's group of each other attribute, if all answers have one."""
        for number, attribute in enumerate(self.other_attributes):
            if answer_arrays.crossing or not answer_arrays.times.size:
                like = np.zeros((*self.shape, attribute.k, self.attribute.k))
                yield attribute.name, CrossedCounts(attribute.groups, answer_arrays.crossed(number, like))

    def _scenarios(self, answer_arrays: AnswerArrays) -> FloatArray:
        """The answers by scenario, (S, 2, scenarios, k)."""
        topics = () if self.key.part == "objective" else self.checklist.topics
        scenario_count = max((len(topic.scenarios) for topic in topics), default=0)
        return answer_arrays.by_scenario(np.zeros((*self.shape, scenario_count, self.attribute.k)))

    def _labels(self) -> tuple[IntArray, BoolArray, BoolArray]:
        """Each topic's true group, whether that is fragile, and whether the topic is positive, (S, 2)."""
        truths = [statistic.truths[self.attribute.name] for statistic in self.statistics]
        positive = [
            [(statistic.valence == "positive") == (way == "highest") for way in DIRECTIONS]
            for statistic in self.statistics
        ]
        return (
            np.array([[self.groups[truth.at(way)] for way in DIRECTIONS] for truth in truths]),
            np.array([[way in truth.fragile for way in DIRECTIONS] for truth in truths]),
            np.array(positive),
        )

    def tally(
        self,
        counted: CellArrays,
        *,
        records: Sequence[Record] = (),
        case_ids: Mapping[tuple[str, Direction], tuple[str, ...]] = MappingProxyType({}),
        shown: Shown = (),
    ) -> Tally:
        """The tally of what was counted, with the true groups of the truth in force."""
        name, answer_arrays = self.attribute.name, counted.answer_arrays
        truth, fragile, positive = self._labels()
        none: FloatArray = np.zeros(self.shape)
        counts = np.zeros((*none.shape, self.attribute.k))
        letters = squares = np.zeros((*none.shape, self.options))
        if answer_arrays.lettered:
            letters, squares = (answer_arrays.total(answer_arrays.shares**n, letters) for n in (1, 2))
        balanced = self.sampling.design == "balanced"
        # Groups that are drawn without letters or scenarios vary as a multinomial does.
        effects = (answer_arrays.lettered and balanced) or bool((answer_arrays.scenario >= 0).any())
        return Tally(
            model=self.key.model,
            checklist=self.checklist.name,
            part=self.key.part,
            context=self.key.context,
            background=background(self.context, self.attribute),
            attribute=name,
            groups=self.attribute.groups,
            statistics=tuple(self.rows),
            design=self.sampling.design,
            people=self.people,
            counts=answer_arrays.total(answer_arrays.votes, counts),
            truth=truth,
            fragile=fragile,
            positive=positive,
            asked=counted.asked,
            refused=counted.lost["refused"],
            unparsed=counted.lost["unparsed"],
            errors=counted.lost["error"],
            named=counted.named,
            matched=answer_arrays.total(answer_arrays.matches, none),
            addressed=counted.addressed,
            declined=counted.declined,
            scenarios=self._scenarios(answer_arrays),
            letters=letters,
            letter_squares=squares,
            outside=answer_arrays.total(answer_arrays.outside, none),
            adjusted=answer_arrays.sample(counts, balanced=balanced, strata=answer_arrays.scenario)
            if effects or not answer_arrays.drawn
            else None,
            probable=not answer_arrays.drawn,
            shown=shown,
            conditions={
                condition: self._condition(number, condition, counted, balanced=balanced)
                for number, condition in enumerate(self.conditions)
                if balanced or condition != "age"  # elsewhere people of a question differ in age
            },
            crossed=dict(self._crossed(answer_arrays)),
            modality=self.checklist.modality,
            unlabelled=counted.unlabelled,
            answers=AnswersByQuery(records, name, self.attribute.groups, balanced=balanced),
            case_ids=case_ids,
            other_contexts=tuple(
                context.id for context in self.checklist.contexts if context.id != self.key.context
            ),
            **{f"{kind}s": cells for kind, cells in counted.people.items()},
        )


class Question(NamedTuple):
    """One or more equal questions of a cell, with the values of its conditions; ``lost`` have no answer."""

    row: int
    column: int
    values: tuple[tuple[int, ...], ...]
    times: int
    lost: int


class _Entries:
    """Counts the answers of one tally, record by record."""

    def __init__(
        self,
        checklist: FactOrFair,
        key: TallyKey,
        statistics: tuple[Statistic, ...],
        sampling: Sampling,
    ) -> None:
        self.builder = TallyBuilder(checklist, key, statistics, sampling)
        shape, k = self.builder.shape, self.builder.attribute.k
        self.asked: IntArray = np.zeros(shape, np.int64)
        self.lost: dict[Outcome, IntArray] = {outcome: np.zeros(shape, np.int64) for outcome in LOST}
        self.named: IntArray = np.zeros(shape, np.int64)
        self.answer_rows: list[AnswerRow] = []
        self.records: list[Record] = []
        self.unlabelled: dict[str, list[AnswerRow]] = {}
        self.line_up = cache(self.builder.line_up)  # few recur in many queries
        self.questions: list[Question] = []
        self.addressed: IntArray = np.zeros((*shape, k), np.int64)
        self.declined: IntArray = np.zeros((*shape, k), np.int64)
        self.people = {kind: Counting(shape, values) for kind, values in self.builder.features.items()}

    def enter(self, case: TopicCase, answers: Sequence[Answer], choices: Choices) -> None:
        """Add the answers of one case; equal answers are counted before they are looked at."""
        cell = self.builder.rows[case.statistic], DIRECTIONS.index(case.direction)
        scenario = -1 if case.scenario is None else case.scenario - 1
        name = self.builder.attribute.name
        faces = [answer for answer in answers if answer.face]
        pictures = {answer.query for answer in faces}
        unnamed = pictures - {answer.query for answer in faces if name in answer.groups}
        kinds = Counter(
            (
                answer.outcome,
                answer.groups.get(name),
                answer.background.get(name),
                answer.letter,
                tuple(answer.offered.items()),
                answer.probabilities,
                answer.age,
            )
            for answer in answers
            if not answer.face or name in answer.groups
        )
        self.asked[cell] += len(answers) - len(faces) + len(pictures)
        self.lost["unparsed"][cell] += len(unnamed)
        for (outcome, group, named, letter, offered, probabilities, age), count in kinds.items():
            named_index = -1 if named is None else self._index(named, case)
            line_up = self.line_up(offered)
            people = line_up.groups
            values = self.builder.values(scenario, named_index, age, line_up)
            self.questions.append(Question(*cell, values, count, count * (outcome != "answered")))
            if named is not None:
                self.addressed[(*cell, named_index)] += count
                self.declined[(*cell, named_index)] += count * (outcome == "refused")
            if outcome != "answered":
                self.lost[outcome][cell] += count
                continue
            self.named[cell] += count * (named is not None)
            groups, shares = given(self._index(group, case), people.get(name, ()), letter, probabilities)
            crossing = tuple(
                people[attribute.name]
                for attribute in self.builder.other_attributes
                if attribute.name in people
            )
            self.answer_rows.append(
                AnswerRow(*cell, scenario, named_index, groups, shares, sum(shares), count, values, crossing)
            )
        for kind, builder in self.people.items():
            builder.enter(cell, choices.get(kind, {}))

    def enter_unlabelled(self, case: TopicCase, answers: Sequence[Answer]) -> None:
        """Add answers with a group of the attribute to a topic in which no group is true."""
        name, column = self.builder.attribute.name, DIRECTIONS.index(case.direction)
        kinds = Counter(
            (answer.groups[name], answer.letter, tuple(answer.offered.items()), answer.probabilities)
            for answer in answers
            if answer.outcome == "answered" and name in answer.groups
        )
        for (group, letter, offered, probabilities), count in kinds.items():
            offer = self.line_up(offered).groups.get(name, ())
            groups, shares = given(self._index(group, case), offer, letter, probabilities)
            answer_row = AnswerRow(0, column, -1, -1, groups, shares, sum(shares), count)
            self.unlabelled.setdefault(case.statistic, []).append(answer_row)

    def _conditioned(self) -> Mapping[str, IntArray]:
        """The queries, and those without an answer, by the values of each condition."""
        counts: dict[str, IntArray] = {}
        for number, (name, values) in enumerate(self.builder.conditions.items()):
            entries = [
                (row, column, index, times, lost)
                for row, column, indices, times, lost in self.questions
                for index in indices[number]
            ]
            *cells, times, lost = np.array(entries, np.int64).reshape(-1, 5).T
            like = np.zeros((*self.builder.shape, len(values), 2))
            counts[name] = summed(cells, np.stack([times, lost], axis=-1), like).astype(np.int64)
        return counts

    def _index(self, group: str | None, case: TopicCase) -> int:
        if group not in self.builder.groups:
            name = self.builder.attribute.name
            raise InputError(f"{case.id}: '{group}' is not a group of {name} in '{case.checklist}'")
        return self.builder.groups[group]

    def counted(self) -> CellArrays:
        k = self.builder.attribute.k
        further = [AnswerArrays.of(answer_rows, k) for answer_rows in self.unlabelled.values()]
        empty = np.zeros((1, len(DIRECTIONS), k))
        return CellArrays(
            AnswerArrays.of(self.answer_rows, k),
            self.asked,
            self.lost,
            self.named,
            self.addressed,
            self.declined,
            self._conditioned(),
            {kind: builder.cells() for kind, builder in self.people.items()},
            np.concatenate([answer_arrays.total(answer_arrays.votes, empty) for answer_arrays in further])
            if further
            else None,
        )
