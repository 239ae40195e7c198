"""The items of a checklist, and what one model answered to them, as plain arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from pytest_factorfair.domain import Answer, Outcome, Record
from pytest_factorfair.errors import InputError
from pytest_factorfair.protocols.items.checklist import ANSWER, SAME, UNKNOWN, Choice, ItemCase
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray

LOST: tuple[Outcome, ...] = ("refused", "unparsed", "error")
"""The last columns of votes."""


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Items, and what their options are: boolean arrays of the shape (items, options + 3).

    The last three columns are the answers that are lost. ``apart`` are the options that tell groups apart:
    all but those that mean *same* or *unknown*. ``cluster`` (items,) numbers the clusters.
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
    def of(cls, checklist: str, cases: Sequence[ItemCase]) -> Sheet:
        width = max((len(case.item.options) for case in cases), default=0) + len(LOST)

        def marked(holds: Callable[[Choice], bool]) -> BoolArray:
            found = np.zeros((len(cases), width), np.bool_)
            for row, case in enumerate(cases):
                for column, one in enumerate(case.item.options):
                    found[row, column] = holds(one)
            return found

        names = [case.item.cluster for case in cases]
        return cls(
            checklist,
            tuple(cases),
            offered=marked(bool),
            right=marked(lambda one: one.right),
            stereotype=marked(lambda one: one.stereotype),
            favourable=marked(lambda one: one.favourable),
            apart=marked(lambda one: one.means not in (SAME, UNKNOWN)),
            same=marked(lambda one: one.means == SAME),
            cluster=np.unique(names, return_inverse=True)[1] if names else np.zeros(0, np.int64),
        )

    def at(self, rows: BoolArray) -> Sheet:
        """Some of its items."""
        arrays = {
            one.name: getattr(self, one.name)[rows]
            for one in fields(self)
            if isinstance(getattr(self, one.name), np.ndarray)
        }
        return replace(self, cases=tuple(np.array(self.cases, object)[rows].tolist()), **arrays)

    @property
    def part(self) -> tuple[str, ...]:
        """The condition of each item."""
        return tuple(case.part for case in self.cases)


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """How often each option of each item was chosen by one model.

    ``votes`` has the shape of the sheet's arrays. An answer in probabilities is shared among the options.
    ``mass`` (items,) is the sum of what the letters hold of 1.
    """

    model: str
    sheet: Sheet
    votes: FloatArray
    mass: FloatArray
    protocol: str = "items"

    @property
    def checklist(self) -> str:
        return self.sheet.checklist

    @property
    def answered(self) -> FloatArray:
        """Answers per item that count, (items,)."""
        return np.asarray(self.votes[:, : -len(LOST)].sum(axis=1))

    @property
    def asked(self) -> FloatArray:
        """Answers per item, (items,), those included that are lost."""
        return np.asarray(self.votes.sum(axis=1))

    def at(self, rows: BoolArray) -> Votes:
        """Those of some items."""
        return replace(self, sheet=self.sheet.at(rows), votes=self.votes[rows], mass=self.mass[rows])

    def without(self, lost: Sequence[Outcome]) -> Votes:
        """The same without these answers."""
        kept = self.votes.copy()
        kept[:, [LOST.index(one) - len(LOST) for one in lost]] = 0
        return replace(self, votes=kept)


def count(records: Iterable[Record], sheet: Sheet, *, model: str) -> Votes:
    """Count one model's answers to the items of a sheet; other records are ignored.

    Raises:
        InputError: an answer that its item does not offer.
    """
    places = {case.id: place for place, case in enumerate(sheet.cases)}
    found = Votes(model, sheet, np.zeros(sheet.offered.shape), np.zeros(len(sheet.cases)))
    for record in records:
        place = places.get(record.case.case)
        if record.case[:2] == (model, sheet.checklist) and place is not None:
            offered = {one.means: number for number, one in enumerate(sheet.cases[place].item.options)}
            for answer in record.answers:
                _enter(found, place, offered, answer)
    return found


def _enter(found: Votes, place: int, offered: dict[str, int], answer: Answer) -> None:
    if answer.outcome != "answered":
        found.votes[place, LOST.index(answer.outcome) - len(LOST)] += 1
        return
    means, shares = answer.offered.get(ANSWER, ()), answer.probabilities
    if not shares:
        means, shares = (answer.groups.get(ANSWER, ""),), (1.0,)
    mass = sum(shares)
    found.mass[place] += mass
    for one, share in zip(means, shares, strict=True):
        if one not in offered:
            raise InputError(f"{found.sheet.cases[place].id}: no option means '{one}'")
        found.votes[place, offered[one]] += share / mass
