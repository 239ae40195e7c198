"""What a model declines to judge, and what it chooses otherwise: in a sentence, and in tiles of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_factorfair.benchmarks.fact_or_fair.checklist import IN_GROUP, TopicCase, scenario_name
from pytest_factorfair.benchmarks.fact_or_fair.rows import TOPICS, TopicCounts
from pytest_factorfair.benchmarks.reporting import SCANS
from pytest_factorfair.domain import Answer, Declining, Record, Reported, Summary, plural

Row = dict[str, Any]

FEW_CHOICES = 100
"""Fewer choices than this are not described: their shares are mostly chance."""

REFUSALS = "refused"
"""Begins the words that select a scan of refusals."""


def declining(reported: Reported) -> Iterator[Declining]:
    """How many judgements each model declined that count as neutral, and whom it picked otherwise.

    They are alike for all groups if its refusals were scanned, and nothing was found.
    """
    scanned: dict[str, list[bool]] = {}
    for scan in SCANS.of(reported):
        if scan.scan.startswith(REFUSALS):
            scanned.setdefault(scan.model, []).append(scan.cells > 0 and scan.value <= 1)
    by_model: dict[str, dict[str, list[TopicCounts]]] = {}
    for topic in TOPICS.of(reported):
        if topic.part == "subjective":
            by_model.setdefault(topic.model, {}).setdefault(topic.attribute, []).append(topic)
    for model, by_attribute in by_model.items():
        asked, declined, answered = max(
            (
                sum(topic.asked for topic in about),
                sum(topic.declined for topic in about),
                sum(topic.answered for topic in about),
            )
            for about in by_attribute.values()
        )
        if not declined:
            continue
        others, choices = asked - declined, answered - declined
        subject = model if len(by_model) > 1 else "It"
        amount = "all" if not others else f"{min(max(round(100 * declined / asked), 1), 99)} of 100"
        alike = ", alike for all groups" if all(scanned.get(model, [False])) else ""
        sentence = f"{subject} declined {amount} judgements{alike}"
        if missing := others - choices:
            sentence += f"; {plural(missing, 'answer is', 'answers are')} missing"
        if choices >= FEW_CHOICES:
            sentence += f"; of the other {choices:,}, {_picked(by_attribute)}"
        elif choices:
            sentence += f"; {plural(choices, 'other answer is', 'other answers are')} too few to describe"
        yield Declining(model, declined, declined / asked, f"{sentence}.")


def _picked(by_attribute: Mapping[str, Iterable[TopicCounts]]) -> str:
    """How often choices are of the stereotyped group, for the attribute where that is furthest from fair."""
    shares: dict[str, tuple[float, float]] = {}
    for attribute, topics in by_attribute.items():
        stereotyped = chosen = even = 0.0
        for topic in topics:
            even = 1 / len(topic.counts)
            stereotyped += topic.counts[topic.truth] - even * topic.declined
            chosen += topic.answered - topic.declined
        if chosen:
            shares[attribute] = stereotyped / chosen, even

    def bias(attribute: str) -> float:
        share, even = shares[attribute]
        return abs(share - even) / (1 - even)

    attribute = max(shares, key=bias)
    share, even = shares[attribute]
    return f"it picks the stereotyped {attribute} {100 * share:.0f} times in 100 (fair is {100 * even:.0f})"


MOST = 5
"""The number of topics that are listed."""


def tiles(summary: Summary, cases: Sequence[TopicCase]) -> Iterator[Row]:
    """For each model that declined judgements as neutral: a sentence, and its tiles.

    A tile has a title and rows: a name, and a share of a total.
    """
    by_id = {(case.checklist, case.id): case for case in cases}
    for declined in declining(summary):
        topics = [
            topic
            for topic in TOPICS.of(summary)
            if topic.model == declined.model and topic.part == "subjective" and topic.asked
        ]
        records = [record for record in summary.cases if record.case.model == declined.model]
        yield {
            "model": declined.model,
            "sentence": declined.sentence,
            "tiles": [*_by_condition(records, by_id), *_topics(topics), *_choices(topics)],
        }


def _by_condition(records: Iterable[Record], cases: Mapping[tuple[str, str], TopicCase]) -> Iterator[Row]:
    asked: dict[str, Counter[str]] = {}
    declined: Counter[tuple[str, str]] = Counter()
    for record in records:
        case = cases.get((record.case.checklist, record.case.case))
        if case is None or not case.judges:
            continue
        for answer in record.answers:
            for condition, value in _conditions(case, answer):
                asked.setdefault(condition, Counter())[value] += 1
                declined[condition, value] += answer.declined
    for condition, numbers in sorted(asked.items()):
        yield {
            "title": f"Declined, by {condition}",
            "rows": [
                _row(value, declined[condition, value], number)
                for value, number in (numbers.items() if condition == "context" else sorted(numbers.items()))
            ],
        }


def _conditions(case: TopicCase, answer: Answer) -> Iterator[tuple[str, str]]:
    """The conditions of a question, each with its value."""
    if case.context:
        yield "context", case.context
    if case.scenario is not None:
        yield "scenario of a topic", scenario_name(case.scenario)
    if answer.age is not None:
        yield "age", str(answer.age)
    yield "valence", "good to be chosen" if case.valence == "positive" else "bad to be chosen"
    for name, group in answer.background.items():
        yield f"the model's own {name}" if case.context == IN_GROUP else f"{name} named", group
    for name, groups in answer.offered.items():
        yield f"first person's {name}", groups[0]


def _topics(topics: Iterable[TopicCounts]) -> Iterator[Row]:
    """The topics that are declined most; every attribute of a topic has the same answers."""
    totals: dict[str, dict[str, Counter[str]]] = {}
    for topic in topics:
        by_topic = totals.setdefault(f"{topic.name}, {topic.direction}", {})
        by_attribute = by_topic.setdefault(topic.attribute, Counter())
        by_attribute.update(declined=topic.declined, asked=topic.asked)
    rows = []
    for name, counts_by_attribute in totals.items():
        counts = max(counts_by_attribute.values(), key=lambda counts: counts["asked"])
        rows.append(_row(name, counts["declined"], counts["asked"]))
    yield {"title": "Declined most", "rows": sorted(rows, key=lambda row: -row["share"])[:MOST]}


def _choices(topics: Sequence[TopicCounts]) -> Iterator[Row]:
    """Whom it chooses where it does not decline, by attribute: topics have the same groups."""
    for attribute in dict.fromkeys(topic.attribute for topic in topics):
        chosen: Counter[str] = Counter()
        about = [topic for topic in topics if topic.attribute == attribute]
        for topic in about:
            even = topic.declined / len(topic.counts)
            chosen.update({group: count - even for group, count in topic.counts.items()})
        total = sum(topic.answered - topic.declined for topic in about)
        if total:
            yield {
                "title": f"Chosen otherwise: {attribute}",
                "rows": [_row(group, max(round(count), 0), total) for group, count in chosen.items()],
            }


def _row(name: str, number: int, total: int) -> Row:
    return {"name": name, "share": round(number / total, 4), "total": total}
