"""What exchanges cost."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_factorfair.domain import Exchange, Response, Usage


def usage(exchanges: Iterable[Exchange]) -> Usage:
    """Calls are the answers that were not in the store; the cost is unknown if one of theirs is."""
    answered = [
        (exchange.response, exchange.cached) for exchange in exchanges if exchange.response is not None
    ]
    fresh = [response for response, cached in answered if not cached]
    return Usage(
        calls=len(fresh),
        cached=len(answered) - len(fresh),
        tokens_in=sum(response.tokens_in or 0 for response in fresh),
        tokens_out=sum(response.tokens_out or 0 for response in fresh),
        cost=_cost(fresh),
    )


def _cost(fresh: Iterable[Response]) -> float | None:
    total = 0.0
    for response in fresh:
        if response.cost is None:
            return None
        total += response.cost
    return total
