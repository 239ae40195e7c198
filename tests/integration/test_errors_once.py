"""A run that cannot ask says why once, what to do once, and nothing that contradicts it."""

from __future__ import annotations

import json
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.project import Project
from tests.servers import StubServer


def error(status: int, message: str, code: str | None = None) -> dict[str, object]:
    """The script of a server that answers every call with an error as OpenAI writes it."""
    return {"fail": -1, "status": status, "body": json.dumps({"error": {"message": message, "code": code}})}


PAGE = "<html><head><title>Welcome</title></head><body>to nginx</body></html>"
TOO_LONG = "This model's maximum context length is 16 tokens"


@pytest.mark.parametrize(
    ("script", "cause", "remedy"),
    [
        (error(401, "no such key"), "the key in OPENAI_API_KEY was refused: no such key", "give a key that "),
        (
            error(404, "The model `m` does not exist", "model_not_found"),
            "does not exist",
            "check the model's name",
        ),
        (
            error(403, "No access to m", "model_not_found"),
            "403 Forbidden: No access to m",
            "check the model's name",
        ),
        (error(403, "not from here"), "403 Forbidden: not from here", "check the key's permissions"),
        ({"fail": -1, "status": 404, "body": PAGE}, "404 Not Found: nothing answers under", "check base_url"),
        (error(429, "exceeded your quota", "insufficient_quota"), "exceeded your quota", "pay the provider"),
        (
            error(429, "slow down") | {"headers": {"Retry-After": "900"}},
            "slow down (told to wait 900 s)",
            "wait until the quota allows more",
        ),
        (error(400, TOO_LONG, "context_length_exceeded"), TOO_LONG, "lower max_tokens"),
        ({"raw": PAGE}, "is HTML, not JSON: Welcome", "check base_url and the server behind it"),
        ({"answer": ""}, "replies can be used (empty)", "check the server's chat template"),
    ],
    ids=["401", "404-model", "403-model", "403", "404-path", "quota", "429", "context", "page", "empty"],
)
def test_each_cause_and_remedy_once(
    project: Project,
    stub: StubServer,
    monkeypatch: pytest.MonkeyPatch,
    script: dict[str, object],
    cause: str,
    remedy: str,
) -> None:
    stub.script(**script)
    said(project, monkeypatch, stub.base_url, cause, remedy)


@contextmanager
def serving_tls(folder: Path) -> Iterator[int]:
    """The port of a server with a certificate that nobody knows."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    subprocess.run(
        [*made, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_server_that_cannot_be_reached(
    project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = "Cannot connect to host 127.0.0.1:9: Connection refused"
    said(project, monkeypatch, "http://127.0.0.1:9/v1", closed, "check that the server is running")
    plain = f"https://127.0.0.1:{stub.port}/v1"
    said(project, monkeypatch, plain, "WRONG_VERSION_NUMBER", "begin base_url with http://")
    with serving_tls(project.path) as port:
        own = f"https://127.0.0.1:{port}/v1"
        said(project, monkeypatch, own, "127.0.0.1 is not trusted: self-signed certificate", "SSL_CERT_FILE")


def said(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    url: str,
    cause: str,
    remedy: str,
    *,
    workers: str = "-n0",
) -> None:
    """Run against a server, and check that cause and remedy are printed once, in a screen of 24 lines."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    arguments = (f"--factorfair-model-arg=base_url={url}", "--factorfair-gate=s_fact[objective] >= 0.5")
    result = project.run(workers, *arguments, "FACTORFAIR_RETRIES=1", model="openai/m")
    assert result.ret == 2
    printed = " ".join(" ".join(result.outlines).split())
    assert printed.count(cause) == 1
    assert printed.count(remedy) == 1
    assert "FAILURES" not in printed
    assert sum(max(1, -(-len(line) // 80)) for line in result.outlines) <= 24
    assert cause.partition(" (")[0] in project.report()["incomplete"]


def test_workers_that_count_unusable_replies_apart(
    project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One may end after a reply more than the other, which makes no second cause."""
    stub.script(answer="", latency=0.05)
    said(project, monkeypatch, stub.base_url, "replies can be used (empty)", "chat template", workers="-n2")


@pytest.mark.parametrize("workers", [("-p", "no:xdist"), ("-n2",)], ids=["alone", "n2"])
def test_a_service_without_batches(project: Project, stub: StubServer, workers: tuple[str, ...]) -> None:
    """Its error comes before the first question, so nothing is said about a release."""
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    arguments = (*workers, url, "--factorfair-batch=wait", "--factorfair-gate=s_fact[objective] >= 0.5")
    result = project.run(*arguments, model="hosted_vllm/m")
    assert result.ret == 4
    (line,) = [line for line in result.errlines if line]
    assert line == (
        f"ERROR: model 'hosted_vllm/m': 127.0.0.1:{stub.port} has no batches (status 404): leave "
        "--factorfair-batch out, or write the questions to files with --factorfair-batch=files:DIR"
    )
    assert not [line for line in result.outlines if "release" in line or "run it again" in line]


def test_the_limit_to_raise_is_named(project: Project) -> None:
    project.write("house.py", "def respond(prompt):\n    return 'A'\n")
    limits = {"max-calls=30": "calls", "max-cost=0.3": "cost", "max-minutes=0.0001": "minutes"}
    for limit, name in limits.items():
        arguments = (f"--factorfair-{limit}", "--factorfair-model-arg=price=0.01", "FACTORFAIR_REUSE=none")
        result = project.run("-p", "no:xdist", *arguments, model="python:house.py:respond")
        result.stdout.fnmatch_lines(
            [f"Next: raise --factorfair-max-{name}, then run it again to continue: *"]
        )
