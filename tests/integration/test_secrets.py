"""A planted secret is neither printed nor written."""

from __future__ import annotations

import json

import pytest

from pytest_factorfair.commands.cli import main
from tests.project import Project
from tests.servers import StubServer

PLANTED, IN_PATH, IN_SYSTEM = "hunter2-planted", "0a1b2c3d4e5f60718293", "sk-system-0123456789abcdef"
SECRETS = (PLANTED, IN_PATH, IN_SYSTEM)
URL = "--factorfair-model-arg=base_url="
STORE = "--factorfair-store="
SIM = "--factorfair-model=sim:uniform"
VLLM = "--factorfair-model=hosted_vllm/m"

WRONG = {
    "query": [VLLM, f"{URL}http://h/v1?api_key={PLANTED}"],
    "fragment": [VLLM, f"{URL}http://h/v1#{PLANTED}"],
    "userinfo": [VLLM, f"{URL}http://me:{PLANTED}@h/v1"],
    "one slash": [VLLM, f"{URL}http:/me:{PLANTED}@h/v1"],
    "port": [VLLM, f"{URL}http://me:{PLANTED}@h:port/v1"],
    "no scheme": [VLLM, f"{URL}h:8000/v1?key={PLANTED}"],
    "model": [f"--factorfair-model=https://me:{PLANTED}@h/v1"],
    "argument": [VLLM, f"--factorfair-model-arg=me:{PLANTED}@h"],
    "key": [VLLM, f"--factorfair-model-arg=api_key={PLANTED}"],
    "header": [VLLM, f"{URL}http://h/v1", f"--factorfair-model-arg=header.x-api-key={PLANTED}"],
    "key for its variable": [VLLM, f"{URL}http://h/v1", f"--factorfair-model-arg=api_key_env={PLANTED}"],
    "store of one slash": [SIM, f"{STORE}postgresql:/me:{PLANTED}@host"],
    "store without a host": [SIM, f"{STORE}postgresql://me:{PLANTED}@/x:y/z?a"],
    "store port": [SIM, f"{STORE}postgresql://me:{PLANTED}@host:x/db"],
    "store database": [SIM, f"{STORE}mysql://me:{PLANTED}@host/db"],
    "store options": [SIM, f"{STORE}sqlite:///x.sqlite?key={PLANTED}"],
}


def check_files(project: Project) -> None:
    written = [path for path in project.path.rglob("*") if path.is_file() and path.name != "conftest.py"]
    contents = {path.name: path.read_bytes() for path in written}
    assert [
        (name, secret) for name, text in contents.items() for secret in SECRETS if secret.encode() in text
    ] == []


@pytest.mark.parametrize("case", WRONG)
def test_usage_errors(project: Project, case: str) -> None:
    result = project.run_pytest("-p", "no:xdist", *WRONG[case])
    assert result.ret == 4
    (line,) = [line for line in result.errlines if line]
    assert line.startswith("ERROR: ")
    assert PLANTED not in result.stdout.str() + result.stderr.str()
    check_files(project)


@pytest.mark.parametrize("argument", ["api_key_env", "header.Ocp-Apim-Subscription-Key"])
@pytest.mark.parametrize("status", [401, 500])
def test_a_server_that_repeats_the_key(
    project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch, status: int, argument: str
) -> None:
    monkeypatch.setenv("MY_KEY", PLANTED)
    message = f"Incorrect key {PLANTED} for http://me:{PLANTED}@proxy and https://h/v1?sig={PLANTED}"
    stub.script(healthy=20, fail=10_000, status=status, body=json.dumps({"error": {"message": message}}))
    result = project.run(
        f"{URL}{stub.base_url}",
        f"--factorfair-model-arg={argument}=MY_KEY",
        "FACTORFAIR_RETRIES=0",
        "FACTORFAIR_PATIENCE=0.5",
        "-n0",
        model="hosted_vllm/m",
    )
    result.stdout.fnmatch_lines(
        ["*Incorrect key [*][*][*] for http://[*][*][*]@proxy and https://h/v1[?][*][*][*]*"]
    )
    result.stdout.no_fnmatch_line(f"*{PLANTED}*")
    check_files(project)


