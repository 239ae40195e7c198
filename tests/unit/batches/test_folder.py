"""Batches in a folder: the questions as written, the forms of replies, and files that are no replies to them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_factorfair import models
from pytest_factorfair.batches.protocol import BatchLine, BatchReply, BatchState, BatchStatus
from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import InputError, ModelError
from pytest_factorfair.models.service import ServiceModel
from tests.unit.models.sample import SAMPLE

NAME = "0123456789abcdef" * 2
KEYS = [f"{number:064x}" for number in range(4)]
FILE = f"{NAME}.jsonl"
OUTPUT = f"{NAME}.output.jsonl"


def built(folder: Path, **arguments: str) -> ServiceModel:
    model = models.build(
        "hosted_vllm/m", arguments, checklists=(SAMPLE,), custom={}, folder=folder, answers="text"
    )
    assert isinstance(model, ServiceModel)
    return model


@pytest.fixture
def model(tmp_path: Path) -> ServiceModel:
    return built(tmp_path)


def written(model: ServiceModel) -> BatchStatus:
    lines = [BatchLine(key, model.body(Request(f"Who {number}?"))) for number, key in enumerate(KEYS)]
    service = model.batches
    assert service is not None

    async def write() -> BatchStatus:
        return await service.create(NAME, await service.upload(NAME, lines), lines)

    return asyncio.run(write())


def polled(model: ServiceModel, batch: BatchStatus) -> BatchStatus:
    assert model.batches is not None
    (status,) = asyncio.run(_statuses(model, batch))
    return status


async def _statuses(model: ServiceModel, batch: BatchStatus) -> list[BatchStatus]:
    assert model.batches is not None
    return list(await model.batches.statuses([batch.id]))


def read(model: ServiceModel, status: BatchStatus) -> Mapping[str, Response | ModelError]:
    """The responses to a batch by key, or why there is none."""
    service = model.batches
    assert service is not None

    async def response(reply: BatchReply) -> Response | ModelError:
        try:
            return await model.response(reply.reply, Request("Who?"), ())
        except ModelError as error:
            return error

    async def responses() -> dict[str, Response | ModelError]:
        return {reply.key: await response(reply) async for reply in service.results(status)}

    return asyncio.run(responses())


def completion(text: str, **usage: int) -> dict[str, object]:
    """A chat completion as vLLM writes it into a line of its output."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"object": "chat.completion", "model": "served", "choices": [choice], "usage": usage}


def test_lines_are_requests_of_a_batch_as_openai_and_vllm_read_them(
    tmp_path: Path, model: ServiceModel
) -> None:
    """vLLM's own model of a line requires these four fields, and this url for a chat completion."""
    batch = written(model)
    lines = [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()]
    assert lines == [
        {
            "custom_id": key,
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {
                "model": "m",
                "temperature": 0,
                "max_tokens": 1024,
                "messages": [{"role": "user", "content": f"Who {number}?"}],
            },
        }
        for number, key in enumerate(KEYS)
    ]
    assert {path.name for path in tmp_path.iterdir()} == {FILE}
    assert (batch.state, batch.total, batch.name) == (BatchState.RUNNING, 4, NAME)
    assert polled(model, batch).done == 0


def test_replies_of_vllm_of_openai_and_in_short_form_are_read(tmp_path: Path, model: ServiceModel) -> None:
    batch = written(model)
    of_vllm = {
        "id": "vllm-1",
        "custom_id": KEYS[2],
        "response": {"status_code": 400, "request_id": "r", "body": None},
        "error": {"error": {"message": "too long", "type": "BadRequestError", "param": None, "code": 400}},
    }
    of_openai = {
        "id": "batch_req_1",
        "custom_id": KEYS[0],
        "response": {
            "status_code": 200,
            "request_id": "r",
            "body": completion("Ann", prompt_tokens=7, completion_tokens=2),
        },
        "error": None,
    }
    short = {"custom_id": KEYS[1], "text": "Bo", "finish": "length", "tokens_in": 9, "tokens_out": 1}
    (tmp_path / OUTPUT).write_text("".join(json.dumps(line) + "\n" for line in (of_vllm, of_openai, short)))
    running = polled(model, batch)
    assert (running.state, running.done, running.failed) == (BatchState.RUNNING, 2, 1)
    more = tmp_path / f"{NAME}.output-2.jsonl"
    more.write_text(json.dumps({"custom_id": KEYS[3], "text": "Cy"}))
    ended = polled(model, batch)
    assert (ended.state, ended.done, ended.failed) == (BatchState.ENDED, 3, 1)
    responses = read(model, ended)
    assert responses[KEYS[0]] == Response("Ann", tokens_in=7, tokens_out=2, model="served")
    assert responses[KEYS[1]] == Response("Bo", "length", tokens_in=9, tokens_out=1, model="m")
    assert str(responses[KEYS[2]]) == "hosted_vllm/m: 400 Bad Request: too long"
    assert responses[KEYS[3]] == Response("Cy", model="m")


