"""The client of services, at a server on loopback."""

from __future__ import annotations

import asyncio

import pytest

from pytest_factorfair.errors import InputError
from pytest_factorfair.models.http_client import HttpClient, check_host, proxy


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://model.test/v1", "http://proxy.test:3128"),
        ("http://11.1.2.3/v1", "http://proxy.test:3128"),
        ("http://10.1.2.3/v1", None),
        ("http://[fd00::1]:8000/v1", None),
        ("http://in.house.test/v1", None),
    ],
)
def test_a_proxy_without_a_scheme_and_networks_without_a_proxy(
    monkeypatch: pytest.MonkeyPatch, url: str, address: str | None
) -> None:
    monkeypatch.setenv("http_proxy", "proxy.test:3128")
    monkeypatch.setenv("no_proxy", "10.0.0.0/8, fd00::/8,.house.test")
    assert proxy(url) == address


@pytest.mark.parametrize(
    ("variables", "url", "address"),
    [
        ({"ALL_PROXY": "http://all.test:1"}, "https://model.test/v1", "http://all.test:1"),
        ({"all_proxy": "all.test:1"}, "http://model.test:8000/v1", "http://all.test:1"),
        ({"ALL_PROXY": "http://all.test:1", "https_proxy": "http://s.test:2"}, "https://model.test", "http://s.test:2"),
        ({"ALL_PROXY": "http://all.test:1", "https_proxy": "http://s.test:2"}, "http://model.test", "http://all.test:1"),
        ({"ALL_PROXY": "http://all.test:1", "NO_PROXY": "model.test"}, "https://model.test/v1", None),
        ({"ALL_PROXY": "http://all.test:1", "NO_PROXY": "*"}, "https://model.test/v1", None),
        ({"ALL_PROXY": "http://all.test:1", "NO_PROXY": "model.test:8000"}, "http://model.test:8000/v1", None),
        ({"ALL_PROXY": "http://all.test:1", "NO_PROXY": "model.test:8000"}, "http://model.test:9000/v1", "http://all.test:1"),
        ({"ALL_PROXY": "http://all.test:1", "NO_PROXY": "[::1]:8000"}, "http://[::1]:8000/v1", None),
    ],
)  # fmt: skip
def test_the_proxy_for_all_schemes(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], url: str, address: str | None
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert proxy(url) == address


@pytest.mark.parametrize(
    "address", ["socks5://p.test:1080", "p.test:1:1", "http://", "ftp://p.test", "http://[::1"]
)
def test_a_proxy_that_is_not_for_http(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("ALL_PROXY", address)
    problem = r"^model 'm': the environment's proxy .* is not http://HOST:PORT: set HTTPS_PROXY .* 'model.test' in NO_PROXY$"
    with pytest.raises(InputError, match=problem):
        check_host("m", "https://model.test/v1")


def test_a_download_may_take_long_if_the_server_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    async def download() -> list[bytes]:
        loop = asyncio.get_running_loop()
        clock, later = loop.time, 0.0
        monkeypatch.setattr(loop, "time", lambda: clock() + later)
        taken = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n")
            for line in (b"1\n", b"2\n", b"3\n", b"4\n"):
                writer.write(line)
                await taken.wait()
                taken.clear()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        client = HttpClient("m", timeout=600.0, largest=100)
        lines = []
        async for line in client.lines(
            f"http://{host}:{port}/", headers={}, failure=lambda _: ValueError(), longest=9
        ):
            lines.append(line)
            later += 400.0
            taken.set()
        await client.close()
        server.close()
        return lines

    assert asyncio.run(download()) == [b"1", b"2", b"3", b"4"]
