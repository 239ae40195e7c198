"""The details that readers expand on the page: the matrix of statistics, the shares of an end, scans, and
how choices depend on conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from pytest_factorfair.benchmarks.fact_or_fair.checklist import TopicCase, Valence, scenario_name
from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import of_rows
from pytest_factorfair.benchmarks.fact_or_fair.metrics import columns
from pytest_factorfair.benchmarks.fact_or_fair.metrics.base import TallyMetric
from pytest_factorfair.benchmarks.fact_or_fair.metrics.influence import COLUMNS
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scan_score import SCAN
from pytest_factorfair.benchmarks.fact_or_fair.metrics.within import CONDITIONS
from pytest_factorfair.benchmarks.fact_or_fair.rows import DEPENDENCES, TOPICS, Dependence, TopicCounts
from pytest_factorfair.benchmarks.reporting import SCANS, ScanResult
from pytest_factorfair.domain import Answer, Summary, plural
from pytest_factorfair.drawing import statements
from pytest_factorfair.drawing.figures import ON_PAGE, PALETTE, Spec, share_axis
from pytest_factorfair.statistics.bounds import BEYOND, quantile, wilsons
from pytest_factorfair.statistics.sample import Sample

Row = dict[str, Any]


def cells(summary: Summary, cases: Sequence[TopicCase]) -> Iterator[Row]:
    """A row per model, attribute, statistic and context, with both of its ends.

    ``column`` is the context, or the part where there is none. ``failed`` are the failed scores that the
    cell is part of, ``broke`` those that it influenced most; cells of scans are their own.
    """
    asked: dict[tuple[str, ...], list[TopicCase]] = {}
    for case in cases:
        for attribute in case.attributes:
            column = case.context or case.part
            asked.setdefault((case.checklist, attribute, case.statistic, column), []).append(case)
    failed = [
        verdict
        for verdict in summary.gates
        if verdict.judgement == "failed" and not verdict.gate.startswith(SCAN.name)
    ]
    by_cell: dict[tuple[str, ...], list[TopicCounts]] = {}
    for topic in TOPICS.of(summary):
        cell = (topic.model, topic.checklist, topic.attribute, topic.statistic, topic.context or topic.part)
        by_cell.setdefault(cell, []).append(topic)
    for (model, checklist, attribute, statistic, column), ends in by_cell.items():
        cell_ids = {case.id for case in asked.get((checklist, attribute, statistic, column), ())}
        # Every cell has answers in each condition and each column of influence.
        words = {model, checklist, attribute, statistic, column, ends[0].part, *CONDITIONS, *COLUMNS.values()}
        tally = of_rows(ends, summary.fingerprint.design, "image" if summary.fingerprint.detector else "text")
        part_of = [
            verdict for verdict in failed if verdict.model == model and words.issuperset(verdict.words)
        ]
        yield {
            "model": model,
            "checklist": checklist,
            "attribute": statements.attribute(attribute, summary),
            "statistic": statistic,
            "title": tally.title(0),
            "column": column,
            "part": ends[0].part,
            "scores": {
                name: round(value, 4) if (value := metric.value(tally)) is not None else None
                for name, metric in in_matrix().items()
                if metric.applies(tally.part, tally.background)
            },
            "ends": list(_ends(ends)),
            "failed": [verdict.subject for verdict in part_of],
            "broke": [
                verdict.subject
                for verdict in part_of
                if any(
                    mover.cases.checklist == checklist and not cell_ids.isdisjoint(mover.cases.ids)
                    for mover in (verdict.explanation.movers if verdict.explanation else ())
                )
            ],
        }


def address(scan: ScanResult, number: int) -> str:
    """The address on the page of the nth worst cell of a scan."""
    words = (scan.model, scan.checklist, "scan", scan.scan, str(number))
    return "/".join(("#cell", *(quote(word, safe="!~*'()") for word in words)))


def scanned(summary: Summary, cases: Sequence[TopicCase]) -> Iterator[Row]:
    """The worst cells of failed scans, each with the questions that show it and their place in the matrix."""
    cases_by_id = {(case.checklist, case.id): case for case in cases}
    for scan in SCANS.of(summary):
        failed = [
            verdict.subject
            for verdict in summary.gates
            if verdict.judgement == "failed"
            and verdict.gate.startswith(SCAN.name)
            and verdict.model == scan.model
            and {*scan.scan.split(",")} <= {*verdict.words}
        ]
        for number, cell in enumerate(scan.worst):
            if cell.value <= 1 or (case := cases_by_id.get((scan.checklist, cell.case))) is None:
                continue
            yield {
                "model": scan.model,
                "checklist": scan.checklist,
                "address": address(scan, number),
                "short": cell.name,
                "told": f"{cell.sentence[:1].upper()}{cell.sentence[1:]}.",
                "legend": f"found by looking at {plural(scan.cells, 'cell')} of {scan.n:,} answers",
                "case": cell.case,
                "queries": cell.queries,
                "statistic": case.statistic,
                "column": case.context or case.part,
                "failed": failed,
            }


def in_matrix() -> dict[str, TallyMetric]:
    """The metrics that a cell of the matrix shows for its statistic alone, by name."""
    return {name: metric for name, metric in columns().items() if not metric.signed}


def _ends(topics: Sequence[TopicCounts]) -> Iterator[Row]:
    """The ends of a statistic: shares of groups, lost answers, letters' mass.

    Shares have 95 % Wilson intervals at as many answers as would be as precise if drawn.
    """
    counts = np.array([[*topic.counts.values()] for topic in topics], np.float64)
    measured = [topic.covariance for topic in topics]
    precise = Sample(counts, np.array(measured) if all(measured) else None).effective
    shares = counts / [[topic.answered or np.nan] for topic in topics]
    z = quantile(BEYOND)
    low, high = wilsons(shares, precise, z=-z), wilsons(shares, precise, z=z)
    for index, topic in enumerate(topics):
        groups: list[Row] = []
        for group, (name, count) in enumerate(topic.counts.items()):
            row: Row = {"group": name, "count": round(count, 1)}
            if topic.answered:
                row |= {
                    "share": round(float(shares[index, group]), 4),
                    "low": round(float(low[index, group]), 4),
                    "high": round(float(high[index, group]), 4),
                }
            groups.append(row)
        yield {
            "direction": topic.direction,
            "truth": topic.truth,
            "fragile": topic.fragile,
            "asked": topic.asked,
            "refused": topic.refused,
            "declined": topic.declined,
            "unparsed": topic.unparsed,
            "errors": topic.errors,
            **({"held": round(1 - topic.outside / topic.answered, 4)} if topic.outside else {}),
            "groups": groups,
        }


VALENCES: Mapping[Valence, str] = {"positive": "good", "negative": "bad"}

LABELS: Mapping[str, str] = {
    "scenario": "scenario",
    "named": "group named",
    "age": "age",
}
"""The conditions in a table; that of the first person has its attribute."""


def dependences(summary: Summary) -> Iterator[Row]:
    """A row per model, attribute, context and condition, with a cell for each of its values.

    ``key`` and a cell's ``covers`` find its replies by the result of ``of_reply``. ``failed`` are the failed
    scores of the condition; its most uneven cell ``broke`` them.
    """
    failed = [verdict for verdict in summary.gates if verdict.judgement == "failed"]
    statistics = {topic.statistic for topic in TOPICS.of(summary)}
    lowest: dict[tuple[object, ...], float] = {}
    for row in DEPENDENCES.of(summary):
        evenness = [cell.evenness for cell in row.cells if cell.evenness is not None]
        lowest[_score_words(row)] = min([*evenness, lowest.get(_score_words(row), 1.0)])
    for row in DEPENDENCES.of(summary):
        words = {*_score_words(row), row.part, *statistics}
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
            "key": _condition_key(row.condition, row.first or row.attribute),
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
                    "broke": part_of if cell.evenness == lowest[_score_words(row)] else [],
                }
                for cell in row.cells
            ],
        }


def _score_words(row: Dependence) -> tuple[object, ...]:
    """The words of the score that rows of one condition share."""
    return row.model, row.checklist, row.attribute, row.context, row.condition


def of_reply(case: TopicCase, answer: Answer) -> Mapping[str, str]:
    """The values of the conditions of a reply's question, by the keys of rows."""
    if case.scenario is None:
        return {}
    return {
        _condition_key("scenario", ""): scenario_name(case.scenario),
        **({} if answer.age is None else {_condition_key("age", ""): str(answer.age)}),
        **{_condition_key("named", name): group for name, group in answer.background.items()},
        **{_condition_key("first", name): groups[0] for name, groups in answer.offered.items()},
    }


