"""What leaves scores without meaning, whatever the gates: the first thing a report says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pytest_factorfair.domain import Outcome, Summary, plural
from pytest_factorfair.reports.tables.headline import whose


def warnings(summary: Summary) -> Iterator[str]:
    """One for each model and checklist without a single answer, or for each of its parts and contexts."""
    fates: dict[str, Counter[Outcome]] = {}
    for record in summary.cases:
        fate = fates.setdefault(whose(summary, record.case), Counter())
        fate.update(answer.outcome for answer in record.answers)
    silent = {subject for subject, fate in fates.items() if not fate["answered"]}
    for subject in silent:
        total = fates[subject].total()
        every = f"all {plural(total, 'answer')}" if total > 1 else "the only answer"
        yield f"{_lost(fates[subject], every + subject)}: no score says anything about it"
    places: dict[tuple[str, str], Counter[Outcome]] = {}
    for topic in summary.topics:
        subject = whose(summary, topic)
        if subject not in silent:
            fate = places.setdefault((topic.context or topic.part, subject), Counter())
            fate["answered"] += sum(topic.counts.values())
            fate.update({"refused": topic.refused, "unread": topic.unread, "error": topic.errors})
    for (place, subject), fate in places.items():
        if fate.total() and not fate["answered"]:
            every = f"every answer in {place}{subject}"
            yield f"{_lost(fate, every)}: no score there says anything about it"


def _lost(fate: Counter[Outcome], answers: str) -> str:
    match [outcome for outcome, count in fate.items() if count]:
        case ["refused"]:
            return f"the model refused {answers}"
        case ["unread"]:
            return f"{answers} went unread"
        case ["error"]:
            return f"{answers} ended in an error"
        case _:
            return f"{answers} went without a choice (refused, unread or errors)"
