"""What batches of all services have in common that are reached by HTTP."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any

from pytest_factorfair.batches.protocol import ELSEWHERE, BatchLine, BatchReply, BatchStatus, account_of
from pytest_factorfair.errors import (
    Cause,
    FatalModelError,
    InputError,
    ModelError,
    RejectedRequestError,
    RetryableModelError,
)
from pytest_factorfair.models import openai_errors
from pytest_factorfair.models.http_client import HttpClient, Reply
from pytest_factorfair.models.openai_chat import ChatFormat
from pytest_factorfair.models.openai_errors import Complaint, MalformedReplyError, ServiceError
from pytest_factorfair.redaction import fit

if TYPE_CHECKING:
    from pytest_factorfair.models.server import Server

TIMEOUT = 600.0
"""Seconds for a call: files of 200 MB are sent and received."""
LARGEST = 64 * 2**20
"""Maximum size of a reply other than a file: a list of batches."""
PAGE = 100
"""Batches per page of a list."""
UNKNOWN_PATH = "404"
"""The status of a path that a server does not have; one that takes no GET answers with 405."""
ABSENT = frozenset({UNKNOWN_PATH, "405", "501"})
"""The statuses of an address, a batch or a file that does not exist."""


class HttpBatches(ABC):
    """The batches under a ``path`` of one server; every call has these ``headers``."""

    offline = False
    max_lines: int
    max_bytes: int
    discount: float | None

    def __init__(self, model: str, server: Server, headers: Mapping[str, str], path: str) -> None:
        self._model = model
        self._server = server
        self._headers = headers
        self._path = path
        self._client = HttpClient(model, timeout=TIMEOUT, largest=LARGEST)
        self.name = server.host
        self.account = account_of(server.key)

    @abstractmethod
    def encoded(self, line: BatchLine) -> bytes: ...

    async def check(self) -> None:
        try:
            self._entries(await self._call("GET", f"{self._path}?{self._page(0, '')}"))
        except ModelError as error:
            if error.cause.detail == UNKNOWN_PATH:
                raise self._absent(f"status {error.cause.detail}") from None
            # Of other errors, and a path that takes no GET, later calls tell whether they matter.
            if isinstance(error, FatalModelError) and error.cause.detail not in ABSENT:
                raise

    @abstractmethod
    async def upload(self, name: str, lines: Sequence[BatchLine]) -> str | None: ...

    @abstractmethod
    async def create(self, name: str, file_id: str | None, lines: Sequence[BatchLine]) -> BatchStatus: ...

    @abstractmethod
    async def find(
        self, name: str, file_id: str | None, since: float, lines: int, keys: Collection[str]
    ) -> Sequence[BatchStatus] | None: ...

    @abstractmethod
    def _status(self, fields: Mapping[str, Any]) -> BatchStatus:
        """The status in the fields of a batch."""

    @abstractmethod
    def _page(self, number: int, last: str) -> str:
        """The query for a page of the list, after the batch with the id ``last``."""

    @abstractmethod
    def _has_more(self, reply: Mapping[str, Any], entries: int) -> bool:
        """Whether a page follows this one with so many entries."""

    @abstractmethod
    def _sources(self, status: BatchStatus) -> Sequence[str]:
        """The paths of a batch's results."""

    @abstractmethod
    def _reply(self, fields: Mapping[str, Any]) -> Mapping[str, object] | ServiceError:
        """The chat completion in a line of results, or its error."""

    async def statuses(self, ids: Sequence[str]) -> Sequence[BatchStatus]:
        missing = set(ids)
        statuses = []
        if len(missing) > 1:
            with suppress(InputError):  # without a list, they are asked for one by one
                async for status in self._list():
                    if status.id in missing:
                        statuses.append(status)
                        missing.remove(status.id)
                    if not missing:
                        break
        for batch_id in sorted(missing):
            try:
                statuses.append(self._batch(await self._call("GET", f"{self._path}/{batch_id}")))
            except RejectedRequestError as error:
                if error.cause.detail not in ABSENT:
                    raise
        return statuses

    async def results(self, status: BatchStatus) -> AsyncIterator[BatchReply]:
        unreadable = 0
        for path in self._sources(status):
            lines = self._client.lines(
                self._server.url(path),
                headers=self._headers,
                failure=self._failure,
                longest=ChatFormat.largest,
            )
            async for line in lines:
                try:
                    fields = openai_errors.parsed(line)
                except MalformedReplyError:
                    unreadable += 1
                    if unreadable > self.max_lines:  # no batch has as many
                        return
                    continue
                yield BatchReply(str(fields.get("custom_id")), self._reply(fields))

    async def cancel(self, batch_id: str) -> None:
        try:
            await self._call("POST", f"{self._path}/{batch_id}/cancel", body=b"{}")
        except RejectedRequestError as error:
            if error.cause.detail in ABSENT:
                raise

    async def close(self) -> None:
        await self._client.close()

    def _absent(self, reason: str) -> InputError:
        """The error for a service without batches."""
        return InputError(f"model '{self._model}': {self.name} has no batches ({reason}): {ELSEWHERE}")

    async def _list(self, since: float | None = None) -> AsyncIterator[BatchStatus]:
        """All batches, since a time if given: the order of a list is not documented."""
        last = ""
        for page in count():
            reply = await self._call("GET", f"{self._path}?{self._page(page, last)}")
            batches = [self._batch(entry) for entry in self._entries(reply)]
            for status in batches:
                if since is None or (status.created or since) >= since:
                    yield status
            if not (batches and self._has_more(reply, len(batches))) or batches[-1].id == last:
                return
            last = batches[-1].id

    async def _post(self, path: str, body: bytes, *, kind: str = "application/json") -> dict[str, Any]:
        """The reply to an upload or a creation.

        Raises:
            InputError: the server has no such path.
        """
        try:
            return await self._call("POST", path, body=body, kind=kind)
        except ModelError as error:
            if error.cause.detail not in ABSENT:
                raise
            raise self._absent(f"status {error.cause.detail}") from None

    async def _call(
        self, method: str, path: str, *, body: bytes | None = None, kind: str = "application/json"
    ) -> dict[str, Any]:
        headers = {**self._headers, "Content-Type": kind}
        reply = await self._client.request(method, self._server.url(path), body=body, headers=headers)
        if not reply.succeeded:
            raise self._failure(reply)
        body = reply.body.lstrip()
        try:  # a bare list is Together's list of batches
            return openai_errors.parsed(b'{"data":%b}' % body if body[:1] == b"[" else body)
        except MalformedReplyError as error:
            raise self._unreadable(str(error)) from None

    def _entries(self, reply: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """The batches in a page of the list.

        Raises:
            InputError: the page has no such array, so that no batch could be found again.
        """
        entries = reply.get("data")
        if entries is None and ("data" in reply or reply.get("total") == 0):
            entries = []  # servers in Go write null, and Mistral leaves an empty array out
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise self._absent("its list of them has no array of batches")
        return entries

    def _batch(self, fields: Mapping[str, Any]) -> BatchStatus:
        status = self._status(fields)
        if not status.id:
            raise self._unreadable("the reply contains no batch")
        return status

    def _unreadable(self, problem: str) -> RetryableModelError:
        """The error for an unreadable reply: the service may have done what was asked."""
        return RetryableModelError(f"{self._model}: {problem}", cause=Cause("reply"))

    def _failure(self, reply: Reply) -> ModelError:
        complaint = openai_errors.complaint(reply.body)
        return self._server.error(self._model, reply, complaint, absent="no such batch or file")


def line_error(status: int, complaint: Complaint, model: str) -> ServiceError:
    """The error of a line; status 0 means that it was not asked."""
    named = openai_errors.named(status) if status else "not answered"
    message = f"{model}: {named}: {fit(complaint.message)}"
    error = (
        openai_errors.error_of(status, message, complaint, headers={})
        if status
        else RetryableModelError(message, cause=Cause("status", "0"), billable=False)
    )
    return ServiceError(error, complaint, status=status)


def identifier(value: object) -> str:
    """An id as text; empty if the value is none."""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def number(value: object) -> int:
    return value if isinstance(value, int) else 0


def seconds(moment: object) -> float | None:
    """A time in seconds since 1970, from seconds or ISO; None if it is neither."""
    if isinstance(moment, int | float):
        return float(moment)
    try:
        time = datetime.fromisoformat(str(moment))
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