def _condition_key(condition: str, attribute: str) -> str:
    return f"{condition} {attribute}" if condition in ("named", "first") else condition


SHARES = "groups"
"""The data set a drawing fills: rows of group, share, low, high, count, true and even."""


def shares() -> Spec:
    """The drawing of an end's shares, without rows: the page fills in the end that a reader opens."""
    group = {"field": "group", "type": "nominal", "title": None, "sort": None, "axis": {"labelLimit": 120}}
    x = share_axis("share of answers", "share")
    tooltip = [
        {"field": "group", "type": "nominal"},
        {"field": "count", "type": "quantitative", "title": "answers"},
        {"field": "share", "type": "quantitative", "format": ".3f"},
        {"field": "low", "type": "quantitative", "format": ".3f", "title": "from"},
        {"field": "high", "type": "quantitative", "format": ".3f", "title": "to"},
    ]
    bar = {
        "mark": {"type": "bar", "height": {"band": 0.6}},
        "encoding": {
            "y": group,
            "x": x,
            "color": {
                "field": "true",
                "type": "nominal",
                "title": None,
                "scale": {"domain": [True, False], "range": [PALETTE[0], PALETTE[6]]},
                "legend": None,
            },
            "tooltip": tooltip,
        },
    }
    error = {
        "mark": {"type": "rule", "strokeWidth": 2, "aria": False},
        "encoding": {"y": group, "x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}},
    }
    even = {
        "mark": {"type": "rule", "strokeDash": [4, 3], "aria": False},
        "encoding": {"x": {"field": "even", "type": "quantitative", "aggregate": "max"}},
    }
    return ON_PAGE | {"data": {"name": SHARES}, "layer": [bar, error, even]}
