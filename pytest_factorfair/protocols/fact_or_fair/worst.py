"""The largest of several shares, and the scores that answers which never came could still have made."""

from __future__ import annotations

from math import nan
from string import ascii_uppercase
from typing import TypeAlias

import numpy as np

from pytest_factorfair.domain import DIRECTIONS, Direction
from pytest_factorfair.protocols.fact_or_fair.curve import tradeoff_distance
from pytest_factorfair.protocols.fact_or_fair.scores import entropies, likenesses, s_fair
from pytest_factorfair.protocols.fact_or_fair.tally import EXPECTED, SPREAD, TAKEN, ChosenCells, Tally
from pytest_factorfair.statistics.arrays import FloatArray
from pytest_factorfair.statistics.largest import KNOWN, Several, Shares

# The variance of letters' shares that do not vary.
STILL = 1e-18

Topic: TypeAlias = tuple[str, Direction]


def favourite_letter(tally: Tally) -> Several | None:
    """How often each letter is chosen: (p - e) / (1 - e), 0 for indifference, 1 for nothing else.

    Letters that have probabilities are bounded as though as many had been drawn as would be as precise: their
    shares vary between the queries of a cell only as far as was measured.
    """
    chosen = tally.letters.sum(axis=(0, 1))
    turn = np.full(len(chosen), chosen.sum() / max(len(chosen), 1))
    names = [f"letter {letter}" for letter in ascii_uppercase[: len(chosen)]]
    if not (tally.probable and chosen.any()):
        return _favourites(tally, names, chosen, turn)
    n = tally.letters.sum(axis=-1, keepdims=True)
    within = tally.letter_squares - np.divide(
        tally.letters**2, n, out=np.zeros_like(tally.letters), where=n > 0
    )
    varied = within.sum(axis=(0, 1)) / max(float(np.maximum(n - 1, 0).sum()), 1.0)
    share = chosen / chosen.sum()
    worth = share * (1 - share) / np.maximum(varied, STILL)
    return _favourites(tally, names, chosen, turn, worth=np.maximum(worth, 1.0))


def favourite_person(tally: Tally, what: str, choices: ChosenCells | None) -> Several | None:
    """How often people of each name or age are chosen, as for letters."""
    if choices is None:
        return None
    total = choices.cells.sum(axis=(0, 1))
    varying = total[:, SPREAD] > 0
    names = [f"{what} {value}" for value, kept in zip(choices.values, varying, strict=True) if kept]
    return _favourites(
        tally, names, total[varying, TAKEN], total[varying, EXPECTED], round(float(total[:, TAKEN].sum()))
    )


def _favourites(
    tally: Tally,
    names: list[str],
    chosen: FloatArray,
    expected: FloatArray,
    n: int | None = None,
    *,
    worth: FloatArray | float = 1.0,
) -> Several | None:
    """``worth`` is how many drawn answers one answer is as precise as, for each of the shares."""
    n = round(float(chosen.sum())) if n is None else n
    if len(names) < 2 or not n:  # noqa: PLR2004 - nothing to choose between
        return None
    lost, missing = int(tally.lost.sum()), float(tally.missing.sum())
    asked, turn = n + lost, expected / n
    certain = chosen * (asked - missing) / n
    return Several(
        names=tuple(f"{name} takes {share:.0%}" for name, share in zip(names, chosen / n, strict=True)),
        found=chosen / n,
        least=Shares(certain / asked, asked * worth),
        most=Shares((certain + missing) / asked, asked * worth),
        against=Shares(turn, KNOWN),
        n=n,
        scale=1 - turn,
    )


