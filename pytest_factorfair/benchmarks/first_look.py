"""A model's first look, which scans test: its answers, question by question, and the conditions of questions.

*Conditions* are sets of questions that share a value of what varies between them, or several values. They
follow from the values; none is listed by hand.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.domain import LOST, Case, Outcome, Record
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray

NOT_ASKED = -1
ANSWERED = 0

ROUNDING = 1e-9
"""The difference between probabilities that are taken as equal."""


class Questions(Protocol):
    """The N questions of a first look.

    ``rows`` is the number of each, by case and query; ``cases`` has the case of each, ``queries`` its id, and
    ``offered`` (N, L) the letters that it has.
    """

    @property
    def rows(self) -> Mapping[tuple[str, str], int]: ...
    @property
    def cases(self) -> Sequence[Case]: ...
    @property
    def queries(self) -> Sequence[str]: ...
    @property
    def offered(self) -> BoolArray: ...


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


def first_look(design: Questions, records: Iterable[Record]) -> FirstLook:
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


Real = TypeVar("Real", np.float32, np.float64)

FEWEST = 40
"""The number of questions from which two values together are a condition."""

AT_ONCE = 2**18
"""The largest matrix product, in multiplications, that OpenBLAS computes in one thread.

Several threads spin while they wait for each other: on a busy machine, a scan took seconds.
"""


class Factor(NamedTuple):
    """What varies between questions: the value of each, (N,), -1 for none, and a clause about each value."""

    values: IntArray
    clauses: Sequence[str]

    @classmethod
    def of(cls, values: Iterable[Hashable], clauses: Mapping[Any, str]) -> Factor:
        """The factor of each question's value, with a clause about each that counts; others are none."""
        numbers = {value: number for number, value in enumerate(clauses)}
        return cls(np.array([numbers.get(value, -1) for value in values]), [*clauses.values()])


@dataclass(frozen=True, slots=True, eq=False)
class Conditions:
    """C sets of the N questions: each has the questions with a value, or with several values together.

    ``values`` (V, N) are the questions with each value, in words its ``clauses``; all questions have the
    first value. ``parts`` (C, P) are the numbers of the values of each condition, filled up with zeros.
    """

    values: BoolArray
    clauses: Sequence[str]
    parts: IntArray

    @property
    def undivided(self) -> Conditions:
        """The condition of all questions alone."""
        return Conditions(self.values, self.clauses, np.zeros((1, 1), np.int64))

    def length(self, number: int) -> int:
        """The number of values of a condition; all questions are one."""
        return max(1, int(np.count_nonzero(self.parts[number])))

    def words(self, number: int) -> str:
        """A condition in words, such as "told of a White person, with Jordan among them"."""
        return ", ".join(self.clauses[part] for part in self.parts[number][: self.length(number)])

    def questions(self, number: int) -> BoolArray:
        """The questions of a condition, (N,)."""
        return np.asarray(self.values[self.parts[number]].all(axis=0))

    def sums(self, columns: NDArray[Real]) -> NDArray[Real]:
        """The sum of each of the columns (N, M) over the questions of each condition, (C, M)."""
        sums = np.zeros((len(self.parts), columns.shape[1]), columns.dtype)
        sizes = self.values.sum(axis=1)[self.parts]
        rarest = self.parts[np.arange(len(self.parts)), sizes.argmin(axis=1)]
        # A condition is a part of its rarest value, and that is a small part of all questions.
        for value in np.unique(rarest):
            conditions, questions = np.flatnonzero(rarest == value), np.flatnonzero(self.values[value])
            shared = self.values[:, questions][self.parts[conditions]].all(axis=1)
            members = np.asarray(shared, columns.dtype)
            total = np.zeros((len(conditions), columns.shape[1]), columns.dtype)
            size = max(1, AT_ONCE // total.size)
            for start in range(0, len(questions), size):
                piece = slice(start, start + size)
                total += members[:, piece] @ columns[questions[piece]]
            sums[conditions] = total
        return sums


def conditions(
    factors: Mapping[str, Factor], questions: int, together: Iterable[Sequence[str]] = ()
) -> Conditions:
    """Every value, every two values of enough questions, and all values of factors ``together``.

    Equal sets count once. ``questions`` is their number.
    """
    clauses = ["over all questions"]
    masks, owners, numbers = [np.ones(questions, np.bool_)], [-1], {}
    for owner, (name, factor) in enumerate(factors.items()):
        for value, clause in enumerate(factor.clauses):
            mask = factor.values == value
            if mask.any():
                numbers[name, value] = len(clauses)
                clauses.append(clause)
                masks.append(mask)
                owners.append(owner)
    values = np.stack(masks)
    sizes = values.astype(np.float32) @ values.T.astype(np.float32)
    first, second = np.nonzero(np.triu(sizes >= FEWEST, k=1))
    differ = (np.array(owners)[first] != np.array(owners)[second]) & (first > 0)
    parts: list[tuple[int, ...]] = [(number,) for number in range(len(clauses))]
    parts += zip(first[differ].tolist(), second[differ].tolist(), strict=True)
    for names in together:
        of_questions = zip(*(factors[name].values.tolist() for name in names), strict=True)
        parts += [
            tuple(numbers[key] for key in zip(names, value, strict=True))
            for value in dict.fromkeys(of_questions)
            if min(value) >= 0
        ]
    longest = max(map(len, parts))
    filled = np.array([(*part, *[0] * (longest - len(part))) for part in parts])
    every = Conditions(values, clauses, filled)
    # Equal sets have equal sums of random numbers, which are exact: two of 32 bits for each question.
    signatures = every.sums(np.random.default_rng(0).integers(2**32, size=(questions, 2)).astype(np.float64))
    distinct = np.sort(np.unique(signatures, axis=0, return_index=True)[1])
    return Conditions(values, clauses, filled[distinct])
