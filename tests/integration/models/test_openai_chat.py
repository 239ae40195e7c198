from __future__ import annotations

import asyncio
import json
import logging
import socket

import pytest

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import (
    FOREIGN_REPLY,
    FatalModelError,
    ModelError,
    RejectedRequestError,
    RetryableModelError,
)
from pytest_factorfair.models.openai_http import build
from pytest_factorfair.models.protocol import Model
from tests.asking import answered, ask, ask_all, spec
from tests.integration.models.services import (
    ASIAN,
    CITED,
    KEY,
    SEARCHED,
    MakeModel,
    error_body,
    maker,
    refused,
)
from tests.servers import StubServer


@pytest.fixture
def make_model(stub: StubServer) -> MakeModel:
    return maker(build, stub, "openai/gpt-4o")


def test_answer_and_request(stub: StubServer, make_model: MakeModel) -> None:
    (response,) = ask(make_model(), "x" * 400)
    assert response == Response(ASIAN, "stop", tokens_in=100, tokens_out=7, cost=None, model="gpt-4o")
    stats = stub.stats()
    assert stats["path"] == "/v1/chat/completions"
    assert stats["headers"]["Authorization"] == f"Bearer {KEY}"
    assert stats["last"] == {
        "model": "gpt-4o",
        "temperature": 0,
        "max_tokens": 1024,
        "messages": [{"role": "user", "content": "x" * 400}],
    }


def test_arguments_reach_the_body(stub: StubServer, make_model: MakeModel) -> None:
    model = make_model(
        temperature="0.7", max_tokens="5", top_p="0.9", seed="true", system="Be brief.", body__top_k="20",
        body__stop='["\\n"]',
    )  # fmt: skip
    ask_all(model, [Request("Who?", repeat=3, seed=77)])
    assert stub.stats()["last"] == {
        "model": "gpt-4o",
        "temperature": 0.7,
        "max_tokens": 5,
        "top_p": 0.9,
        "seed": 77,
        "top_k": 20,
        "stop": ["\n"],
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}],
    }


@pytest.mark.parametrize(
    ("text", "sent"),
    [("openai/gpt-4o", "gpt-4o"), ("hosted_vllm/org/name", "org/name"), ("org/llama3:8b", "org/llama3:8b")],
)
def test_name_that_is_sent(stub: StubServer, make_model: MakeModel, text: str, sent: str) -> None:
    ask(make_model(text))
    assert stub.stats()["last"]["model"] == sent


def test_another_server_never_gets_the_openai_key(stub: StubServer, make_model: MakeModel) -> None:
    ask(make_model("my-model"))
    assert "Authorization" not in stub.stats()["headers"]


