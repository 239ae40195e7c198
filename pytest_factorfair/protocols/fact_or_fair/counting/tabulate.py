"""From records to tallies, whatever the order of the records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np

from pytest_factorfair.domain import (
    DIRECTIONS,
    LOST,
    Answer,
    Attribute,
    Choices,
    Outcome,
    Record,
    Sampling,
    Share,
)
from pytest_factorfair.errors import InputError
from pytest_factorfair.protocols.fact_or_fair.asking.people import people_count
from pytest_factorfair.protocols.fact_or_fair.asking.queries import queries
from pytest_factorfair.protocols.fact_or_fair.checklist import (
    Background,
    Context,
    FactOrFair,
    Statistic,
    TopicCase,
)
from pytest_factorfair.protocols.fact_or_fair.counting.ballots import Ballot, Box, given
from pytest_factorfair.protocols.fact_or_fair.counting.tally import ChosenCells, Tally
from pytest_factorfair.statistics.arrays import FloatArray, IntArray


def background(context: Context, attribute: Attribute) -> Background:
    """The group of the attribute that the context names: none, the true one, or a random one."""
    placeholder = f"{{{attribute.name}}}"
    named = {
        "none": False,
        "truth": attribute.name in context.attributes,
        "random": placeholder in context.text,
    }
    return context.background if named[context.background] else "none"


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
        one.name: tuple(
            frozenset(one.groups.index(option.groups[one.name]) for option in query.options)
            for query in block
        )
        for one in crossed
    }


class Counting:
    """The cells while cases come in."""

    def __init__(self, shape: tuple[int, int], values: Sequence[str]) -> None:
        self._places = {value: place for place, value in enumerate(values)}
        self._cells: FloatArray = np.zeros((*shape, len(self._places), 3))

    def enter(self, cell: tuple[int, int], shares: Mapping[str, Share]) -> None:
        """Add what one case showed, and what was chosen."""
        if shares:
            places = [self._places[value] for value in shares]
            self._cells[cell][places] += np.array(list(shares.values()))

    def cells(self) -> ChosenCells:
        return ChosenCells(tuple(self._places), self._cells)


def features(checklist: FactOrFair) -> Mapping[str, tuple[str, ...]]:
    """The attributes of people besides groups, with all their values."""
    people = (checklist.people, checklist.paper_people)
    names = dict.fromkeys(name for pool in people for name in pool.names)
    ages = sorted({age for pool in people for age in pool.ages})
    return MappingProxyType({"name": tuple(names), "age": tuple(map(str, ages))})


NO_CONTEXT = Context(id="")


class TallyKey(NamedTuple):
    """What tells tallies apart."""

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
    known = {case.id: case for case in cases}
    people = people_count(checklist, sampling.design)
    attributes = [attribute.name for attribute in checklist.attributes]
    sheets = {
        slot: _Sheet(checklist, slot, statistics, people)
        for slot, statistics in _slots(checklist, cases, models)
    }
    for record in records:
        if record.case.checklist == checklist.name and record.case.model in models:
            _enter(record, known, sheets, attributes)
    shown = sets_shown(checklist, cases, sampling)
    return tuple(
        sheet.tally(sampling, people, shown.get(slot.attribute, ()) if slot.context is not None else ())
        for slot, sheet in sheets.items()
    )


def _slots(
    checklist: FactOrFair, cases: Sequence[TopicCase], models: Sequence[str]
) -> Iterator[tuple[TallyKey, tuple[Statistic, ...]]]:
    """Where tallies belong, and the statistics that the cases ask about there."""
    asked = {(case.part, case.context, each, case.statistic) for case in cases for each in case.attributes}
    places: list[tuple[str, str | None]] = [("objective", None)]
    places += [("subjective", context.id) for context in checklist.contexts]
    for model in models:
        for place in places:
            for attribute in checklist.attributes:
                found = tuple(
                    one for one in checklist.statistics if (*place, attribute.name, one.id) in asked
                )
                if found:
                    yield TallyKey(model, *place, attribute.name), found


def _enter(
    record: Record,
    known: Mapping[str, TopicCase],
    sheets: Mapping[TallyKey, _Sheet],
    attributes: Sequence[str],
) -> None:
    case = known.get(record.case.case)
    if case is None:
        raise InputError(
            f"{record.case.case}: checklist '{record.case.checklist}' has no such case in this run"
        )
    answers = tuple(record.answers)  # those kept by column are unpacked once, not for every attribute
    slots = {name: TallyKey(record.case.model, case.part, case.context, name) for name in attributes}
    for name, slot in slots.items():
        if name in case.attributes:
            sheets[slot].enter(case, answers, record.choices)
        elif slot in sheets:
            sheets[slot].enter_unlabelled(case, answers)


class _Sheet:
    """The counts of one tally while records come in."""

    def __init__(
        self, checklist: FactOrFair, slot: TallyKey, statistics: tuple[Statistic, ...], people: int
    ) -> None:
        self.slot = slot
        self.checklist = checklist
        self.attribute = checklist.attribute(slot.attribute)
        self.context = next((each for each in checklist.contexts if each.id == slot.context), NO_CONTEXT)
        self.statistics = statistics
        self.rows = {statistic.id: row for row, statistic in enumerate(self.statistics)}
        self.groups = {group: index for index, group in enumerate(self.attribute.groups)}
        shape = len(self.statistics), len(DIRECTIONS)
        self.asked: IntArray = np.zeros(shape, np.int64)
        self.lost: dict[Outcome, IntArray] = {outcome: np.zeros(shape, np.int64) for outcome in LOST}
        self.named: IntArray = np.zeros(shape, np.int64)
        self.ballots: list[Ballot] = []
        self.unlabelled: dict[str, list[Ballot]] = {}
        self.offers: dict[tuple[str, ...], tuple[int, ...]] = {}  # few line-ups recur in many queries
        self.options = self.attribute.k if slot.part == "objective" else people
        self.addressed: IntArray = np.zeros((*shape, self.attribute.k), np.int64)
        self.declined: IntArray = np.zeros((*shape, self.attribute.k), np.int64)
        self.people = {
            kind: Counting(shape, values)
            for kind, values in (features(checklist) if slot.part == "subjective" else {}).items()
        }

    def enter(self, case: TopicCase, answers: Sequence[Answer], choices: Choices) -> None:
        """Add the answers of one case; equal answers are counted before they are looked at."""
        cell = self.rows[case.statistic], DIRECTIONS.index(case.direction)
        scenario = -1 if case.scenario is None else case.scenario - 1
        name = self.attribute.name
        faces = [answer for answer in answers if answer.face]
        pictures = {answer.query for answer in faces}
        unnamed = pictures - {answer.query for answer in faces if name in answer.groups}
        kinds = Counter(
            (
                answer.outcome,
                answer.groups.get(name),
                answer.background.get(name),
                answer.letter,
                answer.offered.get(name, ()),
                answer.probabilities,
            )
            for answer in answers
            if not answer.face or name in answer.groups
        )
        self.asked[cell] += len(answers) - len(faces) + len(pictures)
        self.lost["unparsed"][cell] += len(unnamed)
        for (outcome, group, named, letter, offered, probabilities), count in kinds.items():
            if named is not None:
                self.addressed[(*cell, self._index(named, case))] += count
                self.declined[(*cell, self._index(named, case))] += count * (outcome == "refused")
            if outcome != "answered":
                self.lost[outcome][cell] += count
                continue
            self.named[cell] += count * (named is not None)
            groups, shares = self._given(case, group, letter, offered, probabilities)
            there = -1 if named is None else self._index(named, case)
            self.ballots.append(Ballot(*cell, scenario, there, groups, shares, sum(shares), count))

        for kind, counting in self.people.items():
            counting.enter(cell, choices.get(kind, {}))

    def enter_unlabelled(self, case: TopicCase, answers: Sequence[Answer]) -> None:
        """Add answers with a group of the attribute to a topic in which no group is true."""
        name, column = self.attribute.name, DIRECTIONS.index(case.direction)
        kinds = Counter(
            (answer.groups[name], answer.letter, answer.offered.get(name, ()), answer.probabilities)
            for answer in answers
            if answer.outcome == "answered" and name in answer.groups
        )
        for kind, count in kinds.items():
            groups, shares = self._given(case, *kind)
            ballot = Ballot(0, column, -1, -1, groups, shares, sum(shares), count)
            self.unlabelled.setdefault(case.statistic, []).append(ballot)

    def _given(
        self,
        case: TopicCase,
        group: str | None,
        letter: str | None,
        offered: tuple[str, ...],
        probabilities: tuple[float, ...],
    ) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """The groups at the letters of an answer, and their shares."""
        if offered not in self.offers:
            self.offers[offered] = tuple(self._index(each, case) for each in offered)
        return given(self._index(group, case), self.offers[offered], letter, probabilities)

    def _index(self, group: str | None, case: TopicCase) -> int:
        if group not in self.groups:
            raise InputError(
                f"{case.id}: '{group}' is not a group of {self.attribute.name} in '{case.checklist}'"
            )
        return self.groups[group]

    def tally(self, sampling: Sampling, people: int, shown: Shown) -> Tally:
        """What has been counted, with the labels of the truth in force beside it."""
        name = self.attribute.name
        truths = [statistic.truths[name] for statistic in self.statistics]
        box = Box.of(self.ballots, self.attribute.k)
        none: FloatArray = np.zeros((len(self.statistics), len(DIRECTIONS)))
        counts = np.zeros((*none.shape, self.attribute.k))
        letters = np.zeros((*none.shape, self.options))
        topics = () if self.slot.part == "objective" else self.checklist.topics
        most = max((len(topic.scenarios) for topic in topics), default=0)
        scenarios = np.zeros((*none.shape, most, self.attribute.k))
        balanced = sampling.design == "balanced"
        # Groups that are drawn without letters or scenarios vary as a multinomial does.
        effects = (box.lettered and balanced) or bool((box.scenario >= 0).any())
        return Tally(
            model=self.slot.model,
            checklist=self.checklist.name,
            part=self.slot.part,
            context=self.slot.context,
            background=background(self.context, self.attribute),
            attribute=name,
            groups=self.attribute.groups,
            statistics=tuple(self.rows),
            design=sampling.design,
            people=people,
            counts=box.total(box.votes, counts),
            truth=np.array([[self.groups[truth.at(way)] for way in DIRECTIONS] for truth in truths]),
            fragile=np.array([[way in truth.fragile for way in DIRECTIONS] for truth in truths]),
            positive=np.array(
                [
                    [(one.valence == "positive") == (way == "highest") for way in DIRECTIONS]
                    for one in self.statistics
                ]
            ),
            asked=self.asked,
            refused=self.lost["refused"],
            unparsed=self.lost["unparsed"],
            errors=self.lost["error"],
            named=self.named,
            matched=box.total(box.matches, none),
            addressed=self.addressed,
            declined=self.declined,
            scenarios=box.by_scenario(scenarios),
            letters=box.total(box.shares, letters) if box.lettered else letters,
            letter_squares=box.total(box.shares**2, letters) if box.lettered else letters,
            outside=box.total(box.outside, none),
            adjusted=box.sample(counts, balanced=balanced, strata=box.scenario)
            if effects or not box.drawn
            else None,
            probable=not box.drawn,
            shown=shown,
            modality=self.checklist.modality,
            unlabelled=self._unlabelled(),
            **{f"{kind}s": counting.cells() for kind, counting in self.people.items()},
        )

    def _unlabelled(self) -> FloatArray | None:
        boxes = [Box.of(ballots, self.attribute.k) for ballots in self.unlabelled.values()]
        empty = np.zeros((1, len(DIRECTIONS), self.attribute.k))
        return np.concatenate([box.total(box.votes, empty) for box in boxes]) if boxes else None
