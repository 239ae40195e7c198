"""The answers of a tally by query, which pair the answers of two models or runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from pytest_factorfair.benchmarks.fact_or_fair.counting.answer_arrays import AnswerArrays, AnswerRow, given
from pytest_factorfair.domain import Direction, Record
from pytest_factorfair.errors import InputError
from pytest_factorfair.statistics.arrays import FloatArray


class QueryKey(NamedTuple):
    """A query of a tally; each face of a picture is an answer of its own."""

    statistic: str
    direction: Direction
    query: str


class AnswerShares(NamedTuple):
    """The row of each query, and the groups' shares in its answer, (n, k).

    ``adjusted`` are the shares without the effect of letters, ``noise`` (n, k, k) the covariance of their
    noise; None if there is none.
    """

    rows: Mapping[QueryKey, int]
    shares: FloatArray
    adjusted: FloatArray
    noise: FloatArray | None = None


class AnswersByQuery:
    """The records of a tally, whose answers are read when they are first paired."""

    def __init__(
        self,
        records: Sequence[Record] = (),
        attribute: str = "",
        groups: Sequence[str] = (),
        *,
        balanced: bool = False,
    ) -> None:
        self._records = records
        self._attribute = attribute
        self._groups = {group: index for index, group in enumerate(groups)}
        self._balanced = balanced

    @cached_property
    def read(self) -> AnswerShares:
        """The answers that name a group, or count as neutral.

        Raises:
            ValueError: a record does not say what its case asks.
            InputError: an answer names a group that the tally lacks.
        """
        answer_rows = dict(row for record in self._records for row in self._answer_rows(record))
        rows = {key: row for row, key in enumerate(answer_rows)}
        arrays = AnswerArrays.of(list(answer_rows.values()), len(self._groups))
        adjusted = arrays.adjusted(balanced=self._balanced)
        return AnswerShares(rows, arrays.votes, adjusted, arrays.noise_covariances)

    def _answer_rows(self, record: Record) -> Iterator[tuple[QueryKey, AnswerRow]]:
        case, question = record.case.case, record.question
        if question.statistic is None or question.direction is None:
            raise ValueError(f"{case}: its record does not say which topic it is about")
        faces = Counter[str]()
        for answer in record.answers:
            name = answer.groups.get(self._attribute)
            at_letters = answer.offered.get(self._attribute, ())
            if name is None and not (at_letters and answer.probabilities):
                continue
            for group in (name, *at_letters):
                if group is not None and group not in self._groups:
                    raise InputError(f"{case}: '{group}' is not a group of {self._attribute}")
            faces[answer.query] += 1
            offered = [self._groups[group] for group in at_letters]
            if name is None:
                groups, shares = tuple(offered), answer.probabilities
            else:
                groups, shares = given(self._groups[name], offered, answer.letter, answer.probabilities)
            key = QueryKey(question.statistic, question.direction, f"{answer.query}-{faces[answer.query]}")
            yield key, AnswerRow(0, 0, -1, -1, groups, shares, sum(shares), 1, noise=answer.noise)
