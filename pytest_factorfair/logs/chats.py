"""Chat completions as JSON lines, and the results of batches with the file of requests beside them.

A line has a request with ``messages`` and a response with ``choices``, in itself or under the usual names; or
messages of which the last is the reply. A line of results has only the response: its request is the line of
another file with the same ``custom_id``. Gemini's lines have ``contents``, ``candidates`` and ``key``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from pytest_factorfair.domain import Response, plural
from pytest_factorfair.errors import InputError
from pytest_factorfair.logs.items import item_in
from pytest_factorfair.logs.log import Log, LoggedReply
from pytest_factorfair.logs.messages import (
    conversation,
    plain,
    settings_in,
    text_of,
    tokens_of,
)
from pytest_factorfair.logs.reading import Entry, Source, digests, lines, opened
from pytest_factorfair.models.openai_chat import finish_of, response_of
from pytest_factorfair.models.openai_errors import MalformedReplyError, complaint_in
from pytest_factorfair.models.openai_format import tokens
from pytest_factorfair.redaction import fit

_SENT = ("body", "params", "request")
"""Where a line of a batch has its request."""

_REQUESTS = ("request", "input", "body", "params")
_RESPONSES = ("response", "output", "completion", "body", "result")

_SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction")
"""The system's message beside others: of Anthropic, of OpenAI's Responses, of Gemini."""

_GENERATION = ("generationConfig", "generation_config")
"""Where requests to Gemini have their settings."""

_ROLES = {"model": "assistant", "user": "user"}

Fields = Mapping[str, Any]


def is_chat(first: Fields) -> bool:
    """Whether an object is a call with its messages."""
    return _request(first) is not None


def is_result(first: Fields) -> bool:
    """Whether an object is a line of a batch. A table may have columns of these names, but with texts."""
    replied = any(isinstance(first.get(name), Mapping) for name in ("response", "error"))
    is_of_gemini = "key" in first and replied and not is_chat(first)
    return "custom_id" in first or is_of_gemini


def _id_of(fields: Fields) -> str:
    """The id of a line of a batch: OpenAI's and Anthropic's ``custom_id``, or Gemini's ``key``."""
    return str(fields.get("custom_id", fields.get("key")))


def open_chats(source: Source) -> Log:
    """Open chat completions."""
    return Log("chat completions", digests(source.path), partial(_calls, source))


def open_results(source: Source, requests: Path | None) -> Log:
    """Open the results of a batch; ``requests`` is the file of requests if it is not beside them.

    Raises:
        InputError: it is the file of requests, or there is none with the requests.
    """
    if not source.first.keys() & {"response", "error", "result"}:
        raise InputError(f"{source.path}: it has the requests of a batch; name the file of its results")
    path = requests or _requests_beside(source)
    return Log(
        "results of a batch",
        digests(source.path, path),
        partial(_results, source, path),
    )


def _calls(source: Source) -> Iterator[LoggedReply]:
    for entry in source.entries():
        request = _request(entry.fields)
        if request is None:
            raise InputError(f"{entry.where}: expected a call, with messages")
        yield from _by_choice(entry, request)


def _request(fields: Fields) -> Fields | None:
    """The request in an object: the object itself, or the part of it with messages."""
    nested = [fields.get(name) for name in _REQUESTS]
    deeper = [part.get("body") for part in nested if isinstance(part, Mapping)]
    for part in (fields, *nested, *deeper):
        if isinstance(part, Mapping) and (
            isinstance(part.get("messages"), list) or isinstance(part.get("contents"), list)
        ):
            return part
    return None


def _response(fields: Fields) -> object:
    """The response in an object: the part of it that is a completion, an error or a text."""
    choices = fields.get("choices")
    if isinstance(choices, list) and all(isinstance(choice, Mapping) for choice in choices):
        return fields  # a completion; texts would be the options of a question
    part = next((fields[name] for name in _RESPONSES if fields.get(name) is not None), None)
    if isinstance(part, Mapping) and isinstance(part.get("body"), Mapping):
        return part["body"]
    if not part and isinstance(fields.get("status"), str):  # of Vertex AI
        return {"error": fields["status"] or "no response"}
    return fields if part is None and fields.get("error") else part


def _by_choice(entry: Entry, request: Fields) -> Iterator[LoggedReply]:
    """The reply to a request: one per choice if ``n`` were asked for, of which the first has the tokens."""
    responses = [response := _response(entry.fields)]
    if isinstance(response, Mapping):
        for name in ("choices", "candidates"):
            choices = response.get(name)
            if isinstance(choices, list) and len(choices) > 1:
                responses = [{**response, name: [choice]} for choice in choices]
    for number, response in enumerate(responses):
        reply = _reply(entry.where, request, response, entry.fields)
        yield reply.uncounted if number else reply