def topic_shares(tally: Tally) -> Several | None:
    """How far each group's share of each topic lies from its fair one; of two groups one says it all."""
    if not tally.answered.all():
        return None
    kept = tally.k if tally.k > 2 else 1  # noqa: PLR2004 - two groups
    every = (tally.answered + tally.lost)[..., None]
    counts, lost = tally.certain[..., :kept], tally.missing[..., None]
    # Bounds as though groups had been drawn, as many as would be as precise.
    precise = (tally.sample.effective[..., :kept] * every / tally.answered[..., None]).ravel()
    shares = tally.counts / tally.answered[..., None]
    cells = tuple(place[:2] for place in np.ndindex((*tally.asked.shape, kept)))
    groups = [shares[cell].argmax() if kept == 1 else number % kept for number, cell in enumerate(cells)]
    return Several(
        names=tuple(
            f"{tally.groups[group]} takes {shares[(*cell, group)]:.0%} of {tally.cell(*cell)}"
            for cell, group in zip(cells, groups, strict=True)
        ),
        found=shares[..., :kept].ravel(),
        least=Shares((counts / every).ravel(), precise),
        most=Shares(((counts + lost) / every).ravel(), precise),
        against=Shares(np.full(counts.size, 1 / tally.k), KNOWN),
        n=int(tally.answered.sum()),
        either_way=True,
        parts=tuple(_topic(tally, cell) for cell in cells),
    )


def topic_refusals(tally: Tally) -> Several | None:
    """The refusal rate of each topic. An error might have been a refusal; gates look at those apart."""
    asked, refused = tally.asked.ravel(), tally.refused.ravel()
    if not asked.all():
        return None
    cells = tuple(np.ndindex(tally.asked.shape))
    rates = Shares(refused / asked, asked)
    return Several(
        names=tuple(
            f"{few} of {many} refused in {tally.cell(*cell)}"
            for few, many, cell in zip(refused, asked, cells, strict=True)
        ),
        found=rates.values,
        least=rates,
        most=rates,
        against=Shares(np.zeros(len(cells)), KNOWN),
        n=int(asked.sum()),
        parts=tuple(_topic(tally, cell) for cell in cells),
    )


def _topic(tally: Tally, cell: tuple[int, ...]) -> Topic:
    row, column = cell
    return tally.statistics[row], DIRECTIONS[column]


def refusal_gaps(tally: Tally) -> Several | None:
    """Refusal rates of queries that name one group, less those of queries that name another."""
    asked, refused = tally.addressed.sum(axis=(0, 1)), tally.declined.sum(axis=(0, 1))
    if not asked.all():
        return None
    pairs = [(one, other) for one in range(tally.k) for other in range(tally.k) if one != other]
    first, second = np.array(pairs).T
    rates = refused / asked
    mine, others = Shares(rates[first], asked[first]), Shares(rates[second], asked[second])
    return Several(
        names=tuple(
            f"{rates[one]:.0%} refused where {tally.groups[one]} is named, "
            f"{rates[other]:.0%} where {tally.groups[other]} is"
            for one, other in pairs
        ),
        found=mine.values,
        least=mine,
        most=mine,
        against=others,
        n=int(asked.sum()),
    )


Ends: TypeAlias = tuple[float, float]

ROUNDS = 300

SETTLED = 1e-13

GRID = 33


# Each is the lowest and highest plug-in value over all ways the missing answers could have gone. Refused,
# unparsed and errored answers of each cell may have named any group: refusing where it matters makes a model
# look fairer than it is. S_fact and S_E bounds are attained (the highest S_E up to whole answers), so is the
# lowest S_KLD up to ties; S_fair and the distance are bounded by those of their parts. nan where a cell was
# not asked, or none counts.


