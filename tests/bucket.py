"""An S3 service for the tests: moto's server on the loopback interface, in a separate process."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection

import pytest

KEY, SECRET = "AKIATESTTESTTESTTEST", "a-secret-of-the-tests"
_NUMBERS = itertools.count()

SERVE = """
import logging
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
logging.getLogger("werkzeug").setLevel("ERROR")
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


class Service:
    """The S3 service; a process with the variables in ``environment`` has access to its buckets."""

    def __init__(self, port: int, pid: int) -> None:
        self._port = port
        self._pid = pid
        self.environment: Mapping[str, str] = {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ALLOW_HTTP": "true",
        }

    def make(self, bucket: str) -> str:
        """Create a bucket, and return its URL."""
        self._call("PUT", f"/{bucket}")
        return f"s3://{bucket}"

    def files(self, url: str) -> list[str]:
        """The names of the pictures in a bucket (at most a thousand)."""
        listed = self._call("GET", f"/{url.removeprefix('s3://')}?list-type=2")
        return [name for name in re.findall(r"<Key>([^<]*)</Key>", listed) if not name.endswith("storage-id")]

    def allow(self, requests: float) -> None:
        """Deny all requests after the next ``requests`` ones."""
        self._call("POST", "/moto-api/reset-auth", str(requests).encode())

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Accept connections and requests during the block, but answer none."""
        os.kill(self._pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._pid, signal.SIGCONT)

    def replace(self, url: str, file: str, content: bytes) -> None:
        """Replace the content of a picture."""
        from obstore.store import from_url

        from_url(url).put(file, content)

    def delete(self, url: str, file: str) -> None:
        from obstore.store import from_url

        from_url(url).delete(file)

    def _call(self, method: str, path: str, body: bytes = b"") -> str:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.request(method, path, body)
            reply = connection.getresponse()
            assert reply.status in (200, 204), (method, path, reply.status)
            return reply.read().decode()
        finally:
            connection.close()


@pytest.fixture(scope="session")
def s3() -> Iterator[Service]:
    """The service; it ends with the tests, or when this process is killed."""
    pytest.importorskip("obstore", reason="needs the extra bucket")
    pytest.importorskip("moto", reason="moto is not installed")
    with subprocess.Popen(
        [sys.executable, "-c", SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield Service(int(process.stdout.readline()), process.pid)
        process.kill()


@pytest.fixture
def bucket(s3: Service, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a new, empty bucket to which this process has access."""
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    return s3.make(f"pictures-{next(_NUMBERS)}")
