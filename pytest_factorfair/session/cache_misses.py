"""``--factorfair-explain-cache``: which answers would be asked for, and why; nothing is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_factorfair.domain import plural

if TYPE_CHECKING:
    from pytest_factorfair.session.execution import Execution


def lines(execution: Execution) -> Iterator[str]:
    """Answers planned and stored, then a line for each model and reason, the most frequent first."""
    from pytest_factorfair.store.misses import Memory

    run, memory = execution.run, Memory.of(execution.store)
    found: dict[tuple[str, str], tuple[int, str]] = {}  # how many answers, and the case of the first
    for one in run.assignments:
        identity = run.models[one.model].identity
        for query in run.queries(one):
            if (reason := memory.reason(identity, query)) is not None:
                count, example = found.get((one.model, reason), (0, one.case.id))
                found[one.model, reason] = count + 1, example
    missing = sum(count for count, _ in found.values())
    planned = sum(one.case.samples for one in run.assignments)
    yield f"{plural(planned, 'answer')} planned: {planned - missing:,} in the store, {missing:,} to ask"
    width = len(f"{missing:,}")
    for (model, reason), (count, example) in sorted(found.items(), key=lambda one: -one[1][0]):
        yield f"{count:>{width},}  {model}: {reason} (as in {example})"
