"""Parse replies of OpenAI-compatible services, and classify their errors: fatal, retryable or rejected."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from math import isfinite

from pydantic_core import from_json

from pytest_factorfair.domain import utf8
from pytest_factorfair.errors import (
    Cause,
    FatalModelError,
    ModelError,
    RejectedRequestError,
    RetryableModelError,
)
from pytest_factorfair.redaction import fit

# Key, payment or address are wrong, so the next call would fail, too. A 403 or 404 may concern a single
# prompt (a policy, a gateway that routes by content): the engine stops only if all prompts get it.
FATAL = frozenset({401, 402, 405, 407, 410})
RETRYABLE = frozenset({408, 409, 425, 429})
OUT_OF_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
NO_MODEL = "model_not_found"
ADAPTABLE = frozenset({400, 422})
"""The statuses with which services reject an unsupported parameter."""
REDIRECTS, REFUSALS = range(300, 400), range(400, 500)

# How services say that a filter stopped this prompt, or its answer: by a code, in lower case and without
# punctuation, or else by a status and a part of the message, in lower case.
_FILTER_CODES = frozenset(
    {
        "1301",  # Z.ai (GLM)
        "2016",  # Cloudflare's AI Gateway, of a prompt
        "2017",  # of an answer
        "baseresp1026",  # MiniMax, of a prompt
        "baseresp1027",  # of an answer
        "blocklist",  # Gemini, as are the next two
        "imagesafety",
        "prohibitedcontent",
        "censorshipblocked",  # StepFun
        "contentfilter",  # OpenAI, Azure, Moonshot and others
        "contentfiltered",
        "contentpolicyviolation",
        "datainspectionfailed",  # Model Studio (Qwen)
        "hooksfailed",  # Portkey
        "inputtextsensitivecontentdetected",  # ModelArk (Doubao), as are the next two
        "outputtextsensitivecontentdetected",
        "sensitivecontentdetected",
        "invalidprompt",  # OpenAI, of reasoning models
        "moderationblocked",
        "responsibleaipolicyviolation",  # Azure, as the inner error
        "sensitivewordsdetected",  # New API
    }
)
_FILTER_MESSAGES: tuple[tuple[int, str], ...] = (
    (400, "content exists risk"),  # DeepSeek
    (400, "violates usage guidelines"),  # xAI
    (403, "violates usage guidelines"),
    (400, "blocked by content filtering policy"),  # Anthropic
    (400, "contentpolicyviolationerror"),  # litellm's proxy
    (HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS, ""),
)
# The codes with which MiniMax reports errors in replies of status 200, and the statuses that they mean.
_BASE_RESP: Mapping[str, int] = {
    "base_resp 1002": 429,
    "base_resp 1004": 401,
    "base_resp 1008": 402,
    "base_resp 1039": 429,
    "base_resp 2013": 400,
    "base_resp 2049": 401,
}
# Phrases in services' messages about a parameter that a model does not accept.
_UNSUPPORTED = (
    "unsupported",
    "not support",
    "n't support",
    "not compatible",
    "incompatible request argument",
    "deprecated",
    "only the default",
    "unknown parameter",
    "unknown_parameter",
    "unrecognized request argument",
    "extra inputs are not permitted",
)
_ONLY_VALUE = re.compile(r"only [\d.]+ is (?:allowed|supported)")
_TOO_LONG = re.compile(r"context[ _](?:length|size|window)")
_TITLE = re.compile("(?is)<title[^>]*>(.*?)</title>")


class MalformedReplyError(Exception):
    """A reply is cut off, not JSON, or lacks a message or picture.

    It ``is_foreign`` if it is complete, but of another form: the next one will be, too.
    """

    def __init__(self, message: str, *, is_foreign: bool = False) -> None:
        super().__init__(message)
        self.is_foreign = is_foreign


def parsed(body: bytes) -> dict[str, object]:
    """Parse the body of a reply as a JSON object.

    Raises:
        MalformedReplyError: the body is not a JSON object.
    """
    try:
        try:
            content = from_json(body)
        except ValueError:  # Python's parser is slower, but accepts byte order marks and lone surrogates
            content = json.loads(body)
    except (ValueError, RecursionError):
        text = body[:4000].decode("utf-8", "replace").strip()
        if text[:1] in ("", "{", "["):
            raise MalformedReplyError(f"the reply of {len(body)} bytes is cut off or not JSON") from None
        kind = "HTML, not JSON" if text[0] == "<" else "not JSON"
        line = f"the reply of {len(body)} bytes is {kind}: {fit(_titled(text))}"
        raise MalformedReplyError(line, is_foreign=True) from None
    if not isinstance(content, dict):
        line = f"the reply is not a JSON object: {fit(repr(content))}"
        raise MalformedReplyError(line, is_foreign=True)
    return content


def _titled(text: str) -> str:
    """The title of an HTML page; other text as it is."""
    title = _TITLE.search(text)
    return title[1] if title else text


@dataclass(frozen=True, slots=True)
class Complaint:
    """A service's error message, with its error codes and the parameter that it is about.

    One that is not JSON may come from anything that answers at the address.
    """

    message: str
    codes: frozenset[str] = frozenset()
    parameter: str = ""
    is_json: bool = True

    def cause(self, status: int, *, model: str = "") -> Cause:
        """What an error of this status is about; a 404 is about the ``model`` if it names that."""
        if self.codes & OUT_OF_MONEY:
            return Cause("status", str(HTTPStatus.PAYMENT_REQUIRED.value))
        is_absent = status == HTTPStatus.NOT_FOUND
        if NO_MODEL in self.codes or (is_absent and self.is_json and model and model in self.message):
            return Cause("model", str(status))
        if is_absent and not self.is_json:
            return Cause("address", str(status))
        if status in REFUSALS and _TOO_LONG.search(" ".join((*self.codes, self.message)).lower()):
            return Cause("context", str(status))
        return Cause("status", str(status))

    def is_filter(self, status: int) -> bool:
        """Whether, in an error of this status, a content filter blocked the prompt."""
        if status not in REFUSALS:
            return False
        message = self.message.lower()
        return any(re.sub(r"[\W_]", "", code).lower() in _FILTER_CODES for code in self.codes) or any(
            status == filtered and phrase in message for filtered, phrase in _FILTER_MESSAGES
        )

    def may_filter(self, status: int) -> bool:
        """Whether a firewall may have blocked the prompt, which gives no reason by which to know it."""
        return status == HTTPStatus.FORBIDDEN and self.codes <= {str(HTTPStatus.FORBIDDEN.value)}

    def refuses(self, parameter: str) -> bool:
        """Whether the parameter itself is unsupported, as opposed to a value out of range."""
        text = " ".join((*self.codes, self.message)).lower()
        about = self.parameter == parameter or parameter in self.message
        return about and (any(word in text for word in _UNSUPPORTED) or bool(_ONLY_VALUE.search(text)))


class ServiceError(Exception):
    """A service replied with an error; ``error`` is what to raise unless the call can be adapted.

    ``status`` is the error's, None if there was none. ``is_filtered`` means that a content filter blocked the
    prompt, ``may_be_filtered`` that it did if the service answers other prompts.
    """

    def __init__(
        self, error: ModelError, complaint: Complaint, *, status: int | None, is_filtered: bool = False
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.complaint = complaint
        self.is_filtered = is_filtered or (status is not None and complaint.is_filter(status))
        self.may_be_filtered = status is not None and complaint.may_filter(status)
        self.adaptable = status in ADAPTABLE


def complaint(body: bytes) -> Complaint:
    """Read an error body as OpenAI, Azure, vLLM, Ollama and others write it, or plain text."""
    try:
        content = parsed(body)
    except MalformedReplyError:
        return Complaint(_titled(body[:4000].decode("utf-8", "replace")), is_json=False)
    return complaint_in(content)


def complaint_in(content: Mapping[str, object]) -> Complaint:
    """Read the fields of an error body."""
    error = content.get("error") or content.get("errors") or content
    if isinstance(error, list):  # Cloudflare
        error = error[0] if error else {}
    if not isinstance(error, dict):  # xAI: the code is beside it
        error = {**content, "message": error}
    parts = [error, error.get("innererror"), content.get("promptFeedback")]
    codes = {
        str(part[key])
        for part in parts
        if isinstance(part, dict)
        for key in ("code", "type", "blockReason")
        if part.get(key)
    }
    message = error.get("message") or error.get("detail") or error.get("error_msg") or ""
    metadata, minimax = error.get("metadata"), content.get("base_resp")
    if isinstance(metadata, dict):  # OpenRouter's: of its moderation, and the provider's error as text
        if "flagged_input" in metadata:
            codes.add("content_filter")
        with suppress(MalformedReplyError):
            provider = complaint_in(parsed(str(metadata.get("raw", "")).encode("utf-8", "replace")))
            codes |= provider.codes
            message = f"{message}: {provider.message}"
    if isinstance(minimax, dict) and minimax.get("status_code"):
        codes.add(f"base_resp {minimax['status_code']}")
        message = minimax.get("status_msg") or message
    return Complaint(utf8(_text(message)), frozenset(codes), str(error.get("param") or ""))


def _text(message: object) -> str:
    """An error message as text; FastAPI lists problems with their places instead."""
    if isinstance(message, dict):
        if "detail" in message:  # Mistral
            return _text(message["detail"])
        where = ".".join(map(str, message["loc"])) if isinstance(message.get("loc"), list) else ""
        text = str(message.get("msg") or "")
        return f"{where}: {text}" if where and text else text
    if isinstance(message, list):
        return "; ".join(filter(None, map(_text, message)))
    return str(message)


def status_in(complaint: Complaint) -> int | None:
    """The status that is reported in the body of a 200 reply; None if there is none.

    FastChat's codes are a status and two more digits.
    """
    for code in sorted(complaint.codes):
        if match := re.fullmatch(r"([45]\d\d)(?:\d\d)?", code):
            return int(match[1])
        if code in _BASE_RESP:
            return _BASE_RESP[code]
    return HTTPStatus.BAD_REQUEST if complaint.is_filter(HTTPStatus.BAD_REQUEST) else None


def error_of(
    status: int, message: str, complaint: Complaint, *, headers: Mapping[str, str], model: str = ""
) -> ModelError:
    """The error to raise for an HTTP status other than success; ``model`` is its name at the service."""
    cause = complaint.cause(status, model=model)
    if status in FATAL or OUT_OF_MONEY & complaint.codes or status in REDIRECTS:
        return FatalModelError(message, cause=cause, billable=False)
    failed = status >= REFUSALS.stop
    if status in RETRYABLE or failed:
        wait = retry_after(headers, datetime.now(UTC))
        throttled = status == HTTPStatus.TOO_MANY_REQUESTS
        return RetryableModelError(message, wait, throttled=throttled, cause=cause, billable=failed)
    return RejectedRequestError(message, cause=cause, billable=False)


def named(status: int) -> str:
    """The status with its name: "429 Too Many Requests"."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait according to Retry-After-Ms or Retry-After (seconds or HTTP date); None if absent."""
    milliseconds = _seconds(headers.get("Retry-After-Ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    header = headers.get("Retry-After", "")
    seconds = _seconds(header)
    if seconds is not None:
        return seconds
    try:
        moment = parsedate_to_datetime(header)
    except (TypeError, ValueError):
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return max(0.0, seconds) if isfinite(seconds) else None
