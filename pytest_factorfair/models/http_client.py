"""One HTTP session for the calls of one model: bytes out, status, headers and bytes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from pytest_factorfair.errors import Cause, FatalModelError, RejectedRequestError, RetryableModelError
from pytest_factorfair.models import hosts
from pytest_factorfair.redaction import fit

SUCCESSES = range(200, 300)
"""The statuses of success."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def succeeded(self) -> bool:
        return self.status in SUCCESSES


class HttpClient:
    """A session made inside the running loop; the engine limits, so the session does not.

    The proxy of the environment is looked up once for a host: aiohttp's own ``trust_env`` starts a thread
    and reads ``~/.netrc`` for every request.
    """

    def __init__(self, name: str, *, timeout: float, largest: int) -> None:
        self._name = name
        self._timeout = timeout
        self._largest = largest
        self._proxies: dict[str, str | None] = {}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=timeout),
        )

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Send the body and read all of the reply; redirects are not followed, a key must not travel on.

        Raises:
            FatalModelError: the server's certificate cannot be trusted.
            RetryableModelError: no connection, no whole reply, or none in time.
            RejectedRequestError: the reply is larger than ``largest`` bytes.
        """
        return await self._reply("POST", url, data=body, headers=headers)

    async def get(self, url: str) -> Reply:
        """Fetch what is there; raises as ``post`` does."""
        return await self._reply("GET", url)

    async def _reply(self, method: str, url: str, **more: Any) -> Reply:
        try:
            proxy = self._proxy(url)
            async with self._session.request(
                method, url, allow_redirects=False, proxy=proxy, **more
            ) as response:
                return Reply(response.status, response.headers, await self._read(response))
        except TimeoutError:
            told = f"{self._name}: no reply within {self._timeout:g} s"
            raise RetryableModelError(told, cause=Cause("timeout")) from None
        except (aiohttp.ClientConnectorCertificateError, aiohttp.InvalidURL) as error:
            raise FatalModelError(f"{self._name}: {fit(str(error))}", billable=False) from None
        except (aiohttp.ClientError, OSError) as error:
            reason = fit(str(error)) or type(error).__name__
            told = f"{self._name}: the connection failed: {reason}"
            cause = Cause("connection", type(error).__name__)
            sent = not isinstance(error, aiohttp.ClientConnectorError)
            raise RetryableModelError(told, cause=cause, billable=sent) from None

    async def close(self) -> None:
        await self._session.close()

    def _proxy(self, url: str) -> str | None:
        parts = urlsplit(url)
        place = f"{parts.scheme}://{parts.netloc}"
        if place not in self._proxies:
            self._proxies[place] = hosts.proxy(url)
        return self._proxies[place]

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """The body, decompressed; an endless one is not read to its end."""
        chunks: list[bytes] = []
        size = 0
        while not response.content.at_eof():
            chunks.append(await response.content.readany())
            size += len(chunks[-1])
            if size > self._largest:
                response.close()
                raise RejectedRequestError(f"{self._name}: the reply is larger than {self._largest >> 20} MB")
        return b"".join(chunks)
