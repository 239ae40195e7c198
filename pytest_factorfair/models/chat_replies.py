"""From the body of a chat completion to a response; every shape that servers are known to send."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic_core import from_json

from pytest_factorfair.domain import Response, utf8
from pytest_factorfair.domain.exchange import Finish

# In lower case: OpenAI's words, then those of services that pass on their own (Bedrock, Gemini, GLM).
_FINISHES: Mapping[str, Finish] = {
    "length": "length",
    "content_filter": "filtered",
    "content_filtered": "filtered",
    "guardrail_intervened": "filtered",
    "safety": "filtered",
    "prohibited_content": "filtered",
    "sensitive": "filtered",
    "refusal": "refusal",
}
_BROKEN_OFF = ("abort", "error")


class MalformedReplyError(Exception):
    """A body that is not what was asked for: cut, not JSON, without a message or picture."""


def parsed(body: bytes) -> dict[str, object]:
    """The JSON object of a body.

    Raises:
        MalformedReplyError: the body is anything else.
    """
    try:
        value = _value(body)
    except (ValueError, RecursionError):
        kind = "HTML, not JSON" if body.lstrip()[:1] == b"<" else "cut off or not JSON"
        raise MalformedReplyError(f"the reply of {len(body)} bytes is {kind}") from None
    if not isinstance(value, dict):
        raise MalformedReplyError("the reply is not a JSON object")
    return value


def _value(body: bytes) -> object:
    """Python's own parser takes three times as long, and a byte order mark and half a surrogate pair."""
    try:
        return from_json(body)
    except ValueError:
        return json.loads(body)


def response_of(value: Mapping[str, object], *, model: str) -> Response:
    """The response in a chat completion; ``model`` is what it is called if the reply does not say.

    Raises:
        MalformedReplyError: there is no message in it, or the server broke off.
    """
    choices = value.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise MalformedReplyError("the reply holds no message")
    if choice.get("finish_reason") in _BROKEN_OFF:
        raise MalformedReplyError(f"the server broke off ({choice['finish_reason']})")
    text, refused = _text(message)
    finish = "refusal" if refused else _FINISHES.get(str(choice.get("finish_reason")).lower(), "stop")
    counts = value.get("usage")
    usage = counts if isinstance(counts, dict) else {}
    return Response(
        text=text,
        finish=finish,
        tokens_in=tokens(usage.get("prompt_tokens")),
        tokens_out=tokens(usage.get("completion_tokens")),
        model=utf8(str(value.get("model") or model)),
    )


def tokens(count: object) -> int | None:
    """A number of tokens, where it is one."""
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None


def _text(message: Mapping[str, object]) -> tuple[str, bool]:
    """The words of a message, and whether they are a refusal that the service marks as such."""
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        return utf8(refusal), True
    content = message.get("content")
    if isinstance(content, list):
        return _joined(content)
    if content is not None and not isinstance(content, str):
        raise MalformedReplyError("the reply's content is neither a text nor a list of parts")
    return utf8(content or ""), False


def _joined(parts: list[object]) -> tuple[str, bool]:
    said = [part for part in parts if isinstance(part, dict)]
    refusals = [str(part.get("refusal")) for part in said if part.get("type") == "refusal"]
    texts = [
        str(part.get("text") or "") for part in said if part.get("type", "text") in ("text", "output_text")
    ]
    return utf8("".join(refusals or texts)), bool(refusals)
