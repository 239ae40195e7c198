"""What a model's reasons cite, as shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pytest_factorfair.domain import CITATIONS, Reason, ReasonShare
from pytest_factorfair.statistics.bounds import BEYOND, quantile, wilson

QUOTED = 3

LONGEST = 240

"""Characters of a quotation."""


class Asked(NamedTuple):
    """Where a question for a reason was asked."""

    model: str
    checklist: str
    context: str


def reason_shares(reasons: Mapping[Asked, Sequence[Reason]]) -> tuple[ReasonShare, ...]:
    """For each place, in the order given, the share of reasons that cite each thing.

    Of the reasons that were given; a reason may cite several things, or none. 95 % intervals are
    Wilson's.
    """
    return tuple(share for place, given in reasons.items() for share in _shares(place, given))


def _shares(place: Asked, reasons: Sequence[Reason]) -> Iterator[ReasonShare]:
    outcomes = Counter(one.outcome for one in reasons)
    n, z = outcomes["answered"], quantile(BEYOND)
    for citation in CITATIONS:
        citing = [one.text for one in reasons if citation in one.cited]
        share = len(citing) / n if n else None
        yield ReasonShare(
            *place,
            citation=citation,
            share=share,
            low=None if share is None else wilson(share, n, z=-z),
            high=None if share is None else wilson(share, n, z=z),
            count=len(citing),
            n=n,
            asked=len(reasons),
            refused=outcomes["refused"],
            unparsed=outcomes["unparsed"],
            errors=outcomes["error"],
            quotations=tuple(_short(text) for text in list(dict.fromkeys(citing))[:QUOTED]),
        )


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
