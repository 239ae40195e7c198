"""Lines of results as services write them: which are answers, and what the others mean for their questions."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_factorfair.batches.http import seconds
from pytest_factorfair.batches.openai import line_reply
from pytest_factorfair.errors import FatalModelError, RejectedRequestError, RetryableModelError
from pytest_factorfair.models.openai_errors import ServiceError

ANSWER = {"choices": [{"message": {"content": "A"}}]}
REFUSAL = {"message": "Unsupported parameter: 'top_p'", "param": "top_p", "code": "unsupported_parameter"}


def replied(status: int | None, body: object, error: object = None) -> dict[str, Any]:
    return {
        "custom_id": "k",
        "response": {"status_code": status, "request_id": "r", "body": body},
        "error": error,
    }


def test_a_chat_completion_is_an_answer() -> None:
    for status in (200, None):
        assert line_reply(replied(status, ANSWER), "m") == ANSWER


ERRORS = {
    "400 in the output file": (replied(400, {"error": REFUSAL}), RejectedRequestError, "m: 400 Bad Request: Unsup"),
    "vLLM's error, nested": (
        replied(400, None, {"error": {"message": "too long", "code": 400}}), RejectedRequestError, "m: 400 "
    ),
    "vLLM's error, flat": (
        {"response": None, "error": {"object": "error", "message": "too long", "code": 400}},
        RejectedRequestError,
        "m: 400 Bad Request: too long",
    ),
    "an error without a status": (
        {"response": None, "error": {"code": "invalid", "message": "no"}}, RejectedRequestError, "m: 400 "
    ),
    "expired": (
        {"response": None, "error": {"code": "batch_expired", "message": "late"}},
        RetryableModelError,
        "m: not answered: late",
    ),
    "status 0": (replied(0, {"error": {"message": "x"}}), RetryableModelError, "m: not answered: x"),
    "nothing": ({"response": None, "error": None}, RetryableModelError, "m: not answered: no reply"),
    "too busy": (replied(429, {"error": {"message": "busy"}}), RetryableModelError, "m: 429 "),
    "broken": (replied(500, "oops"), RetryableModelError, "m: 500 "),
    "200 of another shape": (
        replied(200, {"output": "A"}), RetryableModelError, "m: the reply is no chat completion"
    ),
    "200 with text": (replied(200, "A"), RetryableModelError, "m: the reply is no chat completion"),
    "200 with an error": (replied(200, {"error": {"message": "x"}}), RetryableModelError, "m: 502 "),
    "a wrong key": (replied(401, {"error": {"message": "key"}}), FatalModelError, "m: 401 "),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case: str) -> None:
    fields, kind, message = ERRORS[case]
    reply = line_reply(fields, "m")
    assert isinstance(reply, ServiceError)
    assert type(reply.error) is kind
    assert str(reply.error).startswith(message)
    assert reply.adaptable == message.startswith("m: 400")
    assert not reply.is_filtered


def test_a_filtered_prompt_is_an_answer_and_not_an_error() -> None:
    reply = line_reply(replied(400, {"error": {"code": "content_filter", "message": "policy"}}), "m")
    assert isinstance(reply, ServiceError)
    assert reply.is_filtered


def test_times_of_services() -> None:
    assert seconds(1_700_000_000) == 1.7e9
    assert seconds("2023-11-14T22:13:20Z") == seconds("2023-11-14T22:13:20") == 1.7e9
    assert seconds("soon") is seconds(None) is None