def _reply(where: str, request: Fields, response: object, fields: Fields) -> LoggedReply:
    """The reply to a request; a request without response ends with the reply.

    Raises:
        InputError: there is none, or one of the messages contains a picture.
    """
    messages = _messages(request)
    if response is None and isinstance(messages, list) and messages:
        *messages, last = messages
        if not isinstance(last, Mapping) or last.get("role") != "assistant":
            raise InputError(f"{where}: it has no response, and its last message is not the assistant's")
        response = last
    asked = conversation(messages, where)
    system = next(filter(None, map(request.get, _SYSTEM)), None)
    if system:
        asked = asked._replace(system=text_of(_parts(system), where))
    answered = _answered(response, where).begun(asked.begun)
    return replace(
        answered,
        prompt=asked.prompt,
        model=str(request.get("model") or fields.get("model") or answered.answered_by),
        settings={**settings_in(fields, request, *map(request.get, _GENERATION)), **asked.settings},
        item=item_in(fields, fields.get("custom_id", fields.get("key", fields.get("id", where)))),
    )


def _parts(content: object) -> object:
    """The parts of a content of Gemini, which may have none; other contents as they are."""
    return content.get("parts") or [] if isinstance(content, Mapping) else content


def _messages(request: Fields) -> object:
    """The messages of a request to a chat, Gemini, OpenAI's Responses, or a completion without chat."""
    if "messages" in request:
        return request["messages"]
    if isinstance(request.get("contents"), list):
        return [
            {"role": _ROLES.get(str(content.get("role")), "user"), "content": _parts(content)}
            if isinstance(content, Mapping)
            else content
            for content in request["contents"]
        ]
    given = request.get("input", request.get("prompt"))
    return [{"role": "user", "content": given}] if isinstance(given, str) else given or []


def _answered(response: object, where: str) -> LoggedReply:
    """The reply without its prompt.

    Raises:
        InputError: it is a picture, or of an unknown form.
    """
    if isinstance(response, str):
        return LoggedReply("", plain(response, where), where)
    if not isinstance(response, Mapping):
        raise InputError(f"{where}: it has no response")
    return _replied(response, where)


def _replied(response: Fields, where: str) -> LoggedReply:
    """The reply in a service's response.

    Raises:
        InputError: it is a picture, or of an unknown form.
    """
    if response.get("type") == "succeeded" and isinstance(response.get("message"), Mapping):
        return _message(response["message"], where)
    if isinstance(response.get("choices"), list):
        return _completion(response, where)
    if response.get("role") == "assistant" or response.get("type") == "message":
        return _message(response, where)
    if isinstance(response.get("output"), list):
        return _output(response, where)
    if isinstance(response.get("candidates"), list) or response.keys() & {
        "promptFeedback",
        "prompt_feedback",
    }:
        return _candidate(_in_camel_case(response), where)
    return _failure(response, where)


def _failure(response: Fields, where: str) -> LoggedReply:
    """The error in a response without a reply.

    Raises:
        InputError: it is a picture, or of an unknown form.
    """
    if isinstance(response.get("data"), list):
        raise InputError(f"{where}: its response is a picture or an embedding; only text is judged")
    error = response.get("error") or response.get("type")
    if not error:
        raise InputError(f"{where}: its response is not a chat completion: {fit(json.dumps(response))}")
    if isinstance(error, Mapping) and isinstance(error.get("error"), Mapping):  # Anthropic's
        response = error
    message = complaint_in(response).message or (error if isinstance(error, str) else json.dumps(error))
    return LoggedReply("", "", where, error=fit(message))


def _completion(response: Fields, where: str) -> LoggedReply:
    choice = response["choices"][0] if response["choices"] else None
    if isinstance(choice, Mapping) and isinstance(choice.get("text"), str):  # a completion without chat
        response = {**response, "choices": [{**choice, "message": {"content": choice["text"]}}]}
    try:
        read = response_of(response, model="")
    except MalformedReplyError as error:
        return LoggedReply("", "", where, error=str(error))
    choice = response["choices"][0]
    logprobs = tokens_of(choice["message"], choice.get("logprobs"), read.tokens_reasoning)
    return replace(_of(read, where), tokens=logprobs)


def _of(response: Response, where: str) -> LoggedReply:
    return LoggedReply(
        "",
        plain(response.text, where),
        where,
        finish=response.finish,
        tokens_in=response.tokens_in,
        tokens_out=response.tokens_out,
        tokens_reasoning=response.tokens_reasoning,
        answered_by=response.model,
    )


def _message(message: Fields, where: str) -> LoggedReply:
    """The reply in a message of an assistant, such as Anthropic's."""
    usage = message.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    details = usage.get("output_tokens_details")
    return LoggedReply(
        "",
        text_of(message.get("content"), where),
        where,
        finish=finish_of(message.get("stop_reason")),
        tokens_in=tokens(usage.get("input_tokens")),
        tokens_out=tokens(usage.get("output_tokens")),
        tokens_reasoning=tokens(details.get("reasoning_tokens")) if isinstance(details, Mapping) else None,
        answered_by=str(message.get("model") or ""),
    )


