"""Summaries made of scores alone, as a report has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytest_factorfair.domain import Fingerprint, Score, Summary, Usage


def summary(scores: Iterable[Score] = (), **changes: Any) -> Summary:
    """A finished run with these scores; ``changes`` are of its fingerprint, or of what else a summary has."""
    scores = tuple(scores)
    fingerprint_fields: dict[str, Any] = {
        "models": {score.model: {} for score in scores},
        "checklists": {score.checklist: "0" * 64 for score in scores},
        "preset": "paper", "design": "paper", "truth": "published", "samples": 300, "objective": 3, "seed": 0,
        "answers": "text", "estimator": "plugin", "interval": "instrument", "detector": {}, "versions": {}, "times": {},
    }  # fmt: skip
    fingerprint_changes = {name: changes.pop(name) for name in list(changes) if name in fingerprint_fields}
    fields: dict[str, Any] = {
        "incomplete": None, "gates": (), "scores": scores, "cases": (), "usage": Usage(), "seconds": 0.0, "notes": (),
    }  # fmt: skip
    return Summary(Fingerprint(**(fingerprint_fields | fingerprint_changes)), **(fields | changes))
