"""Verdicts as annotations of GitHub Actions: workflow commands in a job's log, shown beside the changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_factorfair.domain import Summary, plural
from pytest_factorfair.gates.release import outcome, release
from pytest_factorfair.reports import escaping
from pytest_factorfair.reports.statements import explanation, warnings

GITHUB_ACTIONS = "GITHUB_ACTIONS"
"""Is ``true`` in a job of GitHub Actions."""

MOST = 10
"""GitHub shows no more errors of one step."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """One workflow command, which no text in it can end."""

    level: Literal["error", "warning"]
    title: str
    text: str

    def __str__(self) -> str:
        title = escaping.annotation_property(self.title)
        return f"::{self.level} title={title}::{escaping.annotation(self.text)}"


def annotate(summary: Summary, *, strict: bool, on_inconclusive: str) -> tuple[Annotation, ...]:
    """One for each gate that fails the job, then warnings; the tenth may stand for several.

    A run that was not judged gets one annotation: the reason is the same for all gates.
    """
    if summary.incomplete and summary.gates:
        return (Annotation("error" if strict else "warning", "factorfair: not judged", summary.incomplete),)
    errors = []
    warned = [Annotation("warning", "factorfair", text) for text in warnings(summary)]
    for one in summary.gates:
        title, text = f"factorfair: {one.gate}", f"{one.subject}: {one.reason}"
        if one.judgement not in ("failed", "waived", "passed"):
            text = f"{one.subject}: {one.judgement}: {one.reason}"
        text = "\n".join((text, *explanation(one)))
        if outcome(one, strict=strict, on_inconclusive=on_inconclusive) == "failed":
            errors.append(Annotation("error", title, text))
        elif one.judgement == "not judged" or (one.judgement == "inconclusive" and on_inconclusive == "warn"):
            warned.append(Annotation("warning", title, text))
    found = (*errors, *warned)
    if len(found) <= MOST:
        return found
    rest = f"and {plural(len(found) - MOST + 1, 'more gate')}: see the job's summary or report.md"
    title = f"factorfair: {release(summary.gates, summary.unjudged)}"
    return (*found[: MOST - 1], Annotation(found[MOST - 1].level, title, rest))