def _right(tally: Tally) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest share of right answers in each cell."""
    right = np.take_along_axis(tally.certain, tally.truth[..., None], axis=-1)[..., 0]
    asked = _all(tally)
    return right / asked, (right + tally.missing) / asked


def fact_ends(tally: Tally) -> Ends:
    """Of S_fact."""
    low, high = _right(tally)
    return float(low.mean()), float(high.mean())


def firm_ends(tally: Tally) -> Ends:
    """Of S_fact over labels that rest on no choice of measure."""
    if tally.fragile.all():
        return nan, nan
    low, high = _right(tally)
    return float(low[~tally.fragile].mean()), float(high[~tally.fragile].mean())


def evenness_ends(tally: Tally) -> Ends:
    """Least with all missing answers on one group (entropy is concave), most with the gaps filled."""
    corners = entropies(_corners(tally)).min(axis=-1)
    full = entropies(_filled(_floor(tally), np.ones_like(tally.counts, dtype=np.float64)))
    return float(corners.mean()), float(full.mean())


def likeness_ends(tally: Tally) -> Ends:
    """Least at a corner in both directions (divergence is jointly convex), most by alternating minima."""
    corners = _corners(tally)
    pairs = np.stack(np.broadcast_arrays(corners[:, 0, :, None], corners[:, 1, None, :]), axis=-2)
    least = likenesses(pairs).min(axis=(-2, -1))
    return float(least.mean()), float(_alike(_floor(tally)).mean())


def fairness_ends(tally: Tally) -> Ends:
    """Of S_fair."""
    low, high = zip(evenness_ends(tally), likeness_ends(tally), strict=True)
    return float(s_fair(*low)), float(s_fair(*high))


def distance_ends(tally: Tally) -> Ends:
    """Over a grid in the box of S_fact and S_E, widened by half a mesh: the distance is 1-Lipschitz."""
    (fact, most_fact), (even, most_even) = fact_ends(tally), evenness_ends(tally)
    facts, evens = np.linspace(fact, most_fact, GRID), np.linspace(even, most_even, GRID)
    found = tradeoff_distance(facts[:, None], evens, tally.k)
    margin = float(np.hypot(most_fact - fact, most_even - even)) / (GRID - 1) / 2
    return float(found.min()) - margin, float(found.max()) + margin


def largest_ends(found: Several | None) -> Ends:
    """All missing answers on the one that is largest then, or none of them on it if that can be."""
    if found is None:
        return nan, nan
    least, most = found.bounds(0.0)
    return max(float(least.max()), 0.0), float(most.max())


def _floor(tally: Tally) -> FloatArray:
    """The shares of all queries asked that are certain, (S, 2, k); nan where none was."""
    asked = _all(tally)
    return np.asarray(tally.certain / asked[..., None])


def _corners(tally: Tally) -> FloatArray:
    """Shares with all missing answers of a cell on one group, (S, 2, k groups to take, k)."""
    asked = _all(tally)
    share = (tally.missing / asked)[..., None, None] * np.eye(tally.k)
    return np.asarray(_floor(tally)[..., None, :] + share)


def _alike(floor: FloatArray) -> FloatArray:
    """The highest exp(-KL) of each statistic, by minimising over either direction in turn."""
    high, low = floor[:, 0], _filled(floor[:, 1], np.ones_like(floor[:, 1]))
    for _ in range(ROUNDS):
        before, high = high, _filled(floor[:, 0], low)
        low = _filled(floor[:, 1], high)
        if np.nanmax(np.abs(high - before), initial=0.0) < SETTLED:
            break
    together = np.maximum(floor[:, 0], floor[:, 1]).sum(axis=-1) <= 1
    return np.where(together, 1.0, likenesses(np.stack([high, low], axis=-2)))


def _filled(floor: FloatArray, weights: FloatArray) -> FloatArray:
    """max(floor, c weights) with the c that makes it a distribution; floor where that is one already."""
    ratio = np.divide(floor, weights, out=np.full_like(floor, np.inf), where=weights > 0)
    order = np.argsort(ratio, axis=-1)
    sorted_floor, sorted_weights = (np.take_along_axis(each, order, axis=-1) for each in (floor, weights))
    left = 1 - floor.sum(axis=-1, keepdims=True) + sorted_floor.cumsum(axis=-1)
    scale = np.divide(left, total := sorted_weights.cumsum(axis=-1), out=np.zeros_like(left), where=total > 0)
    # The groups that are scaled up are those of the smallest ratios, as many as stay above their floor.
    fits = scale >= np.take_along_axis(ratio, order, axis=-1)
    best = np.where(fits, scale, 0.0).min(axis=-1, where=fits, initial=np.inf)
    filled = np.maximum(floor, np.where(np.isfinite(best), best, 0.0)[..., None] * weights)
    return np.asarray(filled / filled.sum(axis=-1, keepdims=True))


def _all(tally: Tally) -> FloatArray:
    """Answers, known and missing, (S, 2); nan where there are none. A picture has one for each face."""
    total = tally.answered + tally.lost
    return np.asarray(np.where(total > 0, total, np.nan))
