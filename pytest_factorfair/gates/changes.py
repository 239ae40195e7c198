"""What changed since a former run, and which changes are for the worse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pytest_factorfair.domain import Change
from pytest_factorfair.gates.span import ROUNDING_OF_CHANGES
from pytest_factorfair.protocols.measurement import Counts, Former, Moved
from pytest_factorfair.protocols.registry import by_protocol
from pytest_factorfair.statistics.holm import ALPHA, chance_below, surviving


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
