from __future__ import annotations

import base64
import re

import pytest

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import (
    FatalModelError,
    InputError,
    ModelError,
    RejectedRequestError,
    RetryableModelError,
)
from pytest_factorfair.models.http_client import reachable
from pytest_factorfair.models.openai_http import build
from tests.asking import ask, ask_all
from tests.integration.models.services import IMAGES, KEY, UNSEEDED, MakeModel, error_body, maker, refused
from tests.pictures import drawn
from tests.servers import StubServer

REWRITTEN = "the service rewrote the prompt: the rewritten prompt is stored with each picture"


@pytest.fixture
def make_model(stub: StubServer) -> MakeModel:
    return maker(build, stub, "openai/sd3", IMAGES)


def encoded(image: bytes) -> str:
    return base64.b64encode(image).decode()


def test_picture_and_request(stub: StubServer, make_model: MakeModel) -> None:
    (response,) = ask(make_model(), "a person")
    assert response == Response(
        "", tokens_in=12, tokens_out=4160, model="sd3", notes=(UNSEEDED,), image=drawn("a person 1 0")
    )
    stats = stub.stats()
    assert stats["path"] == "/v1/images/generations"
    assert stats["headers"]["Authorization"] == f"Bearer {KEY}"
    assert stats["last"] == {"model": "sd3", "prompt": "a person", "n": 1, "response_format": "b64_json"}


def test_arguments_reach_the_body(stub: StubServer, make_model: MakeModel) -> None:
    model = make_model(
        "openai/gpt-image-1", size="1024x1024", quality="low", style="vivid", body__background="opaque"
    )
    ask(model, "a person")
    assert stub.stats()["last"] == {
        "model": "gpt-image-1",
        "prompt": "a person",
        "n": 1,
        "size": "1024x1024",
        "quality": "low",
        "style": "vivid",
        "background": "opaque",
    }


@pytest.mark.parametrize(("picture_format", "sent"), [("webp", {"output_format": "webp"}), ("png", {})])
def test_format_is_asked_of_the_service(
    stub: StubServer, make_model: MakeModel, picture_format: str, sent: dict[str, str]
) -> None:
    """The default is neither sent nor part of the identity, so answers that are stored stay."""
    model = make_model("openai/gpt-image-1", format=picture_format)
    ask(model, "a person")
    assert stub.stats()["last"] == {"model": "gpt-image-1", "prompt": "a person", "n": 1, **sent}
    assert model.identity["parameters"] == sent


def test_format_the_service_does_not_take_is_left_out(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(refuse=["output_format"])
    (response,) = ask(make_model(format="webp"), "a person")
    assert response.notes == ("output_format was not accepted: the model's default was used", UNSEEDED)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"format": "gif"}, "argument 'format' must be png, webp or jpeg, not 'gif'"),
        ({"body__output_format": "webp"}, "argument 'body.output_format' cannot be given: the run sets it"),
    ],
)
def test_format_that_cannot_be_right(make_model: MakeModel, arguments: dict[str, str], problem: str) -> None:
    with pytest.raises(InputError, match=re.escape(problem)):
        make_model(**arguments)


def test_seed_where_a_service_takes_one(stub: StubServer, make_model: MakeModel) -> None:
    (response,) = ask_all(make_model(seed="true"), [Request("a person", seed=77)])
    assert stub.stats()["last"]["seed"] == 77
    assert response.notes == ()


def test_identity_holds_what_can_change_a_picture(stub: StubServer, make_model: MakeModel) -> None:
    assert make_model(size="64x64", timeout="3").identity == {
        "provider": "image_endpoint",
        "base_url": stub.base_url,
        "model": "sd3",
        "parameters": {"size": "64x64"},
        "seeded": False,
    }


def test_picture_at_a_url_is_fetched_without_the_key(stub: StubServer, make_model: MakeModel) -> None:
    url = f"http://127.0.0.1:{stub.port}/pictures/blue.png"
    stub.script(picture={"b64_json": None, "url": f"{url}?signature=abc"})
    (response,) = ask(make_model(), "a person")
    assert response.image == drawn("blue")
    fetched = stub.stats()["fetched"]
    assert fetched
    assert "Authorization" not in fetched


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://cdn.example/picture.png", True),
        ("http://cdn.example/picture.png", False),
        ("http://models.local:9000/picture.png", True),
        ("http://localhost:1/picture.png", False),
        ("http://[::1]:1/picture.png", False),
        ("file:///etc/passwd", False),
        ("ftp://models.local/picture.png", False),
        ("https:///picture.png", False),
        ("http://[", False),
    ],
)
def test_where_pictures_are_fetched_from(url: str, *, allowed: bool) -> None:
    assert reachable(url, "http://models.local:8000/v1") is allowed


@pytest.mark.parametrize("url", ["http://localhost:1/picture.png", "http://[::1]:1/picture.png"])
def test_names_of_this_machine_are_one_host(url: str) -> None:
    assert reachable(url, "http://127.0.0.1:8000/v1")
    assert not reachable(url, "https://api.example/v1")
    assert not reachable(url, "")


