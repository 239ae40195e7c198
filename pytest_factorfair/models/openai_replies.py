"""Read the body of a success: a chat completion, a stream that was not asked for, or something else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from pytest_factorfair.models.openai_errors import MalformedReplyError, parsed
from pytest_factorfair.redaction import fit

_COMMENTS = re.compile(rb"(?:\s*:[^\n]*\n)+")
"""Lines that keep a connection open until the reply begins, as OpenRouter sends them."""
_STREAMED = (b"data:", b"event:", b"id:")

# The fields by which the replies of other APIs are known, and what they are.
_OTHER_APIS: Sequence[tuple[frozenset[str], str]] = (
    (frozenset({"role", "content", "stop_reason"}), "Anthropic's Messages API"),
    (frozenset({"output", "object"}), "OpenAI's Responses API"),
    (frozenset({"message", "done"}), "Ollama's own API; its OpenAI-compatible base_url ends with /v1"),
    (frozenset({"response", "done"}), "Ollama's own API; its OpenAI-compatible base_url ends with /v1"),
    (frozenset({"candidates"}), "Gemini's own API"),
    (frozenset({"message", "finish_reason"}), "Cohere's own API"),
    (frozenset({"generated_text"}), "TGI's own API; its OpenAI-compatible base_url ends with /v1"),
    (frozenset({"content", "stop"}), "llama.cpp's own API; its OpenAI-compatible base_url ends with /v1"),
)


def fields_of(body: bytes) -> dict[str, object]:
    """Read the body of a successful reply as the fields of one JSON object.

    Comment lines before the object are skipped, and the chunks of a stream are joined to one completion.

    Raises:
        MalformedReplyError: the body is cut off, or is neither.
    """
    if comments := _COMMENTS.match(body):
        body = body[comments.end() :]
    if body.lstrip().startswith(_STREAMED):
        return _joined(body)
    try:
        return parsed(body)
    except MalformedReplyError:
        first, newline, _ = body.strip().partition(b"\n")
        if newline and first.endswith(b"}"):  # an object per line is a stream of Ollama's own API
            return parsed(first)
        raise


def described(fields: Mapping[str, object]) -> str:
    """What a reply is that has no answer where one was expected, with its beginning."""
    choices = fields.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(first, dict) and "text" in first:
        api = "the API of plain completions"
    else:
        api = next((api for names, api in _OTHER_APIS if names <= fields.keys()), "")
    beginning = fit(json.dumps(fields, ensure_ascii=False, default=str))
    return f"it is a reply of {api}: {beginning}" if api else f"it says {beginning}"


def _joined(body: bytes) -> dict[str, object]:
    """Join the chunks of a stream; an error in it is returned as it is, and so are another API's events."""
    payloads = [line[5:].strip() for line in body.splitlines() if line.startswith(b"data:")]
    chunks = [parsed(payload) for payload in payloads if payload not in (b"", b"[DONE]")]
    other = [chunk for chunk in chunks if chunk.get("error")]
    if chunks and not any("choices" in chunk for chunk in chunks):
        other += chunks
    if other:
        return other[0]
    choices = [
        choice for chunk in chunks for choice in _objects(chunk.get("choices")) if choice.get("index", 0) == 0
    ]
    finishes = [choice["finish_reason"] for choice in choices if choice.get("finish_reason")]
    if not (finishes or b"[DONE]" in payloads):
        raise MalformedReplyError(f"the stream of {len(body)} bytes is cut off")
    message: dict[str, str] = {}
    for delta in _objects([choice.get("delta") or choice.get("message") for choice in choices]):
        texts = {name: value for name, value in delta.items() if isinstance(value, str)}
        message |= {name: message.get(name, "") + text for name, text in texts.items()}
    logprobs = _objects([choice.get("logprobs") for choice in choices])
    tokens = [token for part in logprobs for token in _objects(part.get("content"))]
    whole = {name: value for chunk in chunks for name, value in chunk.items() if value is not None}
    choice = {
        "message": message,
        "finish_reason": finishes[-1] if finishes else None,
        "logprobs": {"content": tokens} if tokens else None,
    }
    return {**whole, "choices": [choice]}


def _objects(values: object) -> list[dict[str, object]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
