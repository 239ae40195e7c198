"""``endpoint:URL``: an application of one's own behind HTTP, on a real server on loopback."""

from __future__ import annotations

import json

import pytest

from tests.project import Project, report_of
from tests.servers import StubServer

KEY = "sk-verysecretvalue123456"


def run(project: Project, address: str, *arguments: str) -> pytest.RunResult:
    """Run the objective cases of the small checklist: 24 answers."""
    return project.run("-p", "no:xdist", "-k", "objective", *arguments, model=f"endpoint:{address}")


def argument(name: str, value: object) -> str:
    return f"--factorfair-model-arg={name}={value if isinstance(value, str) else json.dumps(value)}"


BODY = argument("body", {"model": "app", "messages": [{"role": "user", "content": "Dear app, {prompt}"}]})
REPLY = argument("reply", "choices.0.message.content")


def test_prompts_go_into_the_body_and_texts_come_out_of_the_reply(
    project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With secrets from the environment, which nothing shows; and with another version it is asked again."""
    monkeypatch.setenv("APP_KEY", KEY)
    monkeypatch.setenv("APP_TENANT", "tenant-of-nobody-else")
    address = f"{stub.base_url}/chat/completions"
    secrets = argument("api_key_env", "APP_KEY"), argument("header.X-Tenant", "APP_TENANT")
    result = run(project, address, BODY, REPLY, *secrets)
    assert result.ret == 0
    stats = stub.stats()
    assert stats["requests"] == 24
    content = stats["last"]["messages"][0]["content"]
    assert content.startswith("Dear app, ")
    assert 'Reply with exactly {"answer": "A"}' in content
    report = project.partial_path if project.partial_path.exists() else project.report_path
    assert {case["answers"][0]["outcome"] for case in report_of(report)["cases"]} == {"answered"}
    written = [file.read_bytes() for file in report.parent.rglob("*.*") if file.is_file()]
    for secret in (KEY, "tenant-of-nobody-else"):
        assert secret not in result.stdout.str() + result.stderr.str()
        assert not any(secret.encode() in content for content in written)
    run(project, address, BODY, REPLY, *secrets)
    assert stub.stats()["requests"] == 24
    run(project, address, BODY, REPLY, *secrets, argument("version", "2"))
    assert stub.stats()["requests"] == 48


def test_failures_are_retried_and_a_wrong_path_ends_the_run(project: Project, stub: StubServer) -> None:
    address = f"{stub.base_url}/chat/completions"
    stub.script(fail=3, status=500)
    assert run(project, address, BODY, REPLY).ret == 0
    assert stub.stats()["requests"] == 27
    stub.script()
    result = run(project, address, BODY, argument("reply", "answer.text"))
    assert result.ret != 0
    assert "the reply has no 'answer.text': it says" in result.stdout.str()
    stub.script(fail=10_000, status=401)
    result = run(
        project, address, BODY, argument("reply", "choices.0.message.content"), argument("version", "2")
    )
    assert "401 Unauthorized" in result.stdout.str()


def test_without_a_path_the_whole_reply_is_the_text(project: Project, stub: StubServer) -> None:
    """Here it is OpenAI's JSON, of which the answer in it is read."""
    assert run(project, f"{stub.base_url}/chat/completions", BODY).ret in (0, 1)
    report = project.partial_path if project.partial_path.exists() else project.report_path
    replies = (report.parent / "responses.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(json.loads(replies[0])["response"]["text"])["choices"]


@pytest.mark.parametrize(
    ("address", "arguments", "message"),
    [
        ("localhost:8000/chat", (), "is not a valid server URL; expected e.g. http://localhost:8000"),
        ("", (), "a name must follow 'endpoint:'"),
        ("http://joe:pw@localhost/chat", (), "contains a user name or password"),
        ("http://localhost/chat?token=abc", (), "the query would show a secret"),
        ("http://localhost/chat", (argument("body", '{"q": "{prompt}"'),), "argument 'body' is not JSON"),
        ("http://localhost/chat", (argument("body", "[" * 100_000),), "argument 'body' is not JSON"),
        ("http://localhost/chat", (argument("body", '{"q": "prompt"}'),), "has no text with {prompt}"),
        (
            "http://localhost/chat",
            (argument("body", '{"q": "{prompt}", "auth": {"api_key": "x"}}'),),
            "would show a secret, its 'api_key'",
        ),
        ("http://localhost/chat", (argument("path", "a"),), "argument 'path' is unknown"),
        (
            "http://localhost/chat",
            (argument("timeout", "soon"),),
            "argument 'timeout' must be a number of seconds",
        ),
        (
            "http://localhost/chat",
            (argument("header.X-Key", "NO_SUCH"),),
            "set the environment variable NO_SUCH",
        ),
        ("http://localhost/chat", (argument("api_key", "x"),), "a secret given here would appear"),
    ],
)
def test_wrong_input_is_one_line(
    project: Project, address: str, arguments: tuple[str, ...], message: str
) -> None:
    result = run(project, address, *arguments)
    assert result.ret == 4
    (line,) = (line for line in result.errlines if line)
    assert message in line
    assert "joe:pw" not in line
