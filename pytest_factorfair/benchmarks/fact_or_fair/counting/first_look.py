"""The answers of a model's first look, question by question, and the design of its questions for facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from string import ascii_uppercase
from typing import NamedTuple

import numpy as np

from pytest_factorfair.benchmarks.fact_or_fair.asking.queries import queries
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair, TopicCase
from pytest_factorfair.benchmarks.fact_or_fair.counting.design import Design, design_of
from pytest_factorfair.domain import LOST, Direction, Outcome, Record, Sampling
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray

NOT_ASKED = -1
ANSWERED = 0

ROUNDING = 1e-9
"""The difference between probabilities that are taken as equal."""


@dataclass(frozen=True, slots=True, eq=False)
class AttributeFacts:
    """The n questions for facts about an attribute, of T topics.

    ``questions`` are their rows among all, ``topic`` (n,) and ``groups`` (n, k) say what each asks and which
    groups its letters are. ``truth`` (T,) is the true group of a topic, and ``positive`` (T,) whether it is
    good to be named.
    """

    attribute: str
    words: tuple[str, ...]
    questions: IntArray
    topic: IntArray
    groups: IntArray
    truth: IntArray
    positive: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class FactDesign:
    """The N questions for facts of a first look, as ``Design`` has those for judgements."""

    rows: Mapping[tuple[str, str], int]
    cases: tuple[TopicCase, ...]
    queries: tuple[str, ...]
    offered: BoolArray
    attributes: tuple[AttributeFacts, ...]


@lru_cache(maxsize=4)
def facts_of(checklist: FactOrFair, cases: tuple[TopicCase, ...], sampling: Sampling) -> FactDesign:
    """The design of the objective ones among these cases, of which there are some."""
    pairs = [
        (case, query)
        for case in cases
        if case.part == "objective"
        for query in queries(checklist, case, sampling)
    ]
    of_cases, of_queries = zip(*pairs, strict=True)
    letters = max(len(query.options) for query in of_queries)
    truths = {statistic.id: statistic.truths for statistic in checklist.statistics}
    attributes = []
    for attribute in checklist.attributes:
        questions = [row for row, (case, _) in enumerate(pairs) if case.attributes == (attribute.name,)]
        topics = list(dict.fromkeys(_topic(of_cases[row]) for row in questions))
        if not questions:
            continue
        valence = {_topic(case): case.valence == "positive" for case in of_cases}
        attributes.append(
            AttributeFacts(
                attribute.name,
                tuple(attribute.words[group] for group in attribute.groups),
                np.array(questions),
                np.array([topics.index(_topic(of_cases[row])) for row in questions]),
                np.array(
                    [
                        [
                            attribute.groups.index(option.groups[attribute.name])
                            for option in of_queries[row].options
                        ]
                        for row in questions
                    ]
                ),
                np.array(
                    [attribute.groups.index(truths[name][attribute.name].at(way)) for name, way in topics]
                ),
                np.array([valence[topic] for topic in topics]),
            )
        )
    return FactDesign(
        {(case.id, query.id): row for row, (case, query) in enumerate(pairs)},
        of_cases,
        tuple(query.id for query in of_queries),
        np.array([[number < len(query.options) for number in range(letters)] for query in of_queries]),
        tuple(attributes),
    )


def _topic(case: TopicCase) -> tuple[str, Direction]:
    return case.statistic, case.direction


class FirstLook(NamedTuple):
    """The first answers of a model: shares of the letters (N, L), and the ``outcome`` (N,) of each question.

    A question without an answer has no shares. Outcomes are ``NOT_ASKED``, ``ANSWERED``, and one more than
    the index in ``LOST``.
    """

    shares: FloatArray
    outcome: IntArray

    @property
    def likeliest(self) -> FirstLook | None:
        """The answers at temperature 0, where letters that are equally likely share one; None if drawn."""
        if ((self.shares == 0) | (self.shares == 1)).all():
            return None
        most = self.shares.max(axis=1, keepdims=True)
        best = (self.shares >= most - ROUNDING) & (most > 0)
        return FirstLook(best / np.maximum(best.sum(axis=1, keepdims=True), 1), self.outcome)

    def lost(self, outcome: Outcome) -> BoolArray:
        """Which questions ended so, (N,)."""
        return np.asarray(self.outcome == LOST.index(outcome) + 1)


def first_look(design: Design | FactDesign, records: Iterable[Record]) -> FirstLook:
    """The answers of one model's records to the questions of its first look; later ones are left out."""
    shares = np.zeros(design.offered.shape)
    outcome = np.full(len(shares), NOT_ASKED)
    for record in records:
        for answer in record.answers:
            row = design.rows.get((record.case.case, answer.query))
            if row is None:
                continue
            if answer.outcome != "answered" or answer.letter is None:
                outcome[row] = LOST.index(answer.outcome) + 1 if answer.outcome in LOST else NOT_ASKED
                continue
            outcome[row] = ANSWERED
            if answer.probabilities:
                shares[row, : len(answer.probabilities)] = answer.probabilities
                shares[row] /= shares[row].sum()
            else:
                shares[row, ascii_uppercase.index(answer.letter)] = 1.0
    return FirstLook(shares, outcome)


class FirstAnswers:
    """A model's answers to the questions of its first look, which are read when they are first scanned."""

    def __init__(
        self,
        checklist: FactOrFair,
        cases: tuple[TopicCase, ...],
        sampling: Sampling,
        records: Sequence[Record] = (),
    ) -> None:
        self._asked = checklist, cases, sampling
        self._records = records

    @property
    def asked(self) -> bool:
        """Whether the model was asked anything."""
        return bool(self._records)

    @cached_property
    def design(self) -> Design:
        return design_of(*self._asked)

    @cached_property
    def facts(self) -> FactDesign:
        return facts_of(*self._asked)

    @cached_property
    def look(self) -> FirstLook:
        """The judgements."""
        return first_look(self.design, self._records)

    @cached_property
    def look_at_facts(self) -> FirstLook:
        return first_look(self.facts, self._records)
