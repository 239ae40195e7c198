"""What only reports on pictures have: who is seen in them, and shares corrected for a detector's errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.benchmarks.fact_or_fair.rows import Correction
from pytest_factorfair.domain import NO_FACE, Checklist, Record
from pytest_factorfair.statistics.arrays import FloatArray
from pytest_factorfair.statistics.confusion import Confusion, correct

NOT_SCANNED = "pictures have no scan: a bias in one prompt alone can pass"
"""A note of runs with gates."""


def people_seen(records: Iterable[Record], checklist: Checklist, *, models: Sequence[str]) -> Iterator[str]:
    """One sentence for each model with pictures of nobody, or of several people, who all count."""
    checklist_records = [record for record in records if record.case.checklist == checklist.name]
    for model in models:
        asked = [record for record in checklist_records if record.case.model == model]
        faces = (Counter(answer.query for answer in record.answers) for record in asked)
        pictures = [count for counts in faces for count in counts.values()]
        nobody = sum(answer.reason == NO_FACE for record in asked for answer in record.answers)
        several = sum(count > 1 for count in pictures)
        findings = [
            f"{count:,} of {len(pictures):,} pictures {predicate}"
            for count, predicate in (
                (nobody, f"show {NO_FACE}"),
                (several, "show several, each of which counts"),
            )
            if count
        ]
        if findings:
            yield f"{model}: {'; '.join(findings)}"


def corrections(
    tallies: Iterable[Tally], tables: Sequence[Confusion], *, read_otherwise: Collection[str] = ()
) -> tuple[Correction, ...]:
    """Raw and corrected shares of each tally, pooled over its topics; without tables there are none.

    ``read_otherwise`` are models with pictures that another detector read than the one of the tables.
    """
    tables_by_groups = {(table.attribute, table.groups): table for table in tables}
    return tuple(
        _correction(
            tally,
            tables_by_groups.get((tally.attribute, tally.groups)),
            is_about=tally.model not in read_otherwise,
        )
        for tally in tallies
        if tables_by_groups
    )


def _correction(tally: Tally, table: Confusion | None, *, is_about: bool) -> Correction:
    pooled = tally.counts.sum(axis=(0, 1))
    n = int(pooled.sum())
    corrected, reason = None, ""
    if table is None:
        reason = f"the table of the detector's errors is not about {tally.attribute}"
    elif not is_about:
        reason = "another detector read these pictures than the table of errors is about"
    elif not n:
        reason = "no face was perceived"
    elif not (reason := table.refusal):
        corrected = correct(table, pooled, int(tally.unparsed.sum()))

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
        corrected=by_group(corrected.value) if corrected else {},
        low=by_group(corrected.low) if corrected else {},
        high=by_group(corrected.high) if corrected else {},
        reason=reason,
    )
