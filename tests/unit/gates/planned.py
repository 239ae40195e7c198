"""The counts of a run before it asks anything."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_factorfair.benchmarks import benchmark_of, cases
from pytest_factorfair.benchmarks.measurement import Counts
from pytest_factorfair.domain import Checklist, Sampling


def planned(checklists: Sequence[Checklist], models: Sequence[str], sampling: Sampling) -> tuple[Counts, ...]:
    return tuple(
        counts
        for checklist in checklists
        for counts in benchmark_of(checklist).measuring.count(
            (), checklist, cases(checklist, sampling), models=models, sampling=sampling
        )
    )
