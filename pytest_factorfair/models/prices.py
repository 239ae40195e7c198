"""What litellm knows about providers and prices, read off its data files.

Importing litellm takes seconds; its price list alone is 3 MB of JSON and takes 30 ms.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_factorfair.domain import Modality
from pytest_factorfair.errors import InputError


@dataclass(frozen=True, slots=True)
class Price:
    """USD a token read, a token written, and an answer or picture of any length."""

    token_in: float = 0.0
    token_out: float = 0.0
    answer: float = 0.0

    @property
    def by_tokens(self) -> bool:
        """Whether an answer's cost depends on its length."""
        return bool(self.token_in or self.token_out)

    def of(self, tokens_in: int | None, tokens_out: int | None) -> float | None:
        """The cost of an answer; None where it depends on tokens that nobody counted."""
        if not self.by_tokens:
            return self.answer
        if tokens_in is None or tokens_out is None:
            return None
        return self.token_in * tokens_in + self.token_out * tokens_out + self.answer


FREE = Price()
"""Of a model that runs here: it costs time, not money."""


def of(model: object) -> Price | None:
    """What a model's answers cost, where it says so."""
    price = getattr(model, "price", None)  # a user's own model may lack it
    return price if isinstance(price, Price) else None


ARGUMENTS = ("price", "price_in", "price_out")
"""Model arguments of every provider: USD an answer or picture, and a million tokens read and written."""

MILLION = 1_000_000


def given(arguments: Mapping[str, str]) -> Price | None:
    """The price among a run's model arguments.

    Raises:
        InputError: it is no amount of USD, or half a price.
    """
    amounts = {name: _amount(name, arguments[name]) for name in ARGUMENTS if name in arguments}
    if not amounts:
        return None
    if ("price_in" in amounts) != ("price_out" in amounts):
        raise InputError("--factorfair-model-arg: give both price_in and price_out (USD a million tokens)")
    paid, earned, answer = (amounts.get(name, 0.0) for name in ("price_in", "price_out", "price"))
    return Price(paid / MILLION, earned / MILLION, answer)


def remedy(modality: Modality) -> str:
    """How a user tells a price that is unknown."""
    if modality == "image":
        return "give --factorfair-model-arg price=USD (a picture)"
    return (
        "give --factorfair-model-arg price_in=USD and --factorfair-model-arg price_out=USD "
        "(a million tokens), or price=USD (an answer)"
    )


def _amount(name: str, typed: str) -> float:
    try:
        amount = float(typed)
    except ValueError:
        amount = -1.0
    if not 0 <= amount < math.inf:
        raise InputError(f"--factorfair-model-arg {name}: expected USD of at least 0, got '{typed}'")
    return amount


def installed() -> bool:
    """Whether litellm is there to be imported."""
    return find_spec("litellm") is not None


def providers() -> frozenset[str]:
    """Every word litellm takes before the slash of a model id; empty without litellm."""
    listed = {str(entry["litellm_provider"]) for entry in _models().values() if "litellm_provider" in entry}
    return frozenset(listed | _parsed(_file("llms/openai_like/providers.json")).keys() | _enumerated())


def provider(model_id: str) -> str | None:
    """The provider that litellm's list gives a bare model name ("gpt-4o": "openai")."""
    found = _models().get(model_id, {}).get("litellm_provider")
    return found if isinstance(found, str) else None


def listed(model_id: str, modality: Modality = "text") -> Price | None:
    """What litellm's list says a model's answer or picture costs; None when unknown or litellm is absent."""
    entry = _entry(model_id.removeprefix("litellm:"))
    flat = entry.get("output_cost_per_image")
    if modality == "image" and isinstance(flat, int | float):
        return Price(answer=float(flat))
    written = "output_cost_per_image_token" if modality == "image" else "output_cost_per_token"
    each = [entry.get(name) for name in ("input_cost_per_token", written)]
    if not all(isinstance(one, int | float) for one in each):
        return None
    return Price(*(float(one or 0) for one in each))


def mode(model_id: str) -> str:
    """What litellm's list says a model is for ("chat", "image_generation"); empty when it does not."""
    return str(_entry(model_id.removeprefix("litellm:")).get("mode", ""))


def _entry(model_id: str) -> Mapping[str, Any]:
    """A model's line: some providers' models are listed under the bare name ("openai/gpt-4o": "gpt-4o")."""
    models = _models()
    if model_id in models:
        return models[model_id]
    named, _, bare = model_id.partition("/")
    entry = models.get(bare, {})
    # One provider has several names there: "vertex_ai-anthropic_models", "bedrock_converse".
    family = str(entry.get("litellm_provider", "")).replace("-", "_") + "_"
    return entry if family.startswith(f"{named}_") else {}


def _models() -> Mapping[str, Mapping[str, Any]]:
    return _parsed(_file("model_prices_and_context_window_backup.json"))


def _enumerated() -> set[str]:
    """The providers of the enum that litellm routes by; its module is too costly to import for them."""
    source = _text(_file("types/utils.py"))
    block = re.search(r"^class LlmProviders\b.*?(?=^\S)", source, re.DOTALL | re.MULTILINE)
    return set(re.findall(r'= "([^"]+)"', block.group())) if block else set()


def _file(name: str) -> Path | None:
    """A file of the litellm package; None where litellm, or the file in another version of it, is absent."""
    spec = find_spec("litellm")
    path = Path(spec.origin).parent / name if spec and spec.origin else None
    return path if path and path.is_file() else None


@cache
def _parsed(path: Path | None) -> dict[str, Any]:
    """The entries of a JSON file, without the specimen that explains them."""
    entries: dict[str, Any] = json.loads(_text(path) or "{}")
    return {name: entry for name, entry in entries.items() if name != "sample_spec"}


def _text(path: Path | None) -> str:
    return path.read_text(encoding="utf-8") if path else ""
