"""A number about a model, and where it belongs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Estimator = Literal["corrected", "plugin", "published-code"]
Interval = Literal["instrument", "scenarios"]

ALL = "all"
"""The attribute of a score over all attributes."""


@dataclass(frozen=True, slots=True)
class Score:
    """One metric of one part, context and attribute.

    ``value`` is the plug-in value, None where there was nothing to compute it from. ``n`` is the
    number of answers behind it. ``floor`` and ``ceiling`` are what the design lets any model
    reach, ``fair_reference`` is what a perfectly fair one would have at this n. ``corrected`` is the
    value without its bias, ``low`` and ``high`` its 95 % interval, ``strength`` the stereotype
    strength that would give it; they are None where ``reason`` says why they cannot be estimated.
    """

    model: str
    checklist: str
    part: str
    context: str | None
    attribute: str
    metric: str
    value: float | None
    n: int
    floor: float | None = None
    ceiling: float | None = None
    corrected: float | None = None
    low: float | None = None
    high: float | None = None
    fair_reference: float | None = None
    strength: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Headline:
    """A model in three numbers (Table 2): objective S_fact, subjective S_fair, and their average.

    ``attribute`` is None for the mean over the attributes; a number is None where a part is missing.
    """

    model: str
    checklist: str
    attribute: str | None
    fact: float | None
    fair: float | None
    average: float | None
