"""The reporting part of a benchmark: tables, figures, its parts of the HTML page and the model card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from pytest_factorfair.benchmarks.metric import ScoreKey
from pytest_factorfair.domain import ImpactRatio, Score

PERCEIVED = "Of the people in pictures, only a detector's perception is known, and detectors err."


class RightAnswer(NamedTuple):
    """The right group in answers to a case; ``score_key`` and ``metric`` name the score that counts it."""

    group: str
    score_key: ScoreKey
    metric: str


Of = TypeVar("Of", bound=Score | ImpactRatio)


def by_subject(rows: Sequence[Of]) -> Iterator[tuple[str, list[Of]]]:
    """The rows of each model and checklist, under a title that names the model if there are several."""
    subjects = dict.fromkeys((row.model, row.checklist) for row in rows)
    for model, checklist in subjects:
        title = f"{model} · {checklist}" if len(subjects) > 1 else checklist
        yield title, [row for row in rows if (row.model, row.checklist) == (model, checklist)]
