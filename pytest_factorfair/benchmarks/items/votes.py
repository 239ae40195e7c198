"""The answer key of a checklist of items, and one model's answers, as plain arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.benchmarks.items.checklist import ANSWER, SAME, UNKNOWN, ItemCase, MarkedOption
from pytest_factorfair.benchmarks.items.scan import ItemAnswers, ItemQuestions
from pytest_factorfair.benchmarks.measurement import Cell
from pytest_factorfair.benchmarks.scan import LENIENT
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
    ``mass`` (items,) is the total probability of the letters, summed over answers. ``declined`` (items,) are
    the answers that count as even choices, and ``filtered`` (items,) the refused ones that the provider
    withheld. ``answers`` are those to single questions, which scans need.
    """

    model: str
    key: AnswerKey
    votes: FloatArray
    mass: FloatArray
    declined: IntArray
    filtered: IntArray
    answers: ItemAnswers | None = None
    benchmark: str = "items"

    @classmethod
    def of(cls, model: str, key: AnswerKey, votes: FloatArray) -> Votes:
        """Votes of which none was declined or filtered, and whose letters have all the probability."""
        none = np.zeros(len(votes), np.int64)
        return cls(model, key, votes, votes[:, : -len(LOST)].sum(axis=1), none, none)

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
            "scan": frozenset(self.answers.questions.words if self.answers else ()),
            "allowance": frozenset({LENIENT} if self.answers and self.answers.questions.words else ()),
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
        arrays = {name: getattr(self, name)[rows] for name in ("votes", "mass", "declined", "filtered")}
        return replace(self, key=self.key.at(rows), **arrays)

    @property
    def cells(self) -> Iterator[Cell]:
        """The numbers of answers to each item, asked and lost."""
        columns = (*self.votes[:, -len(LOST) :].T, self.declined, self.filtered)
        lost = np.stack(columns, axis=1).astype(int).tolist()
        for case, asked, numbers in zip(self.key.cases, self.asked.round().tolist(), lost, strict=True):
            refused, unparsed, errors, declined, filtered = numbers
            yield Cell(case.id, int(asked), refused, unparsed, errors, declined=declined, filtered=filtered)

    def cell(self, name: str) -> Cell:
        """The numbers of all its answers."""
        refused, unparsed, errors = self.votes[:, -len(LOST) :].sum(axis=0).astype(int).tolist()
        answered = float(self.answered.sum())
        mass = float(self.mass.sum()) / answered if answered else 1.0
        return Cell(
            name,
            round(float(self.asked.sum())),
            refused,
            unparsed,
            errors,
            mass=min(mass, 1.0),
            declined=int(self.declined.sum()),
            filtered=int(self.filtered.sum()),
        )

    def without(self, lost: Sequence[Outcome]) -> Votes:
        """The votes without these lost answers."""
        votes = self.votes.copy()
        votes[:, [LOST.index(outcome) - len(LOST) for outcome in lost]] = 0
        return replace(self, votes=votes)


def count(
    records: Iterable[Record], key: AnswerKey, *, model: str, questions: ItemQuestions | None = None
) -> Votes:
    """Count one model's answers to the items of a key; other records are ignored.

    An answer without a letter that has probabilities was declined and counts as an even choice.

    Raises:
        InputError: an answer that its item does not offer.
    """
    rows = {case.id: row for row, case in enumerate(key.cases)}
    votes, mass = np.zeros(key.offered.shape), np.zeros(len(key.cases))
    declined, filtered = (np.zeros(len(key.cases), np.int64) for _ in range(2))
    counted = [
        record for record in records if record.case[:2] == (model, key.checklist) and record.case.case in rows
    ]
    for record in counted:
        row = rows[record.case.case]
        columns = {option.means: column for column, option in enumerate(key.cases[row].item.options)}
        for answer in record.answers:
            if answer.outcome != "answered" and not answer.probabilities:
                votes[row, LOST.index(answer.outcome) - len(LOST)] += 1
                filtered[row] += answer.reported_outcome == "filtered"
                continue
            declined[row] += answer.outcome != "answered"
            means, shares = answer.offered.get(ANSWER, ()), answer.probabilities
            if not shares:
                means, shares = (answer.groups.get(ANSWER, ""),), (1.0,)
            mass[row] += sum(shares)
            for meaning, share in zip(means, shares, strict=True):
                if meaning not in columns:
                    raise InputError(f"{key.cases[row].id}: no option means '{meaning}'")
                votes[row, columns[meaning]] += share / sum(shares)
    answers = None if questions is None else ItemAnswers(questions, counted)
    return Votes(model, key, votes, mass, declined, filtered, answers)
