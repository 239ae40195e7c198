"""The dependences of choices on the page: rows with a cell per value, and the replies of each cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_factorfair.benchmarks.fact_or_fair.checklist import TopicCase, Valence, scenario_name
from pytest_factorfair.benchmarks.fact_or_fair.rows import DEPENDENCES, TOPICS, Dependence
from pytest_factorfair.domain import Answer, Summary
from pytest_factorfair.drawing import statements

Row = dict[str, Any]

VALENCES: Mapping[Valence, str] = {"positive": "good", "negative": "bad"}

LABELS: Mapping[str, str] = {
    "scenario": "scenario",
    "named": "group named",
    "age": "age",
}
"""The conditions in a table; that of the first person has its attribute."""


def rows(summary: Summary) -> Iterator[Row]:
    """A row per model, attribute, context and condition, with a cell for each of its values.

    ``key`` and a cell's ``covers`` find its replies by the result of ``of_reply``. ``failed`` are the failed
    scores of the condition; its most uneven cell ``broke`` them.
    """
    failed = [verdict for verdict in summary.gates if verdict.judgement == "failed"]
    statistics = {topic.statistic for topic in TOPICS.of(summary)}
    lowest: dict[tuple[object, ...], float] = {}
    for row in DEPENDENCES.of(summary):
        evenness = [cell.evenness for cell in row.cells if cell.evenness is not None]
        lowest[_score(row)] = min([*evenness, lowest.get(_score(row), 1.0)])
    for row in DEPENDENCES.of(summary):
        words = {*_score(row), row.part, *statistics}
        part_of = [
            verdict.subject
            for verdict in failed
            if verdict.model == row.model
            and row.condition in verdict.words
            and words.issuperset(verdict.words)
        ]
        column = row.context or row.part
        yield {
            "model": row.model,
            "checklist": row.checklist,
            "attribute": statements.attribute(row.attribute, summary),
            "column": column,
            "condition": f"first person's {row.first}" if row.first else LABELS[row.condition],
            "key": _key(row.condition, row.first or row.attribute),
            **{name: getattr(row, name) for name in ("s_e", "within", "value", "low", "high", "reason")},
            "failed": part_of,
            "cells": [
                {
                    "value": cell.value,
                    "valence": cell.valence,
                    "told": cell.told,
                    "covers": [str(age) for age in cell.ages] or [cell.value],
                    "asked": cell.asked,
                    "missing": cell.missing,
                    "evenness": cell.evenness,
                    "shares": [{"group": group, "share": share} for group, share in cell.shares.items()],
                    "broke": part_of if cell.evenness == lowest[_score(row)] else [],
                }
                for cell in row.cells
            ],
        }


def _score(row: Dependence) -> tuple[object, ...]:
    """The words of the score that rows of one condition share."""
    return row.model, row.checklist, row.attribute, row.context, row.condition


def of_reply(case: TopicCase, answer: Answer) -> Mapping[str, str]:
    """The values of the conditions of a reply's question, by the keys of rows."""
    if case.scenario is None:
        return {}
    return {
        _key("scenario", ""): scenario_name(case.scenario),
        **({} if answer.age is None else {_key("age", ""): str(answer.age)}),
        **{_key("named", name): group for name, group in answer.background.items()},
        **{_key("first", name): groups[0] for name, groups in answer.offered.items()},
    }


def _key(condition: str, attribute: str) -> str:
    return f"{condition} {attribute}" if condition in ("named", "first") else condition
