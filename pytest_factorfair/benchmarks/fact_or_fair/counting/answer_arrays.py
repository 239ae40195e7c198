"""Answers counted by letter and group, and adjusted for the effect of the letters.

A model that prefers the letter A chooses the group at that letter. A balanced design puts every group at
every letter equally often, so this changes no share, but it adds variance between queries. The effect is
known, as the model's mean share of each letter: it is a control variate, subtracted from each answer.

Scenarios are fixed, not drawn: an answer varies around the mean of its scenario. Differences between
scenarios belong to a topic's shares, not to their error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from math import prod
from string import ascii_uppercase
from typing import NamedTuple

import numpy as np

from pytest_factorfair.statistics.arrays import FloatArray, IntArray, multinomial_covariance, outer
from pytest_factorfair.statistics.sample import Sample

# A cell with fewer degrees of freedom uses the covariance of all cells of its direction.
FEW = 12


class AnswerRow(NamedTuple):
    """One or more equal answers of a cell; ``times`` is how many.

    ``groups`` are those that the letters stood for and ``shares`` the probability of each letter, which add
    up to the ``mass``; a picture has one group, a lost answer none. ``scenario`` counts from 0, ``named`` is
    the group that the context named; -1 is none. ``conditions`` are the indices of the values that each
    condition of the tally has for the question; ``crossing`` are the groups of other attributes at the
    letters. ``noise`` is the standard error of each letter's logit.
    """

    row: int
    column: int
    scenario: int
    named: int
    groups: tuple[int, ...]
    shares: tuple[float, ...]
    mass: float
    times: int
    conditions: tuple[tuple[int, ...], ...] = ()
    crossing: tuple[tuple[int, ...], ...] = ()
    noise: float = 0.0


def given(
    group: int, offered: Sequence[int], letter: str | None, probabilities: tuple[float, ...]
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The groups at the letters of an answer, and their shares; without letters, the group alone."""
    if letter is None or not offered:
        return (group,), (1.0,)
    return tuple(offered), probabilities or _chosen(letter, len(offered))


@cache
def _chosen(letter: str, letters: int) -> tuple[float, ...]:
    """The shares of the letters of an answer that is one letter: 1 for this one, 0 for the others."""
    return tuple(float(option == letter) for option in ascii_uppercase[:letters])


