"""What FAIntbench prints, besides tables and figures of papers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pytest_factorfair.benchmarks.faintbench.checklist import PromptCase, prompt_cases
from pytest_factorfair.benchmarks.faintbench.metrics import METRICS
from pytest_factorfair.benchmarks.faintbench.printing.figures import eta_axis
from pytest_factorfair.benchmarks.faintbench.rows import PROMPTS, PromptCounts
from pytest_factorfair.benchmarks.faintbench.scoring.formulas import floor, similarity
from pytest_factorfair.benchmarks.reporting import PERCEIVED
from pytest_factorfair.domain import Case, Score, Summary, plural
from pytest_factorfair.drawing.entries import by_checklist, entries
from pytest_factorfair.drawing.figures import ON_PAGE, Spec
from pytest_factorfair.drawing.statements import per_case

TreeRow = dict[str, Any]

IN_TREE = ("implicit", "explicit")
"""The scores that the tree of levels and prompts shows."""

SIDES = (" (left)", " (right)")


def size(summary: Summary) -> str:
    return f"{plural(per_case(summary), 'picture')} per prompt"


def page(summary: Summary, cases: Sequence[Case]) -> Mapping[str, Any]:
    """The axis of eta, and the tree of levels and prompts."""
    listed = by_checklist(entries({"": summary}))
    return {
        "etas": [
            {"title": f"eta of {checklist}", "spec": _on_screen(spec)}
            for checklist, group in listed.items()
            if (spec := eta_axis(group))
        ],
        "trees": list(_trees(summary, prompt_cases(cases))),
    }


def reply_place(case: Case) -> Mapping[str, Any] | None:
    """The prompt of a case in the tree."""
    if not isinstance(case, PromptCase):
        return None
    return {"prompt": case.id, "part": case.part}


def on_card(score: Score) -> bool:
    """Only scores of the whole model."""
    return score.context is None and score.metric in METRICS


def limits(summary: Summary) -> Iterator[str]:
    prompts = PROMPTS.of(summary)
    if not prompts:
        return
    names = dict.fromkeys(prompt.attribute for prompt in prompts)
    yield f"The groups are those of the checklist, by {', '.join(names)}; no others are covered."
    yield "The shares in reality are those that the checklist names, of one place and time."
    yield PERCEIVED


def _on_screen(spec: Spec) -> Spec:
    """A printed figure at the width and in the font of the page."""
    drawn = {name: part for name, part in spec.items() if name not in ("title", "config")}
    return drawn | ON_PAGE | {"height": 2 * spec["height"]}


def _trees(summary: Summary, cases: Iterable[PromptCase]) -> Iterator[TreeRow]:
    """One tree per model and checklist."""
    asked = tuple(cases)
    subjects = dict.fromkeys((prompt.model, prompt.checklist) for prompt in PROMPTS.of(summary))
    for model, checklist in subjects:
        by_id = {case.id: case for case in asked if case.checklist == checklist}
        scores = [score for score in summary.scores if (score.model, score.checklist) == (model, checklist)]
        prompts = [
            prompt for prompt in PROMPTS.of(summary) if (prompt.model, prompt.checklist) == (model, checklist)
        ]
        attributes = tuple(dict.fromkeys(score.attribute for score in scores if score.metric in IN_TREE))
        yield {
            "model": model,
            "checklist": checklist,
            "attributes": attributes,
            "meanings": {metric: METRICS[metric].meaning for metric in IN_TREE},
            "levels": list(_levels(scores, by_id)),
            "prompts": list(_prompts(prompts, by_id)),
        }


def _levels(scores: Iterable[Score], cases: Mapping[str, PromptCase]) -> Iterator[TreeRow]:
    """Levels with their scores by metric and attribute; ``within`` is the level above."""
    kinds = {case.category: case.kind for case in cases.values()}
    by_level: dict[str | None, list[Score]] = {}
    for score in scores:
        if score.metric in IN_TREE:
            by_level.setdefault(score.context, []).append(score)
    for level, level_scores in by_level.items():
        above = None if level is None else kinds.get(level, "")
        yield {
            "id": level or "",
            "within": above,
            "cells": {
                f"{score.metric}-{score.attribute}": _level_cell(score)
                for score in level_scores
                if score.value is not None
            },
        }


def _level_cell(score: Score) -> TreeRow:
    value = score.shown
    numbers = {"value": value, "low": score.low, "high": score.high, "floor": score.floor, "n": score.n}
    return {name: round(number, 4) for name, number in numbers.items() if number is not None}


def _prompts(rows: Iterable[PromptCounts], cases: Mapping[str, PromptCase]) -> Iterator[TreeRow]:
    """The people of a prompt: plug-in alignment with its floor, or the share with the groups asked for."""
    for row in rows:
        case = cases[row.case]
        shown = sum(row.counts.values())
        cell: TreeRow = {"value": None}
        if case.part == "implicit":
            truth = np.array(list(row.shares.values()))
            cell["floor"] = round(float(floor(truth)), 4)
            if shown:
                generated = np.array(list(row.counts.values()), np.float64) / shown
                cell["value"] = round(float(similarity(generated, truth)), 4)
        elif counted := row.asked - row.refused - row.unparsed - row.errors:
            cell["value"] = round(shown / counted, 4)
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
            **cell,
        }
