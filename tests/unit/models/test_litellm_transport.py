from __future__ import annotations

import os
from dataclasses import replace

import pytest

from pytest_factorfair.errors import (
    FatalModelError,
    InputError,
    MissingExtraError,
    ModelError,
    RejectedRequestError,
    RetryableModelError,
)
from pytest_factorfair.models import litellm_catalogue, litellm_transport
from pytest_factorfair.models.litellm_transport import build
from pytest_factorfair.models.protocol import Model
from tests.asking import spec


@pytest.fixture(autouse=True)
def _litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that litellm is installed."""
    monkeypatch.setattr(litellm_catalogue, "installed", lambda: True)
    monkeypatch.setattr(
        litellm_catalogue,
        "providers",
        lambda: frozenset({"openai", "anthropic", "gemini", "azure", "ollama"}),
    )
    monkeypatch.setattr(litellm_catalogue, "provider", {"claude-x": "anthropic"}.get)
    for name in [
        name for name in os.environ if name.endswith(("_API_KEY", "_AUTH_TOKEN", "_API_BASE", "_BASE_URL"))
    ]:
        monkeypatch.delenv(name)


def complaint(text: str, **arguments: str) -> str:
    with pytest.raises(InputError) as caught:
        build(spec(text, arguments))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def identity(text: str, **arguments: str) -> object:
    return build(spec(text, arguments)).identity


def test_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litellm_catalogue, "installed", lambda: False)
    with pytest.raises(MissingExtraError) as caught:
        build(spec("anthropic/claude-x"))
    assert str(caught.value) == (
        "model 'anthropic/claude-x' needs an extra: pip install 'pytest-factorfair[litellm]'"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "anthropic/claude-x",
            "no key: set the environment variable ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN",
        ),
        (
            "litellm:claude-x",
            "no key: set the environment variable ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN",
        ),
        ("litellm:openai/gpt-4o", "no key: set the environment variable OPENAI_API_KEY"),
        ("litellm:antropic/claude-x", "unknown provider 'antropic'; did you mean 'anthropic'?"),
        ("litellm:zzz/claude-x", "unknown provider 'zzz'"),
        ("litellm:some-model", "no provider is named; write litellm:provider/some-model"),
        ("litellm:anthropic/", "a model name must follow 'anthropic/'"),
    ],
)
def test_invalid_ids_are_refused(text: str, message: str) -> None:
    assert complaint(text) == f"model '{text}': {message}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"temprature": "0"}, "did you mean 'temperature'?"),
        ({"api_key": "hunter2"}, "put it in an environment variable"),
        ({"body.api_key": "hunter2"}, "put it in an environment variable"),
        ({"body.num_retries": "3"}, "argument 'body.num_retries' cannot be given: the run sets it"),
        ({"body.timeout": "3"}, "write timeout=... without 'body.'"),
        ({"base_url": "localhost"}, "is not a valid server URL"),
        ({"api_key_env": "NO_SUCH_KEY"}, "no key: set the environment variable NO_SUCH_KEY"),
    ],
)
def test_invalid_arguments_are_refused(arguments: dict[str, str], message: str) -> None:
    assert message in complaint("litellm:ollama/m", **arguments)


def test_a_model_that_is_not_asked_needs_no_key() -> None:
    for text in ("anthropic/claude-x", "litellm:openai/gpt-4o"):
        build(replace(spec(text), asked=False))


def test_providers_with_other_ways_to_log_in_are_left_to_litellm() -> None:
    build(spec("azure/my-deployment"))


@pytest.mark.parametrize("variable", ["GEMINI_API_KEY", "GOOGLE_API_KEY"])
def test_any_one_of_a_providers_variables_is_enough(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "k")
    build(spec("gemini/m"))


def test_identity_holds_what_can_change_an_answer_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = identity("ollama/m")
    assert plain == {
        "provider": "litellm",
        "base_url": None,
        "model": "ollama/m",
        "parameters": {"temperature": 0, "max_tokens": 1024},
        "system": None,
        "seeded": False,
    }
    assert identity("litellm:ollama/m", timeout="9") == plain
    for key, value in {"body.top_k": "5", "temperature": "1", "system": "Hi", "base_url": "http://h"}.items():
        assert identity("ollama/m", **{key: value}) != plain
    monkeypatch.setenv("OLLAMA_API_BASE", "http://me:hunter2@gpu:11434")
    moved = identity("ollama/m")
    assert moved != plain
    assert "hunter2" not in str(moved)


def test_models_of_one_service_share_an_endpoint() -> None:
    def endpoint(text: str, **arguments: str) -> str:
        model: Model = build(spec(text, arguments))
        return model.endpoint

    assert endpoint("azure/a") == endpoint("azure/b") == "litellm/azure"
    assert endpoint("ollama/a", base_url="http://gpu:1/v1") == "litellm/ollama/gpu:1"


class APIStatusError(Exception):
    """A fake of litellm's exception with this name, as are the following."""

    def __init__(self, message: str, status_code: object = None, body: object = None) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.body = body


class ContentPolicyViolationError(APIStatusError):
    pass


class UnsupportedParamsError(APIStatusError):
    pass


class APITimeoutError(APIStatusError):
    pass


TWICE = "litellm.RateLimitError: RateLimitError: OpenAIException - slow"
SPACED = "litellm.Timeout: Timeout Error: OpenAIException - x"


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (APIStatusError(TWICE, 429), RetryableModelError, "429 Too Many Requests: slow"),
        (APIStatusError(SPACED, 503), RetryableModelError, "503 Service Unavailable: x"),
        (
            APIStatusError("q", 429, {"code": "insufficient_quota"}),
            FatalModelError,
            "429 Too Many Requests: q",
        ),
        (
            APIStatusError("x hunter2-key", 401),
            FatalModelError,
            "401 Unauthorized: the key in A_KEY was refused: x ***",
        ),
        (APIStatusError("too long", 400), RejectedRequestError, "400 Bad Request: too long"),
        (UnsupportedParamsError("litellm.XError: no top_p", 400), FatalModelError, "no top_p"),
        (APITimeoutError("late"), RetryableModelError, "late"),
        (IndexError("out\nof range"), RejectedRequestError, "IndexError: out of range"),
        (KeyError(), RejectedRequestError, "KeyError: KeyError"),
    ],
)
def test_errors(
    monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[ModelError], message: str
) -> None:
    monkeypatch.setenv("A_KEY", "hunter2-key")
    ours = litellm_transport.service_error("m", error, keys={"A_KEY"}).error
    assert (type(ours), str(ours)) == (kind, f"m: {message}")


def test_filters() -> None:
    def is_filtered(error: Exception) -> bool:
        return litellm_transport.service_error("m", error, keys=()).is_filtered

    assert is_filtered(ContentPolicyViolationError("policy", 400))
    assert is_filtered(APIStatusError("policy", 400, {"code": "content_filter"}))
    assert not is_filtered(APIStatusError("policy", 400, {"code": "other"}))
