"""The price of a model's answers, stated by its provider or by the user."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pytest_factorfair.domain import Modality, Request
from pytest_factorfair.errors import InputError
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.redaction import withheld


@dataclass(frozen=True, slots=True)
class Price:
    """USD per input token, per output token, and per answer or picture whatever its length.

    ``source`` is the list that has the price: "litellm", or the date of the shipped one.
    """

    token_in: float = 0.0
    token_out: float = 0.0
    answer: float = 0.0
    source: str = field(default="", compare=False)

    @property
    def by_tokens(self) -> bool:
        """Whether an answer's cost depends on its length."""
        return bool(self.token_in or self.token_out)

    def of(self, tokens_in: int | None, tokens_out: int | None) -> float | None:
        """The cost of an answer; None if it depends on tokens that were not counted."""
        if not self.by_tokens:
            return self.answer
        if tokens_in is None or tokens_out is None:
            return None
        return self.token_in * tokens_in + self.token_out * tokens_out + self.answer

    def total(self, answers: int, tokens_in: int, tokens_out: int) -> float:
        """The cost of several answers, with the tokens of all of them."""
        return self.token_in * tokens_in + self.token_out * tokens_out + self.answer * answers


FREE = Price()
"""The price of a local model."""

ARGUMENTS = ("price", "price_in", "price_out")
"""Model arguments of every provider: USD per answer or picture, and per million input and output tokens."""

MILLION = 1_000_000
FRAME = 100
"""Upper bound on the bytes of a request besides its prompts: roles and separators."""


def of(model: object) -> Price | None:
    """The price of a model's answers; None if the model does not state one."""
    price = getattr(model, "price", None)  # a user's own model may lack it
    return price if isinstance(price, Price) else None


def given(arguments: Mapping[str, str], *, where: str = "--factorfair-model-arg") -> Price | None:
    """Read the price from a model's arguments; messages call the place of the arguments ``where``.

    Raises:
        InputError: an amount is invalid, or half of a price is missing.
    """
    amounts: dict[str, float] = {}
    for name in ARGUMENTS:
        if name in arguments:
            try:
                amounts[name] = float(arguments[name])
            except ValueError:
                amounts[name] = math.nan
            if not 0 <= amounts[name] < math.inf:
                raise InputError(f"{where} {name}: expected USD of at least 0, got '{arguments[name]}'")
    if not amounts:
        return None
    if ("price_in" in amounts) != ("price_out" in amounts):
        raise InputError(f"{where}: give both price_in and price_out (USD per million tokens)")
    read, written, answer = (amounts.get(name, 0.0) for name in ("price_in", "price_out", "price"))
    return Price(read / MILLION, written / MILLION, answer)


def remedy(modality: Modality) -> str:
    """The advice for messages on how to state an unknown price."""
    if modality == "image":
        return "give --factorfair-model-arg price=USD (per picture; 0 if it is free)"
    return (
        "give --factorfair-model-arg price_in=USD and --factorfair-model-arg price_out=USD "
        "(per million tokens), or price=USD (per answer; 0 if it is free)"
    )


def estimates(
    price_of: Callable[[Model], Price | None], modality: Modality
) -> Callable[[Model, Request], float | None]:
    """A function that returns an upper bound in USD on the cost of a call, or None if there is none.

    Every byte of the prompt, of the system prompt and of ``FRAME`` counts as one input token, and the answer
    as the maximum length. The number of tokens of a picture in a prompt is unknown.
    """
    terms: dict[int, tuple[Model, Price | None, int, int]] = {}

    def estimate(model: Model, request: Request) -> float | None:
        if id(model) not in terms:
            stated = model.identity.get("parameters")
            parameters = stated if isinstance(stated, Mapping) else {}
            limits = [parameters.get(name) for name in ("max_tokens", "max_completion_tokens")]
            max_tokens = max((limit for limit in limits if isinstance(limit, int)), default=0)
            system = str(model.identity.get("system") or "").encode("utf-8", "replace")
            before = len(system) + withheld(model.identity) + FRAME
            terms[id(model)] = (model, price_of(model), before, max_tokens)
        _, price, before, max_tokens = terms[id(model)]
        if price is None or not price.by_tokens:
            return None if price is None else price.answer
        if modality == "image":
            return None
        return price.of(len(request.prompt.encode("utf-8", "replace")) + before, max_tokens)

    return estimate
