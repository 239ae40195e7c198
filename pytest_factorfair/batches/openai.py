"""OpenAI's batches over HTTP, and those of the services that speak the same protocol with differences."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_factorfair.batches.http import (
    ABSENT,
    PAGE,
    HttpBatches,
    identifier,
    line_error,
    number,
    seconds,
)
from pytest_factorfair.batches.protocol import BatchLine, BatchState, BatchStatus
from pytest_factorfair.errors import Cause, ModelError, RetryableModelError
from pytest_factorfair.models import openai_errors
from pytest_factorfair.models.openai_errors import Complaint, ServiceError, complaint_in
from pytest_factorfair.models.openai_format import encoded
from pytest_factorfair.redaction import fit

if TYPE_CHECKING:
    from pytest_factorfair.models.server import Server

METADATA = "factorfair"
"""The key of a batch's name in its metadata."""
_QUOTA = frozenset({"token_limit_exceeded"})

# In lower case: the states of OpenAI and those who follow it, then of Mistral. Others are unfinished.
_STATES: Mapping[str, BatchState] = {
    "completed": BatchState.ENDED,
    "failed": BatchState.FAILED,
    "expired": BatchState.EXPIRED,
    "cancelled": BatchState.CANCELLED,
    "success": BatchState.ENDED,
    "timeout_exceeded": BatchState.EXPIRED,
}
# The codes of lines that were never asked: they can be asked again.
_UNASKED = frozenset({"batch_expired", "batch_cancelled", "request_timeout"})


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a service differs from OpenAI's batches.

    ``path`` is where batches are, ``files`` where files are uploaded, ``url`` what lines and batches name as
    their endpoint. ``named`` is whether the form of an upload has the file's name as a field, and ``jobs``
    whether batches are created and listed as Mistral does.
    """

    discount: float | None = None
    path: str = "batches"
    files: str = "files"
    purpose: str = "batch"
    url: str = "/v1/chat/completions"
    max_lines: int = 50_000
    max_bytes: int = 200_000_000
    named: bool = False
    jobs: bool = False


AZURE = Dialect(discount=0.5, url="/chat/completions", max_lines=100_000)
TOGETHER = Dialect(files="files/upload", purpose="batch-api", named=True, max_bytes=100_000_000)
MISTRAL = Dialect(discount=0.5, path="batch/jobs", max_lines=1_000_000, jobs=True)
DIALECTS: Mapping[str, Dialect] = {
    "api.openai.com": Dialect(discount=0.5),
    "openai.azure.com": AZURE,
    "services.ai.azure.com": AZURE,
    "api.together.xyz": TOGETHER,
    "api.together.ai": TOGETHER,
    "api.groq.com": Dialect(),
    "api.deepinfra.com": Dialect(),
    "api.mistral.ai": MISTRAL,
}
"""By the host of the base URL, or the end of it. Any other server is asked as OpenAI's protocol says."""


def dialect_of(host: str) -> Dialect:
    """The dialect of a host."""
    return next((DIALECTS[end] for end in DIALECTS if f".{host}".endswith(f".{end}")), Dialect())


class OpenAIBatches(HttpBatches):
    """The batches of one server."""

    def __init__(self, model: str, server: Server, dialect: Dialect | None = None) -> None:
        self._dialect = dialect or dialect_of(urlsplit(server.base_url).hostname or "")
        super().__init__(model, server, server.headers, self._dialect.path)
        self.max_lines = self._dialect.max_lines
        self.max_bytes = self._dialect.max_bytes
        self.discount = self._dialect.discount

    def encoded(self, line: BatchLine) -> bytes:
        return request_line(line, self._dialect)

    async def upload(self, name: str, lines: Sequence[BatchLine]) -> str | None:
        file = f"factorfair-{name}.jsonl"
        fields = {"purpose": self._dialect.purpose} | ({"file_name": file} if self._dialect.named else {})
        body = await asyncio.to_thread(_form, name, fields, file, [self.encoded(line) for line in lines])
        kind = f"multipart/form-data; boundary={name}"
        reply = await self._post(self._dialect.files, body, kind=kind)
        if not (file_id := identifier(reply.get("id"))):
            raise self._absent("its reply to an uploaded file has no id")
        return file_id

    async def create(
        self,
        name: str,
        file_id: str | None,
        lines: Sequence[BatchLine],  # noqa: ARG002  # they are in the file
    ) -> BatchStatus:
        fields: dict[str, object] = {"endpoint": self._dialect.url, "metadata": {METADATA: name}}
        if self._dialect.jobs:
            fields |= {"input_files": [file_id], "model": self._server.model, "timeout_hours": 24}
        else:
            fields |= {"input_file_id": file_id, "completion_window": "24h"}
        return self._status(await self._post(self._path, encoded(fields)))

    async def find(
        self,
        name: str,
        file_id: str | None,
        since: float,
        lines: int,  # noqa: ARG002  # name and file are certain
        keys: Collection[str],  # noqa: ARG002  # as above
    ) -> Sequence[BatchStatus] | None:
        try:
            listed = [status async for status in self._list(since)]
        except ModelError as error:
            if error.cause.detail not in ABSENT:
                raise
            return None
        matching = [
            status for status in listed if name == status.name or (file_id and file_id == status.file_id)
        ]
        return sorted(matching, key=lambda status: status.created or 0)

    def _status(self, fields: Mapping[str, Any]) -> BatchStatus:
        job = fields.get("job")
        return _status_of(job if isinstance(job, dict) else fields)

    def _page(self, number: int, last: str) -> str:
        if self._dialect.jobs:
            return f"page={number}&page_size={PAGE}"
        return f"limit={PAGE}" + (f"&after={last}" if last else "")

    def _has_more(self, reply: Mapping[str, Any], entries: int) -> bool:
        return entries == PAGE if self._dialect.jobs else bool(reply.get("has_more"))

    def _sources(self, status: BatchStatus) -> Sequence[str]:
        return [f"files/{file_id}/content" for file_id in status.outputs]

    def _reply(self, fields: Mapping[str, Any]) -> Mapping[str, object] | ServiceError:
        return line_reply(fields, self._model)


