"""Parse replies of OpenAI-compatible services, and classify their errors: fatal, retryable or rejected."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
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

# Key, payment or address are wrong, so the next call would fail, too. A 403 or 404 may concern a single
# prompt (a policy, a gateway that routes by content): the engine stops only if all prompts get it.
FATAL = frozenset({401, 402, 405, 407, 410})
RETRYABLE = frozenset({408, 409, 425, 429})
OUT_OF_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
REDIRECTS, REFUSALS = range(300, 400), range(400, 500)

# The codes of content filters, in lower case and without underscores.
_FILTERED = frozenset(
    {
        "contentfilter",
        "contentfiltered",
        "contentpolicyviolation",
        "datainspectionfailed",  # Model Studio (Qwen)
        "moderationblocked",
        "responsibleaipolicyviolation",  # Azure, as the inner error
    }
)
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


class MalformedReplyError(Exception):
    """A reply is cut off, not JSON, or lacks a message or picture."""


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
        kind = "HTML, not JSON" if body.lstrip()[:1] == b"<" else "cut off or not JSON"
        raise MalformedReplyError(f"the reply of {len(body)} bytes is {kind}") from None
    if not isinstance(content, dict):
        raise MalformedReplyError("the reply is not a JSON object")
    return content


@dataclass(frozen=True, slots=True)
class Complaint:
    """A service's error message, with its error codes and the parameter that it is about."""

    message: str
    codes: frozenset[str] = frozenset()
    parameter: str = ""

    @property
    def is_filter(self) -> bool:
        """Whether a content filter blocked the prompt."""
        return any(code.replace("_", "").lower() in _FILTERED for code in self.codes)

    def refuses(self, parameter: str) -> bool:
        """Whether the parameter itself is unsupported, as opposed to a value out of range."""
        text = " ".join((*self.codes, self.message)).lower()
        about = self.parameter == parameter or parameter in self.message
        return about and any(word in text for word in _UNSUPPORTED)


class ServiceError(Exception):
    """A service replied with an error; ``error`` is what to raise unless the call can be adapted.

    ``is_filtered`` means that a content filter blocked the prompt; ``adaptable`` means that the call may
    succeed without the parameter that the complaint names.
    """

    def __init__(
        self, error: ModelError, complaint: Complaint, *, is_filtered: bool, adaptable: bool
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.complaint = complaint
        self.is_filtered = is_filtered
        self.adaptable = adaptable


def complaint(body: bytes) -> Complaint:
    """Read an error body as OpenAI, Azure, vLLM, Ollama and others write it, or plain text."""
    try:
        content = parsed(body)
    except MalformedReplyError:
        return Complaint(body[:4000].decode("utf-8", "replace"))
    return complaint_in(content)


def complaint_in(content: Mapping[str, object]) -> Complaint:
    """Read the fields of an error body."""
    error = content.get("error", content)
    if not isinstance(error, dict):
        return Complaint(utf8(str(error)))
    inner = error.get("innererror")
    codes = frozenset(
        str(part[key])
        for part in (error, inner)
        if isinstance(part, dict)
        for key in ("code", "type")
        if part.get(key)
    )
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and "flagged_input" in metadata:  # OpenRouter's moderation
        codes |= {"content_filter"}
    message = error.get("message") or error.get("detail") or ""
    return Complaint(utf8(str(message)), codes, str(error.get("param") or ""))


def status_in(complaint: Complaint, default: int = HTTPStatus.BAD_GATEWAY) -> int:
    """The status that a gateway reports in the body of a 200 reply; the default if it reports none."""
    statuses = (code for code in sorted(complaint.codes) if re.fullmatch("[45][0-9][0-9]", code))
    return int(next(statuses, default))


def error_of(status: int, message: str, *, codes: AbstractSet[str], headers: Mapping[str, str]) -> ModelError:
    """The error to raise for an HTTP status other than success; ``codes`` are the service's error codes."""
    cause = Cause("status", str(status))
    if status in FATAL or OUT_OF_MONEY & codes or status in REDIRECTS:
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
