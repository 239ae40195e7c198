"""Fetching pictures that a service names by a URL."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pytest_factorfair.errors import FatalModelError, RejectedRequestError, RetryableModelError
from pytest_factorfair.models import http_errors
from pytest_factorfair.models.image_settings import ImageSettings
from pytest_factorfair.redaction import fit

if TYPE_CHECKING:
    from pytest_factorfair.models.http_client import HttpClient

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Fetcher:
    """Fetches by https, or from the service's own host; without any key, and without going further."""

    def __init__(self, name: str, base_url: str, settings: ImageSettings) -> None:
        self._name = name
        self._base_url = base_url
        self._settings = settings
        self._client: HttpClient | None = None

    async def fetch(self, url: str) -> bytes:
        """The bytes under a URL.

        Raises:
            RejectedRequestError: it is not one to be fetched from, leads elsewhere, or holds too much.
            RetryableModelError: it cannot be had now.
        """
        where = fit(url.partition("?")[0])  # what follows is often a signature
        if not reachable(url, self._base_url):
            raise RejectedRequestError(
                f"{self._name}: the picture is at '{where}': only https is fetched, or the server's own host"
            )
        try:
            reply = await self._connected().get(url)
        except FatalModelError as error:  # of this picture's place, not of the service
            raise RejectedRequestError(str(error)) from None
        if reply.succeeded:
            return reply.body
        told = f"{self._name}: the picture at '{where}': {http_errors.named(reply.status)}"
        if http_errors.MOVED <= reply.status < http_errors.REFUSED:  # so will the next be, and it costs
            raise RejectedRequestError(f"{told}: redirects are not followed")
        raise RetryableModelError(told)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    def _connected(self) -> HttpClient:
        if self._client is None:
            # aiohttp takes 0.2 s to import, and its session belongs to the running loop.
            from pytest_factorfair.models.http_client import HttpClient

            self._client = HttpClient(
                self._name, timeout=self._settings.timeout, largest=self._settings.largest
            )
        return self._client


def reachable(url: str, base_url: str) -> bool:
    """Whether a picture may be fetched from there."""
    try:
        parts, base = urlsplit(url), urlsplit(base_url)
    except ValueError:
        return False
    own = parts.hostname == base.hostname or {parts.hostname, base.hostname} <= _LOOPBACK
    return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and own))
