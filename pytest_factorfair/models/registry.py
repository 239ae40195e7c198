"""Find the provider that builds the model of a spec, and whether it generates text or pictures."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from pytest_factorfair.domain import Checklist, Modality, Wanted
from pytest_factorfair.errors import InputError
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import ModelSpec, parse
from pytest_factorfair.redaction import fit

Factory = Callable[[ModelSpec], Model]


class Scheme(NamedTuple):
    """A scheme: the word before the colon of a spec, which selects a provider.

    ``text`` and ``image`` are the modules whose ``build(spec) -> Model`` creates its models, "" if there is
    none. They are named here, not imported, so that a run only imports what it uses. The models of a
    ``replicable`` scheme can be built on another machine, and profit from running there.
    """

    about: str
    example: str
    text: str = ""
    image: str = ""
    replicable: bool = False

    @property
    def modality(self) -> Modality:
        """The modality of the scheme's models; text if they support both."""
        return "text" if self.text else "image"


SCHEMES: Mapping[str, Scheme] = {
    "litellm": Scheme(
        "any provider that litellm knows",
        "litellm:anthropic/claude-sonnet-4-5",
        text="models.litellm_transport",
        image="models.litellm_transport",
    ),
    "transformers": Scheme(
        "a local checkpoint",
        "transformers:./my-checkpoint",
        text="local.transformers_model",
        replicable=True,
    ),
    "diffusers": Scheme(
        "a local pipeline",
        "diffusers:./my-pipeline",
        image="local.diffusers_model",
        replicable=True,
    ),
    "python": Scheme(
        "a Python function of the prompt",
        "python:my_module:my_function",
        text="models.callable",
        image="models.callable",
        replicable=True,
    ),
    "endpoint": Scheme(
        "your own application behind an HTTP address",
        "endpoint:http://localhost:8000/chat",
        text="models.endpoint",
    ),
    "replay": Scheme("replies that exist already", "replay:replies.jsonl", text="logs.replay"),
    "images": Scheme("pictures that exist already", "images:./pictures", image="models.picture_folder"),
    "sim": Scheme(
        "a simulated respondent whose scores are known",
        "sim:stereotyped?strength=0.3",
        text="models.simulated",
        image="models.simulated.painter",
        replicable=True,
    ),
}
_IDS = "models.ids"  # finds the provider of an id without a scheme, with litellm's list of models
_MAKES: Mapping[Modality, str] = {"text": "text", "image": "pictures"}
# Image models for which litellm's list has no entry, or if litellm is not installed.
_IMAGE_MODELS = re.compile(
    r"(?:^|[/-])(?:gpt-image|chatgpt-image|dall-e|imagen|stable-diffusion|sd3|flux)(?=[-.\d]|$)"
)


def build(  # noqa: PLR0913 - what a run knows of its models
    spec: str,
    arguments: Mapping[str, str],
    *,
    checklists: tuple[Checklist, ...],
    custom: Mapping[str, Factory],
    answers: Wanted = "text",
    asked: bool = True,
    defaults: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Model:
    """Build the model of a spec, and validate it as far as possible without a call or a heavy import.

    ``custom`` maps schemes ("acme" for "acme:large") or full specs to users' factories, which take precedence
    over built-in providers and may return anything that ``python:`` may name. ``answers`` is the answer mode;
    a model that supports it has it in its identity. ``asked`` is false if all answers come from the store.
    ``defaults`` are values for arguments that the provider accepts and the user did not give. With a
    ``folder``, batches are files there, and a service needs neither a key nor an address.

    Raises:
        InputError: the name is unknown, its target, options or arguments are wrong, or the model does not
            support the answer mode.
        MissingExtraError: the model needs an optional dependency that is not installed.
    """
    parsed = parse(
        spec,
        arguments,
        checklists=checklists,
        answers=answers,
        asked=asked and folder is None,
        defaults=defaults,
        folder=folder,
    )
    factory = custom.get(parsed.text) or custom.get(parsed.scheme)
    try:
        model = _factory(parsed, custom)(parsed) if factory is None else _users(factory, parsed)
    except InputError:
        raise
    except Exception as error:
        if factory is None:
            raise
        reason = f"{type(error).__name__}: {fit(str(error))}"
        raise InputError(f"model '{spec}': its factory raised {reason}") from error
    if model.identity.get("answers", "text") != answers:
        raise InputError(f"model '{spec}' cannot answer as {answers}: leave --factorfair-answers out")
    return model


def replicable(spec: str, custom: Mapping[str, Factory]) -> bool:
    """Whether the model of a spec can be built on another machine, and profits from running there."""
    name = spec.partition(":")[0]
    scheme = SCHEMES.get(name)
    return scheme is not None and scheme.replicable and not {spec, name} & custom.keys()


def modality(spec: str) -> Modality:
    """The modality of a spec if no checklist decides it; ``sim:`` and ``python:`` do both and are text."""
    scheme, colon, _ = spec.partition(":")
    if colon and scheme in SCHEMES and not SCHEMES[scheme].text:
        return "image"
    if _IMAGE_MODELS.search(spec):
        return "image"
    if colon and scheme in SCHEMES and scheme != "litellm":
        return "text"
    listed: Modality = _entered(_IDS).modality(spec)
    return listed


def _factory(spec: ModelSpec, custom: Mapping[str, Factory]) -> Factory:
    """The factory for the spec's scheme or, without a scheme, for its id; ``custom`` is for messages."""
    modules = {name: getattr(scheme, spec.modality) for name, scheme in SCHEMES.items()}
    if modules.get(spec.scheme):
        return loaded(modules[spec.scheme], spec)
    if spec.scheme in SCHEMES:
        offered, asked = _MAKES[SCHEMES[spec.scheme].modality], _MAKES[spec.modality]
        by = f"the checklist '{spec.checklists[0].name}'" if spec.checklists else "the run"
        fitting = ", ".join(name for name, module in sorted(modules.items()) if module)
        raise InputError(
            f"model '{spec.text}' gives {offered}, and {by} asks for {asked}; "
            f"the schemes for {asked} are {fitting}"
        )
    factory: Factory = _entered(_IDS).factory(spec, custom)
    return factory


def loaded(module: str, spec: ModelSpec) -> Factory:
    """The factory in a module of this package.

    Raises:
        InputError: a scheme has no target.
    """
    if spec.scheme and not spec.target:
        raise InputError(f"model '{spec.text}': a name must follow '{spec.scheme}:'")
    factory: Factory = _entered(module).build
    return factory


def _users(factory: Factory, spec: ModelSpec) -> Model:
    """What a user's factory returns, as a model."""
    model: Model = _entered("models.callable").coerce(factory(spec), spec.text, modality=spec.modality)
    return model


def _entered(module: str) -> ModuleType:
    return import_module(f"pytest_factorfair.{module}")