def request_line(line: BatchLine, dialect: Dialect) -> bytes:
    """The line of a file of requests."""
    target = {} if dialect.jobs else {"method": "POST", "url": dialect.url}
    return encoded({"custom_id": line.key, **target, "body": line.body}) + b"\n"


def line_reply(fields: Mapping[str, Any], model: str) -> Mapping[str, object] | ServiceError:
    """The chat completion in a line of results, or its error, of OpenAI's form or vLLM's."""
    response, error = fields.get("response"), fields.get("error")
    response = response if isinstance(response, dict) else {}
    body, status = response.get("body"), response.get("status_code")
    succeeded = status in (None, HTTPStatus.OK, "200")  # some servers write the number as text
    if isinstance(body, dict) and succeeded and "choices" in body:
        return body
    content = next((part for part in (body, error) if isinstance(part, dict)), {"error": error or "no reply"})
    complaint = complaint_in(content)
    complains = isinstance(body, dict) and ("error" in body or complaint.message)
    if succeeded and body and not error and not complains:
        unreadable = RetryableModelError(f"{model}: the reply is no chat completion", cause=Cause("reply"))
        return ServiceError(unreadable, complaint, status=None)
    if succeeded and (_UNASKED & complaint.codes or not (body or error)):
        status = 0
    elif succeeded:
        default = HTTPStatus.BAD_GATEWAY if body else HTTPStatus.BAD_REQUEST
        status = openai_errors.status_in(complaint) or default
    return line_error(status if isinstance(status, int) else 0, complaint, model)


def _form(boundary: str, fields: Mapping[str, str], file: str, lines: Sequence[bytes]) -> bytes:
    """A multipart form with fields and a file of lines."""
    part = f"--{boundary}\r\nContent-Disposition: form-data; name="
    head = "".join(f'{part}"{name}"\r\n\r\n{value}\r\n' for name, value in fields.items())
    head += f'{part}"file"; filename="{file}"\r\nContent-Type: application/jsonl\r\n\r\n'
    return b"".join([head.encode(), *lines, f"\r\n--{boundary}--\r\n".encode()])


def _status_of(fields: Mapping[str, Any]) -> BatchStatus:
    """The status in the fields of a batch, with OpenAI's names or Mistral's."""
    counts = fields.get("request_counts")
    counts = counts if isinstance(counts, dict) else {}
    inputs = fields.get("input_files")
    metadata = fields.get("metadata")
    named = metadata.get(METADATA) if isinstance(metadata, dict) else None
    complaint = _first_error(fields.get("errors"))
    files = (fields.get(f"{kind}_file_id") or fields.get(f"{kind}_file") for kind in ("output", "error"))
    return BatchStatus(
        identifier(fields.get("id")),
        _STATES.get(str(fields.get("status")).lower(), BatchState.RUNNING),
        total=number(counts.get("total", fields.get("total_requests"))),
        done=number(counts.get("completed", fields.get("succeeded_requests"))),
        failed=number(counts.get("failed", fields.get("failed_requests"))),
        file_id=fields.get("input_file_id") or (inputs[0] if isinstance(inputs, list) and inputs else None),
        name=str(named) if named else None,
        message=complaint.message and fit(complaint.message),
        quota=bool(_QUOTA & complaint.codes),
        created=seconds(fields.get("created_at")),
        expires=seconds(fields.get("expires_at")),
        outputs=tuple(str(file) for file in files if file),
    )


def _first_error(errors: object) -> Complaint:
    """The first error of a failed batch, with the number of its line."""
    listed = errors.get("data") if isinstance(errors, dict) else errors
    first = listed[0] if isinstance(listed, list) and listed else None
    if not isinstance(first, dict):
        return Complaint(str(first or ""))
    line = f"line {first['line']}: " if first.get("line") is not None else ""
    return Complaint(f"{line}{first.get('message') or ''}", frozenset({str(first.get("code"))}))
