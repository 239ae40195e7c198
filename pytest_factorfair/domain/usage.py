"""What a run cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls made, answers taken from the store, tokens, and USD; a cost of None is unknown.

    ``throttled`` of the calls were put off by the endpoint (429), which closed it for ``waited`` seconds.
    """

    calls: int = 0
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = 0.0
    throttled: int = 0
    waited: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        known = self.cost is not None and other.cost is not None
        return Usage(
            calls=self.calls + other.calls,
            cached=self.cached + other.cached,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            cost=(self.cost or 0.0) + (other.cost or 0.0) if known else None,
            throttled=self.throttled + other.throttled,
            waited=self.waited + other.waited,
        )
