"""From a reply that is no success to the one line a user reads, and to what it means for the run."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from pytest_factorfair.domain import utf8
from pytest_factorfair.errors import ModelError
from pytest_factorfair.models import http_errors
from pytest_factorfair.models.chat_endpoint import Endpoint
from pytest_factorfair.models.chat_replies import MalformedReplyError, parsed
from pytest_factorfair.redaction import fit

if TYPE_CHECKING:
    from pytest_factorfair.models.http_client import Reply

_STATUS = re.compile("[45][0-9][0-9]")
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
# Part of what services say of a parameter that a model does not take.
_UNSUPPORTED = (
    "unsupported",
    "not support",
    "n't support",
    "not compatible",
    "deprecated",
    "only the default",
    "unknown parameter",
    "unknown_parameter",
    "unrecognized request argument",
    "extra inputs are not permitted",
)


@dataclass(frozen=True, slots=True)
class Complaint:
    """What an error body says: its words, the service's codes for it, the parameter it is about."""

    message: str
    codes: frozenset[str] = frozenset()
    parameter: str = ""

    @property
    def is_filter(self) -> bool:
        """Whether a content filter turned the prompt down."""
        return any(code.replace("_", "").lower() in _FILTERED for code in self.codes)

    def refuses(self, parameter: str) -> bool:
        """Whether the model does not take the parameter at all (a value out of range is another matter)."""
        said = " ".join((*self.codes, self.message)).lower()
        about = self.parameter == parameter or parameter in self.message
        return about and any(word in said for word in _UNSUPPORTED)


def complaint(body: bytes) -> Complaint:
    """What went wrong, in the words of OpenAI, Azure, vLLM, Ollama and others, or in plain text."""
    try:
        value = parsed(body)
    except MalformedReplyError:
        return Complaint(body[:4000].decode("utf-8", "replace"))
    error = value.get("error", value)
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
    message = error.get("message") or error.get("detail") or ""
    return Complaint(utf8(str(message)), codes, str(error.get("param") or ""))


def error_of(name: str, endpoint: Endpoint, reply: Reply) -> ModelError:
    """The error of a reply whose status is no success."""
    said = complaint(reply.body)
    reason = _reason(endpoint, reply, fit(said.message, endpoint.key))
    line = f"{name}: {http_errors.named(reply.status)}{reason}"
    return http_errors.error_of(reply.status, line, codes=said.codes, headers=reply.headers)


def told(reply: Reply) -> Reply:
    """The reply with the status that a gateway names in the body of a success; 502 if it names none."""
    if not reply.succeeded:
        return reply
    statuses = filter(_STATUS.fullmatch, sorted(complaint(reply.body).codes))
    return replace(reply, status=int(next(statuses, HTTPStatus.BAD_GATEWAY)))


def is_filtered(reply: Reply) -> bool:
    """Whether a content filter turned the prompt down: with a 400 or, at gateways, 403 or 422."""
    return http_errors.is_refusal(reply.status) and complaint(reply.body).is_filter


def _reason(endpoint: Endpoint, reply: Reply, message: str) -> str:
    """What is wrong in our words where the status tells, followed by the server's."""
    place = endpoint.base_url
    if HTTPStatus.MULTIPLE_CHOICES <= reply.status < HTTPStatus.BAD_REQUEST:
        target = fit(reply.headers.get("Location", "").partition("?")[0], endpoint.key)
        return f": {place} sends callers on to '{target}'; give the right base_url"
    ours: dict[int, str] = {
        HTTPStatus.UNAUTHORIZED: f"the key in {endpoint.key_from} was refused",
        HTTPStatus.NOT_FOUND: f"no such model, or nothing answers under {place}",
    }
    if not endpoint.key:
        ours[HTTPStatus.UNAUTHORIZED] = "it wants a key: name its variable with api_key_env"
    parts = (ours.get(reply.status), message)
    return "".join(f": {part}" for part in parts if part)
