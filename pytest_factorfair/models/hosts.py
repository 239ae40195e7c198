"""Hosts of services: the proxy for a URL, and whether a host can be resolved."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from pytest_factorfair.errors import InputError
from pytest_factorfair.models.protocol import Model


def proxy(url: str) -> str | None:
    """The proxy that the environment names for a URL."""
    parts = urlsplit(url)
    return None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)


def check(spec: str, model: Model) -> None:
    """Resolve the host of a model's service, if it is known and no proxy resolves it.

    Raises:
        InputError: it cannot be resolved.
    """
    url: str = getattr(model, "url", None) or ""  # only providers of services have one
    host = urlsplit(url).hostname
    if host is None or proxy(url) or getproxies().get("all"):
        return
    try:
        socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "not a host name"
        raise InputError(
            f"model '{spec}': the host '{host}' cannot be resolved ({reason}): check base_url and the network"
        ) from None
