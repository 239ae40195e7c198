"""What is known of providers and their models: prices, abilities, addresses and keys in the environment.

litellm's list is used where litellm is installed and lists the model; else the extract of it that is shipped,
``price_list.json``, with the large providers' current models. ``python -m
pytest_factorfair.models.litellm_catalogue`` renews the extract from the installed litellm, with today's date.

litellm's files are read directly: importing litellm takes seconds, parsing its list (3 MB) 30 ms.
"""

from __future__ import annotations

import json
import os
import re
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_factorfair.domain import AnswerMode, Modality
from pytest_factorfair.errors import InputError
from pytest_factorfair.models.prices import Price
from pytest_factorfair.models.protocol import LETTERS
from pytest_factorfair.models.spec import ModelSpec

# Any one of a provider's variables is enough. Providers with other ways to log in (Azure, Bedrock, Vertex AI,
# Hugging Face) are left out: only the provider itself can tell whether a login works.
KEY_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "ai21": ("AI21_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "cerebras": ("CEREBRAS_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "dashscope": ("DASHSCOPE_API_KEY",),
    "deepinfra": ("DEEPINFRA_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks_ai": (
        "FIREWORKS_AI_API_KEY",
        "FIREWORKS_API_KEY",
        "FIREWORKSAI_API_KEY",
        "FIREWORKS_AI_TOKEN",
    ),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "moonshot": ("MOONSHOT_API_KEY",),
    "nvidia_nim": ("NVIDIA_NIM_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY", "OR_API_KEY"),
    "perplexity": ("PERPLEXITY_API_KEY", "PERPLEXITYAI_API_KEY"),
    "replicate": ("REPLICATE_API_KEY", "REPLICATE_API_TOKEN"),
    "together_ai": (
        "TOGETHERAI_API_KEY",
        "TOGETHER_API_KEY",
        "TOGETHER_AI_API_KEY",
        "TOGETHER_AI_TOKEN",
    ),
    "xai": ("XAI_API_KEY",),
}

ADDRESSES: Mapping[str, str] = {
    "anthropic": "https://api.anthropic.com/v1",
    "deepinfra": "https://api.deepinfra.com/v1/openai",
    "deepseek": "https://api.deepseek.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
    "groq": "https://api.groq.com/openai/v1",
    "mistral": "https://api.mistral.ai/v1",
    "moonshot": "https://api.moonshot.ai/v1",
    "openai": "https://api.openai.com/v1",
    "together_ai": "https://api.together.xyz/v1",
    "xai": "https://api.x.ai/v1",
}
"""The base URLs under which providers speak OpenAI's protocol, by their name in litellm's list."""

SHIPPED = Path(__file__).with_name("price_list.json")
"""The large providers' current models: what ``extract`` returned on its date."""

_FIELDS = re.compile(
    r"litellm_provider|mode|(input|output)_cost_per_token(_batches)?|output_cost_per_image(_token)?"
    r"|supports_(none_reasoning_effort|reasoning|response_schema|vision)"
)
"""The fields of an entry that are read here."""

_WITHOUT_PROBABILITIES = frozenset({"anthropic"})


def missing_keys(provider: str) -> tuple[str, ...]:
    """Environment variables, one of which must be set for a provider's key.

    Empty if one of them is set, or if it is not known which are needed.
    """
    return () if present_keys(provider) else KEY_VARIABLES.get(provider, ())


def present_keys(provider: str) -> dict[str, str]:
    """The provider's keys that the environment sets, by variable."""
    return {name: os.environ[name] for name in KEY_VARIABLES.get(provider, ()) if os.environ.get(name)}


def installed() -> bool:
    """Whether litellm can be imported."""
    return find_spec("litellm") is not None


def providers() -> frozenset[str]:
    """Every provider name that litellm accepts before the slash of a model id; empty without litellm."""
    listed = {str(entry["litellm_provider"]) for entry in _litellms().values() if "litellm_provider" in entry}
    # The enum that litellm routes by; importing its module would take too long.
    source = _text(_file("types/utils.py"))
    block = re.search(r"^class LlmProviders\b.*?(?=^\S)", source, re.DOTALL | re.MULTILINE)
    enumerated = re.findall(r'= "([^"]+)"', block.group()) if block else ()
    return frozenset({*listed, *_parsed(_file("llms/openai_like/providers.json")), *enumerated})


def provider_at(host: str) -> str | None:
    """The provider whose own service answers at a host, or at a regional one such as eu.api.openai.com."""
    hosts = {name: address.split("/")[2] for name, address in ADDRESSES.items()}
    return next((name for name, domain in hosts.items() if f".{host}".endswith(f".{domain}")), None)


def provider(model_id: str) -> str | None:
    """The provider that is listed for a model name without one ("gpt-4o": "openai")."""
    name = _models().get(model_id, {}).get("litellm_provider")
    return name if isinstance(name, str) else None


def entry(model_id: str) -> Mapping[str, Any]:
    """A model's entry, in the form of litellm's list; empty if it is not listed.

    Some models are listed without their provider ("openai/gpt-4o" as "gpt-4o").
    """
    models = _models()
    model_id = model_id.removeprefix("litellm:")
    if model_id in models:
        return models[model_id]
    named, _, bare = model_id.partition("/")
    listed = models.get(bare, {})
    # The list has variants of a provider's name, such as "vertex_ai-anthropic_models" or "bedrock_converse".
    family = str(listed.get("litellm_provider", "")).replace("-", "_") + "_"
    return listed if family.startswith(f"{named}_") else {}


def may_reason(model_id: str | None) -> bool:
    """Whether a model may reason before it answers; so may every model that is not listed."""
    listed = entry(model_id) if model_id else {}
    return not listed or bool(listed.get("supports_reasoning"))


def price(model_id: str, modality: Modality = "text") -> Price | None:
    """The listed price; None if the model is not listed."""
    data = entry(model_id)
    flat = data.get("output_cost_per_image")
    if modality == "image" and isinstance(flat, int | float):
        return Price(answer=float(flat), source=_source(data))
    written = "output_cost_per_image_token" if modality == "image" else "output_cost_per_token"
    return _by_tokens(data, "input_cost_per_token", written)


def batch_price(model_id: str, discount: float | None) -> Price | None:
    """The price of a text model in batches: the listed one, or else the discount times the full price.

    None if neither is known.
    """
    costs = (f"{name}_cost_per_token_batches" for name in ("input", "output"))
    if (stated := _by_tokens(entry(model_id), *costs)) is not None:
        return stated
    full = price(model_id)
    if full is None or discount is None:
        return None
    return replace(full, token_in=full.token_in * discount, token_out=full.token_out * discount)


def modes(model_id: str | None) -> tuple[AnswerMode, ...]:
    """The answer modes besides text that a model supports; all of them if it is not listed."""
    listed = entry(model_id) if model_id else {}
    if not listed:
        return LETTERS
    if not listed.get("supports_response_schema"):
        return ()
    without = listed.get("litellm_provider") in _WITHOUT_PROBABILITIES or _always_reasons(listed)
    return tuple(mode for mode in LETTERS if not (without and mode == "probabilities"))


def _always_reasons(listed: Mapping[str, Any]) -> bool:
    """Whether a model of OpenAI cannot answer without reasoning, so that letters have no probabilities."""
    always = listed.get("supports_reasoning") and not listed.get("supports_none_reasoning_effort")
    return bool(always) and listed.get("litellm_provider") == "openai"


def check(spec: ModelSpec, model_id: str) -> None:
    """Check, by the list, that a model supports the way it is asked; unlisted models pass.

    Raises:
        InputError: the model cannot see pictures, does not support JSON schemas, or always reasons, so that
            its letters have no probabilities.
    """
    listed = entry(model_id) if spec.answers != "text" else {}
    if not listed:
        return
    if spec.answers == "people":
        if not listed.get("supports_vision"):
            raise InputError(f"model '{spec.text}': it cannot see pictures, according to the list of models")
        return
    if not listed.get("supports_response_schema"):
        raise InputError(f"model '{spec.text}' takes no JSON schema: use --factorfair-answers=text")
    if spec.answers == "probabilities" and _always_reasons(listed):
        raise InputError(
            f"model '{spec.text}' reasons before it answers and gives no probabilities: "
            "use --factorfair-answers=text or json"
        )


def extract(date: str) -> str:
    """The content of ``SHIPPED`` by the installed litellm: the providers' own models, current on ``date``."""
    models = []
    for name, entry in _litellms().items():
        provider = entry.get("litellm_provider")
        fields = {field: value for field, value in entry.items() if _FIELDS.fullmatch(field)}
        if (
            provider in ADDRESSES
            and "/" not in name.removeprefix(f"{provider}/")  # sizes of pictures, or another company's model
            and entry.get("mode") in ("chat", "image_generation")
            and entry.get("deprecation_date", date) >= date
            and any("cost" in field for field in fields)
        ):
            models.append(f"{json.dumps(name)}: {json.dumps(fields)}")
    head = {"date": date, "source": f"litellm {version('litellm')}", "models": {}}
    lines = ",\n".join(models)  # one per model, for the differences between two lists
    return json.dumps(head).removesuffix("{}}") + f"{{\n{lines}\n}}}}\n"


def _by_tokens(data: Mapping[str, Any], token_in: str, token_out: str) -> Price | None:
    """The price in two fields of an entry; None if it lacks one."""
    read, written = data.get(token_in), data.get(token_out)
    if not (isinstance(read, int | float) and isinstance(written, int | float)):
        return None
    return Price(float(read), float(written), source=_source(data))


def _source(data: Mapping[str, Any]) -> str:
    """The list of an entry: "litellm", or the date of the shipped one."""
    return str(data.get("listed", "litellm"))


def _models() -> Mapping[str, Mapping[str, Any]]:
    return ChainMap(_litellms(), _shipped())


def _litellms() -> dict[str, Any]:
    """The entries of litellm's list; empty without litellm."""
    return _parsed(_file("model_prices_and_context_window_backup.json"))


@cache
def _shipped() -> dict[str, Any]:
    """The shipped entries, each with the date when it was ``listed``."""
    content = _parsed(SHIPPED)
    return {name: {**entry, "listed": content["date"]} for name, entry in content["models"].items()}


def _file(name: str) -> Path | None:
    """A file of the litellm package; None if litellm, or the file in its version, is missing."""
    spec = find_spec("litellm")
    path = Path(spec.origin).parent / name if spec and spec.origin else None
    return path if path and path.is_file() else None


@cache
def _parsed(path: Path | None) -> dict[str, Any]:
    """The entries of a JSON file, without the sample entry that documents them."""
    entries: dict[str, Any] = json.loads(_text(path) or "{}")
    return {name: entry for name, entry in entries.items() if name != "sample_spec"}


def _text(path: Path | None) -> str:
    return path.read_text(encoding="utf-8") if path else ""


if __name__ == "__main__":
    SHIPPED.write_text(extract(datetime.now(UTC).date().isoformat()), encoding="utf-8")
