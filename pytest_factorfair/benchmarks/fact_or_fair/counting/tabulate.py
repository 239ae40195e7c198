"""Count the answers of records, in any order, as tallies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np

from pytest_factorfair.benchmarks.fact_or_fair.asking.people import age_bands, people_count
from pytest_factorfair.benchmarks.fact_or_fair.asking.queries import queries
from pytest_factorfair.benchmarks.fact_or_fair.checklist import (
    Context,
    FactOrFair,
    Statistic,
    TopicCase,
    background,
    scenario_name,
)
from pytest_factorfair.benchmarks.fact_or_fair.counting.answer_arrays import AnswerArrays, AnswerRow, given
from pytest_factorfair.benchmarks.fact_or_fair.counting.by_query import AnswersByQuery
from pytest_factorfair.benchmarks.fact_or_fair.counting.first_look import FirstAnswers
from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import (
    ChosenCells,
    Condition,
    ConditionValue,
    CrossedCounts,
    Tally,
)
from pytest_factorfair.domain import (
    DIRECTIONS,
    FILTERED,
    OUTCOMES,
    Answer,
    Choices,
    Direction,
    Outcome,
    Record,
    Sampling,
    Share,
)
from pytest_factorfair.errors import InputError
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray

Shown: TypeAlias = tuple[frozenset[int], ...]


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
    by_model: dict[str, list[Record]] = {model: [] for model in models}
    for record in records:
        if record.case.checklist == checklist.name and record.case.model in models:
            _enter(record, cases_by_id, entries, attributes)
            by_model[record.case.model].append(record)
    first_answers = {}
    if checklist.modality == "text":
        first_answers = {
            model: FirstAnswers(checklist, tuple(cases), sampling, of_model)
            for model, of_model in by_model.items()
        }
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
            first_answers=first_answers.get(key.model),
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
class TallyAnswers:
    """The answers of one tally, and those that are ``lost``, by outcome.

    ``neutral`` are the declined ones among the answers. ``asked`` (S, 2) are the queries, ``filtered`` (S, 2)
    the refusals that are the provider's; ``people`` is what was chosen besides groups.
    """

    answers: AnswerArrays
    lost: Mapping[Outcome, AnswerArrays]
    neutral: AnswerArrays
    asked: IntArray
    filtered: IntArray
    people: Mapping[str, ChosenCells]
    unlabelled: FloatArray | None = None


class LineupIndices(NamedTuple):
    """The groups that a question offers at its letters, as indices.

    ``first`` are those of who is first, among the values of that condition; ``crossing`` are the groups of
    each other attribute.
    """

    groups: tuple[int, ...]
    first: tuple[int, ...]
    crossing: tuple[tuple[int, ...], ...]


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
        self.lineup, self.values = cache(self._lineup), cache(self._values)  # many questions share them

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

    def _lineup(self, offered: tuple[tuple[str, tuple[str, ...]], ...]) -> LineupIndices:
        """The line-up of a question that offers these groups, by attribute."""
        groups = {
            name: tuple(map(self.checklist.attribute(name).groups.index, at_letters))
            for name, at_letters in offered
        }
        sizes = (attribute.k for attribute in self.simple)
        return LineupIndices(
            groups.get(self.attribute.name, ()),
            tuple(
                start + groups[attribute.name][0]
                for attribute, start in zip(self.simple, accumulate(sizes, initial=0), strict=False)
                if groups.get(attribute.name)
            ),
            tuple(groups[attribute.name] for attribute in self.other_attributes if attribute.name in groups),
        )

    def _values(
        self, scenario: int, named_index: int, age: int | None, first: tuple[int, ...]
    ) -> tuple[tuple[int, ...], ...]:
        """The indices of the values that each condition has for a question."""
        every = {
            "scenario": (scenario,),
            "named": (named_index,),
            "age": tuple(number for number, band in enumerate(self.bands) if age in band),
            "first": first,
        }
        return tuple(tuple(index for index in every[name] if index >= 0) for name in self.conditions)

    def _condition(self, number: int, name: str, counted: TallyAnswers, *, balanced: bool) -> Condition:
        """The answers by the values of a condition."""
        like = np.zeros((*self.shape, len(self.conditions[name]), self.attribute.k))
        valued = counted.answers.by_value(number)
        lost = sum(arrays.by_value(number).number(like[..., 0]) for arrays in counted.lost.values())
        sample = valued.sample(like, balanced=balanced, strata=valued.scenario)
        missing = lost + valued.total(valued.outside, like[..., 0])
        return Condition(self.conditions[name], sample, valued.number(like[..., 0]) + lost, missing)

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
        counted: TallyAnswers,
        *,
        records: Sequence[Record] = (),
        case_ids: Mapping[tuple[str, Direction], tuple[str, ...]] = MappingProxyType({}),
        shown: Shown = (),
        first_answers: FirstAnswers | None = None,
    ) -> Tally:
        """The tally of what was counted, with the true groups of the truth in force."""
        name, answer_arrays = self.attribute.name, counted.answers
        truth, fragile, positive = self._labels()
        none: FloatArray = np.zeros(self.shape)
        counts = np.zeros((*none.shape, self.attribute.k))
        letters = squares = np.zeros((*none.shape, self.options))
        if answer_arrays.lettered:
            letters, squares = (answer_arrays.total(answer_arrays.shares**n, letters) for n in (1, 2))
        answered_named = answer_arrays.by_named(counts)
        lost_named = {outcome: arrays.by_named(counts) for outcome, arrays in counted.lost.items()}
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
            names_of_statistics={statistic.id: statistic.name for statistic in self.checklist.statistics},
            design=self.sampling.design,
            people=self.people,
            counts=answer_arrays.total(answer_arrays.votes, counts),
            truth=truth,
            fragile=fragile,
            positive=positive,
            asked=counted.asked,
            refused=counted.lost["refused"].number(none),
            unparsed=counted.lost["unparsed"].number(none),
            errors=counted.lost["error"].number(none),
            filtered=counted.filtered,
            named=answered_named.sum(axis=-1),
            matched=answer_arrays.total(answer_arrays.matches, none),
            addressed=answered_named + sum(lost_named.values()),
            declined=lost_named["refused"] + counted.neutral.by_named(counts),
            neutral=counted.neutral.total(counted.neutral.votes, counts),
            neutral_named=counted.neutral.by_named(counts).sum(axis=-1),
            neutral_matched=counted.neutral.total(counted.neutral.matches, none),
            scenarios=self._scenarios(answer_arrays),
            letters=letters,
            letter_squares=squares,
            outside=answer_arrays.total(answer_arrays.outside, none),
            adjusted=answer_arrays.sample(counts, balanced=balanced, strata=answer_arrays.scenario)
            if effects or not answer_arrays.drawn
            else None,
            probable=not answer_arrays.drawn,
            noise=answer_arrays.letter_noise,
            shown=shown,
            first_answers=first_answers,
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
        shape = self.builder.shape
        self.asked: IntArray = np.zeros(shape, np.int64)
        self.answer_rows: dict[Outcome, list[AnswerRow]] = {outcome: [] for outcome in OUTCOMES}
        self.filtered: IntArray = np.zeros(shape, np.int64)
        self.neutral_rows: list[AnswerRow] = []
        self.records: list[Record] = []
        self.unlabelled: dict[str, list[AnswerRow]] = {}
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
                answer.noise,
            )
            for answer in answers
            if name in answer.groups or not answer.face
        )
        self.asked[cell] += len(answers) - len(faces) + len(pictures)
        self.filtered[cell] += sum(answer.reason == FILTERED for answer in answers)
        for (outcome, group, named, letter, offered, probabilities, age, noise), count in kinds.items():
            named_index = -1 if named is None else self._index(named, case)
            lineup = self.builder.lineup(offered)
            values = self.builder.values(scenario, named_index, age, lineup.first)
            groups: tuple[int, ...] = ()
            shares: tuple[float, ...] = ()
            if outcome == "answered":
                groups, shares = given(self._index(group, case), lineup.groups, letter, probabilities)
            elif probabilities:
                groups, shares = lineup.groups, probabilities
            answer_row = AnswerRow(
                *cell,
                scenario,
                named_index,
                groups,
                shares,
                sum(shares),
                count,
                values,
                lineup.crossing,
                noise,
            )
            self.answer_rows["answered" if groups else outcome].append(answer_row)
            if groups and outcome != "answered":
                self.neutral_rows.append(answer_row)
        if unnamed:
            values = ((),) * len(self.builder.conditions)
            self.answer_rows["unparsed"].append(
                AnswerRow(*cell, scenario, -1, (), (), 0.0, len(unnamed), values)
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
            at_letters = self.builder.lineup(offered).groups
            groups, shares = given(self._index(group, case), at_letters, letter, probabilities)
            answer_row = AnswerRow(0, column, -1, -1, groups, shares, sum(shares), count)
            self.unlabelled.setdefault(case.statistic, []).append(answer_row)

    def _index(self, group: str | None, case: TopicCase) -> int:
        if group not in self.builder.groups:
            name = self.builder.attribute.name
            raise InputError(f"{case.id}: '{group}' is not a group of {name} in '{case.checklist}'")
        return self.builder.groups[group]

    def counted(self) -> TallyAnswers:
        k = self.builder.attribute.k
        arrays = {outcome: AnswerArrays.of(rows, k) for outcome, rows in self.answer_rows.items()}
        further = [AnswerArrays.of(rows, k) for rows in self.unlabelled.values()]
        empty = np.zeros((1, len(DIRECTIONS), k))
        return TallyAnswers(
            arrays.pop("answered"),
            arrays,
            AnswerArrays.of(self.neutral_rows, k),
            self.asked,
            self.filtered,
            {kind: builder.cells() for kind, builder in self.people.items()},
            np.concatenate([answer_arrays.total(answer_arrays.votes, empty) for answer_arrays in further])
            if further
            else None,
        )
