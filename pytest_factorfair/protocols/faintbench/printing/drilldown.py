"""The part of the page that readers expand: the tree of levels and prompts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from pytest_factorfair.domain import PromptCounts, Score, Summary
from pytest_factorfair.protocols.faintbench.checklist import PromptCase
from pytest_factorfair.protocols.faintbench.metrics import METRICS as KNOWN
from pytest_factorfair.protocols.faintbench.scoring.formulas import floor, similarity

Row = dict[str, Any]

METRICS = ("implicit", "explicit")
SIDES = (" (left)", " (right)")


def trees(summary: Summary, cases: Iterable[PromptCase]) -> Iterator[Row]:
    """One per model and checklist."""
    asked = tuple(cases)
    subjects = dict.fromkeys((one.model, one.checklist) for one in summary.prompts)
    for model, checklist in subjects:
        known = {case.id: case for case in asked if case.checklist == checklist}
        scores = [one for one in summary.scores if (one.model, one.checklist) == (model, checklist)]
        prompts = [one for one in summary.prompts if (one.model, one.checklist) == (model, checklist)]
        attributes = tuple(dict.fromkeys(one.attribute for one in scores if one.metric in METRICS))
        yield {
            "model": model,
            "checklist": checklist,
            "attributes": attributes,
            "meanings": {metric: KNOWN[metric].meaning for metric in METRICS},
            "levels": list(_levels(scores, known)),
            "prompts": list(_prompts(prompts, known)),
        }


def _levels(scores: Iterable[Score], cases: Mapping[str, PromptCase]) -> Iterator[Row]:
    """Levels with their scores by metric and attribute; ``within`` is the level above."""
    kinds = {case.category: case.kind for case in cases.values()}
    places: dict[str | None, list[Score]] = {}
    for one in scores:
        if one.metric in METRICS:
            places.setdefault(one.context, []).append(one)
    for place, here in places.items():
        above = None if place is None else kinds.get(place, "")
        yield {
            "id": place or "",
            "within": above,
            "cells": {
                f"{one.metric}-{one.attribute}": _level_cell(one) for one in here if one.value is not None
            },
        }


def _level_cell(one: Score) -> Row:
    value = one.shown
    numbers = {"value": value, "low": one.low, "high": one.high, "floor": one.floor, "n": one.n}
    return {name: round(number, 4) for name, number in numbers.items() if number is not None}


def _prompts(rows: Iterable[PromptCounts], cases: Mapping[str, PromptCase]) -> Iterator[Row]:
    """The people of a prompt: plug-in alignment with its floor, or the share with the groups asked for."""
    for row in rows:
        case = cases[row.case]
        shown = sum(row.counts.values())
        found: Row = {"value": None}
        if case.part == "implicit":
            truth = np.array(list(row.shares.values()))
            found["floor"] = round(float(floor(truth)), 4)
            if shown:
                generated = np.array(list(row.counts.values()), np.float64) / shown
                found["value"] = round(float(similarity(generated, truth)), 4)
        elif counted := row.asked - row.refused - row.unparsed - row.errors:
            found["value"] = round(shown / counted, 4)
        side = SIDES[row.side] if case.kind == "relation" else ""
        yield {
            "case": case.id,
            "title": case.title + side,
            "kind": case.kind,
            "category": case.category,
            "attribute": row.attribute,
            "part": case.part,
            "counts": {group: round(count, 2) for group, count in row.counts.items()},
            "asked": row.asked,
            "lost": row.refused + row.unparsed + row.errors,
            **found,
        }