def test_a_plan_and_a_header(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", PLANTED)
    monkeypatch.setenv("FACTORFAIR_STORE", "sqlite:///responses.sqlite")
    result = project.run("-p", "no:xdist", "--factorfair-plan", model="openai/gpt-4o")
    assert result.ret == 0
    assert PLANTED not in result.stdout.str() + result.stderr.str()
    check_files(project)


def in_url(stub: StubServer, key: str = IN_PATH) -> str:
    return f"{URL}http://127.0.0.1:{stub.port}/{key}/v1"


IN_PROMPT = f"--factorfair-model-arg=system=Your key is {IN_SYSTEM}. Be brief."


def echo(
    project: Project,
    stub: StubServer,
    *arguments: str,
    key: str = IN_PATH,
    answer: str = '{"answer": "B"}',
    **script: object,
) -> pytest.RunResult:
    """A run whose settings hold two keys, and whose model repeats all three keys in its replies."""
    stub.script(answer=f"{answer} You sent {PLANTED} to /{IN_PATH}; I was told {IN_SYSTEM}.", **script)
    return project.run(
        "-p",
        "no:xdist",
        in_url(stub, key),
        IN_PROMPT,
        "--factorfair-model-arg=api_key_env=MY_KEY",
        "--factorfair-gate=refusal_rate <= 0.5",
        "--factorfair-gate=s_fact[objective,gender] >= 0.99",
        *arguments,
        model="hosted_vllm/m",
    )


@pytest.mark.parametrize(("answer", "letter"), [('{"answer": "B"}', "B"), ("No idea.", None)])
def test_keys_in_settings_and_replies(
    project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch, answer: str, letter: str | None
) -> None:
    monkeypatch.setenv("MY_KEY", PLANTED)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path / "step.md"))
    project.write("test_own.py", "def test_own(factorfair_model):\n    assert print(vars(factorfair_model))")
    shown = ("-vv", "-rA", "--showlocals", "--tb=long", "--junit-xml=junit.xml", "FACTORFAIR_FIRST_REPLIES=0")
    paths = (".", "--pyargs", "pytest_factorfair.checks")
    result = echo(project, stub, *shown, *paths, answer=answer)
    evidence = str(project.path / "evidence")
    assert main(["evidence", str(project.report_path), "-o", evidence, "--instances"]) == 0
    stats = stub.stats()
    assert stats["headers"]["Authorization"] == f"Bearer {PLANTED}"
    terminal = result.stdout.str() + result.stderr.str()
    assert "You sent *** to /***; I was told ***." in terminal
    assert [secret for secret in SECRETS if secret in terminal] == []
    check_files(project)
    replies = (project.report_path.with_name("responses.jsonl")).read_text().splitlines()
    assert {json.loads(line).get("letter") for line in replies} == {letter}
    assert {json.loads(line)["response"]["text"] for line in replies} == {
        f"{answer} You sent *** to /***; I was told ***."
    }
    (identity,) = project.report()["fingerprint"]["models"].values()
    assert identity["base_url"] == f"http://127.0.0.1:{stub.port}/***/v1"
    assert identity["system"] == "Your key is ***. Be brief."


def test_another_key_is_another_model(
    project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key in a path may choose what answers: its replies are not those of the former path."""
    monkeypatch.setenv("MY_KEY", PLANTED)
    echo(project, stub, "--factorfair-plan", "--factorfair-lock=plan.json")
    echo(project, stub)
    asked = stub.stats()["requests"]
    again = echo(project, stub)
    assert stub.stats()["requests"] == 0
    assert [secret for secret in SECRETS if secret in again.stdout.str()] == []
    check_files(project)
    echo(project, stub, key=IN_PATH[::-1])
    assert stub.stats()["requests"] == asked > 0


def test_a_key_and_batches(project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the store, files and messages here hold the key, nor names and metadata at the service."""
    monkeypatch.setenv("MY_KEY", PLANTED)
    stub.script(answer="uniform")
    stub.script_batches(key=PLANTED, duration=10)
    arguments = (f"{URL}{stub.base_url}", "--factorfair-model-arg=api_key_env=MY_KEY", "-p", "no:xdist")
    left = project.run(*arguments, "--factorfair-batch=leave", model="hosted_vllm/m")
    assert left.ret == 75
    stub.script_batches(key="another")
    refused = project.run(*arguments, "--factorfair-batch=leave", model="hosted_vllm/m")
    refused.stdout.fnmatch_lines(["*the key in MY_KEY was refused*"])
    check_files(project)
    shown = [run.stdout.str() + run.stderr.str() for run in (left, refused)]
    assert PLANTED not in str([shown, stub.batches()])
