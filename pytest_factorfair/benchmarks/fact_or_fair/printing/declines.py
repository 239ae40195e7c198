"""What a model declines to judge on the page: by condition and topic, and what it chooses otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_factorfair.benchmarks.fact_or_fair.checklist import IN_GROUP, TopicCase, scenario_name
from pytest_factorfair.domain import Answer, Direction, Record, Summary, TopicCounts, titled
from pytest_factorfair.drawing import statements

Row = dict[str, Any]

MOST = 5
"""The number of topics that are listed."""


def tiles(summary: Summary, cases: Sequence[TopicCase]) -> Iterator[Row]:
    """For each model that declined judgements as neutral: a sentence, and its tiles.

    A tile has a title and rows: a name, and a share of a total.
    """
    by_id = {(case.checklist, case.id): case for case in cases}
    names = {(case.checklist, case.statistic, case.direction): case.title for case in cases}
    for declining in statements.declining(summary.topics, summary.scans):
        topics = [
            topic
            for topic in summary.topics
            if topic.model == declining.model and topic.part == "subjective" and topic.asked
        ]
        records = [record for record in summary.cases if record.case.model == declining.model]
        yield {
            "model": declining.model,
            "sentence": declining.sentence,
            "tiles": [*_by_condition(records, by_id), *_topics(topics, names), *_choices(topics)],
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
    told = "the model's own" if case.context == IN_GROUP else "named"
    for name, group in answer.background.items():
        yield f"{name} {told}" if told == "named" else f"{told} {name}", group
    for name, groups in answer.offered.items():
        yield f"first person's {name}", groups[0]


def _topics(topics: Iterable[TopicCounts], names: Mapping[tuple[str, str, Direction], str]) -> Iterator[Row]:
    """The topics that are declined most; every attribute of a topic has the same answers."""
    totals: dict[str, dict[str, Counter[str]]] = {}
    for topic in topics:
        end = topic.checklist, topic.statistic, topic.direction
        name = names.get(end, f"{titled(topic.statistic)}, {topic.direction}")
        by_attribute = totals.setdefault(name, {}).setdefault(topic.attribute, Counter())
        by_attribute.update(declined=topic.declined, asked=topic.asked)
    rows = [
        _row(name, counts["declined"], counts["asked"])
        for name, by_attribute in totals.items()
        for counts in [max(by_attribute.values(), key=lambda counts: counts["asked"])]
    ]
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
