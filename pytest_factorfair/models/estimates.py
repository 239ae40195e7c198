"""What calls cost at most, before they are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_factorfair.domain import Modality, Request
from pytest_factorfair.models.prices import Price
from pytest_factorfair.models.protocol import Model

FRAME = 100
"""Bytes of a request that are no text of ours, at most: roles and separators."""


def estimates(
    price_of: Callable[[Model], Price | None], modality: Modality
) -> Callable[[Model, Request], float | None]:
    """What a call to a model costs at most in USD; None where that is unknown.

    A token is at least one byte of the prompt, and an answer at most as long as the model may write. How many
    tokens a picture takes is unknown.
    """
    known: dict[int, tuple[Model, Price | None, int, int]] = {}

    def estimate(model: Model, request: Request) -> float | None:
        if id(model) not in known:
            known[id(model)] = (model, price_of(model), *_lengths(model))
        _, price, before, most = known[id(model)]
        if price is None or not price.by_tokens:
            return None if price is None else price.answer
        if modality == "image":
            return None
        return price.of(len(request.prompt.encode("utf-8", "replace")) + before, most)

    return estimate


def _lengths(model: Model) -> tuple[int, int]:
    """Bytes that go before each prompt, those that frame it included, and the longest answer in tokens."""
    given = model.identity.get("parameters")
    parameters = given if isinstance(given, Mapping) else {}
    limits = [parameters.get(name) for name in ("max_tokens", "max_completion_tokens")]
    most = max((limit for limit in limits if isinstance(limit, int)), default=0)
    return len(str(model.identity.get("system") or "").encode("utf-8", "replace")) + FRAME, most
