"""Batches of services: what is sent and returned, and what goes wrong."""

from __future__ import annotations

import asyncio
import hashlib
import json
import tracemalloc
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import pytest

from pytest_factorfair import models
from pytest_factorfair.batches import openai
from pytest_factorfair.batches.protocol import BatchLine, BatchReply, BatchService, BatchState, BatchStatus
from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import (
    FatalModelError,
    InputError,
    ModelError,
    RejectedRequestError,
    RetryableModelError,
)
from pytest_factorfair.models import litellm_transport, openai_http
from pytest_factorfair.models.prices import Price
from pytest_factorfair.models.server import Server
from pytest_factorfair.models.service import ServiceModel
from tests.batch_server import DOWNLOADS
from tests.extras import needs
from tests.integration.models.services import KEY, maker
from tests.servers import StubServer

T = TypeVar("T")
NAME = "0123456789abcdef" * 2
PROMPTS = {f"{number:064x}": f"Who? A. Ann B. Bob ({number})" for number in range(40)}


@pytest.fixture
def model(stub: StubServer) -> ServiceModel:
    stub.script(answer="uniform")
    stub.script_batches()
    built = maker(openai_http.build, stub, "openai/m")()
    assert isinstance(built, ServiceModel)
    return built


def lines_of(model: ServiceModel) -> list[BatchLine]:
    return [BatchLine(key, model.body(Request(prompt))) for key, prompt in PROMPTS.items()]


def run(opened: ServiceModel | BatchService, use: Callable[[], Awaitable[T]]) -> T:
    """The result of a use, after which the model or service is closed in the same loop."""

    async def use_and_close() -> T:
        try:
            return await use()
        finally:
            await opened.close()

    return asyncio.run(use_and_close())


async def submitted(service: BatchService, lines: list[BatchLine]) -> BatchStatus:
    return await service.create(NAME, await service.upload(NAME, lines), lines)


async def replies_of(service: BatchService, batch_id: str) -> list[BatchReply]:
    (status,) = await service.statuses([batch_id])
    return [reply async for reply in service.results(status)]


async def responses_of(
    model: ServiceModel, replies: list[BatchReply], form: tuple[str, ...] = ()
) -> Mapping[str, Response | ModelError]:
    read: dict[str, Response | ModelError] = {}
    for reply in replies:
        try:
            read[reply.key] = await model.response(reply.reply, Request(PROMPTS[reply.key]), form)
        except ModelError as error:
            read[reply.key] = error
    return read


def test_answers_equal_those_of_single_calls(stub: StubServer, model: ServiceModel) -> None:
    service = model.batches
    assert service is not None

    async def use() -> tuple[BatchStatus, Mapping[str, Response | ModelError], list[Response]]:
        status = await submitted(service, lines_of(model))
        responses = await responses_of(model, await replies_of(service, status.id))
        singly = [await model.ask(Request(prompt)) for prompt in PROMPTS.values()]
        return status, responses, singly

    status, responses, singly = run(model, use)
    assert (status.state, status.file_id, status.name) == (BatchState.RUNNING, "file-0", NAME)
    assert [responses[key] for key in PROMPTS] == singly
    stats = stub.batches()
    assert stats["completions"] == dict.fromkeys(PROMPTS, 1)
    assert stats["names"] == [f"factorfair-{NAME}.jsonl"]
    assert KEY not in str(stats)
    assert len(service.account) == 12


SHARES = {"expired": 0.2, "broken": 0.2, "unasked": 0.1, "missing": 0.1, "duplicated": 0.2}


def share(key: str) -> float:
    """Where a key falls among the faults of the stub, from 0 to 1."""
    return int(hashlib.sha256(key.encode()).hexdigest()[:8], 16) / 2**32


