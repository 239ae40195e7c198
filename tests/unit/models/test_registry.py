from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from types import ModuleType

import pytest

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import InputError, MissingExtraError
from pytest_factorfair.models import Model, ModelSpec, build, ids, litellm_catalogue, registry
from tests.unit.models.sample import SAMPLE

SCHEMES = dict(sorted(registry.SCHEMES.items()))
UNNAMED = (
    "model '{}': no provider is named; write 'provider/model', such as '{}', "
    "or 'sim:uniform' to try without one"
)
PICTURES = (
    "model '{}' gives pictures, and the run asks for text; "
    f"the schemes for text are {', '.join(name for name, scheme in SCHEMES.items() if scheme.text)}"
)
TEXT = (
    "model '{}' gives text, and the checklist 'sample' asks for pictures; "
    f"the schemes for pictures are {', '.join(name for name, scheme in SCHEMES.items() if scheme.image)}"
)
UNKNOWN = f"model 'ftp:x': unknown scheme 'ftp'; known: {', '.join(SCHEMES)}"
CHECKPOINT = (
    "model './checkpoint': unknown provider '.'; write 'transformers:./checkpoint' for a checkpoint, "
    "or give base_url for an endpoint of your own"
)

IMAGE = replace(SAMPLE, modality="image")


class Stub:
    """A model that only stores the spec from which it was built."""

    endpoint: str = "stub"
    parallel: int | None = None

    def __init__(self, spec: ModelSpec, module: str = "custom") -> None:
        self.identity = {"module": module, "text": spec.text, "target": spec.target}

    async def ask(self, request: Request) -> Response:
        return Response(request.prompt)

    async def close(self) -> None:
        pass


@pytest.fixture
def litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litellm_catalogue, "installed", lambda: True)
    monkeypatch.setattr(
        litellm_catalogue, "providers", lambda: frozenset({"openai", "anthropic", "openrouter"})
    )
    monkeypatch.setattr(litellm_catalogue, "provider", {"claude-x": "anthropic"}.get)


@pytest.fixture
def no_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litellm_catalogue, "find_spec", lambda _: None)


