"""What a model's own reasons cite, context by context."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pytest_factorfair.domain import Citation, ReasonShare, Summary
from pytest_factorfair.reports.table import MISSING, Row, Table, percent

CITED: Mapping[Citation, str] = {
    "group": "a group",
    "prior": "statistics",
    "news": "the news",
    "identity": "its identity",
}
"""The headings of what is cited."""


def reason_tables(summary: Summary) -> Iterator[Table]:
    """One table per model and checklist: contexts down, what the reasons cite across."""
    subjects = tuple(dict.fromkeys((one.model, one.checklist) for one in summary.reasons))
    for subject in subjects:
        mine = [one for one in summary.reasons if (one.model, one.checklist) == subject]
        contexts = dict.fromkeys(one.context for one in mine)
        rows = tuple(_row(one for one in mine if one.context == context) for context in contexts)
        differing = [name for name, all_names in zip(subject, zip(*subjects, strict=True), strict=True)
                     if len(set(all_names)) > 1]  # fmt: skip
        title = " · ".join((*differing, "reasons cite"))
        yield Table(title, (*CITED.values(), "reasons"), rows, tuple(_missing(mine)))


def quotations(summary: Summary) -> Iterator[str]:
    """The first reasons of each kind, as the model gave them, so that a reader can judge the reading."""
    for one in summary.reasons:
        for text in one.quotations:
            yield f"{one.model}, {one.context}, {CITED[one.citation]}: “{text}”"


def _row(shares: Iterable[ReasonShare]) -> Row:
    found = {one.citation: one for one in shares}
    first = next(iter(found.values()))
    cells = (*(_cell(found[citation]) for citation in CITED), f"{first.n:,} of {first.asked:,}")
    return Row(first.context, cells)


def _cell(share: ReasonShare) -> str:
    if share.share is None or share.low is None or share.high is None:
        return MISSING
    return f"{percent(share.share)} ({percent(share.low)} to {percent(share.high)})"


def _missing(shares: Iterable[ReasonShare]) -> Iterator[str]:
    one_each = {one.context: one for one in shares}.values()
    for name in ("refused", "unread", "errors"):
        if lost := sum(getattr(one, name) for one in one_each):
            yield f"questions for a reason {name}: {lost:,} of {sum(one.asked for one in one_each):,}"