def test_key_from_a_named_variable(
    stub: StubServer, make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_KEY", " k-lab\n")
    ask(make_model("my-model", api_key_env="LAB_KEY"))
    assert stub.stats()["headers"]["Authorization"] == "Bearer k-lab"


def test_base_url_from_the_environment(stub: StubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{stub.base_url}/chat/completions/")
    ask(build(spec("openai/gpt-4o")))
    assert stub.stats()["path"] == "/v1/chat/completions"


def test_many_at_once_share_one_session(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(answer="uniform", latency=0.05)
    prompts = [f"{number}\nA. Asian\nB. Black" for number in range(40)]
    answers = {response.text for response in ask(make_model(), *prompts)}
    assert answers == {'{"answer": "A"}', '{"answer": "B"}'}
    assert stub.stats()["most_in_flight"] > 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (301, FatalModelError), (302, FatalModelError), (307, FatalModelError), (308, FatalModelError),
        (401, FatalModelError), (402, FatalModelError), (403, RejectedRequestError), (404, RejectedRequestError),
        (405, FatalModelError), (410, FatalModelError),
        (408, RetryableModelError), (409, RetryableModelError), (425, RetryableModelError),
        (429, RetryableModelError), (500, RetryableModelError), (502, RetryableModelError),
        (503, RetryableModelError), (504, RetryableModelError), (529, RetryableModelError),
        (400, RejectedRequestError), (413, RejectedRequestError), (418, RejectedRequestError),
        (422, RejectedRequestError),
    ],
)  # fmt: skip
def test_status(stub: StubServer, make_model: MakeModel, status: int, kind: type[ModelError]) -> None:
    stub.script(fail=-1, status=status)
    error = refused(make_model())
    assert type(error) is kind
    assert str(error).startswith(f"openai/gpt-4o: {status}")
    assert stub.stats()["requests"] == 1


def test_refused_key(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(fail=-1, status=401, body=error_body(f"Incorrect API key\nprovided: {KEY}. sk-pr***5678"))
    assert str(refused(make_model())) == (
        "openai/gpt-4o: 401 Unauthorized: the key in OPENAI_API_KEY was refused: "
        "Incorrect API key provided: ***. ***"
    )


def test_missing_key(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(fail=-1, status=401, body="{}")
    assert str(refused(make_model("my-model"))) == (
        "my-model: 401 Unauthorized: it requires a key: name its variable with api_key_env"
    )


def test_404_is_about_the_model_or_the_address(stub: StubServer, make_model: MakeModel) -> None:
    place = f"nothing answers under {stub.base_url}"
    for body, reason in {
        error_body("The model `gpt-4o` does not exist."): "The model `gpt-4o` does not exist.",
        error_body("Not Found"): f"no such model, or {place}: Not Found",
        "404 page not found": place,
    }.items():
        stub.script(fail=-1, status=404, body=body)
        assert str(refused(make_model())) == f"openai/gpt-4o: 404 Not Found: {reason}"


def test_redirect_is_not_followed(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(fail=1, status=308, headers={"Location": f"{stub.base_url}/elsewhere?token=secret"})
    assert str(refused(make_model())) == (
        f"openai/gpt-4o: 308 Permanent Redirect: {stub.base_url} redirects to "
        f"'{stub.base_url}/elsewhere'; give the right base_url"
    )
    assert stub.stats()["requests"] == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.25"}, 0.25),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "9", "Retry-After-Ms": "1500"}, 1.5),
    ],
)
def test_retry_after(
    stub: StubServer, make_model: MakeModel, headers: dict[str, str], seconds: float | None
) -> None:
    stub.script(fail=-1, status=429, headers=headers)
    error = refused(make_model())
    assert isinstance(error, RetryableModelError)
    assert error.retry_after == seconds


@pytest.mark.parametrize("key", ["code", "type"])
def test_no_money_left_is_fatal(stub: StubServer, make_model: MakeModel, key: str) -> None:
    stub.script(
        fail=-1, status=429, body=error_body("You exceeded your quota.", **{key: "insufficient_quota"})
    )
    assert isinstance(refused(make_model()), FatalModelError)


def test_long_message_is_cut(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(fail=-1, status=500, body=error_body("long\n" * 100_000))
    error = refused(make_model())
    assert len(str(error)) < 300


def test_plain_text_message(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(fail=-1, status=503, body="<html>\x1b[31mdown\x00</html>")
    assert str(refused(make_model())) == "openai/gpt-4o: 503 Service Unavailable: <html> [31mdown </html>"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ({"cut": True}, "the connection failed"),
        ({"raw": '{"choices": ['}, "the reply of 13 bytes is cut off or not JSON"),
        ({"raw": "<html>busy</html>"}, "HTML, not JSON"),
        ({"raw": ""}, "the reply of 0 bytes is cut off or not JSON"),
        ({"raw": "[" * 200_000}, "cut off or not JSON"),
        ({"raw": "[1]"}, "the reply is not a JSON object"),
        ({"raw": "{}"}, "the reply contains no message"),
        ({"reply": {"choices": []}}, "the reply contains no message"),
        ({"reply": {"choices": [3]}}, "the reply contains no message"),
        ({"choice": {"message": None}}, "the reply contains no message"),
        ({"choice": {"finish_reason": "abort"}}, "the server broke off (abort)"),
        ({"choice": {"finish_reason": "error"}}, "the server broke off (error)"),
        ({"message": {"content": 7}}, "the reply's content is neither a text nor a list of parts"),
        ({"raw": error_body("upstream is busy", code=503)}, "503 Service Unavailable: upstream is busy"),
        ({"raw": error_body("upstream failed")}, "an error with status 200: upstream failed"),
        (
            {"choice": {"finish_reason": "error", "error": {"code": 502, "message": "gone"}}},
            "the server broke off (error): gone",
        ),
        ({"raw": 'data: {"choices": [{"delta": {"content": "A"}}]}\n\n'}, "bytes is cut off"),
        ({"raw": 'data: {"error": {"message": "full", "code": 503}}\n\n'}, "503 Service Unavailable: full"),
    ],
)
def test_broken_replies_may_be_asked_again(
    stub: StubServer, make_model: MakeModel, script: dict[str, object], words: str
) -> None:
    stub.script(**script)
    error = refused(make_model())
    assert isinstance(error, RetryableModelError)
    assert words in str(error)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ('{"choices": null, "error": {"message": "no such adapter"}}', "an error with status 200: no such adapter"),
        ('{"detail": "Model not loaded"}', "an error with status 200: Model not loaded"),
        ('{"detail": [{"loc": ["body", "n"], "msg": "too many"}]}', "an error with status 200: body.n: too many"),
        ('{"generated_text": "A"}', "of TGI's own API; its OpenAI-compatible base_url ends with /v1: {"),
        ('{"message": {"content": "A"}, "done": true}', "of Ollama's own API; its OpenAI-compatible"),
        ('{"message": {}, "done": false}\n{"message": {}, "done": true}\n', "of Ollama's own API"),
        ('{"type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn"}', "Anthropic's"),
        ('{"object": "response", "output": []}', "a reply of OpenAI's Responses API: "),
        ('event: message_start\ndata: {"type": "message_start"}\n\n', 'it says {"type": "message_start"}'),
        ('{"choices": [{"text": "A", "index": 0}]}', "a reply of the API of plain completions: "),
        ("<html><title>Sign in</title></html>", "is HTML, not JSON: Sign in"),
        ("Model is loading", "is not JSON: Model is loading"),
    ],
)  # fmt: skip
def test_a_success_that_is_no_completion_shows_what_the_server_said(
    stub: StubServer, make_model: MakeModel, raw: str, words: str
) -> None:
    stub.script(raw=raw)
    error = refused(make_model())
    assert words in str(error)
    assert error.cause == FOREIGN_REPLY


