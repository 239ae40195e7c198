"""Find the provider of an id without a scheme, such as ``openai/gpt-4o``, with the list of models."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_factorfair.domain import Modality
from pytest_factorfair.errors import InputError, MissingExtraError, nearest
from pytest_factorfair.models import litellm_catalogue
from pytest_factorfair.models.registry import SCHEMES, Factory, loaded
from pytest_factorfair.models.spec import ModelSpec

OPENAI, LITELLM = "models.openai_http", "models.litellm_transport"
DIRECT = ("openai", "hosted_vllm")


def modality(spec: str) -> Modality:
    """The modality of an id according to the list; text if it is not listed."""
    return "image" if litellm_catalogue.entry(spec).get("mode") == "image_generation" else "text"


def factory(spec: ModelSpec, custom: Mapping[str, Factory]) -> Factory:
    """The factory for an id without a scheme: a server given by base_url, OpenAI's protocol, or litellm.

    Error messages also suggest the schemes in ``custom``.

    Raises:
        InputError: no provider is named, or it is unknown.
        MissingExtraError: only litellm may know the provider, and it is not installed.
    """
    text = spec.text
    provider, slash, model = text.partition("/")
    if slash and not model:
        raise InputError(f"model '{text}': a model name must follow '{provider}/'")
    if text and "base_url" in spec.arguments:
        return loaded(OPENAI, spec)
    if spec.scheme:
        suggestion = nearest(spec.scheme, {*SCHEMES, *custom})
        if spec.scheme in {*DIRECT, *litellm_catalogue.providers()}:
            suggestion = f"; did you mean '{text.replace(':', '/', 1)}'?"
        raise InputError(f"model '{text}': unknown scheme '{spec.scheme}'{suggestion}")
    if not slash:  # a misspelt scheme, or a model name without its provider
        suggestion = nearest(text, (*custom, *(f"{scheme}:" for scheme in SCHEMES)), listing=False)
        example = f"{litellm_catalogue.provider(text) or DIRECT[0]}/{text or 'gpt-4o'}"
        advice = f"; write 'provider/model', such as '{example}', or 'sim:uniform' to try without one"
        raise InputError(f"model '{text}': no provider is named{suggestion or advice}")
    if provider in DIRECT:
        return loaded(OPENAI, spec)
    providers = litellm_catalogue.providers()
    if provider in providers:
        return loaded(LITELLM, spec)
    # Without litellm's list, only a close match is a misspelling of our names: some of litellm's resemble
    # them ("openai_like").
    names = (*DIRECT, *providers)
    suggestion = nearest(provider, names, listing=False, cutoff=0.6 if providers else 0.8)
    if not (suggestion or litellm_catalogue.installed()):
        raise MissingExtraError(f"model '{text}' (any provider but {' and '.join(DIRECT)})", "litellm")
    advice = f"; write 'transformers:{text}' for a checkpoint, or give base_url for an endpoint of your own"
    raise InputError(f"model '{text}': unknown provider '{provider}'{suggestion or advice}")
