"""From what litellm raises to what it means for the run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus

from pytest_factorfair.errors import (
    Cause,
    FatalModelError,
    ModelError,
    RejectedRequestError,
    RetryableModelError,
)
from pytest_factorfair.models import http_errors
from pytest_factorfair.models.chat_errors import Complaint
from pytest_factorfair.redaction import fit

# By the name of the class or of one it derives from: the classes themselves take seconds to import.
# Every other is judged by its status.
_FATAL = frozenset({"UnsupportedParamsError", "LiteLLMUnknownProvider", "ModelNotMappedError"})
_RETRYABLE = frozenset({"APITimeoutError", "APIConnectionError"})
_FILTERED = frozenset({"ContentPolicyViolationError"})
# "litellm.RateLimitError: RateLimitError: OpenAIException - slow down" says the same three times.
_PREFIX = re.compile(r"^(?:(?:litellm\.)?\w* ?(?:Error|Exception|Timeout)(?:: | - ))+")


def complaint(error: Exception) -> Complaint:
    """What the service said, as far as litellm hands it on."""
    body = getattr(error, "body", None)
    told = body if isinstance(body, dict) else {}
    codes = frozenset(str(told[key]) for key in ("code", "type") if told.get(key))
    return Complaint(str(error), codes, str(told.get("param") or ""))


def is_filtered(error: Exception) -> bool:
    """Whether a content filter turned the prompt down."""
    return bool(_FILTERED & _names(error)) or complaint(error).is_filter


def error_of(name: str, error: Exception, *, keys: Mapping[str, str]) -> ModelError:
    """The error of ours for one of litellm's; ``keys`` are those it may have used, by variable."""
    status = getattr(error, "status_code", None)
    reason = fit(_PREFIX.sub("", str(error)), *keys.values()) or type(error).__name__
    if status == HTTPStatus.UNAUTHORIZED and keys:
        reason = f"the key in {' or '.join(keys)} was refused: {reason}"
    if _FATAL & _names(error):
        return FatalModelError(f"{name}: {reason}")
    if _RETRYABLE & _names(error):
        return RetryableModelError(f"{name}: {reason}", cause=Cause("connection", type(error).__name__))
    if not isinstance(status, int):
        told = f"{name}: {type(error).__name__}: {reason}"
        return RejectedRequestError(told, cause=Cause.raised(error))
    said = f"{name}: {http_errors.named(status)}: {reason}"
    return http_errors.error_of(status, said, codes=complaint(error).codes, headers=_headers(error))


def _names(error: Exception) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}


def _headers(error: Exception) -> Mapping[str, str]:
    """The headers of the reply, which litellm keeps in one of two places."""
    response = getattr(error, "response", None)
    headers = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None)
    return headers if isinstance(headers, Mapping) else {}
