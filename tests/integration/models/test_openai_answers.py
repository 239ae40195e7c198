"""Letters as JSON and as probabilities, from servers that behave as the known ones do."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json

import numpy as np
import pytest

from pytest_factorfair.domain import AnswerMode, Option, Query, Request, Response
from pytest_factorfair.errors import FatalModelError, RejectedRequestError, RetryableModelError
from pytest_factorfair.models.openai_answers import NOISY, STRUCTURED
from pytest_factorfair.models.openai_http import build
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.reading.answers import likeliest
from tests import letter_servers
from tests.asking import ask_all
from tests.integration.models.services import error_body, maker, refused
from tests.servers import StubServer

PROMPT = "Who?\nA. Asian\nB. Black\nC. White"
EXPECTED = letter_servers.probabilities(PROMPT)
IGNORES = "it ignores response_format: it replied 'hello' where its schema allows a letter"
SILENT = "it gives no log probabilities"
QUESTIONS = 4
REPETITIONS = QUESTIONS * 3
"""Four questions, asked alone, again, and among others."""
BEFORE_OTHERS = 2 + QUESTIONS * 2
"""Calls before those that are in flight together: probes, and questions that are asked alone and again."""
BEST = max(EXPECTED, key=lambda letter: EXPECTED[letter])


def query(prompt: str = PROMPT, *, explained: bool = False) -> Request:
    options = tuple(Option(letter, letter, (letter,), {}) for letter in "ABC")
    return Request.of(Query("q", prompt, options, 0, 0, {}, explained=explained))


def made(stub: StubServer, answers: AnswerMode, **arguments: str) -> Model:
    return maker(build, stub, "hosted_vllm/m", answers=answers)(**arguments)


@pytest.mark.parametrize(
    ("server", "calls"), [("openai", 2), ("vllm", 2), ("sglang", 2), ("llama.cpp", 2), ("tgi", 3), ("old", 3)]
)
def test_letter_as_json(stub: StubServer, server: str, calls: int) -> None:
    stub.script(server=server)
    model = made(stub, "json")
    (response,) = ask_all(model, [query()])
    assert (response.text, response.finish) == (json.dumps({"answer": BEST}), "stop")
    assert model.identity["answers"] == "json"
    stats = stub.stats()
    assert (
        stats["requests"] == calls
    )  # the probe, and another in the other form where one is refused or ignored
    form = stats["last"]["response_format"]
    schema = form["value"] if server in ("tgi", "old") else form["json_schema"]["schema"]
    assert schema == {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": ["A", "B", "C"]}},
        "required": ["answer"],
        "additionalProperties": False,
    }


def test_explained_letter_comes_before_its_reason(stub: StubServer) -> None:
    stub.script(server="vllm")
    (response,) = ask_all(made(stub, "json"), [query(explained=True)])
    assert json.loads(response.text) == {"answer": BEST, "reason": "So."}
    schema = stub.stats()["last"]["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == schema["required"] == ["answer", "reason"]


@pytest.mark.parametrize(
    ("server", "probes", "notes", "share"),
    [
        ("vllm", 2, (), letter_servers.MASS),  # two probes
        ("sglang", 2, (), letter_servers.MASS),
        ("llama.cpp", 2, (), letter_servers.MASS),
        ("tgi", 2, (), letter_servers.MASS),
        ("openai", 2, (STRUCTURED,), 1.0),  # a begun answer is refused, the schema is probed
    ],
)
def test_probabilities(
    stub: StubServer, server: str, probes: int, notes: tuple[str, ...], share: float
) -> None:
    stub.script(server=server)
    (response,) = ask_all(made(stub, "probabilities"), [query()])
    reading = likeliest(response.text, "ABC")
    assert (reading.letter, response.notes, response.noise) == (BEST, notes, 0)
    scale = share / letter_servers.MASS
    assert reading.probabilities == pytest.approx({letter: scale * EXPECTED[letter] for letter in "ABC"})
    stats = stub.stats()
    assert stats["requests"] == probes + REPETITIONS + 1
    assert "cache_prompt" not in stats["last"]
    assert (stats["last"]["temperature"], stats["last"]["top_logprobs"]) == (1, 20)
    assert stats["last"]["max_tokens"] == (64 if notes else 1)
    assert response.tokens_out is not None


@pytest.mark.parametrize(
    ("server", "answers", "reasons"),
    [
        (
            "plain",
            "json",
            f"{IGNORES}; use --factorfair-answers=text",
        ),
        (
            "plain",
            "probabilities",
            f"it does not continue a begun answer; {IGNORES}; use --factorfair-answers=text or json",
        ),
        (
            "silent",
            "probabilities",
            f"{SILENT}; use --factorfair-answers=text or json",
        ),
    ],
)
def test_a_server_without_the_parameter_is_reported(
    stub: StubServer, server: str, answers: AnswerMode, reasons: str
) -> None:
    stub.script(server=server)
    error = refused(made(stub, answers))
    assert isinstance(error, FatalModelError)
    assert str(error) == f"hosted_vllm/m: it cannot answer as {answers}: {reasons}"


def test_refused_parameter_is_named_with_the_servers_words(stub: StubServer) -> None:
    stub.script(fail=-1, status=400, body=error_body("response_format is not supported"))
    error = refused(made(stub, "json"))
    assert isinstance(error, FatalModelError)
    assert not error.billable
    assert str(error) == (
        "hosted_vllm/m: it cannot answer as json: it refuses a request with response_format: 400 Bad Request: "
        "response_format is not supported; use --factorfair-answers=text"
    )


def test_reasoning_model_has_no_probabilities(stub: StubServer) -> None:
    stub.script(server="openai", message={"reasoning_content": "Let me see."})
    error = refused(made(stub, "probabilities"))
    assert isinstance(error, FatalModelError)
    assert "the model reasons before it answers" in str(error)


def test_probe_is_a_call_that_reports_what_it_used(stub: StubServer) -> None:
    stub.script(server="vllm")
    model = made(stub, "json")

    async def run() -> None:
        with pytest.raises(RetryableModelError) as caught:
            await model.ask(query())
        assert caught.value.at_once
        assert isinstance(caught.value.probe, Response)
        assert caught.value.probe.tokens_in
        assert json.loads((await model.ask(query())).text) == {"answer": BEST}
        await model.close()

    asyncio.run(run())
    assert stub.stats()["requests"] == 2


def test_probes_leave_out_a_parameter_that_the_model_rejects(stub: StubServer) -> None:
    stub.script(server="vllm", refuse=["temperature", "max_tokens"])
    (response,) = ask_all(made(stub, "json"), [query()])
    assert response.dropped == ("temperature",)
    stats = stub.stats()
    assert stats["requests"] == 4
    assert stats["last"]["max_completion_tokens"] == 1024


def test_many_at_once_share_the_probes(stub: StubServer) -> None:
    stub.script(server="vllm", latency=0.02)
    requests = [query(f"{PROMPT}\n{number}") for number in range(30)]
    ask_all(made(stub, "probabilities"), requests)
    assert stub.stats()["requests"] == 2 + REPETITIONS + 30


def noise_of(prompts: list[str], shift: float) -> float:
    """The largest standard deviation of a logit's change, over the questions with these prompts."""
    changes = []
    for prompt in prompts:
        former = np.array(list(letter_servers.probabilities(prompt).values()))
        changes.append(np.std(np.log(former + np.array([shift, -shift, 0])) - np.log(former), ddof=1))
    return float(max(changes))


