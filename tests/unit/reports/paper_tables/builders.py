"""Summaries made of scores alone, as a report has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytest_factorfair.domain import Fingerprint, Score, Summary, Usage


def summary(scores: Iterable[Score], **changes: Any) -> Summary:
    """A finished run with these scores; ``changes`` are of its fingerprint, or of what else a summary has."""
    found = tuple(scores)
    told: dict[str, Any] = {
        "models": {one.model: {} for one in found},
        "checklists": {one.checklist: "0" * 64 for one in found},
        "preset": "paper", "design": "paper", "truth": "published", "samples": 300, "objective": 3, "seed": 0,
        "answers": "text", "estimator": "plugin", "interval": "instrument", "detector": {}, "versions": {}, "times": {},
    }  # fmt: skip
    own = {name: changes.pop(name) for name in list(changes) if name in told}
    rest: dict[str, Any] = {"incomplete": None, "topics": (), "prompts": ()} | changes
    return Summary(
        fingerprint=Fingerprint(**(told | own)),
        gates=(),
        headline=(),
        scores=found,
        cases=(),
        usage=Usage(),
        seconds=0.0,
        notes=(),
        **rest,
    )