@pytest.mark.parametrize(
    ("raw", "kind", "words"),
    [
        ('{"object": "error", "message": "no model x", "code": 404}', RejectedRequestError, "404 Not Found: no such"),
        ('{"object": "error", "message": "full", "code": 42903}', RetryableModelError, "429 Too Many Requests: full"),
        (
            '{"choices": null, "base_resp": {"status_code": 1008, "status_msg": "no balance"}}',
            FatalModelError,
            "402 Payment Required: no balance",
        ),
        ('{"choices": null, "error": {"message": "who?", "code": 401}}', FatalModelError, "401 Unauthorized: the key"),
    ],
)  # fmt: skip
def test_a_status_inside_a_success(
    stub: StubServer, make_model: MakeModel, raw: str, kind: type[ModelError], words: str
) -> None:
    stub.script(raw=raw)
    error = refused(make_model())
    assert type(error) is kind
    assert words in str(error)


CHUNK: dict[str, object] = {"object": "chat.completion.chunk", "model": "gpt-4o", "usage": None}


def streamed(*choices: dict[str, object], **last: object) -> str:
    chunks = [{**CHUNK, "choices": [{"index": 0, **choice}]} for choice in choices]
    chunks.append({**CHUNK, "choices": [], **last})
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)


def test_a_stream_that_was_not_asked_for_is_read(stub: StubServer, make_model: MakeModel) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2}
    parts: list[dict[str, object]] = [
        {"delta": {"role": "assistant", "content": '{"answer":'}},
        {"delta": {"content": ' "A"}', "reasoning_content": "Hm."}},
        {"delta": {}, "finish_reason": "stop"},
    ]
    stub.script(raw=f": PROCESSING\n\n{streamed(*parts, usage=usage)}data: [DONE]\n\n")
    assert ask(make_model()) == [Response(ASIAN, "stop", tokens_in=9, tokens_out=2, model="gpt-4o")]


