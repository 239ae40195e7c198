"""The HTTP client of services: host and proxy look-up, complete replies, and linked pictures."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from pytest_factorfair.errors import (
    TO_DO,
    Cause,
    FatalModelError,
    InputError,
    RejectedRequestError,
    RetryableModelError,
)
from pytest_factorfair.models.openai_errors import REDIRECTS, named
from pytest_factorfair.redaction import fit, shown_url

if TYPE_CHECKING:
    import aiohttp

SUCCESSES = range(200, 300)
_CERTIFICATES = "name the file of its certificate authority in SSL_CERT_FILE"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def proxy(url: str) -> str | None:
    """The proxy that the environment sets for a URL, as httpx reads it; None without one.

    urllib reads ALL_PROXY, but does not use it; NO_PROXY may name a host with its port.
    """
    parts, proxies = urlsplit(url), getproxies()
    host, address = parts.hostname or "", proxies.get(parts.scheme) or proxies.get("all")
    if (
        not address
        or any(map(proxy_bypass, (host, parts.netloc)))
        or _is_excluded(host, proxies.get("no", ""))
    ):
        return None
    return address if "://" in address else f"http://{address}"


def through(address: str | None) -> str:
    """A clause for messages that names a proxy; "" without one."""
    return f" through the proxy {shown_url(address)}" if address else ""


def _is_http(address: str) -> bool:
    """Whether an address is that of an HTTP proxy; aiohttp would speak HTTP to a SOCKS proxy, too."""
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _is_excluded(host: str, no_proxy: str) -> bool:
    """Whether the host is an address in one of the networks in NO_PROXY, such as 10.0.0.0/8."""
    for network in no_proxy.split(","):
        with suppress(ValueError):  # a name
            if ip_address(host) in ip_network(network.strip(), strict=False):
                return True
    return False


def check_host(spec: str, url: str) -> None:
    """Check that the host of a model's service can be resolved, unless a proxy resolves it.

    Raises:
        InputError: it cannot be resolved, or the proxy is not an HTTP proxy.
    """
    host = urlsplit(url).hostname
    if host is None:
        return
    if (address := proxy(url)) is not None:
        if not _is_http(address):
            raise InputError(
                f"model '{spec}': the environment's proxy {shown_url(address)} is not http://HOST:PORT: set "
                f"{urlsplit(url).scheme.upper()}_PROXY to an HTTP proxy, or name '{host}' in NO_PROXY"
            )
        return
    try:
        socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "not a host name"
        raise InputError(
            f"model '{spec}': the host '{host}' cannot be resolved ({reason}): check base_url and the network"
        ) from None


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete reply; ``via`` is a clause that names the proxy through which it came, if any."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    via: str = ""

    @property
    def succeeded(self) -> bool:
        return self.status in SUCCESSES


class HttpClient:
    """An aiohttp session for the calls of one model, opened by the first call inside the running loop.

    The engine limits connections, so the session does not. The environment's proxy is looked up once per
    host: aiohttp's own ``trust_env`` starts a thread and reads ``~/.netrc`` for every request.
    """

    def __init__(self, name: str, *, timeout: float, largest: int) -> None:
        self.name = name
        self._timeout = timeout
        self._largest = largest
        self._proxies: dict[str, str | None] = {}
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def request(
        self, method: str, url: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Send a request and read the complete reply. Redirects are not followed: they could leak the key.

        Raises:
            FatalModelError: the server's certificate is not trusted.
            RetryableModelError: no connection, no complete reply, or none in time.
            RejectedRequestError: the reply is larger than ``largest`` bytes.
        """
        async with self._response(method, url, body, headers) as response:
            return await self._complete(response, url)

    async def lines(
        self, url: str, *, headers: Mapping[str, str], failure: Callable[[Reply], Exception], longest: int
    ) -> AsyncIterator[bytes]:
        """The lines of a reply as they arrive; ``failure`` is what to raise if it is no success.

        A line of more than ``longest`` bytes is cut off there, and the reply after ``largest`` bytes more: a
        small compressed file may hold a line that does not fit into memory. The time-out limits how long the
        server is silent: the caller may take its time with each line.

        Raises:
            FatalModelError: the server's certificate is not trusted.
            RetryableModelError: no connection, or the reply is cut off after the lines so far.
        """
        async with self._response("GET", url, None, headers, streamed=True) as response:
            if response.status not in SUCCESSES:
                raise failure(await self._complete(response, url))
            unfinished, excess = b"", 0
            while excess <= self._largest and not response.content.at_eof():
                *complete, unfinished = (unfinished + await response.content.readany()).split(b"\n")
                for line in complete:
                    yield line[:longest]
                excess += max(0, len(unfinished) - longest)
                unfinished = unfinished[:longest]
            if unfinished:
                yield unfinished

    @asynccontextmanager
    async def _response(
        self,
        method: str,
        url: str,
        body: bytes | None,
        headers: Mapping[str, str] | None,
        *,
        streamed: bool = False,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        import aiohttp  # lazy: takes 0.2 s, and a run without calls does not need it

        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        silence = aiohttp.ClientTimeout(connect=self._timeout, sock_read=self._timeout)
        timeout = silence if streamed else aiohttp.ClientTimeout(total=self._timeout)
        via = self._via(url)
        try:
            data = None if body is None else BytesIO(body)  # aiohttp sends bytes at once, which takes long
            async with self._session.request(
                method,
                url,
                data=data,
                headers=headers,
                timeout=timeout,
                allow_redirects=False,
                proxy=self._proxy(url),
            ) as response:
                yield response
        except TimeoutError:
            message = f"{self.name}: no reply within {self._timeout:g} s{via}"
            raise RetryableModelError(message, cause=Cause("timeout")) from None
        except aiohttp.ClientConnectorCertificateError as error:
            reason = getattr(error.certificate_error, "verify_message", "") or str(error.certificate_error)
            line = f"{self.name}: the certificate of {error.host} is not trusted{via}: {fit(reason)}"
            raise FatalModelError(f"{line}{TO_DO}{_CERTIFICATES}", billable=False) from None
        except aiohttp.ClientConnectorSSLError as error:
            reason = getattr(error.os_error, "reason", None) or str(error.os_error)
            line = f"{self.name}: no TLS connection to {error.host}:{error.port}{via}: {fit(reason)}"
            raise RetryableModelError(line, cause=Cause("tls", reason), billable=False) from None
        except aiohttp.InvalidURL as error:
            raise FatalModelError(f"{self.name}: {fit(str(error))}{via}", billable=False) from None
        except (aiohttp.ClientError, OSError) as error:
            message = f"{self.name}: the connection failed{via}: {_reason(error)}"
            cause = Cause("connection", type(error).__name__)
            sent = not isinstance(error, aiohttp.ClientConnectorError)
            raise RetryableModelError(message, cause=cause, billable=sent) from None

    def _proxy(self, url: str) -> str | None:
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in self._proxies:
            self._proxies[origin] = proxy(url)
        return self._proxies[origin]

    def _via(self, url: str) -> str:
        """A clause for messages that names the proxy of a URL; "" without one."""
        return through(self._proxy(url))

    async def _complete(self, response: aiohttp.ClientResponse, url: str) -> Reply:
        chunks: list[bytes] = []
        size = 0
        while not response.content.at_eof():
            chunks.append(await response.content.readany())
            size += len(chunks[-1])
            if size > self._largest:
                response.close()
                raise RejectedRequestError(f"{self.name}: the reply is larger than {self._largest >> 20} MB")
        return Reply(response.status, response.headers, b"".join(chunks), self._via(url))


def _reason(error: OSError | aiohttp.ClientError) -> str:
    """Why a connection failed, in the words of the operating system if it could not be made."""
    from aiohttp import ClientConnectorError

    if not isinstance(error, ClientConnectorError):
        return fit(str(error)) or type(error).__name__
    number = error.os_error.errno or 0
    why = os.strerror(number) if number in errno.errorcode else str(error.os_error)
    return fit(f"Cannot connect to host {error.host}:{error.port}: {why}")


async def fetch_picture(client: HttpClient, url: str, *, base_url: str) -> bytes:
    """Download a picture that a service links to, without sending a key or following redirects.

    Raises:
        RejectedRequestError: the URL may not be fetched, redirects, or the picture is too large.
        RetryableModelError: it cannot be fetched now.
    """
    where = fit(url.partition("?")[0])  # the query often contains a signature
    if not reachable(url, base_url):
        raise RejectedRequestError(
            f"{client.name}: the picture is at '{where}': only https is fetched, or the server's own host"
        )
    try:
        reply = await client.request("GET", url)
    except FatalModelError as error:  # the picture's host fails, not the service
        raise RejectedRequestError(str(error)) from None
    if reply.succeeded:
        return reply.body
    message = f"{client.name}: the picture at '{where}': {named(reply.status)}"
    if reply.status in REDIRECTS:  # a retry would generate, and bill, another picture
        raise RejectedRequestError(f"{message}: redirects are not followed")
    raise RetryableModelError(message)


def reachable(url: str, base_url: str) -> bool:
    """Whether a picture may be fetched from a URL: by https, or from the service's own host."""
    try:
        parts, base = urlsplit(url), urlsplit(base_url)
    except ValueError:
        return False
    same_host = parts.hostname == base.hostname or {parts.hostname, base.hostname} <= _LOOPBACK
    return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and same_host))
