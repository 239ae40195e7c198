"""Models compared on the scores they share, and a model with a former run: which differences are real."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_factorfair.domain import Board, Change, Difference, Standing
from pytest_factorfair.gates.evidence import empty, lossy, thin
from pytest_factorfair.gates.span import ROUNDING_OF_CHANGES
from pytest_factorfair.protocols.measurement import Contender, Contest, Counts, Entrant, Former, Metric, Moved
from pytest_factorfair.protocols.registry import by_protocol, measurings
from pytest_factorfair.statistics.bounds import BEYOND
from pytest_factorfair.statistics.estimate import Estimate
from pytest_factorfair.statistics.holm import ALPHA, chance_above, chance_below, letters, surviving

DIGITS = 3
"""Decimals that are shown: what is alike in them has the same rank."""


def boards(contenders: Sequence[Contender], *, alpha: float = ALPHA) -> tuple[Board, ...]:
    """A board for every score that at least two contenders have, by checklist and attribute.

    All scores are without bias, whatever the reports' estimator, but for what reports quote. A difference is
    real if it is so at level alpha over all pairs of its board (two-sided, Holm), and neither score is in
    doubt: a gate on it would not have been inconclusive for want of answers.
    """
    found = [contest for protocol in measurings().values() for contest in protocol.contests(contenders)]
    subjects = list(dict.fromkeys((one.checklist, one.attribute) for one in found))
    found.sort(key=lambda one: subjects.index((one.checklist, one.attribute)))
    return tuple(_board(contest, alpha) for contest in found)


def _board(contest: Contest, alpha: float) -> Board:
    metric, entrants = contest.metric, contest.entrants
    # A gate on the score would be inconclusive: answers are missing, or too few.
    doubts = {
        entrant.name: empty(entrant.cells)
        or entrant.estimate.reason
        or thin(metric.name, entrant.cells, entrant.needed)
        or lossy(metric, entrant.cells)
        or ""
        for entrant in entrants
    }
    chances: list[float | None] = []
    for pair, gap in contest.gaps.items():
        # The two-sided p value of a difference that can be estimated.
        known = gap.estimate.corrected is not None and not any(doubts[name] for name in pair)
        sides = (chance_below(gap.estimate, 0.0), chance_above(gap.estimate, 0.0)) if known else ()
        chances.append(min(1.0, 2 * min(sides)) if sides else None)
    held = surviving(chances, of=len(chances), alpha=alpha)
    differences = []
    for (pair, (found, paired)), real in zip(contest.gaps.items(), held, strict=True):
        low, high = found.lower(BEYOND), found.upper(BEYOND)
        differences.append(Difference(*pair, _value(found), low, high, real, paired))
    return Board(
        *contest[:4],
        metric.name,
        metric.better,
        _standings(metric, entrants, doubts, differences),
        tuple(differences),
    )


def _standings(
    metric: Metric,
    entrants: Sequence[Entrant],
    doubts: Mapping[str, str],
    differences: Sequence[Difference],
) -> tuple[Standing, ...]:
    """The best first, those without a value last."""
    sign = -1 if metric.better == "higher" else 1
    values = {entrant.name: metric.clipped(_value(entrant.estimate)) for entrant in entrants}
    order = sorted(
        (entrant for entrant in entrants if values[entrant.name] is not None),
        key=lambda entrant: sign * (_value(entrant.estimate) or 0.0),
    )
    named = letters(
        [entrant.name for entrant in order], [(one.first, one.second) for one in differences if one.real]
    )
    rounded = [round(sign * (values[entrant.name] or 0.0), DIGITS) for entrant in order]
    missing = [entrant for entrant in entrants if values[entrant.name] is None]
    return tuple(
        Standing(
            model=entrant.name,
            rank=rounded.index(rounded[place]) + 1
            if place < len(order) and metric.better != "neither"
            else None,
            value=values[entrant.name],
            low=metric.clipped(entrant.estimate.lower(BEYOND)),
            high=metric.clipped(entrant.estimate.upper(BEYOND)),
            letters=named.get(entrant.name, ""),
            asked=entrant.total.asked,
            refused=entrant.total.refused,
            unparsed=entrant.total.unparsed,
            errors=entrant.total.errors,
            doubt=doubts[entrant.name],
        )
        for place, entrant in enumerate((*order, *missing))
    )


def _value(found: Estimate) -> float | None:
    return found.plugin if found.corrected is None else found.corrected


def changes(counts: Sequence[Counts], former: Former, *, alpha: float = ALPHA) -> tuple[Change, ...]:
    """Every watched score beside that of the baseline, and each part of one that got worse.

    A change for the worse is one whose upper bound is below 0 after Holm's correction, scores and
    what they consist of each among themselves. Changes for the worse come first, and last those of metrics
    that have no better end.
    """
    found = [moves for protocol, mine in by_protocol(counts) for moves in protocol.changes(mine, former)]
    scores = _judged([one for moves in found for one in moves.scores], alpha)
    parts = _judged([one for moves in found for one in moves.parts], alpha)
    aside = (change for moves in found for change in moves.aside)
    worse = (one for one in parts if one.regressed)
    return (*sorted((*scores, *worse), key=lambda one: not one.regressed), *aside)


def _judged(found: Sequence[Moved], alpha: float) -> Iterator[Change]:
    chances = [
        chance_below(estimate, -ROUNDING_OF_CHANGES)
        if estimate.corrected is not None and estimate.corrected < -ROUNDING_OF_CHANGES
        else None
        for _, estimate in found
    ]
    held = surviving(chances, of=len(found), alpha=alpha)
    yield from (replace(one, regressed=worse) for (one, _), worse in zip(found, held, strict=True))
