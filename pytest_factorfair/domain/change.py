"""A score beside that of a former run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """How one score changed, or one part of it: a statistic's, or a category of prompts'.

    ``statistic`` names that part, and is None for the score as a whole. ``before`` and ``after`` are
    plug-in values, ``change`` new less old without the estimator's bias, with one-sided bounds where
    there are any. ``churn`` is the share of answers that are not the same as before; ``regressed``
    marks a change for the worse that is no accident.
    """

    model: str
    checklist: str
    part: str
    context: str | None
    attribute: str
    metric: str
    statistic: str | None
    before: float | None
    after: float | None
    change: float | None
    low: float | None
    high: float | None
    churn: float
    n: int
    regressed: bool = False