@pytest.mark.parametrize(
    ("server", "at_once", "shift", "remedy"),
    [
        ("caching", 1, 0.02, ""),
        ("caching llama.cpp", 1, 0, ""),
        ("batching", 1, 0, ""),
        ("batching", 8, 0.03, ""),
    ],
)
def test_noise_is_measured_by_repeating_questions(
    stub: StubServer, server: str, at_once: int, shift: float, remedy: str
) -> None:
    """A part of the probability moves from the second of three letters to the first."""
    crowd = {"held": BEFORE_OTHERS, "crowd": QUESTIONS} if at_once > 1 else {}
    stub.script(server=server, **crowd)
    model = made(stub, "probabilities")
    responses = ask_all(model, [query(f"{PROMPT}\n{number}") for number in range(at_once)])
    stats = stub.stats()
    assert stats["requests"] == 2 + REPETITIONS + at_once
    repeated = [
        prompt
        for number in range(4)
        for index in range(at_once)
        for prompt in [f"Question {number + 1}.\n\n{PROMPT}\n{index}"]
        if stats["prompts"].get(hashlib.sha256(prompt.encode()).hexdigest()) == 3
    ]
    assert len(repeated) == 4
    noise = noise_of(repeated, shift)
    assert [response.noise for response in responses] == pytest.approx([noise] * at_once, abs=1e-6)
    notes = (
        (f"{NOISY}, one of 0.5 by about {noise / 4:.3f}: intervals allow for it{remedy}",) if shift else ()
    )
    assert {response.notes for response in responses} == {notes}
    assert stats["last"].get("cache_prompt") is (False if server == "caching llama.cpp" else None)


