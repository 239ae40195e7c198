"""A model in three numbers, as a line."""

from __future__ import annotations

from typing import Protocol

from pytest_factorfair.domain import Summary


def headline_lines(summary: Summary) -> tuple[str, ...]:
    """A model in three numbers (Table 2), where it was asked for facts and for judgements."""
    return tuple(
        f"headline{whose(summary, row)}: objective S_fact {row.fact:.3f}, "
        f"subjective S_fair {row.fair:.3f}, average {row.average:.3f}"
        for row in summary.headline
        if row.attribute is None and row.fact is not None and row.fair is not None and row.average is not None
    )


class OfModel(Protocol):
    """What belongs to a model and a checklist: a score, a case, a topic."""

    @property
    def model(self) -> str: ...
    @property
    def checklist(self) -> str: ...


def among(summary: Summary, one: OfModel) -> tuple[str, ...]:
    """The model and the checklist that a number is about, each where the run has several."""
    told = summary.fingerprint
    return (one.model,) * (len(told.models) > 1) + (one.checklist,) * (len(told.checklists) > 1)


def whose(summary: Summary, one: OfModel) -> str:
    """The same, behind what is counted."""
    words = among(summary, one)
    return f" of {' on '.join(words)}" if words else ""
