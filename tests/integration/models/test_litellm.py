from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair.domain import AnswerMode, Request, Response
from pytest_factorfair.errors import (
    FOREIGN_REPLY,
    FatalModelError,
    InputError,
    ModelError,
    RejectedRequestError,
    RetryableModelError,
)
from pytest_factorfair.models import litellm_transport, prices
from pytest_factorfair.models.litellm_transport import build
from pytest_factorfair.models.openai_answers import STRUCTURED
from pytest_factorfair.models.protocol import Model
from tests import letter_servers
from tests.asking import ask, ask_all
from tests.integration.models.services import (
    ASIAN,
    CITED,
    KEY,
    LITELLM,
    SEARCHED,
    MakeModel,
    error_body,
    maker,
    refused,
)
from tests.project import Project
from tests.servers import ROOT, StubServer

pytestmark = LITELLM

WORDS = "use --factorfair-answers=text or json"


@pytest.fixture(autouse=True, scope="module")
def _imported() -> None:
    """A run imports litellm before pytest turns warnings into errors; a test that builds a model does not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import_module("litellm.llms.github_copilot.per_user_auth")


@pytest.fixture
def make_model(stub: StubServer) -> MakeModel:
    return maker(build, stub, "litellm:openai/some-model")


def test_answer_and_request(stub: StubServer, make_model: MakeModel) -> None:
    model = make_model(temperature="0.7", max_tokens="5", seed="true", system="Be brief.", body__top_k="20")
    (response,) = ask_all(model, [Request("x" * 400, seed=77)])
    assert response == Response(ASIAN, "stop", tokens_in=100, tokens_out=7, cost=None, model="some-model")
    stats = stub.stats()
    assert stats["headers"]["Authorization"] == f"Bearer {KEY}"
    assert stats["last"] == {
        "model": "some-model",
        "temperature": 0.7,
        "max_tokens": 5,
        "seed": 77,
        "top_k": 20,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "x" * 400}],
    }


def test_known_model_has_a_price(make_model: MakeModel) -> None:
    model = make_model("litellm:openai/gpt-4o")
    (response,) = ask(model, "x" * 400)
    price = prices.of(model)
    assert price is not None
    assert price.of(response.tokens_in, response.tokens_out) == pytest.approx(100 * 2.5e-6 + 7 * 1e-5)


def test_its_price_list_limits_the_cost_of_a_run(project: Project, stub: StubServer) -> None:
    import_module("litellm")  # or pytester forgets it after the run, and it cannot be imported twice
    options = (f"base_url={stub.base_url}", "max_tokens=50")
    result = project.run(
        "-n0", *(f"--factorfair-model-arg={option}" for option in options), "--factorfair-max-cost=0.02",
        model="litellm:openai/gpt-4o",
    )  # fmt: skip
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*the budget of $0.02 is used up*"])
    usage = project.report()["usage"]
    assert usage["calls"] == stub.stats()["requests"]
    assert usage["cost"] == pytest.approx(2.5e-6 * usage["tokens_in"] + 1e-5 * usage["tokens_out"])
    worst = 2.5e-6 * 2000 + 1e-5 * 50  # of a prompt of 2,000 bytes
    assert 0.02 - worst <= usage["cost"] <= 0.02


def test_many_at_once_in_two_loops(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(answer="uniform")
    prompts = [f"{number}\nA. Asian\nB. Black" for number in range(40)]
    for _ in range(2):
        answers = {response.text for response in ask(make_model("litellm:hosted_vllm/m"), *prompts)}
        assert answers == {'{"answer": "A"}', '{"answer": "B"}'}
    assert stub.stats()["requests"] == 80


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, FatalModelError), (402, FatalModelError), (403, RejectedRequestError), (404, RejectedRequestError),
        (408, RetryableModelError), (409, RetryableModelError), (429, RetryableModelError),
        (500, RetryableModelError), (502, RetryableModelError), (503, RetryableModelError),
        (529, RetryableModelError),
        (400, RejectedRequestError), (413, RejectedRequestError), (422, RejectedRequestError),
    ],
)  # fmt: skip
def test_status(stub: StubServer, make_model: MakeModel, status: int, kind: type[ModelError]) -> None:
    stub.script(fail=-1, status=status)
    error = refused(make_model())
    assert type(error) is kind
    assert f"scripted {status}" in str(error)
    assert "OpenAIException" not in str(error)
    assert stub.stats()["requests"] == 1


def test_refused_key(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(fail=-1, status=401, body=error_body(f"Incorrect API key\nprovided: {KEY}."))
    assert str(refused(make_model())) == (
        "litellm:openai/some-model: 401 Unauthorized: the key in OPENAI_API_KEY was refused: "
        "Incorrect API key provided: ***."
    )


def test_retry_after(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(fail=-1, status=429, headers={"Retry-After": "7"})
    error = refused(make_model())
    assert isinstance(error, RetryableModelError)
    assert error.retry_after == 7


def test_no_money_left_is_fatal(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(fail=-1, status=429, body=error_body("You exceeded your quota.", code="insufficient_quota"))
    assert isinstance(refused(make_model()), FatalModelError)


@pytest.mark.parametrize("script", [{"cut": True}, {"raw": "<html>busy</html>"}, {"raw": "{}"}, {"raw": ""}])
def test_broken_replies_may_be_asked_again(
    stub: StubServer, make_model: MakeModel, script: dict[str, object]
) -> None:
    stub.script(**script)
    assert isinstance(refused(make_model()), RetryableModelError)


def test_no_reply_in_time(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(latency=30)
    assert isinstance(refused(make_model(timeout="0.05")), RetryableModelError)


@pytest.mark.parametrize(
    ("script", "text", "finish"),
    [
        ({"message": {"content": None}}, "", "stop"),
        ({"message": {"content": None, "refusal": "I cannot."}}, "I cannot.", "refusal"),
        ({"choice": {"finish_reason": "length"}}, ASIAN, "length"),
        ({"choice": {"finish_reason": "content_filter"}}, ASIAN, "filtered"),
        ({"fail": -1, "status": 400, "body": error_body("Filtered", code="content_filter")}, "", "filtered"),
        ({"fail": -1, "status": 400, "body": error_body("Content Exists Risk")}, "", "filtered"),
        (
            {
                "fail": -1,
                "status": 403,
                "body": '{"code": "x", "error": "Content violates usage guidelines."}',
            },
            "",
            "filtered",
        ),
    ],
)
def test_shapes_of_an_answer(
    stub: StubServer, make_model: MakeModel, script: dict[str, object], text: str, finish: str
) -> None:
    stub.script(**script)
    (response,) = ask(make_model())
    assert (response.text, response.finish) == (text, finish)


def test_a_filter_behind_another_client_of_litellm(stub: StubServer, make_model: MakeModel) -> None:
    """litellm calls it by its own client, whose exceptions have no body."""
    stub.script(fail=-1, status=400, body=error_body("unsafe", code="1301"))
    (response,) = ask(make_model("litellm:hosted_vllm/m"))
    assert response.finish == "filtered"


@pytest.mark.parametrize(
    "raw",
    [
        '{"detail": "Model not loaded"}',
        '{"choices": null, "error": {"message": "no"}}',
        "<html>Sign in</html>",
    ],
)
def test_a_success_that_is_no_completion(stub: StubServer, make_model: MakeModel, raw: str) -> None:
    stub.script(raw=raw)
    error = refused(make_model())
    assert "litellm cannot read the reply: " in str(error)
    assert error.cause == FOREIGN_REPLY


def test_a_firewall_gives_no_reason(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(fail=-1, status=403, body="<html>Request blocked</html>")
    error = refused(make_model())
    assert isinstance(error, RejectedRequestError)
    assert error.reply == Response("", "filtered", model="openai/some-model")


def test_a_reply_of_litellm_itself(stub: StubServer, make_model: MakeModel) -> None:
    assert ask(make_model(body__mock_response=ASIAN))[0].text == ASIAN
    assert stub.stats()["requests"] == 0


@pytest.mark.parametrize(("answers", "notes"), [("json", ()), ("probabilities", (STRUCTURED,))])
def test_letters(stub: StubServer, answers: AnswerMode, notes: tuple[str, ...]) -> None:
    stub.script(server="openai")
    prompt = "Who?\nA. Asian\nB. Black\nC. White"
    (response,) = ask(_answering(stub, answers, "litellm:hosted_vllm/m"), prompt)
    share = letter_servers.probabilities(prompt)
    letter = max(share, key=lambda candidate: share[candidate])
    if answers == "json":
        assert json.loads(response.text) == {"answer": letter}
    else:  # without what the schema masks
        assert json.loads(response.text)[letter] == pytest.approx(share[letter] / letter_servers.MASS)
    assert response.notes == notes
    stats = stub.stats()
    assert stats["requests"] == (2 if answers == "json" else 14)  # probes, and the prompt
    assert stats["last"]["response_format"]["json_schema"]["strict"]
    assert stats["last"].get("top_logprobs") == (20 if notes else None)


@pytest.mark.parametrize(
    ("answers", "model", "reason"),
    [
        ("json", "openai/gpt-3.5-turbo", " takes no JSON schema: use --factorfair-answers=text"),
        ("probabilities", "openai/o1", f" reasons before it answers and gives no probabilities: {WORDS}"),
        (
            "probabilities",
            "anthropic/claude-sonnet-4-5",
            f": litellm lists no log probabilities for it: {WORDS}",
        ),
    ],
    ids=["no schema", "reasoning", "no log probabilities"],
)
def test_a_model_without_the_answer_mode_is_refused_before_a_call(
    stub: StubServer, answers: AnswerMode, model: str, reason: str
) -> None:
    with pytest.raises(InputError) as caught:
        _answering(stub, answers, f"litellm:{model}")
    assert str(caught.value) == f"model 'litellm:{model}'{reason}"
    assert stub.stats()["requests"] == 0


def _answering(stub: StubServer, answers: AnswerMode, text: str) -> Model:
    return maker(build, stub, text, answers=answers)()


NOTED = ("temperature 0 was not accepted: the model's default was used",)


def test_model_that_the_server_says_takes_no_temperature(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(refuse=["temperature"])
    (response,) = ask(make_model())
    assert (response.text, response.notes) == (ASIAN, NOTED)
    assert "temperature" not in stub.stats()["last"]


def test_model_that_litellm_says_takes_no_temperature(stub: StubServer, make_model: MakeModel) -> None:
    (response,) = ask(make_model("litellm:openai/o1", top_p="0.5"))
    assert (response.text, response.dropped) == (ASIAN, ("temperature", "top_p"))
    assert response.notes == (*NOTED, "top_p 0.5 was not accepted: the model's default was used")
    assert stub.stats()["requests"] == 1


def test_reasoning_is_counted_and_sources_are_kept(stub: StubServer, make_model: MakeModel) -> None:
    stub.script(**SEARCHED)
    (response,) = ask(make_model())
    assert (response.text, response.tokens_out, response.tokens_reasoning) == (ASIAN, 40, 30)
    assert response.sources == CITED


def test_parameter_that_litellm_knows_is_unsupported_ends_the_run(
    stub: StubServer, make_model: MakeModel
) -> None:
    error = refused(make_model("litellm:openai/o1", body__frequency_penalty="0.5"))
    assert isinstance(error, FatalModelError)
    assert "frequency_penalty" in str(error)
    assert stub.stats()["requests"] == 0


def test_a_header_of_a_gateway(
    stub: StubServer, make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_KEY", "hunter2-planted")
    for text in ("litellm:openai/some-model", "litellm:hosted_vllm/m"):
        model = make_model(text, header__api_key="GATEWAY_KEY")
        assert ask(model)[0].text == ASIAN
        assert stub.stats()["headers"]["api_key"] == "hunter2-planted"
        assert "hunter2" not in repr([model, model.identity])


def test_a_version_in_the_url(stub: StubServer, make_model: MakeModel) -> None:
    with pytest.raises(InputError, match="litellm takes the version of an API as body"):
        make_model(base_url=f"{stub.base_url}?api-version=1")


def test_server_of_ones_own_needs_no_key(
    stub: StubServer, make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    assert ask(make_model())[0].text == ASIAN
    assert stub.stats()["headers"]["Authorization"] == "Bearer unused"


def test_key_from_a_named_variable(
    stub: StubServer, make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_KEY", "k-lab")
    ask(make_model(api_key_env="LAB_KEY"))
    assert stub.stats()["headers"]["Authorization"] == "Bearer k-lab"


def test_the_key_is_only_in_the_header(make_model: MakeModel, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    model = make_model()
    ask(model)
    shown = [repr(model), json.dumps(model.identity), model.endpoint, caplog.text]
    assert not [text for text in shown if KEY in text]


PROGRAM = """
import os, sys
from tests.asking import ask, spec
from pytest_factorfair.models.litellm_transport import build
from pytest_factorfair.models.openai_answers import STRUCTURED
from pytest_factorfair.models.protocol import Model
model = build(spec("litellm:openai/some-model", {"base_url": sys.argv[1]}))
assert "litellm" not in sys.modules
print(ask(model)[0].text, os.environ.get("FROM_A_FILE"))
"""


@pytest.mark.slow  # it imports litellm once more, which takes seconds
def test_own_process_ends_in_silence(stub: StubServer, tmp_path: Path) -> None:
    """Nothing is left open, no advice is printed, no .env file is read."""
    (tmp_path / ".env").write_text("FROM_A_FILE=1")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("LITELLM_", "OPENAI_"))}
    command = [sys.executable, "-W", "always::ResourceWarning", "-c", PROGRAM, stub.base_url]
    env["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{ASIAN} None\n", "")


@pytest.mark.parametrize(
    ("ends", "finish"),
    [
        ("refusal", "refusal"),
        ("SAFETY", "content_filter"),
        ("content_filter", "content_filter"),
        ("stop", "stop"),
    ],
)
def test_a_refusal_of_the_model_is_not_a_filtered_reply(
    monkeypatch: pytest.MonkeyPatch, ends: str, finish: str
) -> None:
    """litellm maps Claude's ``refusal`` to the finish reason of a content filter."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    utils = import_module("litellm.types.utils")
    reply = utils.ModelResponse(choices=[utils.Choices(finish_reason=ends, message={"content": ""})])
    plain: Any = litellm_transport._plain_chat(reply)  # noqa: SLF001  # no server here speaks for Claude
    assert plain["choices"][0]["finish_reason"] == finish