def test_a_file_that_is_still_being_written_is_not_finished(tmp_path: Path, model: ServiceModel) -> None:
    batch = written(model)
    whole = "".join(json.dumps({"custom_id": key, "text": "é"}, ensure_ascii=False) + "\n" for key in KEYS)
    encoded = whole.encode()
    for size in range(len(encoded) // 2, len(encoded) - 1):
        (tmp_path / OUTPUT).write_bytes(encoded[:size])
        status = polled(model, batch)
        assert status.state == BatchState.RUNNING
        assert status.done == encoded[:size].count(b"}")
    (tmp_path / OUTPUT).write_bytes(encoded[:-1])
    assert polled(model, batch).state == BatchState.ENDED


FIRST = {"custom_id": KEYS[0], "text": "A"}
WRONG = {
    "no JSON": ('{"custom_id":\n{}\n', f"{OUTPUT}:1: not a JSON object; write "),
    "foreign": ('{"question": "Who?", "reply": "A"}', f"{OUTPUT}:1: 'text' is missing"),
    "no id": ('{"text": "A"}', f"{OUTPUT}:1: 'custom_id' is missing"),
    "no text": (json.dumps({"custom_id": KEYS[0], "text": 1}), f"{OUTPUT}:1: 'text' must be a text, not 1"),
    "another run": (json.dumps({**FIRST, "custom_id": "ab"}), f"{OUTPUT}:1: custom_id 'ab' is not in {FILE}"),
    "twice": (f"{json.dumps(FIRST)}\n{json.dumps(FIRST)}", f"{OUTPUT}:2: custom_id '{KEYS[0]}' is in "),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_is_one_line(tmp_path: Path, model: ServiceModel, case: str) -> None:
    content, message = WRONG[case]
    batch = written(model)
    (tmp_path / OUTPUT).write_text(content)
    with pytest.raises(InputError) as caught:
        polled(model, batch)
    assert str(caught.value).removeprefix(f"{tmp_path}/").startswith(message)
    assert "\n" not in str(caught.value)


def test_edited_questions_are_refused_and_removed_ones_are_gone(tmp_path: Path, model: ServiceModel) -> None:
    batch = written(model)
    original = (tmp_path / FILE).read_text()
    (tmp_path / FILE).write_text(original.replace("Who 1?", "Who else?"))
    with pytest.raises(InputError, match=rf"{FILE}: it was edited after it was written"):
        polled(model, batch)
    (tmp_path / FILE).unlink()
    assert asyncio.run(_statuses(model, batch)) == []


def test_the_replies_of_a_cancelled_batch_are_collected(tmp_path: Path, model: ServiceModel) -> None:
    batch = written(model)
    (tmp_path / OUTPUT).write_text(json.dumps(FIRST))
    assert model.batches is not None
    asyncio.run(model.batches.cancel(batch.id))
    assert not (tmp_path / FILE).exists()
    status = polled(model, batch)
    assert (status.state, status.total, status.done) == (BatchState.CANCELLED, 4, 1)
    assert read(model, status) == {KEYS[0]: Response("A", model="m")}
    (tmp_path / OUTPUT).write_text(json.dumps(FIRST) + "\n" + "[" * 100_000)
    assert polled(model, batch).done == 1


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"--factorfair-batch: '.*jsonl' cannot be written: "):
        written(built(tmp_path / "file"))


def test_letters_are_asked_for_by_a_schema_that_cannot_be_probed(tmp_path: Path) -> None:
    model = models.build(
        "openai/gpt-4o", {}, checklists=(SAMPLE,), custom={}, folder=tmp_path, answers="json"
    )
    assert isinstance(model, ServiceModel)
    assert model.body(Request("Who?"))["response_format"]
    assert model.identity["base_url"] == "https://api.openai.com/v1"
