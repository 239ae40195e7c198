from __future__ import annotations

import json
import re
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from pytest_factorfair.models import litellm_catalogue
from pytest_factorfair.models.prices import FREE, Price
from tests.extras import needs

LISTED = {
    "sample_spec": {"litellm_provider": "one of ...", "input_cost_per_token": 0, "output_cost_per_token": 0},
    "gpt-4o": {"litellm_provider": "openai", "input_cost_per_token": 2e-6, "output_cost_per_token": 1e-5},
    "claude-x": {
        "litellm_provider": "vertex_ai-anthropic_models",
        "input_cost_per_token": 3e-6,
        "output_cost_per_token": 15e-6,
    },
    "dall-e-x": {"litellm_provider": "openai", "output_cost_per_image": 0.04},
    "gpt-image-x": {
        "litellm_provider": "openai",
        "input_cost_per_token": 5e-6,
        "output_cost_per_image_token": 4e-5,
    },
    "groq/free": {"litellm_provider": "groq", "input_cost_per_token": 0.0, "output_cost_per_token": 0},
    "xai/tiered": {"litellm_provider": "xai", "tiered_pricing": []},
    "xai/batched": {
        "litellm_provider": "xai",
        "input_cost_per_token": 1e-6,
        "output_cost_per_token": 5e-6,
        "input_cost_per_token_batches": 8e-7,
        "output_cost_per_token_batches": 4e-6,
        "supports_response_schema": True,
        "supports_reasoning": True,
    },
    "gpt-thinks": {
        "litellm_provider": "openai",
        "supports_response_schema": True,
        "supports_reasoning": True,
    },
}
ENUM = """
class Other(str, Enum):
    NOT = "not_one"


class LlmProviders(str, Enum):
    OPENROUTER = "openrouter"  # a comment
    MINE = "text-completion-mine"


NOT_EITHER = "nor_this"
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fake litellm package, which is found but never imported."""
    (tmp_path / "__init__.py").write_text("raise AssertionError('litellm was imported')")
    (tmp_path / "model_prices_and_context_window_backup.json").write_text(json.dumps(LISTED))
    (tmp_path / "types").mkdir()
    (tmp_path / "types" / "utils.py").write_text(ENUM)
    (tmp_path / "llms" / "openai_like").mkdir(parents=True)
    (tmp_path / "llms" / "openai_like" / "providers.json").write_text('{"veniceai": {}}')
    spec = ModuleSpec("litellm", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(litellm_catalogue, "find_spec", lambda name: spec if name == "litellm" else None)
    return tmp_path


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litellm_catalogue, "find_spec", lambda _: None)


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gpt-4o", (2e-6, 1e-5)),
        ("openai/gpt-4o", (2e-6, 1e-5)),
        ("litellm:openai/gpt-4o", (2e-6, 1e-5)),
        ("vertex_ai/claude-x", (3e-6, 15e-6)),
        ("groq/free", (0.0, 0.0)),
        # Somebody else's server of the same model costs what that server costs.
        ("hosted_vllm/gpt-4o", None),
        ("open/gpt-4o", None),
        ("anthropic/claude-x", None),
        ("xai/tiered", None),
        ("openai/gpt-nobody-knows", None),
        ("sample_spec", None),
        ("openai/", None),
        ("", None),
    ],
)
def test_listed_prices_are_read(model: str, expected: tuple[float, float] | None) -> None:
    assert litellm_catalogue.price(model) == (expected and Price(*expected))


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("openai/dall-e-x", Price(answer=0.04)),
        ("openai/gpt-image-x", Price(5e-6, 4e-5)),
        ("openai/gpt-4o", None),
    ],
)
def test_price_of_pictures(model: str, expected: Price | None) -> None:
    assert litellm_catalogue.price(model, "image") == expected


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("model", "discount", "expected"),
    [
        ("xai/batched", 0.5, (8e-7, 4e-6)),
        ("xai/batched", None, (8e-7, 4e-6)),
        ("gpt-4o", 0.5, (1e-6, 5e-6)),
        ("gpt-4o", None, None),
        ("hosted_vllm/gpt-4o", 0.5, None),
    ],
)
def test_price_in_batches(model: str, discount: float | None, expected: tuple[float, float] | None) -> None:
    assert litellm_catalogue.batch_price(model, discount) == (expected and Price(*expected))


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("model", "modes", "may_reason"),
    [
        ("openai/gpt-4o", (), False),
        ("openai/gpt-thinks", ("json",), True),
        ("xai/batched", ("json", "probabilities"), True),
        ("openai/gpt-nobody-knows", ("json", "probabilities"), True),
        (None, ("json", "probabilities"), True),
    ],
)
def test_ways_of_answering_are_listed(model: str | None, modes: tuple[str, ...], *, may_reason: bool) -> None:
    assert litellm_catalogue.modes(model) == modes
    assert litellm_catalogue.may_reason(model) == may_reason


