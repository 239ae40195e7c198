"""A promise about a score, and whether it was kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Comparison = Literal[">=", "<="]
Judgement = Literal["passed", "failed", "waived", "inconclusive", "not judged"]


@dataclass(frozen=True, slots=True)
class Gate:
    """A parsed gate expression ``metric[filter,...] op threshold``.

    ``regression`` marks ``regression(metric)``: the change since the baseline. ``text`` is the
    expression as the user wrote it.
    """

    text: str
    metric: str
    filters: tuple[str, ...]
    comparison: Comparison
    threshold: float
    regression: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a gate on one score. ``subject`` names the score, ``name`` is unique in the run.

    ``low`` and ``high`` are the one-sided bounds it was judged by, None where it was judged by its
    value. A waived verdict is one that failed, with a waiver in force.
    """

    gate: str
    name: str
    subject: str
    judgement: Judgement
    value: float | None
    threshold: float
    n: int
    reason: str
    low: float | None = None
    high: float | None = None
