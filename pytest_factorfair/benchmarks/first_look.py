"""The answers of a model's first look, question by question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from string import ascii_uppercase
from typing import NamedTuple, Protocol

import numpy as np

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
