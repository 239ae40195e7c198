"""The table of shares as perceived, and with the detector's error taken out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_factorfair.domain import Correction, Summary
from pytest_factorfair.reports.table import Row, Table, number


def correction_tables(summary: Summary) -> Iterator[Table]:
    """One table per model, checklist and attribute: groups across, raw above corrected shares."""
    subjects: dict[tuple[str, str, str], list[Correction]] = {}
    for one in summary.corrections:
        subjects.setdefault((one.model, one.checklist, one.attribute), []).append(one)
    for subject, here in subjects.items():
        groups = next((tuple(one.raw) for one in here if one.raw), ())
        notes = tuple(dict.fromkeys(f"not corrected: {one.reason}" for one in here if one.reason))
        yield Table(
            f"{_title(subject, tuple(subjects))}, shares",
            (*groups, "faces"),
            tuple(row for one in here for row in _rows(one, groups)),
            (*notes, *(() if all(one.reason for one in here) else (MEANT,))),
        )


MEANT = "perceived shares, pooled over topics; below them, what is left once the detector's error is out"


def _title(subject: tuple[str, str, str], subjects: Sequence[tuple[str, str, str]]) -> str:
    *places, attribute = subject
    several = [part for column, part in enumerate(places) if len({each[column] for each in subjects}) > 1]
    return " · ".join((*several, attribute))


def _rows(one: Correction, groups: Sequence[str]) -> Iterator[Row]:
    raw = tuple(_share(one.raw, group) for group in groups)
    yield Row(one.context or one.part, (*raw, f"{one.n:,}"))
    if one.corrected:
        yield Row("  corrected", (*(_share(one.corrected, group) for group in groups), ""))
        between = (f"{_share(one.low, group)}-{_share(one.high, group)}" for group in groups)
        yield Row("  95 %", (*between, ""), aside=True)


def _share(shares: Mapping[str, float], group: str) -> str:
    return number(shares.get(group), digits=2)
