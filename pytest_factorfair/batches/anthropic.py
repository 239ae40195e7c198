"""Anthropic's Message Batches, for text answers: chat completions are translated to messages and back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from pytest_factorfair.batches.http import PAGE, HttpBatches, identifier, line_error, number, seconds
from pytest_factorfair.batches.protocol import BatchLine, BatchState, BatchStatus
from pytest_factorfair.errors import InputError
from pytest_factorfair.models.openai_errors import Complaint, ServiceError, complaint_in
from pytest_factorfair.models.openai_format import encoded

if TYPE_CHECKING:
    from pytest_factorfair.models.server import Server

VERSION = "2023-06-01"
# The fields that Anthropic takes, by their names in a chat completion.
_FIELDS: Mapping[str, str] = {
    "model": "model",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "stop": "stop_sequences",
    **{
        name: name
        for name in ("temperature", "top_p", "top_k", "thinking", "output_config", "metadata", "service_tier")
    },
}
_FINISHES: Mapping[str, str] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
_STATUSES: Mapping[str, int] = {
    "invalid_request_error": HTTPStatus.BAD_REQUEST,
    "authentication_error": HTTPStatus.UNAUTHORIZED,
    "billing_error": HTTPStatus.PAYMENT_REQUIRED,
    "permission_error": HTTPStatus.FORBIDDEN,
    "not_found_error": HTTPStatus.NOT_FOUND,
    "request_too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "rate_limit_error": HTTPStatus.TOO_MANY_REQUESTS,
}


class AnthropicBatches(HttpBatches):
    """The batches of one account. They have no names, and their lines are no files."""

    max_lines = 100_000
    max_bytes = 256_000_000
    discount = 0.5

    def __init__(self, model: str, server: Server) -> None:
        login = (
            {"Authorization": f"Bearer {server.key}"}
            if server.key_from == "ANTHROPIC_AUTH_TOKEN"
            else {"x-api-key": server.key}
        )
        headers = {
            "anthropic-version": VERSION,
            "User-Agent": "pytest-factorfair",
            **login,
            **server.own_headers,
        }
        super().__init__(model, server, headers, "messages/batches")

    def encoded(self, line: BatchLine) -> bytes:
        return encoded({"custom_id": line.key, "params": self._translated(line.body)}) + b"\n"

    async def upload(self, name: str, lines: Sequence[BatchLine]) -> str | None:  # noqa: ARG002  # no files
        return None

    async def create(self, name: str, file_id: str | None, lines: Sequence[BatchLine]) -> BatchStatus:  # noqa: ARG002  # no names
        body = b'{"requests":[%b]}' % b",".join(map(self.encoded, lines))
        return self._status(await self._post(self._path, body))

    async def find(
        self,
        name: str,  # noqa: ARG002  # no names
        file_id: str | None,  # noqa: ARG002
        since: float,
        lines: int,
        keys: Collection[str],
    ) -> Sequence[BatchStatus] | None:
        same_size = [status async for status in self._list(since) if status.total == lines]
        candidates = [status for status in same_size if await self._may_have(status, keys)]
        return sorted(candidates, key=lambda status: status.created or 0)

    async def _may_have(self, status: BatchStatus, keys: Collection[str]) -> bool:
        """Whether a batch may have these keys, which only its results show."""
        has_results = False
        async for reply in self.results(status):
            if reply.key in keys:
                return True
            has_results = True
        return not has_results

    def _translated(self, body: Mapping[str, Any]) -> dict[str, object]:
        """The parameters of a message with the fields of a chat completion.

        Raises:
            InputError: a field has no counterpart.
        """
        params: dict[str, object] = {}
        for name, value in body.items():
            if name == "messages":
                params["messages"] = [message for message in value if message["role"] != "system"]
                system = [message["content"] for message in value if message["role"] == "system"]
                params |= {"system": "\n\n".join(system)} if system else {}
            elif name in _FIELDS:
                params[_FIELDS[name]] = [value] if name == "stop" and isinstance(value, str) else value
            else:
                advice = "use --factorfair-answers=text" if name == "response_format" else "leave it out"
                raise InputError(
                    f"model '{self._model}': Anthropic's batches take no '{name}': {advice}, or ask singly"
                )
        return params

    def _status(self, fields: Mapping[str, Any]) -> BatchStatus:
        counted = fields.get("request_counts")
        counts = {name: number(value) for name, value in counted.items()} if isinstance(counted, dict) else {}
        state = BatchState.RUNNING
        if has_ended := fields.get("processing_status") == "ended":
            state = (
                BatchState.CANCELLED
                if counts.get("canceled")
                else BatchState.EXPIRED
                if counts.get("expired")
                else BatchState.ENDED
            )
        batch_id = identifier(fields.get("id"))
        return BatchStatus(
            batch_id,
            state,
            total=sum(counts.values()),
            done=counts.get("succeeded", 0),
            failed=sum(counts.get(name, 0) for name in ("errored", "canceled", "expired")),
            created=seconds(fields.get("created_at")),
            expires=seconds(fields.get("expires_at")),
            outputs=(batch_id,) if has_ended else (),
        )

    def _page(self, number: int, last: str) -> str:  # noqa: ARG002  # pages have no numbers
        return f"limit={PAGE}" + (f"&after_id={last}" if last else "")

    def _has_more(self, reply: Mapping[str, Any], entries: int) -> bool:  # noqa: ARG002
        return bool(reply.get("has_more"))

    def _sources(self, status: BatchStatus) -> Sequence[str]:
        """The path of the results; their address in a reply could lead to another host with the key."""
        return [f"{self._path}/{batch_id}/results" for batch_id in status.outputs]

    def _reply(self, fields: Mapping[str, Any]) -> Mapping[str, object] | ServiceError:
        result = fields.get("result")
        result = result if isinstance(result, dict) else {}
        message = result.get("message")
        if isinstance(message, dict):
            return _completion(message)
        error = result.get("error")
        if not isinstance(error, dict):
            return line_error(0, Complaint(str(result.get("type"))), self._model)
        complaint = complaint_in(error)
        statuses = (_STATUSES[code] for code in complaint.codes if code in _STATUSES)
        return line_error(next(statuses, HTTPStatus.INTERNAL_SERVER_ERROR), complaint, self._model)


def _completion(message: Mapping[str, Any]) -> Mapping[str, object]:
    """A message as a chat completion; only its texts, not what the model thinks."""
    content, counted = message.get("content"), message.get("usage")
    usage: Mapping[str, object] = counted if isinstance(counted, dict) else {}
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    text = "".join(str(block.get("text")) for block in blocks if block.get("type") == "text")
    others = {str(block.get("type")): True for block in blocks if block.get("type") != "text"}
    reason = str(message.get("stop_reason"))
    read = [number(usage.get(f"{kind}input_tokens")) for kind in ("", "cache_creation_", "cache_read_")]
    return {
        "model": message.get("model"),
        "choices": [{"message": {**others, "content": text}, "finish_reason": _FINISHES.get(reason, "stop")}],
        "usage": {
            "prompt_tokens": sum(read) if "input_tokens" in usage else None,
            "completion_tokens": usage.get("output_tokens"),
        },
    }