def test_comments_before_the_reply_are_skipped(stub: StubServer, make_model: MakeModel) -> None:
    reply = {"model": "gpt-4o", "choices": [{"message": {"content": ASIAN}, "finish_reason": "stop"}]}
    stub.script(raw=f"\n: OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n{json.dumps(reply)}")
    assert ask(make_model()) == [Response(ASIAN, "stop", model="gpt-4o")]


def test_fatal_error_inside_a_success(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(raw=error_body("No credits left", code=402))
    error = refused(make_model())
    assert isinstance(error, FatalModelError)
    assert str(error) == "openai/gpt-4o: 402 Payment Required: No credits left"


def test_reply_of_more_than_16_mb_is_given_up(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(size=17 * 2**20)
    error = refused(make_model())
    assert isinstance(error, RejectedRequestError)
    assert str(error) == "openai/gpt-4o: the reply is larger than 16 MB"


def test_reply_of_1_mb_is_read(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(answer="b" * 2**20)
    assert ask(make_model())[0].text == "b" * 2**20


def test_no_reply_in_time(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(latency=30)
    error = refused(make_model(timeout="0.05"))
    assert isinstance(error, RetryableModelError)
    assert str(error) == "openai/gpt-4o: no reply within 0.05 s"


def test_nobody_listens(make_model: MakeModel) -> None:
    with socket.socket() as taken:  # bound, never listening: connections to it are refused
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        error = refused(make_model(base_url=f"http://127.0.0.1:{port}/v1"))
    assert isinstance(error, RetryableModelError)
    assert "the connection failed" in str(error)


def test_server_that_speaks_no_tls(stub: StubServer, make_model: MakeModel) -> None:
    error = refused(make_model(base_url=stub.base_url.replace("http:", "https:")))
    assert isinstance(error, RetryableModelError)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ({"message": {"content": None}}, Response("", "stop")),
        ({"message": {"content": None, "refusal": "I cannot."}}, Response("I cannot.", "refusal")),
        ({"message": {"refusal": None}}, Response(ASIAN, "stop")),
        ({"message": {"content": "", "reasoning_content": "A, I think"}}, Response("", "stop")),
        ({"choice": {"finish_reason": "length"}}, Response(ASIAN, "length")),
        ({"choice": {"finish_reason": "max_tokens"}}, Response(ASIAN, "length")),
        ({"choice": {"finish_reason": "MAX_TOKENS"}}, Response(ASIAN, "length")),
        ({"choice": {"finish_reason": "FinishReason.MAX_TOKENS"}}, Response(ASIAN, "length")),
        ({"choice": {"finish_reason": "model_length"}}, Response(ASIAN, "length")),
        ({"choice": {"finish_reason": "token_limit"}}, Response(ASIAN, "length")),
        ({"choice": {"finish_reason": "content_filter"}}, Response(ASIAN, "filtered")),
        ({"choice": {"finish_reason": "SAFETY"}}, Response(ASIAN, "filtered")),
        ({"choice": {"finish_reason": "RECITATION"}}, Response(ASIAN, "filtered")),
        ({"choice": {"finish_reason": "content_filter: PROHIBITED_CONTENT"}}, Response(ASIAN, "filtered")),
        (
            {"choice": {"finish_reason": "content_filter"}, "message": {"content": None, "refusal": "No."}},
            Response("No.", "refusal"),
        ),
        ({"choice": {"finish_reason": None}}, Response(ASIAN, "stop")),
        ({"choice": {"finish_reason": ["odd"]}}, Response(ASIAN, "stop")),
        (
            {"message": {"content": [{"type": "text", "text": "It is "}, {"type": "image"}, {"text": "A"}]}},
            Response("It is A", "stop"),
        ),
        ({"message": {"content": ["It is ", "A"]}}, Response("It is A", "stop")),
        ({"message": {"content": [{"type": "refusal", "refusal": "No."}]}}, Response("No.", "refusal")),
        ({"answer": "half \ud83d pair"}, Response("half ? pair", "stop")),
    ],
)
def test_shapes_of_an_answer(
    stub: StubServer, make_model: MakeModel, script: dict[str, object], expected: Response
) -> None:
    stub.script(**script)
    (response,) = ask(make_model())
    assert (response.text, response.finish) == (expected.text, expected.finish)
    response.text.encode()


@pytest.mark.parametrize(
    ("message", "notes"),
    [
        ({"content": "", "reasoning_content": "A, I think"}, ("replies have no content, but reasoning_content",)),
        ({"content": None, "reasoning": "A", "tool_calls": [{}]}, ("replies have no content, but reasoning and tool_calls",)),
        ({"content": None, "tool_calls": []}, ()),
        ({"content": "A", "reasoning_content": "A, I think"}, ()),
    ],
)  # fmt: skip
def test_a_reply_without_content_says_where_something_is(
    stub: StubServer, make_model: MakeModel, message: dict[str, object], notes: tuple[str, ...]
) -> None:
    stub.script(message=message)
    assert ask(make_model())[0].notes == notes


def test_usage_that_makes_no_sense_is_unknown(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(reply={"usage": {"prompt_tokens": -1, "completion_tokens": "7"}})
    (response,) = ask(make_model())
    assert (response.tokens_in, response.tokens_out) == (None, None)
    stub.script(reply={"usage": None})
    assert ask(make_model())[0].tokens_in is None


@pytest.mark.parametrize("status", [400, 403])
@pytest.mark.parametrize(
    "error",
    [
        {"code": "content_filter"},
        {"type": "content_policy_violation"},
        {"code": "400", "innererror": {"code": "ResponsibleAIPolicyViolation"}},
        {
            "code": 403,
            "metadata": {"reasons": ["hate"], "flagged_input": "Which group", "provider_name": "x"},
        },
    ],
)
def test_filtered_prompt_is_an_outcome(
    stub: StubServer, make_model: MakeModel, error: dict[str, object], status: int
) -> None:
    stub.script(fail=-1, status=status, body=error_body("The prompt triggered the policy", **error))
    assert ask(make_model()) == [Response("", "filtered", model="gpt-4o")]


FILTERS = {
    "OpenAI": (400, error_body("Invalid prompt: flagged", code="invalid_prompt")),
    "DeepSeek": (400, error_body("Content Exists Risk", code="invalid_request_error")),
    "DeepSeek before": (400, '{"detail": "Content Exists Risk"}'),
    "Z.ai": (400, error_body("\u7cfb\u7edf\u68c0\u6d4b\u5230", code="1301")),
    "xAI": (403, '{"code": "permission-denied", "error": "Content violates usage guidelines. Failed check: X"}'),
    "litellm's proxy": (400, error_body("litellm.ContentPolicyViolationError: AzureException", code="400")),
    "Anthropic": (400, error_body("Output blocked by content filtering policy", type="invalid_request_error")),
    "Model Studio": (400, '{"code": "DataInspectionFailed", "message": "inappropriate", "request_id": "1"}'),
    "Moonshot": (400, error_body("considered high risk", type="content_filter")),
    "New API": (400, error_body("sensitive words", code="sensitive_words_detected", type="new_api_error")),
    "ModelArk": (400, error_body("sensitive", code="InputTextSensitiveContentDetected")),
    "StepFun": (451, error_body("blocked", type="censorship_blocked")),
    "Cloudflare": (400, '{"success": false, "errors": [{"code": 2016, "message": "Prompt blocked"}]}'),
    "Gemini": (200, '{"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {}}'),
    "MiniMax": (200, '{"choices": null, "base_resp": {"status_code": 1026, "status_msg": "sensitive"}}'),
    "OpenRouter": (
        400,
        error_body("Provider returned error", code=400, metadata={"raw": error_body("x", code="content_filter")}),
    ),
}  # fmt: skip
"""The status and the body with which services say that a filter stopped a prompt."""


@pytest.mark.parametrize("service", FILTERS)
def test_filters_of_services(stub: StubServer, make_model: MakeModel, service: str) -> None:
    status, body = FILTERS[service]
    stub.script(fail=-1, status=status, body=body)
    assert ask(make_model()) == [Response("", "filtered", model="gpt-4o")]


def test_what_a_provider_of_a_router_filters(stub: StubServer, make_model: MakeModel) -> None:
    error = {
        "code": 403,
        "message": "x",
        "metadata": {"raw": error_body("x", status="y", code="PROHIBITED_CONTENT")},
    }
    stub.script(choice={"finish_reason": "error", "error": error})
    assert ask(make_model()) == [Response("", "filtered", model="gpt-4o")]


@pytest.mark.parametrize("body", ["<html>Request blocked</html>", "", '{"message": "Forbidden"}'])
def test_a_firewall_gives_no_reason(stub: StubServer, make_model: MakeModel, body: str) -> None:
    stub.script(fail=-1, status=403, body=body or " ")
    error = refused(make_model())
    assert isinstance(error, RejectedRequestError)
    assert error.reply == Response("", "filtered", model="gpt-4o")
    stub.script(fail=-1, status=403, body=error_body("No access", code="insufficient_permissions"))
    error = refused(make_model())
    assert isinstance(error, RejectedRequestError)
    assert error.reply is None


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (422, '{"detail": [{"loc": ["body", "temperature"], "msg": "Extra inputs are not permitted"}]}'),
        (400, error_body("invalid temperature: only 1 is allowed for this model")),
        (200, error_body("temperature is not supported", code=400)),
    ],
)
def test_other_words_for_a_parameter_that_is_refused(
    stub: StubServer, make_model: MakeModel, status: int, body: str
) -> None:
    stub.script(fail=1, status=status, body=body)
    (response,) = ask(make_model())
    assert response.dropped == ("temperature",)
    assert stub.stats()["requests"] == 2


def test_no_temperature(stub: StubServer, make_model: MakeModel) -> None:
    model = make_model(temperature="none")
    assert ask(model)[0].notes == ()
    assert "temperature" not in stub.stats()["last"]
    assert model.identity["parameters"] == {"max_tokens": 1024}


def test_model_without_sampling_parameters(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(refuse=["temperature", "top_k", "top_p"])
    model = make_model(top_p="0.5", body__top_k="40")
    values = {"temperature": 0, "top_p": 0.5, "top_k": 40}
    noted = tuple(
        f"{name} {value} was not accepted: the model's default was used" for name, value in values.items()
    )
    earlier, later = _in_turn(model)
    assert (earlier.text, earlier.notes, later.notes) == (ASIAN, noted, noted)
    assert earlier.dropped == later.dropped == tuple(values)
    assert stub.stats()["requests"] == 5  # the second call already knows
    assert not values.keys() & stub.stats()["last"].keys()
    assert model.identity["parameters"] == {"max_tokens": 1024, **values}


def test_reasoning_is_counted_and_sources_are_kept(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(**SEARCHED)
    (response,) = ask(make_model())
    assert (response.text, response.tokens_out, response.tokens_reasoning) == (ASIAN, 40, 30)
    assert response.sources == CITED
    assert response.notes == ("it cites sources: its answers may change with what it finds",)


def test_model_with_another_word_for_max_tokens(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(refuse=["max_tokens"])
    (response,) = ask(make_model(max_tokens="9"))
    assert (response.text, response.notes) == (ASIAN, ())
    assert stub.stats()["last"]["max_completion_tokens"] == 9
    assert "max_tokens" not in stub.stats()["last"]


def test_model_without_either_asked_by_many_at_once(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(refuse=["temperature", "max_tokens"], latency=0.02)
    prompts = [str(number) for number in range(20)]
    assert {response.text for response in ask(make_model(), *prompts)} == {ASIAN}
    assert stub.stats()["requests"] <= 60


def test_temperature_out_of_range_is_rejected(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(
        fail=-1,
        status=400,
        body=error_body("Invalid 'temperature': decimal above maximum value.", param="temperature"),
    )
    assert isinstance(refused(make_model(temperature="9")), RejectedRequestError)
    assert stub.stats()["requests"] == 1


@pytest.mark.parametrize("variable", ["http_proxy", "ALL_PROXY"])
def test_proxy_of_the_environment(
    stub: StubServer, make_model: MakeModel, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, f"http://127.0.0.1:{stub.port}")
    assert ask(make_model(base_url="http://model.invalid/v1"))[0].text == ASIAN
    assert stub.stats()["headers"]["Host"] == "model.invalid"


@pytest.mark.parametrize("address", ["127.0.0.1:{port}", "http://me:hunter2-planted@127.0.0.1:{port}"])
def test_errors_name_the_proxy(
    stub: StubServer, make_model: MakeModel, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    named = "127.0.0.1:{port}" if "@" not in address else "***@127.0.0.1:{port}"
    with socket.socket() as taken:  # bound, never listening: connections to it are refused
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        monkeypatch.setenv("http_proxy", address.format(port=port))
        error = refused(make_model(base_url="http://model.invalid/v1"))
    assert f"the connection failed through the proxy http://{named.format(port=port)}: " in str(error)
    monkeypatch.setenv("http_proxy", address.format(port=stub.port))
    stub.script(fail=-1, status=403)
    error = refused(make_model(base_url="http://model.invalid/v1"))
    assert f"403 Forbidden through the proxy http://{named.format(port=stub.port)}: " in str(error)


def test_a_gateway_with_its_own_header_and_version(
    stub: StubServer, make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_KEY", "hunter2-planted")
    arguments = {
        "header.Ocp-Apim-Subscription-Key": "GATEWAY_KEY",
        "base_url": f"{stub.base_url}?api-version=7",
    }
    model = make_model("gpt-4o", **arguments)
    assert ask(model)[0].text == ASIAN
    stats = stub.stats()
    assert stats["headers"]["Ocp-Apim-Subscription-Key"] == "hunter2-planted"
    assert "Authorization" not in stats["headers"]
    assert stats["path"] == "/v1/chat/completions"
    assert stats["query"] == {"api-version": "7"}
    assert "hunter2" not in repr([vars(model), model, model.identity])
    stub.script(fail=-1, status=401, body=error_body("Wrong key hunter2-planted"))
    assert str(refused(make_model("gpt-4o", **arguments))) == (
        "gpt-4o: 401 Unauthorized: Ocp-Apim-Subscription-Key did not suffice: Wrong key ***"
    )


def test_the_key_is_only_in_the_header(make_model: MakeModel, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    model = make_model()
    ask(model)
    shown = [repr(model), json.dumps(model.identity), model.endpoint, caplog.text]
    shown += [repr(vars(model)), str(model)]
    assert not [text for text in shown if KEY in text]


def _in_turn(model: Model) -> tuple[Response, Response]:
    async def run() -> tuple[Response, Response]:
        try:
            return await answered(model, Request("1")), await answered(model, Request("2"))
        finally:
            await model.close()

    return asyncio.run(run())
