"""The usage of exchanges."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_factorfair.domain import Exchange, Usage


def usage(exchanges: Iterable[Exchange]) -> Usage:
    """All calls sent, failures included; the cost is unknown if that of a response is."""
    asked = tuple(exchanges)
    fresh = [one.response for one in asked if one.response is not None and not one.cached]
    fresh += [probe for one in asked for probe in one.probes]
    known = [response.cost for response in fresh if response.cost is not None]
    return Usage(
        calls=sum(one.calls for one in asked),
        cached=sum(one.cached for one in asked),
        tokens_in=sum(response.tokens_in or 0 for response in fresh),
        tokens_out=sum(response.tokens_out or 0 for response in fresh),
        cost=sum(known, 0.0) if len(known) == len(fresh) else None,
    )
