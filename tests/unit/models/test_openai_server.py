from __future__ import annotations

import pytest

from pytest_factorfair.errors import InputError
from pytest_factorfair.models.openai_http import build
from pytest_factorfair.models.server import Server, locate
from tests.asking import spec

KEY = "sk-test-0123456789"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HOSTED_VLLM_API_KEY", "HOSTED_VLLM_API_BASE"):
        monkeypatch.delenv(name, raising=False)


def found(text: str, base_url: str | None = None, *, api_key_env: str | None = None) -> Server:
    return locate(spec(text), base_url=base_url, api_key_env=api_key_env)


def complaint(text: str, base_url: str | None = None, *, api_key_env: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        found(text, base_url, api_key_env=api_key_env)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_openai_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    endpoint = found("openai/gpt-4o")
    assert endpoint == Server("gpt-4o", "https://api.openai.com/v1", "OPENAI_API_KEY", KEY)
    assert endpoint.is_openai
    assert endpoint.host == "api.openai.com"
    assert KEY not in repr(endpoint)


def test_openai_needs_a_key() -> None:
    assert complaint("openai/gpt-4o") == (
        "model 'openai/gpt-4o': no key: set the environment variable OPENAI_API_KEY"
    )
    assert "OPENAI_API_KEY" in complaint("openai/gpt-4o", "https://eu.api.openai.com/v1")


def test_custom_server_needs_none() -> None:
    endpoint = found("openai/gpt-4o", "http://localhost:8000/v1/")
    assert endpoint == Server("gpt-4o", "http://localhost:8000/v1", "", "")
    assert not endpoint.is_openai
    assert "Authorization" not in endpoint.headers


@pytest.mark.parametrize("host", ["notapi.openai.com.evil.test", "xapi.openai.com", "openai.com"])
def test_lookalikes_are_not_openai(host: str) -> None:
    assert not found("openai/gpt-4o", f"https://{host}/v1").is_openai


def test_named_key_must_be_there() -> None:
    assert complaint("m", "http://localhost/v1", api_key_env="LAB_KEY") == (
        "model 'm': no key: set the environment variable LAB_KEY"
    )


@pytest.mark.parametrize("key", ["a\nb", "schl\u00fcssel", "a\x00b"])
def test_key_that_no_header_can_carry(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    if "\x00" in key:
        key = key.replace("\x00", "\x01")  # an environment cannot hold the former
    monkeypatch.setenv("LAB_KEY", key)
    message = complaint("m", "http://localhost/v1", api_key_env="LAB_KEY")
    assert message == "model 'm': the key in LAB_KEY has characters that are invalid in headers"


def test_hosted_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    assert complaint("hosted_vllm/m") == (
        "model 'hosted_vllm/m': give its server with --factorfair-model-arg base_url=http://HOST:PORT/v1 "
        "(or set HOSTED_VLLM_API_BASE)"
    )
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", "http://gpu:8000/v1")
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", KEY)
    assert found("hosted_vllm/a/b") == Server("a/b", "http://gpu:8000/v1", "HOSTED_VLLM_API_KEY", KEY)
    assert found("hosted_vllm/m", "http://other/v1").base_url == "http://other/v1"


def test_a_model_name_is_required() -> None:
    assert "a model name must follow the slash" in complaint("openai/", "http://localhost/v1")


@pytest.mark.parametrize(
    "url",
    ["localhost:8000", "ftp://host/v1", "http://", "http://h:99999/v1", "http://[::1", "h", "http://h:0/"],
)
def test_an_invalid_url_is_refused(url: str) -> None:
    assert complaint("openai/m", url) == (
        f"model 'openai/m': base URL '{url}' is not a valid server URL; expected e.g. http://localhost:8000/v1"
    )


def test_url_with_a_password_is_refused_and_not_repeated() -> None:
    message = complaint("openai/m", "https://me:hunter2@host/v1")
    assert "api_key_env" in message
    assert "hunter2" not in message


def test_a_url_with_a_fragment_is_refused() -> None:
    expected = "model 'openai/m': base URL 'https://host/v1#***' must end before the '#'"
    assert complaint("openai/m", "https://host/v1#api-version=1") == expected


@pytest.mark.parametrize(
    "url",
    ["http://h/v1?api-version=1", "http://h/v1/?api-version=1", "http://h/v1/chat/completions?api-version=1"],
)
def test_a_query_is_part_of_every_url(url: str) -> None:
    server = found("m", url)
    assert server.url("chat/completions") == "http://h/v1/chat/completions?api-version=1"
    assert server.url("batches?limit=9") == "http://h/v1/batches?limit=9&api-version=1"


@pytest.mark.parametrize("name", ["api_key", "subscription-key", "sig", "code", "access_token"])
def test_a_query_with_a_secret_is_refused(name: str) -> None:
    message = complaint("m", f"http://h/v1?api-version=1&{name}=hunter2")
    assert "name it with header.NAME or api_key_env" in message
    assert "hunter2" not in message


def test_headers_of_a_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY", KEY)
    monkeypatch.setenv("LAB_KEY", "k-lab")
    names = {"Ocp-Apim-Subscription-Key": "GATEWAY"}
    server = locate(spec("m"), base_url="http://h/v1", api_key_env="LAB_KEY", header=names)
    assert server.headers["Ocp-Apim-Subscription-Key"] == KEY
    assert server.headers["Authorization"] == "Bearer k-lab"
    assert KEY not in repr(server)
    own = locate(spec("openai/m"), base_url=None, api_key_env=None, header={"authorization": "GATEWAY"})
    assert own.headers["authorization"] == KEY
    assert "Authorization" not in own.headers


@pytest.mark.parametrize(
    ("argument", "value", "words"),
    [
        ("header.api-key", "NOT_SET", "no header.api-key: set the environment variable NOT_SET"),
        ("header.api-key", KEY, "header.api-key takes the name of the environment variable that holds it"),
        ("header.content-type", "PATH", "argument 'header.content-type' cannot be given: the run sets it"),
        ("header.a b", "PATH", "argument 'header.a b' cannot be given: it is not the name of a header"),
        ("header.", "PATH", "argument 'header.' is unknown"),
    ],
)
def test_headers_that_cannot_be_sent(argument: str, value: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        build(spec("m", {"base_url": "http://h/v1", argument: value}))
    assert words in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://h/v1", "http://h/v1/", "http://h/v1/chat/completions", " http://h/v1// "]
)
def test_urls_are_normalised(url: str) -> None:
    assert found("openai/m", url).base_url == "http://h/v1"


@pytest.mark.parametrize(
    ("key", "right"),
    [
        ("temperature", "write temperature=... without 'body.'"),
        ("seed", "write seed=... without 'body.'"),
        ("messages", "the run sets it"),
        ("stream", "the run sets it"),
        ("n", "the run sets it"),
        ("model", "the run sets it"),
    ],
)
def test_body_keys_that_are_taken(key: str, right: str) -> None:
    with pytest.raises(InputError) as caught:
        build(spec("m", {"base_url": "http://h/v1", f"body.{key}": "1"}))
    assert str(caught.value) == f"model 'm': argument 'body.{key}' cannot be given: {right}"


def test_identity_holds_what_can_change_an_answer_and_nothing_else() -> None:
    plain = build(spec("m", {"base_url": "http://h/v1"}))
    assert plain.identity == {
        "provider": "chat_completions",
        "base_url": "http://h/v1",
        "model": "m",
        "parameters": {"temperature": 0, "max_tokens": 1024},
        "system": None,
        "seeded": False,
    }
    assert (plain.endpoint, plain.parallel) == ("openai/h", None)
    patient = build(spec("m", {"base_url": "http://h/v1", "timeout": "9"}))
    assert patient.identity == plain.identity
    for key, value in {"body.top_k": "5", "temperature": "1", "system": "Hi", "seed": "true"}.items():
        changed = build(spec("m", {"base_url": "http://h/v1", key: value}))
        assert changed.identity != plain.identity