def test_lines_that_were_not_answered(stub: StubServer, model: ServiceModel) -> None:
    """Each may be asked again, and none of them was billed; others are answered, some of them twice."""
    stub.script_batches(**SHARES)
    service = model.batches
    assert service is not None

    async def use() -> tuple[BatchStatus, list[BatchReply], Mapping[str, Response | ModelError]]:
        batch = await submitted(service, lines_of(model))
        (status,) = await service.statuses([batch.id])
        replies = [reply async for reply in service.results(status)]
        return status, replies, await responses_of(model, replies)

    status, replies, responses = run(model, use)
    lost = {key for key in PROMPTS if share(key) < 0.5}
    missing = {key for key in PROMPTS if 0.5 <= share(key) < 0.6}
    twice = {key for key in PROMPTS if 0.6 <= share(key) < 0.8}
    assert min(map(len, (lost, missing, twice))) > 1
    assert status.state == BatchState.EXPIRED
    assert {key for key, count in Counter(reply.key for reply in replies).items() if count == 2} == twice
    assert PROMPTS.keys() - responses.keys() == missing
    errors = {key: error for key, error in responses.items() if isinstance(error, ModelError)}
    assert errors.keys() == lost
    assert {type(error) for error in errors.values()} == {RetryableModelError}
    assert stub.batches()["completions"].keys() == PROMPTS.keys() - lost - missing


def test_a_refused_parameter_is_left_out_of_later_batches(stub: StubServer, model: ServiceModel) -> None:
    stub.script(answer="uniform", refuse=["temperature", "max_tokens"])
    stub.script_batches()
    service = model.batches
    assert service is not None
    seen: list[tuple[str, ...]] = []

    async def use() -> Mapping[str, Response | ModelError]:
        for _ in range(3):
            seen.append(model.form)
            batch = await submitted(service, lines_of(model))
            responses = await responses_of(model, await replies_of(service, batch.id), seen[-1])
        return responses

    responses = run(model, use)
    assert seen == [(), ("temperature",), ("temperature", "max_tokens")]
    assert {response.dropped for response in responses.values() if isinstance(response, Response)} == {
        ("temperature",)
    }
    again = maker(openai_http.build, stub, "openai/m")()
    assert isinstance(again, ServiceModel)
    again.take_form(model.form)
    assert again.body(Request("Who?")) == {
        "model": "m",
        "max_completion_tokens": 1024,
        "messages": [{"role": "user", "content": "Who?"}],
    }


def test_a_cut_download_gives_the_lines_before_the_cut(stub: StubServer, model: ServiceModel) -> None:
    stub.script_batches(cuts=1)
    service = model.batches
    assert service is not None

    async def use() -> tuple[int, int]:
        batch = await submitted(service, lines_of(model))
        (status,) = await service.statuses([batch.id])
        read: list[BatchReply] = []

        async def download() -> None:
            async for reply in service.results(status):
                read.append(reply)  # noqa: PERF401  # a comprehension loses all when it is interrupted

        with pytest.raises(RetryableModelError, match="the connection failed"):
            await download()
        return len(read), len([reply async for reply in service.results(status)])

    before, whole = run(model, use)
    assert 10 < before < whole == len(PROMPTS)


LINE = 16 * 2**20
"""The most bytes of a chat reply, and of a line of results."""


def test_a_line_of_results_takes_no_more_memory_than_a_chat_reply(
    stub: StubServer, model: ServiceModel
) -> None:
    """A megabyte holds 256 of them compressed, without a line end."""
    stub.script_batches(download="bomb", bad=1)
    service = model.batches
    assert service is not None

    async def use() -> tuple[list[BatchReply], int, list[BatchReply]]:
        batch = await submitted(service, lines_of(model))
        tracemalloc.start()
        try:
            bombed = await replies_of(service, batch.id)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        return bombed, peak, await replies_of(service, batch.id)

    bombed, peak, replies = run(model, use)
    assert (bombed, len(replies)) == ([], len(PROMPTS))
    assert peak < 4 * LINE