def test_picture_elsewhere_is_not_fetched(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(picture={"b64_json": None, "url": "http://169.254.169.254/latest?token=x"})
    error = refused(make_model())
    assert isinstance(error, RejectedRequestError)
    assert str(error) == (
        "openai/sd3: the picture is at 'http://169.254.169.254/latest': "
        "only https is fetched, or the server's own host"
    )


def test_picture_that_is_gone(stub: StubServer, make_model: MakeModel) -> None:
    url = f"http://127.0.0.1:{stub.port}/pictures/gone.png"
    stub.script(picture={"b64_json": None, "url": url})
    error = refused(make_model())
    assert isinstance(error, RetryableModelError)
    assert str(error) == f"openai/sd3: the picture at '{url}': 404 Not Found"


def test_picture_that_has_moved_is_not_asked_for_again(stub: StubServer, make_model: MakeModel) -> None:
    url = f"http://127.0.0.1:{stub.port}/pictures/moved.png"
    stub.script(picture={"b64_json": None, "url": url})
    error = refused(make_model())
    assert isinstance(error, RejectedRequestError)
    assert str(error) == f"openai/sd3: the picture at '{url}': 302 Found: redirects are not followed"


def test_prompt_that_was_rewritten_is_kept_and_told(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(picture={"revised_prompt": "a diverse person"})
    (response,) = ask(make_model(), "a person")
    assert (response.text, response.notes) == ("a diverse person", (REWRITTEN, UNSEEDED))
    stub.script(picture={"revised_prompt": "a person"})
    (response,) = ask(make_model(), "a person")
    assert (response.text, response.notes) == ("a person", (UNSEEDED,))


def test_service_that_ignores_how_many_are_asked_for(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(pictures=4)
    (response,) = ask(make_model(), "a person")
    assert response.image == drawn("a person 1 0")
    assert response.notes == ("4 pictures were returned for 1 requested: the first was used", UNSEEDED)


@pytest.mark.parametrize(
    "error",
    [
        {"code": "content_policy_violation", "type": "invalid_request_error"},
        {"code": "moderation_blocked", "type": "image_generation_user_error"},
        {"code": "contentFilter"},
    ],
)
def test_policy_refusal_is_an_outcome(stub: StubServer, make_model: MakeModel, error: dict[str, str]) -> None:
    stub.script(
        fail=-1, status=400, body=error_body("Your request was rejected by the safety system", **error)
    )
    (response,) = ask(make_model(), "a person")
    assert response == Response("", "filtered", model="sd3", notes=(UNSEEDED,))


def test_parameter_the_model_does_not_take_is_left_out(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(refuse=["response_format", "style"])
    model = make_model(style="vivid", size="64x64")
    earlier, later = ask(model, "a person", "a dog")
    assert "response_format" not in stub.stats()["last"]
    assert stub.stats()["last"]["size"] == "64x64"
    notes = ("style was not accepted: the model's default was used", UNSEEDED)
    assert earlier.notes == later.notes == notes
    assert stub.stats()["requests"] <= 6  # at most two lessons for each of the two, and two pictures


def test_unknown_parameter_in_other_words(stub: StubServer, make_model: MakeModel) -> None:
    body = error_body(
        "Unknown parameter: 'response_format'.", code="unknown_parameter", param="response_format"
    )
    stub.script(fail=1, status=400, body=body)
    (response,) = ask(make_model(), "a person")
    assert response.image == drawn("a person 2 0")


def test_wrong_value_is_rejected_not_left_out(stub: StubServer, make_model: MakeModel) -> None:
    body = error_body("Invalid value: '7x7'. Supported values are: '1024x1024'.", param="size")
    stub.script(fail=-1, status=400, body=body)
    error = refused(make_model(size="7x7"))
    assert isinstance(error, RejectedRequestError)
    assert "Invalid value: '7x7'" in str(error)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, FatalModelError),
        (404, RejectedRequestError),
        (429, RetryableModelError),
        (503, RetryableModelError),
    ],
)
def test_statuses_mean_what_they_mean_for_chat(
    stub: StubServer, make_model: MakeModel, status: int, kind: type[ModelError]
) -> None:
    stub.script(fail=-1, status=status, headers={"Retry-After": "7"})
    error = refused(make_model())
    assert type(error) is kind
    if isinstance(error, RetryableModelError):
        assert (error.retry_after, error.throttled) == (7, status == 429)


PNG = drawn("a person")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ({"raw": "<!doctype html><p>busy"}, "the reply of 22 bytes is HTML, not JSON"),
        ({"cut": True}, "the connection failed"),
        ({"raw": "[]"}, "the reply is not a JSON object"),
        ({"reply": {"data": []}}, "the reply contains no picture"),
        ({"reply": {"data": None}}, "the reply contains no picture"),
        ({"picture": {"b64_json": ""}}, "the reply contains no picture"),
        ({"picture": {"b64_json": 7}}, "the reply contains no picture"),
        ({"picture": {"b64_json": encoded(PNG)[:-3]}}, "the picture's base64 is cut off or broken"),
        ({"picture": {"b64_json": encoded(PNG[:50])}}, "the picture is broken: "),
        ({"picture": {"b64_json": encoded(b"<html>no picture</html>")}}, "not a picture but HTML (23 bytes)"),
        ({"raw": error_body("upstream is busy", code=503)}, "503 Service Unavailable: upstream is busy"),
    ],
)
def test_broken_replies_may_be_asked_again(
    stub: StubServer, make_model: MakeModel, script: dict[str, object], words: str
) -> None:
    stub.script(**script)
    error = refused(make_model())
    assert isinstance(error, RetryableModelError)
    assert str(error).startswith("openai/sd3: ")
    assert words in str(error)


def test_slow_service(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(latency=5)
    error = refused(make_model(timeout="0.2"))
    assert isinstance(error, RetryableModelError)
    assert str(error) == "openai/sd3: no reply within 0.2 s"


def test_reply_that_never_ends_is_given_up(
    stub: StubServer, make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_factorfair.models.openai_images.ImageFormat.largest", 2**20)
    stub.script(size=2**20 + 1)
    error = refused(make_model())
    assert isinstance(error, RejectedRequestError)
    assert str(error) == "openai/sd3: the reply is larger than 1 MB"
