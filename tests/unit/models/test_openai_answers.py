"""Reading tokens and log probabilities of a reply, and the parameters of requests."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from pytest_factorfair.domain import AnswerMode, Finish, Option, Query, Request, Response
from pytest_factorfair.errors import InputError
from pytest_factorfair.models import litellm_catalogue, openai_http
from pytest_factorfair.models.openai_answers import Prefill, Repetitions, Schema, UnfitModelError, Way
from pytest_factorfair.models.openai_chat import response_of
from pytest_factorfair.models.openai_errors import parsed
from pytest_factorfair.models.protocol import deterministic
from pytest_factorfair.reading import read
from tests.asking import spec

Top = list[tuple[str, float]]
OPTIONS = tuple(Option(letter, letter, (letter,), {}) for letter in "AB")
HALF, QUARTER = math.log(0.5), math.log(0.25)


def read_as(way: Way, tokens: object, *, text: str = "", **message: object) -> tuple[str, str, str]:
    """The letter, outcome and reason that are read from a reply with these tokens."""
    reply = {
        "choices": [
            {
                "message": {"content": text, **message},
                "finish_reason": "stop",
                "logprobs": {"content": tokens},
            }
        ]
    }
    response = way.response(reply, response_of(reply, model="m"))
    reading = read(response, OPTIONS, answers="probabilities")
    return reading.letter or "", reading.outcome, reading.reason


def token(text: str, top: Top | None = None) -> dict[str, object]:
    listed = [{"token": word, "logprob": logprob} for word, logprob in top or [(text, 0.0)]]
    return {"token": text, "logprob": listed[0]["logprob"], "top_logprobs": listed}


@pytest.mark.parametrize(
    ("top", "expected"),
    [
        ([("B", HALF), ("A", QUARTER), (" w", math.log(0.001))], ("B", "answered", "")),
        ([(" B", HALF), ('"A', QUARTER), ("B", QUARTER)], ("B", "answered", "")),
        ([("B", HALF), ("A", -9999.0)], ("B", "answered", "")),
        ([("B", HALF), ("A", -math.inf)], ("B", "answered", "")),
        ([("B", HALF), ("A", -3.4028234663852886e38)], ("B", "answered", "")),
        ([("B", 1e-6), ("A", -20.0)], ("B", "answered", "")),  # rounded
        ([('B"}', HALF), ('A"}', QUARTER)], ("B", "answered", "")),  # merged
        ([("\u0411", HALF), ("\u0410", QUARTER), ("\uff21", -2.0)], ("", "unparsed", "no letter among the likeliest tokens")),
        ([("B", HALF)], ("", "unparsed", "a letter that is not listed may matter")),
        ([("B", math.nan), ("A", QUARTER)], ("", "unparsed", "no probabilities")),
        ([("B", 2.0), ("A", QUARTER)], ("", "unparsed", "no probabilities")),
        ([("B", HALF), ("A", HALF), ("C", QUARTER)], ("", "unparsed", "no probabilities")),
        ([("B", math.inf), ("A", QUARTER)], ("", "unparsed", "no probabilities")),
    ],
)  # fmt: skip
def test_first_token_of_a_begun_answer(top: Top, expected: tuple[str, str, str]) -> None:
    assert read_as(Prefill(), [token("B", top)]) == expected


@pytest.mark.parametrize(
    "tokens",
    [
        None,
        [],
        "B",
        [{"token": "B"}],
        [{"token": "B", "logprob": 0.0, "top_logprobs": []}],
        [{"token": "B", "top_logprobs": {"B": 0.0}}],
        [{"token": "B", "top_logprobs": [{"token": "B"}]}],
        [{"token": "B", "top_logprobs": [{"token": "B", "logprob": "high"}]}],
    ],
)
@pytest.mark.parametrize("way", [Prefill(), Schema(scored=True)])
def test_reply_without_probabilities_is_unparsed(way: Way, tokens: object) -> None:
    assert read_as(way, tokens, text='{"answer": "B"}') == ("", "unparsed", "no probabilities")


@pytest.mark.parametrize(
    "parts",
    [
        ('{"', "answer", '":', ' "', "B", '"}'),
        ("{\n", '  "', "answer", '"', " : ", '"', "B", '"\n}'),
        ('{"answer":', '"B', '"}'),
        ('{"answer": "', 'B"}'),
        ("<think>", '{"answer": "A"}', "</think>", '{"answer": "', "B", '"}'),
    ],
)
def test_position_of_the_letter_is_found(parts: tuple[str, ...]) -> None:
    tokens = [
        token(part, [(part, HALF), (part.replace("B", "A"), math.log(0.3))] if "B" in part else None)
        for part in parts
    ]
    assert read_as(Schema(scored=True), tokens, text="".join(parts))[:2] == ("B", "answered")


def test_drawn_token_beyond_the_likeliest_bounds_nothing() -> None:
    top = [("B", HALF), *((f" w{number}", math.log(0.01)) for number in range(18)), ("zzz", -15.0)]
    expected = ("", "unparsed", "a letter that is not listed may matter")
    assert read_as(Prefill(), [token("zzz", top)]) == expected


def test_tokens_that_look_alike_are_summed() -> None:
    reply = {"choices": [{"message": {"content": "A"}, "logprobs": {"content": [
        token("A", [("A", HALF), ("\ufffd", QUARTER), ("\ufffd", math.log(0.125))])
    ]}}]}  # fmt: skip
    response = Prefill().response(reply, response_of(reply, model="m"))
    assert json.loads(response.text) == pytest.approx({"A": 0.5, "\ufffd": 0.375})


@pytest.mark.parametrize(
    ("logprob", "outcome"), [("NaN", "unparsed"), ("-Infinity", "answered"), ("1e400", "unparsed")]
)
def test_log_probabilities_that_json_does_not_allow_are_read(logprob: str, outcome: str) -> None:
    top = f'{{"token": "A", "logprob": -0.5}}, {{"token": "B", "logprob": {logprob}}}'
    body = f'{{"choices": [{{"message": {{}}, "logprobs": {{"content": [{{"token": "A", "top_logprobs": [{top}]}}]}}}}]}}'
    reply = parsed(body.encode())
    response = Prefill().response(reply, response_of(reply, model="m"))
    assert read(response, OPTIONS, answers="probabilities").outcome == outcome


def test_parameters_of_probabilities() -> None:
    parameters = {"base_url": "http://h/v1", "body.top_logprobs": "5"}
    model = openai_http.build(replace(spec("hosted_vllm/m", parameters), answers="probabilities"))
    assert model.identity["parameters"] == {
        "logprobs": True,
        "top_logprobs": 5,
        "temperature": 1,
        "max_tokens": 64,
    }
    assert deterministic(model.identity)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_has_no_probabilities(field: str) -> None:
    with pytest.raises(UnfitModelError, match="reasons before it answers"):
        read_as(Schema(scored=True), [token("B")], **{field: "Let me see."})


def test_hidden_reasoning_has_no_probabilities() -> None:
    reply = {
        "choices": [{"message": {"content": ""}}],
        "usage": {"completion_tokens_details": {"reasoning_tokens": 7}},
    }
    with pytest.raises(UnfitModelError):
        Schema(scored=True).response(reply, response_of(reply, model="m"))


@pytest.mark.parametrize(
    ("text", "finish", "objects"),
    [
        ('{"answer": "C"}', "stop", False),
        ('{"answer":"C","reason":"x"}', "stop", False),
        ("hello", "stop", True),
        ('"hello"', "stop", True),
        ('{"answer": "hello"}', "stop", True),
        ('{"answer": ["A"]}', "stop", True),
        ("[" * 100_000, "stop", True),
        ("", "stop", True),
        ("", "length", False),
        ('{"answer"', "length", False),
        ("hello hello", "length", True),
        ("I cannot.", "refusal", False),
        ("", "filtered", False),
    ],
)
def test_objection_to_a_schema_that_is_ignored(text: str, finish: Finish, *, objects: bool) -> None:
    assert bool(Schema().objection([Response(text, finish)])) is objects


@pytest.mark.parametrize(
    ("former", "later", "objects"),
    [
        ({"A": 0.9, "B": 0.05}, {"B": 0.9, "A": 0.05}, False),
        ({"A": 0.9, "B": 0.05}, {"A": 0.7, "B": 0.2}, False),  # it likes A, and yet it follows
        ({" A": 0.9}, {'B"}': 0.9}, False),
        ({"A": 0.9, "B": 0.05}, {"A": 0.9, "B": 0.05}, True),  # it does not see the prompt
        ({"{": 0.9, "A": 0.05}, {"{": 0.9, "B": 0.05}, True),  # it begins anew
        ({"A": 0.3, "No": 0.1}, {"A": 0.2, "B": 0.1}, False),  # a weak model
        ({"A": 0.9}, {"B": 0.1, "{": 0.7}, True),
        ({"A": math.nan}, {"B": 0.9}, True),
    ],
)
def test_objection_to_an_answer_that_is_not_continued(
    former: dict[str, float], later: dict[str, float], *, objects: bool
) -> None:
    responses = [Response(json.dumps(probabilities)) for probabilities in (former, later)]
    assert bool(Prefill().objection(responses)) is objects


@pytest.mark.parametrize(
    ("answers", "arguments", "words"),
    [
        ("probabilities", {"temperature": "0"}, "'temperature' must be 1, or left out"),
        ("probabilities", {"top_p": "0.5"}, "'top_p' must be 1, or left out"),
        ("probabilities", {"body.logprobs": "false"}, "'body.logprobs' cannot be given: the run sets it"),
        ("json", {"body.response_format": "{}"}, "'body.response_format' cannot be given: the run sets it"),
    ],
)
def test_argument_that_contradicts_the_mode(
    answers: AnswerMode, arguments: dict[str, str], words: str
) -> None:
    asked = replace(spec("hosted_vllm/m", {"base_url": "http://h/v1"} | arguments), answers=answers)
    with pytest.raises(InputError, match=words):
        openai_http.build(asked)


@pytest.mark.parametrize(
    ("listed", "answers", "reason"),
    [
        ({"mode": "chat"}, "json", " takes no JSON schema: use --factorfair-answers=text"),
        (
            {"supports_response_schema": True, "supports_reasoning": True, "litellm_provider": "openai"},
            "probabilities",
            " reasons before it answers and gives no probabilities: use --factorfair-answers=text or json",
        ),
        (
            {
                "supports_response_schema": True,
                "supports_reasoning": True,
                "supports_none_reasoning_effort": True,
                "litellm_provider": "openai",
            },
            "probabilities",
            "",
        ),
        ({}, "probabilities", ""),  # not listed: probes find out
    ],
    ids=["no schema", "always reasons", "may reason", "unknown"],
)
def test_openai_models_without_probabilities_are_refused(
    monkeypatch: pytest.MonkeyPatch, listed: dict[str, object], answers: AnswerMode, reason: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setattr(litellm_catalogue, "entry", lambda _: listed)
    asked = replace(spec("openai/x"), answers=answers)
    if not reason:
        assert openai_http.build(asked).identity["answers"] == answers
        return
    with pytest.raises(InputError) as caught:
        openai_http.build(asked)
    assert str(caught.value) == f"model 'openai/x'{reason}"


def noise(*rounds: Response | None) -> float | None:
    """The noise of four questions that all get these replies: alone, again, and among others."""
    repetitions = Repetitions()
    request = Request.of(Query("q", "Who?", OPTIONS, 0, 0, {}))
    while (turn := repetitions.alone(request)) is not None:
        repetitions.keep(turn, rounds[turn.round])
    for turn in repetitions.waiting:
        assert repetitions.noise is None
        repetitions.keep(turn, rounds[turn.round])
    return repetitions.noise


@pytest.mark.parametrize(
    "reply",
    [
        None,
        Response("I cannot say."),
        Response("{}"),
        Response('{"A": NaN, "B": 0.5}'),
        Response("", "filtered"),
    ],
)
def test_replies_without_probabilities_tell_nothing_about_noise(reply: Response | None) -> None:
    half, more = Response('{"A": 0.5, "B": 0.5}'), Response('{"A": 0.6, "B": 0.4}')
    assert noise(half, reply, half) == noise(reply, half, more) == noise(reply, reply, reply) == 0
    # The logits of A and B move apart by log(0.6 / 0.4).
    assert noise(half, reply, more) == pytest.approx(math.log(1.5) / math.sqrt(2), abs=1e-6)


def test_probabilities_outside_the_letters_and_of_unlikely_ones_are_no_noise() -> None:
    """All letters lose alike, and a letter that servers round to 0 is not compared."""
    assert noise(Response('{"A": 0.5, "B": 0.5}'), Response('{"A": 0.4, "B": 0.4}'), None) == 0
    assert noise(Response('{"A": 0.9, "B": 0.0004}'), Response('{"A": 0.9, "B": 0.0}'), None) == 0
