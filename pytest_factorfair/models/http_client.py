"""One HTTP session for the calls of one model: bytes out, status, headers and bytes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from pytest_factorfair.errors import FatalModelError, RejectedRequestError, RetryableModelError
from pytest_factorfair.models.redaction import fit


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def succeeded(self) -> bool:
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES


class HttpClient:
    """A session made inside the running loop; the engine limits, so the session does not.

    The proxy of the environment is looked up once: aiohttp's own ``trust_env`` starts a thread
    and reads ``~/.netrc`` for every request.
    """

    def __init__(
        self, url: str, *, headers: Mapping[str, str], timeout: float, largest: int, name: str
    ) -> None:
        self._url = url
        self._name = name
        self._headers = headers
        self._timeout = timeout
        self._largest = largest
        self._proxy = _proxy(url)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=timeout),
        )

    async def post(self, body: bytes) -> Reply:
        """Send the body and read all of the reply; redirects are not followed, a key must not travel on.

        Raises:
            FatalModelError: the server's certificate cannot be trusted.
            RetryableModelError: no connection, no whole reply, or none in time.
            RejectedRequestError: the reply is larger than ``largest`` bytes.
        """
        return await self._reply("POST", self._url, data=body, headers=self._headers, proxy=self._proxy)

    async def get(self, url: str) -> Reply:
        """Fetch what is elsewhere, without the key; raises as ``post`` does."""
        return await self._reply("GET", url, proxy=_proxy(url))

    async def _reply(self, method: str, url: str, **more: Any) -> Reply:
        try:
            async with self._session.request(method, url, allow_redirects=False, **more) as response:
                return Reply(response.status, response.headers, await self._read(response))
        except TimeoutError:
            raise RetryableModelError(f"{self._name}: no reply within {self._timeout:g} s") from None
        except (aiohttp.ClientConnectorCertificateError, aiohttp.InvalidURL) as error:
            raise FatalModelError(f"{self._name}: {fit(str(error))}") from None
        except (aiohttp.ClientError, OSError) as error:
            reason = fit(str(error)) or type(error).__name__
            raise RetryableModelError(f"{self._name}: the connection failed: {reason}") from None

    async def close(self) -> None:
        await self._session.close()

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """The body, decompressed; an endless one is not read to its end."""
        chunks: list[bytes] = []
        size = 0
        async for chunk in response.content.iter_any():
            chunks.append(chunk)
            size += len(chunk)
            if size > self._largest:
                response.close()
                raise RejectedRequestError(f"{self._name}: the reply is larger than {self._largest >> 20} MB")
        return b"".join(chunks)


def _proxy(url: str) -> str | None:
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)
