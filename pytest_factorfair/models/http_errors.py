"""From an HTTP status to what it means for the run: stop, try again, or give this request up."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from math import isfinite

from pytest_factorfair.errors import (
    Cause,
    FatalModelError,
    ModelError,
    RejectedRequestError,
    RetryableModelError,
)

# No key, no money, wrong place: the next call fares no better. A 403 or 404 may be about one prompt (a
# policy, a gateway that routes by content): the engine stops where every prompt gets it.
FATAL = frozenset({401, 402, 405, 407, 410})
RETRYABLE = frozenset({408, 409, 425, 429})
# Where the statuses of redirects, of refusals and of failures begin.
MOVED, REFUSED, BROKEN = 300, 400, 500
OUT_OF_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})


def error_of(status: int, said: str, *, codes: AbstractSet[str], headers: Mapping[str, str]) -> ModelError:
    """The error of a status that is no success; ``said`` is its line, ``codes`` what the service calls it."""
    cause = Cause("status", str(status))
    if status in FATAL or OUT_OF_MONEY & codes or MOVED <= status < REFUSED:
        return FatalModelError(said, cause=cause, billable=False)
    if status in RETRYABLE or status >= BROKEN:
        wait = retry_after(headers, datetime.now(UTC))
        throttled = status == HTTPStatus.TOO_MANY_REQUESTS
        billable = status >= BROKEN
        return RetryableModelError(said, wait, throttled=throttled, cause=cause, billable=billable)
    return RejectedRequestError(said, cause=cause, billable=False)


def is_refusal(status: int) -> bool:
    """Whether it turns the request down, rather than moves it elsewhere or fails."""
    return REFUSED <= status < BROKEN


def named(status: int) -> str:
    """The status with its name: "429 Too Many Requests"."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait, from Retry-After-Ms or Retry-After (seconds or an HTTP date); None if not said."""
    milliseconds = _seconds(headers.get("Retry-After-Ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("Retry-After", "")
    seconds = _seconds(said)
    return seconds if seconds is not None else _until(said, now)


def _seconds(said: str) -> float | None:
    try:
        seconds = float(said)
    except ValueError:
        return None
    return max(0.0, seconds) if isfinite(seconds) else None


def _until(said: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(said)
    except (TypeError, ValueError):
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())