def test_cost_is_tokens_times_price() -> None:
    assert Price(2e-6, 1e-5).of(1_000, 100) == pytest.approx(0.003)
    assert Price(2e-6, 1e-5).of(1_000, None) is None
    assert Price(answer=0.04).of(None, None) == 0.04
    assert FREE.of(1_000, 100) == 0.0


@pytest.mark.usefixtures("package")
def test_providers_come_from_every_list_litellm_routes_by() -> None:
    listed = {"openai", "vertex_ai-anthropic_models", "groq", "xai"}

    assert litellm_catalogue.providers() == listed | {"openrouter", "text-completion-mine", "veniceai"}
    assert litellm_catalogue.installed()


@pytest.mark.usefixtures("package")
def test_provider_of_a_bare_name() -> None:
    assert litellm_catalogue.provider("gpt-4o") == "openai"
    assert litellm_catalogue.provider("unheard-of") is None


def test_a_litellm_without_these_files_has_no_providers(package: Path) -> None:
    (package / "model_prices_and_context_window_backup.json").unlink()
    (package / "llms" / "openai_like" / "providers.json").unlink()
    (package / "types" / "utils.py").write_text("")

    assert litellm_catalogue.providers() == frozenset()


@pytest.mark.usefixtures("absent")
def test_without_litellm_the_shipped_list_has_prices_but_no_providers() -> None:
    """The figures are those of OpenAI's page of prices: gpt-4o costs $2.50 and $10 per million, half in batches."""
    assert not litellm_catalogue.installed()
    assert litellm_catalogue.providers() == frozenset()
    price = litellm_catalogue.price("openai/gpt-4o")
    assert price == Price(2.5e-6, 1e-5)
    assert price is not None
    assert re.fullmatch(r"2\d{3}-\d\d-\d\d", price.source)
    assert litellm_catalogue.batch_price("openai/gpt-4o", 0.5) == Price(1.25e-6, 5e-6)
    assert litellm_catalogue.price("hosted_vllm/gpt-4o") is None


@pytest.mark.usefixtures("package")
def test_litellms_price_is_preferred_where_it_lists_the_model() -> None:
    listed, shipped = map(litellm_catalogue.price, ("openai/gpt-4o", "anthropic/claude-haiku-4-5"))
    assert listed is not None
    assert shipped is not None
    assert (listed.token_in, listed.source) == (2e-6, "litellm")
    assert (shipped.token_in, len(shipped.source)) == (1e-6, len("2026-11-28"))


@pytest.mark.parametrize(
    ("host", "provider"),
    [("api.openai.com", "openai"), ("eu.api.openai.com", "openai"), ("api.deepseek.com", "deepseek"),
     ("notapi.openai.com", None), ("openai.com", None), ("127.0.0.1", None), ("", None)],
)  # fmt: skip
def test_the_provider_at_a_host(host: str, provider: str | None) -> None:
    assert litellm_catalogue.provider_at(host) == provider


@needs("litellm")
def test_the_shipped_list_is_what_the_script_makes() -> None:
    """If not: python -m pytest_factorfair.models.litellm_catalogue (with the pinned litellm)."""
    shipped = litellm_catalogue.SHIPPED.read_text(encoding="utf-8")
    assert litellm_catalogue.extract(json.loads(shipped)["date"]) == shipped