def _output(response: Fields, where: str) -> LoggedReply:
    """The reply in a response of OpenAI's Responses."""
    said = [
        part for part in response["output"] if isinstance(part, Mapping) and part.get("type") == "message"
    ]
    text = "".join(text_of(part.get("content"), where) for part in said)
    parts = [part for message in said for part in message.get("content") or () if isinstance(part, Mapping)]
    logprobs = chain.from_iterable(
        part["logprobs"] for part in parts if isinstance(part.get("logprobs"), list)
    )
    incomplete = response.get("incomplete_details")
    reason = incomplete.get("reason") if isinstance(incomplete, Mapping) else None
    answered = _message({**response, "content": text, "stop_reason": reason}, where)
    message = {"content": response["output"]}
    return replace(answered, tokens=tokens_of(message, {"content": [*logprobs]}, answered.tokens_reasoning))


def _candidate(response: Fields, where: str) -> LoggedReply:
    """The reply in a response of Gemini, which has none if its prompt was blocked."""
    candidate = next(iter(response.get("candidates") or ()), None)
    if not isinstance(candidate, Mapping):
        if not isinstance(response.get("promptFeedback"), Mapping):
            return LoggedReply("", "", where, error="it has no candidates")
        candidate = {"finishReason": "SAFETY"}
    usage = response.get("usageMetadata")
    usage = usage if isinstance(usage, Mapping) else {}
    thoughts, said = tokens(usage.get("thoughtsTokenCount")), tokens(usage.get("candidatesTokenCount"))
    parts = _parts(candidate.get("content"))
    return LoggedReply(
        "",
        text_of(parts, where),
        where,
        finish=finish_of(candidate.get("finishReason")),
        tokens_in=tokens(usage.get("promptTokenCount")),
        tokens_out=None if said is None else said + (thoughts or 0),
        tokens_reasoning=thoughts,
        tokens=tokens_of({"content": parts}, candidate.get("logprobsResult"), thoughts),
        answered_by=str(response.get("modelVersion") or ""),
    )


def _in_camel_case(value: Any) -> Any:
    """A response with the names that Gemini gives its fields; Google's own library for Python has others."""
    if isinstance(value, list):
        return [_in_camel_case(part) for part in value]
    if not isinstance(value, Mapping):
        return value
    return {
        re.sub(r"_([a-z])", lambda letter: letter[1].upper(), name): _in_camel_case(part)
        for name, part in value.items()
    }


def _results(source: Source, requests: Path) -> Iterator[LoggedReply]:
    """The replies of a batch, each with its request.

    Raises:
        InputError: a result has no request, or two requests or results have one id.
    """
    by_id: dict[str, Entry] = {}
    for entry in lines(requests):
        request_id = _id_of(entry.fields)
        if request_id in by_id:
            raise InputError(
                f"{entry.where}: custom_id '{fit(request_id)}' is at {by_id[request_id].where}, too"
            )
        by_id[request_id] = entry._replace(fields={})
    answered: dict[str, str] = {}
    with opened(requests) as file:
        for entry in source.entries():
            request_id = _id_of(entry.fields)
            if request_id not in by_id:
                raise InputError(f"{entry.where}: custom_id '{fit(request_id)}' is not in {requests}")
            if request_id in answered:
                raise InputError(
                    f"{entry.where}: custom_id '{fit(request_id)}' is at {answered[request_id]}, too: "
                    "keep one reply"
                )
            answered[request_id] = entry.where
            file.seek(by_id[request_id].offset)
            sent = json.loads(file.readline())
            request = next((sent[name] for name in _SENT if name in sent), None)
            if not isinstance(request, dict):
                raise InputError(
                    f"{by_id[request_id].where}: expected a request, with body, params or request"
                )
            yield from _by_choice(entry, request)


def _requests_beside(source: Source) -> Path:
    """The file of requests in the same folder: the one with the request of the first result.

    Raises:
        InputError: there is none, or there are several.
    """
    first_id = _id_of(source.first)
    files = [
        path
        for path in sorted(source.path.parent.glob("*.jsonl"))
        if path != source.path and _asks(path, first_id)
    ]
    if len(files) == 1:
        return files[0]
    problem = (
        f"{plural(len(files), 'file')} beside it have the request of '{fit(first_id)}'"
        if files
        else f"no file *.jsonl beside it has the request of '{fit(first_id)}'"
    )
    raise InputError(
        f"{source.path}: {problem}; name the file that was sent with --factorfair-model-arg=requests=FILE"
    )


def _asks(path: Path, request_id: str) -> bool:
    """Whether a file of requests has the one with this id."""
    try:
        for entry in lines(path):
            if not (entry.fields.keys() & {"custom_id", "key"} and entry.fields.keys() & {*_SENT}):
                return False
            if _id_of(entry.fields) == request_id:
                return True
    except InputError:
        pass
    return False
