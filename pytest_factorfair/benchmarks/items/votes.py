"""The answer key of a checklist of items, and one model's answers, as plain arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.benchmarks.items.checklist import ANSWER, SAME, UNKNOWN, ItemCase, MarkedOption
from pytest_factorfair.domain import LOST, Outcome, Record
from pytest_factorfair.errors import InputError
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class AnswerKey:
    """The meaning of each item's options: boolean arrays of the shape (items, options + 3).

    The last three columns stand for lost answers, in the order of ``LOST``. ``apart`` marks options that tell
    groups apart: all but *same* and *unknown*. ``cluster`` (items,) numbers the clusters.
    """

    checklist: str
    cases: tuple[ItemCase, ...]
    offered: BoolArray
    right: BoolArray
    stereotype: BoolArray
    favourable: BoolArray
    apart: BoolArray
    same: BoolArray
    cluster: IntArray

    @classmethod
    def of(cls, checklist: str, cases: Sequence[ItemCase]) -> AnswerKey:
        width = max((len(case.item.options) for case in cases), default=0) + len(LOST)

        def marked(holds: Callable[[MarkedOption], bool]) -> BoolArray:
            marks = np.zeros((len(cases), width), np.bool_)
            for row, case in enumerate(cases):
                marks[row, : len(case.item.options)] = [holds(option) for option in case.item.options]
            return marks

        names = [case.item.cluster for case in cases]
        return cls(
            checklist,
            tuple(cases),
            offered=marked(lambda _: True),
            right=marked(lambda option: option.right),
            stereotype=marked(lambda option: option.stereotype),
            favourable=marked(lambda option: option.favourable),
            apart=marked(lambda option: option.means not in (SAME, UNKNOWN)),
            same=marked(lambda option: option.means == SAME),
            cluster=np.unique(names, return_inverse=True)[1] if names else np.zeros(0, np.int64),
        )

    def at(self, rows: BoolArray) -> AnswerKey:
        """The key of some items, the same object each time: gates ask for few selections, but often."""
        if rows.all():
            return self
        selection = rows.tobytes()
        if selection not in self._selections:
            arrays = {
                field.name: getattr(self, field.name)[rows]
                for field in fields(self)
                if field.name not in ("checklist", "cases")
            }
            cases = tuple(np.array(self.cases, object)[rows].tolist())
            self._selections[selection] = replace(self, cases=cases, **arrays)
        return self._selections[selection]

    @cached_property
    def _selections(self) -> dict[bytes, AnswerKey]:
        return {}

    @cached_property
    def part(self) -> NDArray[np.str_]:
        """The condition of each item, (items,)."""
        return np.array([case.part for case in self.cases], np.str_)

    @cached_property
    def category(self) -> NDArray[np.str_]:
        """The category of each item, (items,)."""
        return np.array([case.item.category for case in self.cases], np.str_)

    @cached_property
    def vocabulary(self) -> Mapping[str, frozenset[str]]:
        """Every word that selects some of the items, by kind."""
        alike = {(case.part, case.item.category, *case.item.groups.items()): case for case in self.cases}
        words = [case.words for case in alike.values()]
        return {
            kind: frozenset[str]().union(*(by_kind[kind] for by_kind in words))
            for kind in ("part", "category", "attribute", "group")
        }


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """How often one model chose each option of each item.

    ``votes`` has the shape of the key's arrays; the probabilities of an answer are shared among the options.
    ``mass`` (items,) is the total probability of the letters, summed over answers.
    """

    model: str
    key: AnswerKey
    votes: FloatArray
    mass: FloatArray
    benchmark: str = "items"

    @property
    def checklist(self) -> str:
        return self.key.checklist

    @property
    def comparison_key(self) -> str:
        """The checklist: other runs may have asked its items, too."""
        return self.key.checklist

    @property
    def vocabulary(self) -> Mapping[str, frozenset[str]]:
        """Every word that selects the votes or some of their items, by kind."""
        return {
            "model": frozenset({self.model}),
            "checklist": frozenset({self.checklist}),
            **self.key.vocabulary,
        }

    @property
    def answered(self) -> FloatArray:
        """Valid answers per item, (items,)."""
        return np.asarray(self.votes[:, : -len(LOST)].sum(axis=1))

    @property
    def asked(self) -> FloatArray:
        """Answers per item, lost ones included, (items,)."""
        return np.asarray(self.votes.sum(axis=1))

    def at(self, rows: BoolArray) -> Votes:
        """The votes of some items."""
        return replace(self, key=self.key.at(rows), votes=self.votes[rows], mass=self.mass[rows])

    def without(self, lost: Sequence[Outcome]) -> Votes:
        """The votes without these lost answers."""
        votes = self.votes.copy()
        votes[:, [LOST.index(outcome) - len(LOST) for outcome in lost]] = 0
        return replace(self, votes=votes)


def count(records: Iterable[Record], key: AnswerKey, *, model: str) -> Votes:
    """Count one model's answers to the items of a key; other records are ignored.

    Raises:
        InputError: an answer that its item does not offer.
    """
    rows = {case.id: row for row, case in enumerate(key.cases)}
    votes, mass = np.zeros(key.offered.shape), np.zeros(len(key.cases))
    for record in records:
        row = rows.get(record.case.case)
        if record.case[:2] != (model, key.checklist) or row is None:
            continue
        columns = {option.means: column for column, option in enumerate(key.cases[row].item.options)}
        for answer in record.answers:
            if answer.outcome != "answered":
                votes[row, LOST.index(answer.outcome) - len(LOST)] += 1
                continue
            means, shares = answer.offered.get(ANSWER, ()), answer.probabilities
            if not shares:
                means, shares = (answer.groups.get(ANSWER, ""),), (1.0,)
            mass[row] += sum(shares)
            for meaning, share in zip(means, shares, strict=True):
                if meaning not in columns:
                    raise InputError(f"{key.cases[row].id}: no option means '{meaning}'")
                votes[row, columns[meaning]] += share / sum(shares)
    return Votes(model, key, votes, mass)
