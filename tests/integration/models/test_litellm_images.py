from __future__ import annotations

import pytest

from pytest_factorfair.domain import Response
from pytest_factorfair.errors import RejectedRequestError, RetryableModelError
from pytest_factorfair.models import prices
from pytest_factorfair.models.litellm_transport import build
from tests.asking import ask
from tests.integration.models.services import (
    IMAGES,
    KEY,
    LITELLM,
    UNSEEDED,
    MakeModel,
    error_body,
    maker,
    refused,
)
from tests.pictures import drawn
from tests.servers import StubServer

pytestmark = LITELLM


@pytest.fixture
def make_model(stub: StubServer) -> MakeModel:
    return maker(build, stub, "litellm:openai/some-model", IMAGES)


def test_picture_and_request(stub: StubServer, make_model: MakeModel) -> None:
    (response,) = ask(make_model(size="512x512", quality="high"), "a person")
    assert response == Response(
        "",
        tokens_in=12,
        tokens_out=4160,
        model="openai/some-model",
        notes=(UNSEEDED,),
        image=drawn("a person 1 0"),
    )
    stats = stub.stats()
    assert stats["path"] == "/v1/images/generations"
    assert stats["headers"]["Authorization"] == f"Bearer {KEY}"
    assert stats["last"] == {
        "model": "some-model",
        "prompt": "a person",
        "n": 1,
        "size": "512x512",
        "quality": "high",
    }


def test_picture_at_a_url(stub: StubServer, make_model: MakeModel) -> None:
    url = f"http://127.0.0.1:{stub.port}/pictures/blue.png"
    stub.script(picture={"b64_json": None, "url": url, "revised_prompt": "a diverse person"})
    (response,) = ask(make_model(), "a person")
    assert response.image == drawn("blue")
    assert response.text == "a diverse person"
    assert "Authorization" not in stub.stats()["fetched"]


def test_policy_refusal_is_an_outcome(stub: StubServer, make_model: MakeModel) -> None:
    body = error_body("Your request was rejected by our safety system", code="moderation_blocked")
    stub.script(fail=-1, status=400, body=body)
    (response,) = ask(make_model(), "a person")
    assert response == Response("", "filtered", model="openai/some-model", notes=(UNSEEDED,))


def test_cost_where_the_price_is_known(stub: StubServer, make_model: MakeModel) -> None:
    model = make_model("litellm:openai/gpt-image-1")
    (response,) = ask(model, "a person")
    price = prices.of(model)
    assert price is not None
    # USD 5 and 40 for a million tokens of text in and picture out.
    assert price.of(response.tokens_in, response.tokens_out) == pytest.approx((12 * 5 + 4160 * 40) / 1e6)
    assert "response_format" not in stub.stats()["last"]


def test_parameter_the_model_does_not_take_is_left_out(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(refuse=["quality"])
    (response,) = ask(make_model(quality="high"), "a person")
    assert response.notes == ("quality was not accepted: the model's default was used", UNSEEDED)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_temporary_errors_may_be_repeated(stub: StubServer, make_model: MakeModel, status: int) -> None:
    stub.script(fail=-1, status=status)
    error = refused(make_model())
    assert isinstance(error, RetryableModelError)
    assert error.throttled is (status == 429)
    assert stub.stats()["requests"] == 1  # it is the run that tries again, within its limits


def test_wrong_value_is_rejected(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(fail=-1, status=400, body=error_body("Invalid value: '7x7'", param="size"))
    assert isinstance(refused(make_model(size="7x7")), RejectedRequestError)


def test_no_picture_in_the_reply(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(reply={"data": []})
    error = refused(make_model())
    assert isinstance(error, RetryableModelError)
    usage = '{"input_tokens": 12, "output_tokens": 4160}'  # which the server adds
    assert str(error) == (
        f'litellm:openai/some-model: the reply contains no picture: it says {{"data": [], "usage": {usage}}}'
    )
