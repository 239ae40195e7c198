"""What calls cost at most, before they are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_factorfair.domain import Modality, Request
from pytest_factorfair.models import prices
from pytest_factorfair.models.protocol import Model

FRAME = 100
"""Bytes of a request that are no text of ours, at most: roles and separators."""


def estimates(models: Mapping[str, Model], modality: Modality) -> Callable[[Model, Request], float]:
    """What a call to one of these models, by spec, costs at most in USD; 0 where its price is unknown.

    A token is at least one byte of the prompt, and an answer at most as long as the model may write. A
    picture has a price, or none that is known beforehand.
    """
    if modality == "image":
        each = {id(model): prices.picture_cost(spec, None, None) or 0.0 for spec, model in models.items()}
        return lambda model, _request: each.get(id(model), 0.0)
    rates = {
        id(model): (prices.price(spec) or (0.0, 0.0), *_lengths(model)) for spec, model in models.items()
    }

    def estimate(model: Model, request: Request) -> float:
        (paid, earned), before, most = rates.get(id(model), ((0.0, 0.0), 0, 0))
        return paid * (len(request.prompt.encode("utf-8", "replace")) + before) + earned * most

    return estimate


def _lengths(model: Model) -> tuple[int, int]:
    """Bytes that go before each prompt, those that frame it included, and the longest answer in tokens."""
    given = model.identity.get("parameters")
    parameters = given if isinstance(given, Mapping) else {}
    limits = [parameters.get(name) for name in ("max_tokens", "max_completion_tokens")]
    most = max((limit for limit in limits if isinstance(limit, int)), default=0)
    return len(str(model.identity.get("system") or "").encode("utf-8", "replace")) + FRAME, most