@pytest.mark.parametrize("download", [*DOWNLOADS])
def test_lines_of_another_shape_are_no_answers(stub: StubServer, model: ServiceModel, download: str) -> None:
    stub.script_batches(download=download, bad=1)
    service = model.batches
    assert service is not None

    async def use() -> Mapping[str, Response | ModelError]:
        batch = await submitted(service, lines_of(model))
        return await responses_of(model, await replies_of(service, batch.id))

    responses = run(model, use)
    answers = [response for response in responses.values() if isinstance(response, Response)]
    assert len(answers) == {"half": 20, "but 3 lines": 37}.get(download, 0)
    errors = [response for response in responses.values() if isinstance(response, ModelError)]
    assert {error.cause.kind for error in errors} == ({"reply"} if download == "another shape" else set())


def test_a_batch_is_found_again_once_it_is_listed(stub: StubServer, model: ServiceModel) -> None:
    """Its creation got no reply, so that only the name and the file lead to it, among 250 others."""
    stub.script_batches(lag=60, duration=1000)
    service = model.batches
    assert service is not None

    async def use() -> list[list[str]]:
        lines = lines_of(model)[:1]
        file_id = await service.upload(NAME, lines)
        await asyncio.gather(*(service.create(f"{number}", "file-0", lines) for number in range(125)))
        stub.script_batches(resets=1)
        with pytest.raises(RetryableModelError) as caught:
            await service.create(NAME, await service.upload(NAME, lines), lines)
        assert caught.value.billable
        await asyncio.gather(*(service.create(f"{number}", "file-0", lines) for number in range(125)))
        early = await service.find(NAME, "file-1", 1e9, 1, ())
        stub.script_batches(now=1e9 + 60)
        late = await service.find(NAME, "file-1", 1e9, 1, ())
        later = await service.find(NAME, "file-1", 1e9 + 1, 1, ())
        assert file_id == "file-0"
        ids = [f"batch-{number}" for number in (0, 125, 250)]
        assert {status.id for status in await service.statuses([*ids, "batch-x"])} == set(ids)
        return [[status.id for status in found or ()] for found in (early, late, later)]

    assert run(model, use) == [[], ["batch-125"], []]


def test_what_a_service_says_no_to(stub: StubServer, model: ServiceModel) -> None:
    """No batches at all, a wrong key, a failed batch, one over the quota, results that are gone."""
    service = model.batches
    assert service is not None
    lines = lines_of(model)

    async def use() -> list[BatchStatus]:
        stub.script_batches(enabled=False)
        with pytest.raises(
            InputError, match=r"has no batches \(status 404\): .* --factorfair-batch=files:DIR$"
        ):
            await service.upload(NAME, lines)
        with pytest.raises(InputError, match="has no batches"):
            await service.check()
        assert await service.find(NAME, None, 0, 1, ()) is None
        stub.script_batches(key="another")
        with pytest.raises(FatalModelError, match="the key in OPENAI_API_KEY was refused") as caught:
            await service.upload(NAME, lines)
        assert KEY not in str(caught.value)
        with pytest.raises(FatalModelError, match="was refused"):
            await service.check()
        stub.script_batches(key=KEY, errors=1, status=405)
        await service.check()
        for listed in ("without an array", "names"):
            stub.script_batches(listed=listed)
            with pytest.raises(
                InputError, match=r"has no batches \(its list of them has no array of batches\)"
            ):
                await service.check()
        stub.script_batches(listed="")
        stub.script_batches(errors=1, status=404)
        with pytest.raises(InputError, match="has no batches"):
            await service.create(NAME, "file-0", lines)
        stub.script_batches(key=KEY, failure="Invalid URL")
        failed = await submitted(service, lines)
        stub.script_batches(quota=1)
        refused = await submitted(service, lines)
        statuses = [*await service.statuses([failed.id]), *await service.statuses([refused.id])]
        stub.script_batches(quota=0, failure="", null_files=1)
        gone = await submitted(service, lines)
        statuses += [*await service.statuses([gone.id]), *await service.statuses([gone.id])]
        stub.script_batches(gone=True)
        with pytest.raises(RejectedRequestError, match="404 Not Found: no such batch or file"):
            await anext(aiter(service.results(statuses[-1])))
        await service.cancel(gone.id)
        assert await service.statuses(["batch-x"]) == []
        return statuses

    failed, refused, late, ended = run(model, use)
    assert (failed.state, failed.message, failed.quota) == (BatchState.FAILED, "line 1: Invalid URL", False)
    assert (refused.state, refused.quota) == (BatchState.FAILED, True)
    assert (late.state, late.done, late.outputs) == (BatchState.ENDED, len(PROMPTS), ())
    assert len(ended.outputs) == 1