@dataclass(frozen=True, slots=True, eq=False)
class AnswerArrays:
    """The answers of one tally as arrays, in the same order.

    ``cells`` are indices: statistics, directions, and any others that the answers are divided by.
    ``shares`` (n, letters) add up to 1, ``votes`` (n, k) are those of the groups at the letters.
    ``conditions`` (n, most values) hold the indices of the values of each condition, -1 where there are
    fewer; ``crossing`` (n, letters) the groups of other attributes.
    """

    cells: tuple[IntArray, ...]
    scenario: IntArray
    named: IntArray
    groups: IntArray
    shares: FloatArray
    outside: FloatArray
    times: FloatArray
    votes: FloatArray
    noise: FloatArray
    conditions: tuple[IntArray, ...] = ()
    crossing: tuple[IntArray, ...] = ()

    @classmethod
    def of(cls, answer_rows: Sequence[AnswerRow], k: int) -> AnswerArrays:
        no_answers: tuple[tuple[()], ...] = ((),) * len(AnswerRow._fields)
        rows, columns, scenario, named, offered, probabilities, mass, times, conditions, crossing, noise = (
            zip(*answer_rows, strict=True) if answer_rows else no_answers
        )
        letters = len(offered[0]) if offered else 1
        groups = np.array(offered, np.int64).reshape(len(offered), letters)
        shares = np.array(probabilities, np.float64).reshape(groups.shape)
        shares /= shares.sum(axis=-1, keepdims=True)
        return cls(
            cells=(np.array(rows, np.int64), np.array(columns, np.int64)),
            scenario=np.array(scenario, np.int64),
            named=np.array(named, np.int64),
            groups=groups,
            shares=shares,
            outside=np.maximum(1 - np.array(mass, np.float64), 0),
            times=np.array(times, np.float64),
            votes=by_group(shares, groups, k),
            noise=np.array(noise, np.float64),
            conditions=tuple(map(_padded, zip(*conditions, strict=True))),
            # Where some answers have no crossing, none has.
            crossing=tuple(np.array(crossed, np.int64) for crossed in zip(*crossing, strict=False)),
        )

    def total(self, values: FloatArray, like: FloatArray) -> FloatArray:
        """Values (n, ...) summed over the answers of each cell, in the shape of ``like``."""
        return summed(self.cells, (self.times * values.T).T, like)

    def number(self, like: FloatArray) -> IntArray:
        """How many answers each cell has, in the shape of ``like``."""
        return self.total(np.ones(len(self.times)), like).astype(np.int64)

    def by_named(self, like: FloatArray) -> IntArray:
        """How many answers name each group in their context, in the shape (S, 2, k) of ``like``."""
        has_name = self.named >= 0
        indices = (*(axis[has_name] for axis in self.cells), self.named[has_name])
        return summed(indices, self.times[has_name], like).astype(np.int64)

    def by_scenario(self, like: FloatArray) -> FloatArray:
        """The votes by scenario, in the shape (S, 2, scenarios, k) of ``like``."""
        has_scenario = self.scenario >= 0
        indices = (*(axis[has_scenario] for axis in self.cells), self.scenario[has_scenario])
        return summed(indices, (self.times[:, None] * self.votes)[has_scenario], like)

    def by_value(self, condition: int) -> AnswerArrays:
        """The answers with the values of a condition as a third axis of their cells.

        An answer that has several values is repeated.
        """
        values = self.conditions[condition] if self.conditions else np.zeros((0, 1), np.int64)
        rows, columns = np.nonzero(values >= 0)
        arrays = {
            name: getattr(self, name)[rows]
            for name in ("scenario", "named", "groups", "shares", "outside", "times", "votes", "noise")
        }
        return AnswerArrays(cells=(*(axis[rows] for axis in self.cells), values[rows, columns]), **arrays)

    def crossed(self, attribute: int, like: FloatArray) -> FloatArray:
        """The votes by the chosen person's group of another attribute, (S, 2, groups, k) as ``like``."""
        if not self.crossing:
            return np.zeros_like(like)
        indices = (*(axis[:, None] for axis in self.cells), self.crossing[attribute], self.groups)
        return summed(np.broadcast_arrays(*indices), self.times[:, None] * self.shares, like)

    @property
    def matches(self) -> FloatArray:
        """The share of the group that the context named, (n,); 0 where it named none."""
        share = np.take_along_axis(self.votes, np.maximum(self.named, 0)[:, None], axis=-1)[:, 0]
        return np.asarray(np.where(self.named >= 0, share, 0.0))

    @property
    def drawn(self) -> bool:
        """Whether every answer is one group."""
        return bool(((self.shares == 0) | (self.shares == 1)).all())

    @property
    def lettered(self) -> bool:
        """Whether the answers chose among letters."""
        letters: int = self.groups.shape[-1]
        return letters > 1

    @property
    def noise_covariances(self) -> FloatArray | None:
        """The covariance of the noise in each answer's votes, (n, k, k); None if there is no noise."""
        if not self.noise.any():
            return None
        at_group = self.groups[..., None, :] == np.arange(self.votes.shape[-1])[:, None]
        slopes = at_group @ self._noise_slopes
        return np.asarray(slopes @ slopes.swapaxes(-1, -2))

    @property
    def letter_noise(self) -> float:
        """The largest standard error of a letter's mean share, if all answers have the same noise."""
        variances = (self._noise_slopes**2).sum(axis=-1)
        return float(np.sqrt((self.times @ variances).max() / self.times.sum())) if self.noise.any() else 0.0

    @property
    def _noise_slopes(self) -> FloatArray:
        """How each letter's share follows the noise of each logit, (n, letters, letters).

        Shares are the softmax of the logits, whose noises are independent: noise * (diag(p) - pp').
        """
        return self.noise[:, None, None] * multinomial_covariance(self.shares)

    def adjusted(self, *, balanced: bool) -> FloatArray:
        """The votes without the effect of their letters, (n, k).

        Each answer v becomes v - l + 1/k, where l is what the model's mean share of each letter, over all
        these answers, gives the groups at the letters. Its mean over a balanced design is 1/k: with complete
        blocks sums stay as they are, only their variance is less. Where the design is not ``balanced``, or
        there were no letters, nothing is taken off.
        """
        if not (balanced and self.lettered and self.times.size):
            return self.votes
        k, liking = self.votes.shape[-1], self.times @ self.shares / self.times.sum()
        effect = by_group(np.broadcast_to(liking, self.shares.shape), self.groups, k)
        return np.asarray(self.votes + 1 / k - effect)

    def sample(self, like: FloatArray, *, balanced: bool, strata: IntArray) -> Sample:
        """The adjusted answers as shares of groups in the cells (S, 2, ..., k) of ``like``.

        The covariance of a cell is that of answers around the mean of their stratum (n,), divided by n - m if
        the n answers are from m strata. Cells with few degrees of freedom use that of all statistics. The
        noise of answers is taken as the same for all answers of a cell, the worst case, and as independent
        between cells.
        """
        k, votes = like.shape[-1], self.adjusted(balanced=balanced)
        n, sums = self.total(np.ones(len(votes)), like[..., 0]), self.total(votes, like)
        apart, freedom = self._within(strata, votes, like)
        if (single := freedom.sum(axis=0) == 0).any():
            # No two answers of these cells share a stratum: what differs between strata counts as noise.
            apart, freedom = self._within(np.where(single[self.cells[1:]], 0, strata), votes, like)
        products = self.total(outer(apart), np.zeros((*like.shape, k)))
        spare = freedom[..., None, None]
        pooled = products.sum(axis=0) / np.maximum(spare.sum(axis=0), 1)
        # An answer less the effect of its letter can be below 0, and where answers are missing so can a sum.
        clipped = np.maximum(sums, 0)
        total = clipped.sum(axis=-1, keepdims=True)
        counts = np.divide(clipped * n[..., None], total, out=np.zeros_like(clipped), where=total > 0)
        noise = self.noise_covariances
        if noise is not None:
            noise = self.total(noise, np.zeros_like(products)) / np.maximum(n, 1)[..., None, None]
        return Sample(counts, np.where(spare < FEW, pooled, products / np.maximum(spare, 1)), noise)

    def _within(self, strata: IntArray, votes: FloatArray, like: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Each vote less the mean of its stratum in its cell, (n, k), and the degrees of freedom of cells."""
        levels, level = np.unique(strata, return_inverse=True)
        divided = replace(self, cells=(*self.cells, level))
        *cells, k = like.shape
        n = divided.total(np.ones(len(votes)), np.zeros((*cells, len(levels))))
        sums = divided.total(votes, np.zeros((*cells, len(levels), k)))
        means = sums / np.maximum(n, 1)[..., None]
        return votes - means[divided.cells], np.maximum(n - 1, 0).sum(axis=-1)


def by_group(shares: FloatArray, groups: IntArray, k: int) -> FloatArray:
    """The shares of groups (n, k), from those of the letters (n, letters) that stand for them."""
    rows = np.broadcast_to(np.arange(len(shares))[:, None], groups.shape)
    return summed((rows, groups), shares, np.zeros((len(shares), k)))


def summed(indices: Sequence[IntArray], values: FloatArray, like: FloatArray) -> FloatArray:
    """The sums of values (..., trailing) at the indices (...), in the shape of ``like``, (axes, trailing)."""
    axes, trailing = like.shape[: len(indices)], like.shape[len(indices) :]
    cells, width = prod(axes), prod(trailing)
    index = np.ravel_multi_index(tuple(indices), axes).ravel() if cells else np.zeros(0, np.int64)
    columns = values.reshape(len(index), width).T
    # A bincount per column is several times as fast as np.add.at.
    total = [np.bincount(index, weights=column, minlength=cells) for column in columns]
    return np.array(total, np.float64).T.reshape(like.shape)


def _padded(values: Sequence[Sequence[int]]) -> IntArray:
    """Rows of different lengths as an array, with -1 where there are fewer."""
    lengths = np.fromiter(map(len, values), np.int64)
    padded = np.full((len(values), lengths.max()), -1)
    padded[np.arange(lengths.max()) < lengths[:, None]] = np.fromiter(chain.from_iterable(values), np.int64)
    return padded
