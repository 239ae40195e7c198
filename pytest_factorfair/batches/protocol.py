"""The interface of batch services, which answer many requests at once within a day, at a lower price.

A service takes the requests of a batch as lines of a file. The content key of a question is its line's
``custom_id``, so that a result leads to its question without any state.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.models.openai_errors import ServiceError
from pytest_factorfair.models.prices import Price
from pytest_factorfair.models.protocol import Model

ELSEWHERE = "leave --factorfair-batch out, or write the questions to files with --factorfair-batch=files:DIR"
"""What to do about a service without batches."""


@dataclass(frozen=True, slots=True)
class BatchLine:
    """A request of a batch: its content key, and the fields of a chat completion with the model."""

    key: str
    body: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class BatchReply:
    """The result of a line: the reply as a chat completion, or an error."""

    key: str
    reply: Mapping[str, object] | ServiceError


class BatchState(StrEnum):
    """The state of a batch; all but ``RUNNING`` are final.

    ``FAILED`` batches were not started. The other final states may have results for some of the lines.
    """

    RUNNING = "running"
    ENDED = "ended"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """A batch as its service reports it.

    ``done`` and ``failed`` count lines. ``name`` is the name that ``create`` gave it, None if the service
    does not return it. ``message`` is the first error of a failed batch, and ``quota`` is whether it failed
    because too many tokens are in other batches. Times are seconds since 1970. ``outputs`` are the files
    from which ``results`` reads, empty while there are none.
    """

    id: str
    state: BatchState
    total: int = 0
    done: int = 0
    failed: int = 0
    file_id: str | None = None
    name: str | None = None
    message: str = ""
    quota: bool = False
    created: float | None = None
    expires: float | None = None
    outputs: tuple[str, ...] = ()


class BatchService(Protocol):
    """Batches of one account of one service.

    ``name`` is the service's host, or the folder. ``account`` is ``account_of`` its key. A batch has at most
    ``max_lines`` lines, which have at most ``max_bytes`` bytes with their line ends. ``discount`` is the
    share of the full price that a batch costs, None if unknown. ``offline`` services answer only batches.

    All methods raise a ModelError if the service cannot be reached (retryable) or refuses the call, and
    InputError if it has no batches.
    """

    @property
    def name(self) -> str: ...

    @property
    def account(self) -> str: ...

    @property
    def max_lines(self) -> int: ...

    @property
    def max_bytes(self) -> int: ...

    @property
    def discount(self) -> float | None: ...

    @property
    def offline(self) -> bool: ...

    def encoded(self, line: BatchLine) -> bytes:
        """The request as one JSON line, newline included.

        Raises:
            InputError: the service's batches do not support a field of the body.
        """
        ...

    async def check(self) -> None:
        """Check without a paid call that the service has batches, as far as that can be told now.

        Raises:
            InputError: it has none.
            FatalModelError: it refuses the key.
        """
        ...

    async def upload(self, name: str, lines: Sequence[BatchLine]) -> str | None:
        """Upload the lines as a file; returns its id, None if the service takes lines without a file.

        The ``name`` is the batch's, as in all methods: the service makes the file's name from it.
        """
        ...

    async def create(self, name: str, file_id: str | None, lines: Sequence[BatchLine]) -> BatchStatus:
        """Create a batch; a service with files needs no lines.

        Its id is empty if the service confirms the creation without one. If an error is raised, its
        ``billable`` is whether the batch may exist.
        """
        ...

    async def find(
        self, name: str, file_id: str | None, since: float, lines: int, keys: Collection[str]
    ) -> Sequence[BatchStatus] | None:
        """The batches, oldest first, that may be the one with this name, file and number of lines.

        ``keys`` are those of its lines that are not answered. Batches are certain if they have a ``name`` or
        ``file_id``, or have ended. None if the service does not list batches.
        """
        ...

    async def statuses(self, ids: Sequence[str]) -> Sequence[BatchStatus]:
        """The state of the batches, in any order; one that no longer exists is left out."""
        ...

    def results(self, status: BatchStatus) -> AsyncIterator[BatchReply]:
        """The results in any order, without lines that cannot be read.

        If the download is cut, an error is raised after the complete lines.
        """
        ...

    async def cancel(self, batch_id: str) -> None:
        """Ask the service to cancel a batch; one that has already ended is left as it is."""
        ...

    async def close(self) -> None:
        """Release the resources that the other methods opened; called once, inside the loop."""
        ...


class BatchModel(Model, Protocol):
    """A model whose requests can also be sent in a batch.

    ``batches`` is its service, and None if it has none. ``batch_price`` is its price in batches, None if that
    is unknown or the same. ``form`` is how its requests are formed: the parameters that the service refused,
    and the way to ask for letters. It is known once a request has been answered, and texts, so that a store
    can hold it.
    """

    @property
    def batches(self) -> BatchService | None: ...

    @property
    def batch_price(self) -> Price | None: ...

    @property
    def form(self) -> tuple[str, ...]: ...

    def take_form(self, form: Sequence[str]) -> None:
        """Form requests like a model with this ``form``."""
        ...

    def body(self, request: Request) -> Mapping[str, object]:
        """The fields of a request."""
        ...

    async def response(
        self, reply: Mapping[str, object] | ServiceError, request: Request, form: Sequence[str]
    ) -> Response:
        """Read the response from a reply to a request of this form.

        Raises:
            RetryableModelError: the reply cannot be read, the service failed, or it refused a parameter,
                which later requests leave out (``at_once``).
            RejectedRequestError: the service rejected this request.
            FatalModelError: no further request can succeed.
        """
        ...


def account_of(key: str) -> str:
    """A name for the account of a key, which does not reveal it; empty without a key."""
    return hashlib.sha256(key.encode()).hexdigest()[:12] if key else ""


def cancel(service: BatchService, batch_id: str) -> None:
    """Ask a service to cancel a batch, in an event loop of its own, and close it.

    Raises:
        ModelError: the service refuses the call, or cannot be reached.
    """

    async def cancelled() -> None:
        try:
            await service.cancel(batch_id)
        finally:
            await service.close()

    asyncio.run(cancelled())