@pytest.mark.parametrize(
    ("style", "dialect"),
    [
        ("together", openai.TOGETHER),
        ("mistral", openai.MISTRAL),
        ("openai", openai.AZURE),
    ],
)
def test_dialects(stub: StubServer, model: ServiceModel, style: str, dialect: openai.Dialect) -> None:
    """States, times, names of fields, addresses and forms of lines differ; what comes of them does not."""
    stub.script_batches(style=style, duration=10)
    server = Server("m", stub.base_url, "OPENAI_API_KEY", KEY)
    service = openai.OpenAIBatches("openai/m", server, dialect)
    lines = lines_of(model)

    async def use() -> tuple[BatchStatus, list[BatchStatus], Mapping[str, Response | ModelError]]:
        batch = await submitted(service, lines)
        other = await service.create("other", "file-0", lines)
        await service.cancel(other.id)
        stub.script_batches(now=1e9 + 11)
        found = await service.find(NAME, "file-0", 1e9 - 600, 1, ())
        assert batch.id in {status.id for status in found or ()}
        statuses = await service.statuses([batch.id, other.id])
        return batch, list(statuses), await responses_of(model, await replies_of(service, batch.id))

    batch, statuses, responses = run(service, use)
    assert (batch.state, batch.total, batch.created) == (BatchState.RUNNING, len(PROMPTS), 1e9)
    assert {status.state for status in statuses} == {BatchState.ENDED, BatchState.CANCELLED}
    assert responses.keys() == PROMPTS.keys()
    assert all(isinstance(response, Response) for response in responses.values())
    fields = json.loads(service.encoded(lines[0]))
    assert fields.get("url") == {"mistral": None, "openai": "/chat/completions"}.get(
        style, "/v1/chat/completions"
    )


@pytest.mark.parametrize(
    ("host", "discount", "lines"),
    [
        ("api.openai.com", 0.5, 50_000),
        ("eu.api.openai.com", 0.5, 50_000),
        ("mine.openai.azure.com", 0.5, 100_000),
        ("api.together.xyz", None, 50_000),
        ("api.mistral.ai", 0.5, 1_000_000),
        ("localhost", None, 50_000),
    ],
)
def test_the_host_decides_on_the_dialect(host: str, discount: float | None, lines: int) -> None:
    service = openai.OpenAIBatches("m", Server("m", f"https://{host}/v1", "", ""))
    assert (service.name, service.discount, service.max_lines, service.account) == (host, discount, lines, "")


@pytest.fixture
def claude(stub: StubServer, monkeypatch: pytest.MonkeyPatch) -> ServiceModel:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    stub.script(answer="uniform")
    stub.script_batches(key=KEY)
    built = maker(litellm_transport.build, stub, "anthropic/claude-sonnet-4-5")(
        system="Be brief.", top_p="0.9"
    )
    assert isinstance(built, ServiceModel)
    return built


