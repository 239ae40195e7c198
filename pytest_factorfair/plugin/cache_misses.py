"""``--factorfair-explain-cache``: which answers would be asked for, and why; nothing is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_factorfair.domain import plural
from pytest_factorfair.session.plan import Showing

if TYPE_CHECKING:
    import pytest

    from pytest_factorfair.session.run import Run


class CacheMisses(Showing):
    """Registered in place of the controller: each planned answer that is not stored, by its reason."""

    title = "cache"

    def __init__(self, config: pytest.Config, run: Run) -> None:
        super().__init__(config, run)
        self._run = run

    def lines(self) -> Iterator[str]:
        """Answers planned and had, then a line per model and reason, the most frequent first."""
        found = self._misses()
        missing = sum(count for count, _ in found.values())
        planned = sum(one.case.samples for one in self._run.assignments)
        yield f"{plural(planned, 'answer')} planned: {planned - missing:,} in the store, {missing:,} to ask"
        width = len(f"{missing:,}")
        for (model, reason), (count, example) in sorted(found.items(), key=lambda one: -one[1][0]):
            yield f"{count:>{width},}  {model}: {reason} (as in {example})"

    def _misses(self) -> dict[tuple[str, str], tuple[int, str]]:
        """By model and reason: how many answers, and the case of the first."""
        from pytest_factorfair.store.misses import Memory

        memory = Memory.of(self._run.store)
        found: dict[tuple[str, str], tuple[int, str]] = {}
        for one in self._run.assignments:
            identity = self._run.models[one.model].identity
            for query in self._run.queries(one):
                if (reason := memory.reason(identity, query)) is not None:
                    count, example = found.get((one.model, reason), (0, one.case.id))
                    found[one.model, reason] = count + 1, example
        return found