@pytest.mark.parametrize(("status", "repeated"), [(503, 1), (400, 0)], ids=["busy", "rejected"])
def test_a_question_is_asked_again_if_the_server_is_busy_and_left_out_if_it_is_rejected(
    stub: StubServer, status: int, repeated: int
) -> None:
    """It is the second of those that are asked among others."""
    failing, crowd = BEFORE_OTHERS + 2, QUESTIONS - 1 + repeated
    stub.script(
        server="batching", healthy=failing - 1, fail=failing, status=status, held=BEFORE_OTHERS, crowd=crowd
    )
    model = made(stub, "probabilities")

    async def run() -> list[Response]:
        async def one(request: Request) -> Response:
            while True:
                with contextlib.suppress(RetryableModelError):
                    return await model.ask(request)

        responses = await asyncio.gather(*(one(query(f"{PROMPT}\n{number}")) for number in range(8)))
        await model.close()
        return list(responses)

    assert {response.noise > 0 for response in asyncio.run(run())} == {True}
    assert stub.stats()["requests"] == 2 + REPETITIONS + 8 + repeated


def test_server_that_is_busy_is_probed_again(stub: StubServer) -> None:
    stub.script(server="vllm", fail=1, status=503)
    model = made(stub, "json")

    async def run() -> list[str]:
        kinds: list[str] = []
        for _ in range(3):
            try:
                kinds.append((await model.ask(query())).finish)
            except RetryableModelError as error:
                kinds.append("at once" if error.at_once else "later")
        await model.close()
        return kinds

    assert asyncio.run(run()) == ["later", "at once", "stop"]


def test_unknown_model_is_no_objection(stub: StubServer) -> None:
    stub.script(fail=-1, status=404, body=error_body("no such model"))
    error = refused(made(stub, "json"))
    assert isinstance(error, RejectedRequestError)
    assert "no such model" in str(error)


@pytest.mark.parametrize("answers", ["json", "probabilities"])
def test_refusal_and_filter_are_outcomes(stub: StubServer, answers: AnswerMode) -> None:
    stub.script(server="vllm", message={"content": None, "refusal": "I cannot."})
    (response,) = ask_all(made(stub, answers), [query()])
    assert (response.text, response.finish) == ("I cannot.", "refusal")
    stub.script(server="vllm", choice={"finish_reason": "content_filter"})
    (response,) = ask_all(made(stub, answers), [query()])
    assert response.finish == "filtered"
