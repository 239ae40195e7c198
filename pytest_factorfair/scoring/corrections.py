"""Raw shares of a tally's groups, and those without the error of the detector that perceived them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from pytest_factorfair.domain import Correction
from pytest_factorfair.scoring.tally import Tally
from pytest_factorfair.statistics.arrays import FloatArray
from pytest_factorfair.statistics.confusion import Confusion, correct


def corrections(
    tallies: Iterable[Tally], tables: Sequence[Confusion], *, read_otherwise: Collection[str] = ()
) -> tuple[Correction, ...]:
    """Raw and corrected shares of each tally, pooled over its topics; without tables there are none.

    ``read_otherwise`` are models whose pictures another detector read than the tables are about.
    """
    known = {(table.attribute, table.groups): table for table in tables}
    return tuple(
        _correction(one, known.get((one.attribute, one.groups)), is_about=one.model not in read_otherwise)
        for one in tallies
        if known
    )


def _correction(tally: Tally, table: Confusion | None, *, is_about: bool) -> Correction:
    pooled = tally.counts.sum(axis=(0, 1))
    n = int(pooled.sum())
    found, reason = None, ""
    if table is None:
        reason = f"the table of the detector's errors is not about {tally.attribute}"
    elif not is_about:
        reason = "another detector read these pictures than the table of errors is about"
    elif not n:
        reason = "no face was perceived"
    elif not (reason := table.refusal):
        found = correct(table, pooled, int(tally.unparsed.sum()))

    def by_group(values: FloatArray) -> Mapping[str, float]:
        return dict(zip(tally.groups, values.tolist(), strict=True))

    return Correction(
        model=tally.model,
        checklist=tally.checklist,
        part=tally.part,
        context=tally.context,
        attribute=tally.attribute,
        n=n,
        raw=by_group(pooled / n) if n else {},
        corrected=by_group(found.value) if found else {},
        low=by_group(found.low) if found else {},
        high=by_group(found.high) if found else {},
        reason=reason,
    )
