"""Calls to one path of a service, learning on the way which parameters the model does not take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

from pytest_factorfair.errors import RetryableModelError
from pytest_factorfair.models.chat_endpoint import Endpoint
from pytest_factorfair.models.chat_errors import Complaint, complaint

if TYPE_CHECKING:
    from pytest_factorfair.models.http_client import HttpClient, Reply

Parameters = Mapping[str, object]


class Terms(Protocol):
    """How a service is asked: under which path, how long in seconds, for how many bytes at most."""

    @property
    def path(self) -> str: ...

    @property
    def timeout(self) -> float: ...

    @property
    def largest(self) -> int: ...

    @property
    def parameters(self) -> Parameters: ...

    def without_refused(self, sent: Parameters, complaint: Complaint) -> Parameters | None:
        """The parameters without the one the model does not take; None if the complaint is about none."""
        ...


class Calls:
    """The calls to one model; a parameter it turns out not to take is left out from then on."""

    def __init__(self, name: str, endpoint: Endpoint, terms: Terms) -> None:
        self._name = name
        self._endpoint = endpoint
        self._url = f"{endpoint.base_url}/{terms.path}"
        self._terms = terms
        self._parameters = terms.parameters
        self._client: HttpClient | None = None

    async def post(self, body: Callable[[Parameters], bytes]) -> tuple[Reply, Parameters]:
        """Call once; returns the reply, and the parameters that were sent.

        Raises:
            RetryableModelError: it only names a parameter the model does not take; the next call lacks it.
        """
        sent = self._parameters
        reply = await self._connected().post(self._url, body(sent), self._endpoint.headers)
        if reply.status == HTTPStatus.BAD_REQUEST and self._adapts(sent, reply):
            raise RetryableModelError(f"{self._name}: a parameter was refused", at_once=True)
        return reply, sent

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    def _connected(self) -> HttpClient:
        if self._client is None:
            # aiohttp takes 0.2 s to import, and its session belongs to the running loop.
            from pytest_factorfair.models.http_client import HttpClient

            self._client = HttpClient(self._name, timeout=self._terms.timeout, largest=self._terms.largest)
        return self._client

    def _adapts(self, sent: Parameters, reply: Reply) -> bool:
        """Whether the call may succeed without what the model has just refused, and is now left out."""
        kept = self._terms.without_refused(sent, complaint(reply.body))
        if kept is not None and self._parameters is sent:
            self._parameters = kept
        return kept is not None