@needs("litellm")
def test_anthropic(stub: StubServer, claude: ServiceModel) -> None:
    """Requests are messages, results say how each ended; what the model thinks is no answer."""
    stub.script_batches(**SHARES)
    service = claude.batches
    assert service is not None
    lines = lines_of(claude)

    async def use() -> tuple[BatchStatus, BatchStatus, Mapping[str, Response | ModelError]]:
        assert await service.upload(NAME, lines) is None
        batch = await service.create(NAME, None, lines)
        other = await service.create("other", None, lines[1:])
        assert {status.id for status in await service.statuses([batch.id, other.id])} == {batch.id, other.id}
        (status,) = await service.statuses([batch.id])
        return batch, status, await responses_of(claude, await replies_of(service, batch.id))

    batch, status, responses = run(claude, use)
    assert json.loads(service.encoded(lines[0])) == {
        "custom_id": lines[0].key,
        "params": {
            "model": "claude-sonnet-4-5",
            "system": "Be brief.",
            "messages": [{"role": "user", "content": PROMPTS[lines[0].key]}],
            "temperature": 0,
            "max_tokens": 1024,
            "top_p": 0.9,
        },
    }
    assert (batch.state, batch.total, status.state) == (BatchState.RUNNING, len(PROMPTS), BatchState.EXPIRED)
    lost = {key for key in PROMPTS if share(key) < 0.5}
    errors = {key: error for key, error in responses.items() if isinstance(error, ModelError)}
    assert errors.keys() == lost
    assert {type(error) for error in errors.values()} == {RetryableModelError}
    texts = {response.text for response in responses.values() if isinstance(response, Response)}
    assert texts == {'{"answer": "A"}', '{"answer": "B"}'}
    usage = [(r.tokens_in, r.tokens_out) for r in responses.values() if isinstance(r, Response)]
    assert {tokens_out for _, tokens_out in usage} == {7}
    assert claude.batch_price == Price(1.5e-6, 7.5e-6)


@needs("litellm")
def test_a_batch_of_anthropic_is_found_by_its_size_and_certain_by_its_results(
    stub: StubServer, claude: ServiceModel
) -> None:
    stub.script_batches(duration=100)
    service = claude.batches
    assert service is not None
    lines = lines_of(claude)

    async def use() -> list[list[tuple[str, BatchState]]]:
        for hour, some in enumerate((lines[:20], lines[20:], lines[:3])):
            stub.script_batches(now=1e9 + hour)
            await service.create(NAME, None, some)
        keys = {line.key for line in lines[:15]}  # the others are answered
        running = await service.find(NAME, None, 1e9 - 600, 20, keys)
        stub.script_batches(now=1e9 + 200)
        ended = await service.find(NAME, None, 1e9 - 600, 20, keys)
        return [[(status.id, status.state) for status in found or ()] for found in (running, ended)]

    running, ended = run(claude, use)
    assert running == [("batch-0", BatchState.RUNNING), ("batch-1", BatchState.RUNNING)]
    assert ended == [("batch-0", BatchState.ENDED)]


@needs("litellm")
def test_anthropic_takes_no_schema(claude: ServiceModel) -> None:
    assert claude.batches is not None
    with pytest.raises(InputError, match="take no 'response_format': use --factorfair-answers=text"):
        claude.batches.encoded(BatchLine("0" * 64, {"messages": [], "response_format": {}}))


@needs("litellm")
@pytest.mark.parametrize(
    ("spec", "variable", "host", "discount"),
    [
        ("groq/llama-3.3-70b", "GROQ_API_KEY", "api.groq.com", None),
        ("together_ai/meta-llama/Llama-3", "TOGETHERAI_API_KEY", "api.together.xyz", None),
        ("mistral/mistral-large-latest", "MISTRAL_API_KEY", "api.mistral.ai", 0.5),
    ],
)
def test_providers_of_litellm_have_batches_of_their_own(
    monkeypatch: pytest.MonkeyPatch, spec: str, variable: str, host: str, discount: float | None
) -> None:
    monkeypatch.setenv(variable, KEY)
    model = models.build(spec, {}, checklists=(), custom={})
    assert isinstance(model, ServiceModel)
    service = model.batches
    assert service is not None
    assert (service.name, service.discount) == (host, discount)
    assert service.account == hashlib.sha256(KEY.encode()).hexdigest()[:12]
    assert model.body(Request("Who?"))["model"] == spec.partition("/")[2]