@pytest.fixture
def stubs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace every provider module by one whose models contain its name."""

    def imported(name: str) -> ModuleType:
        if name == "pytest_factorfair.models.ids":
            return ids
        module = ModuleType(name)
        module.build = lambda spec: Stub(spec, name.rpartition(".")[2])  # type: ignore[attr-defined]  # a stub
        return module

    monkeypatch.setattr(registry, "import_module", imported)


def told(text: str, **arguments: str) -> str:
    with pytest.raises(InputError) as error:
        build(text, arguments, checklists=(), custom={})
    return str(error.value)


@pytest.mark.usefixtures("stubs", "litellm")
@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("sim:uniform", "simulated"),
        ("transformers:./checkpoint", "transformers_model"),
        ("replay:answers.jsonl", "replay"),
        ("python:module:attribute", "callable"),
        ("litellm:openai/gpt-4o", "litellm_transport"),
        ("openai/gpt-4o", "openai_http"),
        ("openai/ft:gpt-4o:mine", "openai_http"),
        ("hosted_vllm/org/model", "openai_http"),
        ("anthropic/claude-x", "litellm_transport"),
        ("openrouter/openai/gpt-4o", "litellm_transport"),
    ],
)
def test_the_provider_of_a_text_model(text: str, module: str) -> None:
    assert build(text, {}, checklists=(), custom={}).identity["module"] == module


@pytest.mark.usefixtures("stubs", "litellm")
@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("sim:uniform", "painter"),
        ("diffusers:./pipeline", "diffusers_model"),
        ("images:./made", "picture_folder"),
        ("python:module:attribute", "callable"),
        ("litellm:openai/gpt-image-1", "litellm_transport"),
        ("openai/gpt-image-1", "openai_http"),
        ("hosted_vllm/org/model", "openai_http"),
        ("anthropic/claude-x", "litellm_transport"),
    ],
)
def test_the_provider_of_an_image_model(text: str, module: str) -> None:
    assert build(text, {}, checklists=(IMAGE,), custom={}).identity["module"] == module
    model = build("my-model", {"base_url": "http://localhost"}, checklists=(IMAGE,), custom={})
    assert model.identity["module"] == "openai_http"


@pytest.mark.parametrize("text", ["replay:answers.jsonl", "transformers:./checkpoint"])
def test_text_models_are_refused_for_pictures(text: str) -> None:
    with pytest.raises(InputError) as error:
        build(text, {}, checklists=(IMAGE,), custom={})
    assert str(error.value) == TEXT.format(text)


@pytest.mark.usefixtures("stubs", "no_litellm")
@pytest.mark.parametrize("text", ["gpt-4o", "llama3:8b", "meta-llama/Llama-3-8B", "openai/x"])
def test_a_base_url_makes_any_id_an_endpoint_of_ones_own(text: str) -> None:
    model = build(text, {"base_url": "http://localhost:8000/v1"}, checklists=(), custom={})

    assert model.identity["module"] == "openai_http"


@pytest.mark.usefixtures("stubs")
def test_a_scheme_keeps_its_provider_with_a_base_url() -> None:
    model = build("litellm:openai/gpt-4o", {"base_url": "http://localhost"}, checklists=(), custom={})

    assert model.identity["module"] == "litellm_transport"


@pytest.mark.parametrize(
    ("text", "key"),
    [("acme:large", "acme"), ("my-model", "my-model"), ("sim:uniform", "sim"), ("openai/x", "openai/x")],
)
def test_custom_factories_take_precedence(text: str, key: str) -> None:
    def factory(spec: ModelSpec) -> Model:
        return Stub(spec)

    model = build(text, {}, checklists=(), custom={key: factory})

    assert model.identity == {"module": "custom", "text": text, "target": text.partition(":")[2] or text}


@pytest.mark.usefixtures("litellm")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("opnai/gpt-4o", "model 'opnai/gpt-4o': unknown provider 'opnai'; did you mean 'openai'?"),
        ("./checkpoint", CHECKPOINT),
        ("simm:uniform", "model 'simm:uniform': unknown scheme 'simm'; did you mean 'sim'?"),
        ("openai:gpt-4o", "model 'openai:gpt-4o': unknown scheme 'openai'; did you mean 'openai/gpt-4o'?"),
        ("ftp:x", UNKNOWN),
        ("sim", "model 'sim': no provider is named; did you mean 'sim:'?"),
        ("gpt-4o", UNNAMED.format("gpt-4o", "openai/gpt-4o")),
        ("claude-x", UNNAMED.format("claude-x", "anthropic/claude-x")),
        ("", UNNAMED.format("", "openai/gpt-4o")),
        ("openai/", "model 'openai/': a model name must follow 'openai/'"),
        ("sim:", "model 'sim:': a name must follow 'sim:'"),
        ("images:./made", PICTURES.format("images:./made")),
        ("diffusers:x", PICTURES.format("diffusers:x")),
    ],
)
def test_unknown_models_are_refused(text: str, message: str) -> None:
    assert told(text) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("openai/", "model 'openai/': a model name must follow 'openai/'"),
        ("", UNNAMED.format("", "openai/gpt-4o")),
    ],
)
def test_a_base_url_still_needs_a_model(text: str, message: str) -> None:
    assert told(text, base_url="http://localhost") == message


def test_a_misspelt_custom_name() -> None:
    with pytest.raises(InputError) as error:
        build("my-modle", {}, checklists=(), custom={"my-model": Stub})

    assert str(error.value) == "model 'my-modle': no provider is named; did you mean 'my-model'?"


@pytest.mark.usefixtures("no_litellm")
def test_without_litellm_a_misspelt_provider_is_still_recognised() -> None:
    assert told("opnai/gpt-4o") == "model 'opnai/gpt-4o': unknown provider 'opnai'; did you mean 'openai'?"


@pytest.mark.usefixtures("no_litellm")
@pytest.mark.parametrize("text", ["anthropic/claude-x", "openai_like/x"])
def test_without_litellm_other_providers_need_an_extra(text: str) -> None:
    message = told(text)

    assert message == (
        f"model '{text}' (any provider but openai and hosted_vllm) needs an extra: "
        "pip install 'pytest-factorfair[litellm]'"
    )
    with pytest.raises(MissingExtraError):
        build(text, {}, checklists=(), custom={})


def test_naming_a_model_imports_nothing_heavy() -> None:
    heavy = ["litellm", "torch", "transformers", "aiohttp", "numpy", "pydantic", "yaml", "sqlalchemy"]
    script = (
        "import sys; from pytest_factorfair.models import build\n"
        "try: build('opnai/gpt-4o', {}, checklists=(), custom={})\n"
        "except ValueError: pass\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )

    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert run.stdout == "[]\n"
