"""A planted key is in no output of a run, and hostile replies are only counted."""

from __future__ import annotations

import json
import os
import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import cmarkgfm
import pytest

from tests.project import Project, program
from tests.servers import StubServer

CHARTS = (files("pytest_factorfair.reports.html") / "assets" / "vega.js").read_text(encoding="utf-8")
"""The charting library inside report.html is ours."""

KEY = "sk-planted-0123456789abcdefXYZ"
VERBOSE = ("-p", "no:xdist", "-vv", "-rA", "--junit-xml=junit.xml", "--showlocals", "--tb=long")

SPYING = """
import pytest

def test_own(factorfair_case, factorfair_ask, factorfair_model):
    told = repr(factorfair_model), str(factorfair_model), vars(factorfair_model)
    print(*told)
    raise RuntimeError(factorfair_model)
"""


def run(project: Project, stub: StubServer, *arguments: str) -> pytest.RunResult:
    model_arguments = (
        f"--factorfair-model-arg=base_url={stub.base_url}",
        "--factorfair-model-arg=api_key_env=PLANTED",
    )
    return project.run(*model_arguments, *arguments, model="hosted_vllm/m")


def outputs(project: Project, result: pytest.RunResult) -> dict[str, str]:
    """Everything a run has written, to the terminal and to files."""
    texts = {"stdout": result.stdout.str(), "stderr": result.stderr.str()}
    for path in Path(project.path).rglob("*"):
        if path.is_file():
            texts[str(path.relative_to(project.path))] = path.read_bytes().decode("latin-1")
    return texts


ECHO = {"message": f"Incorrect API key provided: {KEY}. You sent 'Bearer {KEY}'."}

SCRIPTS: dict[str, dict[str, object]] = {
    "answered": {},
    "refused key": {"fail": -1, "status": 401, "body": json.dumps({"error": ECHO})},
    "rejected": {"fail": -1, "status": 400, "body": json.dumps({"error": ECHO})},
    "broken": {"fail": -1, "status": 503, "headers": {"Retry-After": "0"}, "body": f"key {KEY}"},
    "redirected": {"fail": -1, "status": 302, "headers": {"Location": f"http://{KEY}@elsewhere/?k={KEY}"}},
    "malformed": {"raw": f"<html>{KEY}</html>"},
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_key_is_in_no_output(
    project: Project, stub: StubServer, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED", KEY)
    stub.script(**SCRIPTS[script])
    project.write("test_own.py", SPYING)
    selection = ("-k", "objective-tea_rate-gender-highest", "--factorfair-max-connections=1")
    slow = ("--factorfair-max-calls=4",)  # attempts have pauses
    result = run(project, stub, *VERBOSE, *selection, *slow, ".", "--pyargs", "pytest_factorfair.checks")
    assert stub.stats()["headers"]["Authorization"] == f"Bearer {KEY}"  # it was used
    texts = outputs(project, result)
    assert "junit.xml" in texts
    assert [name for name, text in texts.items() if KEY in text or KEY[3:20] in text] == []


HOSTILE = {
    "megabyte": "A" * 1_000_000,
    "ansi": '\x1b[2J\x1b[31m\x1b]0;owned\x07{"answer": "A"}',
    "control": "\x00\x01\x02\x08\x0b\x7f\x85\u2028\u202e answer",
    "surrogate": "\ud800\udfff lone",
    "html": '<script>alert(1)</script><img src=x onerror=alert(2)>{"answer": "A"}',
    "markdown": "| a | b |\n|---|---|\n[click](javascript:alert(3)) ![x](http://127.0.0.1:9/x.png)",
    "formula": "=cmd|' /C calc'!A0",
    "github": "::error::owned\n::set-output name=x::y",
    "nested": "[" * 100_000,
}


def test_hostile_replies_are_only_counted(
    project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is an answer and the name of a model; workers send them to the process that reports."""
    monkeypatch.setenv("PLANTED", KEY)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path / "step.md"))
    replies = []
    for reply in HOSTILE.values():
        message = {"role": "assistant", "content": reply}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        replies.append({"choices": choices, "model": reply[:100]})
    stub.script(replies=replies)
    result = run(project, stub, "-n2", "-vv", "-rA", "--junit-xml=junit.xml", "-k", "objective")
    assert result.ret in (0, 1)
    assert "INTERNALERROR" not in result.stdout.str()
    assert len(project.report()["cases"]) == 6
    folder = project.path / ".factorfair" / "report"
    written = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    written |= {"stdout": result.stdout.str(), "junit.xml": (project.path / "junit.xml").read_text()}
    written["report.html"] = written["report.html"].replace(CHARTS, "")
    transcript = written.pop("responses.jsonl")
    assert transcript.isascii()
    texts = [json.loads(line)["response"]["text"] for line in transcript.splitlines()]
    assert len(texts) == 24
    assert len(set(texts)) == len(HOSTILE)
    for name, text in written.items():
        assert not re.search(r"[\x00-\x08\x0b\x0e-\x1f\x7f\x85\u202e]", text), name
        assert len(text) < 300_000, name
        if name.endswith(".md"):
            assert "<script" not in text
            assert "](javascript:" not in text
            assert "![x](" not in text
    # The annotations are the run's own; none comes from a reply.
    annotations = [line for line in result.outlines if line.startswith("::")]
    assert all(line.startswith("::warning title=factorfair::") for line in annotations)


class Page(HTMLParser):
    """A page's links, and its text outside of code and links, where GitHub looks for mentions and issues."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.text = ""
        self._inside: list[str] = []
        self.feed(cmarkgfm.github_flavored_markdown_to_html(text))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("a", "code", "pre"):
            self._inside.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_endtag(self, tag: str) -> None:
        if tag in self._inside:
            self._inside.remove(tag)

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.text += data


NOTIFYING = (
    "Ask @octocat (http://evil.test/x, www.evil.test, _www.evil.test, me@evil.test, #12, o/r#12, GH-12): "
    f"`` ` ``@octocat\u200b@octocat <!-- @octocat --> &commat;octocat {'0123456789' * 4}"
)
"""What GitHub links in a comment: a person, addresses, issues and a commit."""

LINKED = re.compile(r"@\w|#\d|\w://\w|www\.|GH-\d|\b[0-9a-f]{40}\b", re.IGNORECASE)


def test_replies_neither_mention_nor_link(
    project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a comment on a pull request, the summary of a step and its annotations, as GitHub renders them."""
    addresses = ["http://evil.test/x", "http://www.evil.test", "http://www.evil.test", "mailto:me@evil.test"]
    assert Page(NOTIFYING).links == addresses
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path / "step.md"))
    monkeypatch.setenv("PLANTED", KEY)
    stub.script(answer=NOTIFYING)
    result = run(project, stub, "-p", "no:xdist", "--factorfair-gate=unparsed_rate <= 0.5")
    report = project.report_path.with_name("report.md").read_text(encoding="utf-8")
    assert (project.path / "step.md").read_text(encoding="utf-8") == report
    page = Page(report)
    assert "octocat" in page.text
    assert page.links == []
    assert LINKED.findall(page.text) == []
    annotations = [line for line in result.outlines if line.startswith("::")]
    assert any("octocat" in line for line in annotations)
    assert LINKED.findall("\n".join(annotations)) == []


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n"
CHECKLISTS: dict[str, tuple[str, str, str]] = {
    "bomb": ("schema:", f"{BOMB}schema:", "anchors (&) and aliases (*) are not allowed"),
    "tag": ("title: ", "title: !!python/object/apply:os.system ", "the tag tag:yaml.org,2002:python/object"),
    "attribute": ("{choices}", "{choices.__class__}", "unknown placeholder {choices.__class__}"),
    "index": ("{choices}", "{0}", "unknown placeholder {0}"),
    "jinja": ("{choices}", "{choices} {{ 7 * 7 }}", "unknown placeholder { 7 * 7 }"),
    "path as a name": ("name: small", "name: ../../small", "name: must be made of a-z, 0-9 and _"),
    "path as an id": ("  tea_rate:", "  ../tea_rate:", "tea_rate"),
}


@pytest.mark.parametrize("change", CHECKLISTS)
def test_hostile_checklists_are_refused(project: Project, stub: StubServer, change: str) -> None:
    before, after, message = CHECKLISTS[change]
    text = (project.path / "small.yaml").read_text(encoding="utf-8")
    assert before in text
    project.write("small.yaml", text.replace(before, after, 1))
    result = project.run(
        "-p", "no:xdist", f"--factorfair-model-arg=base_url={stub.base_url}", model="hosted_vllm/m"
    )
    assert result.ret == 4
    lines = [line for line in result.errlines if line]
    assert len(lines) == 1
    assert lines[0].startswith("ERROR: ")
    assert message in lines[0]
    assert stub.stats()["requests"] == 0
    assert not (project.path / ".factorfair").exists()


def test_a_file_that_is_no_checklist_is_not_quoted(project: Project) -> None:
    """Pointed at somebody's secrets, the message names the file and says nothing of what is in it."""
    project.write("secrets.yaml", f"key: {KEY}\n")
    project.write("own.yaml", "schema: factorfair.checklist/1\nextends: ../own/secrets.yaml\n")
    for name in ("secrets.yaml", "own.yaml"):
        result = project.run("-p", "no:xdist", f"--factorfair-checklist={name}")
        assert result.ret == 4
        assert KEY not in result.stdout.str() + result.stderr.str()


ONLY = """
import sys

def only(event, arguments):
    if event == "socket.connect":
        place = arguments[1]
        allowed = place == ("127.0.0.1", {port})
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        place = arguments[0] if event.startswith("socket.get") else arguments[1]
        allowed = place in ("127.0.0.1", b"127.0.0.1")
    else:
        return
    with open({log!r}, "a") as log:
        log.write(f"{{event}} {{place}} {{allowed}}\\n")
    if not allowed:
        raise ConnectionError(f"{{event}} {{place}}")

sys.addaudithook(only)
"""


def test_nothing_but_the_endpoint_is_reached(
    project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first import on, by the worker that asks and by the controller that reports.

    In neither do other threads than the main one import our modules: see ``test_imports``.
    """
    project.write("conftest.py", program("imports_in_threads"))
    log = project.path / "reached"
    site = project.path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(ONLY.format(port=stub.port, log=str(log)))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("PLANTED", KEY)
    without_reruns = ("-p", "no:rerunfailures")  # it talks to its own workers through a socket
    model_arguments = (
        f"--factorfair-model-arg=base_url={stub.base_url}",
        "--factorfair-model-arg=api_key_env=PLANTED",
    )
    assert project.run_anew(*model_arguments, "-n1", *without_reruns, model="hosted_vllm/m").ret == 0
    reached = set(log.read_text().splitlines())
    assert f"socket.connect ('127.0.0.1', {stub.port}) True" in reached
    assert [line for line in reached if not line.endswith("True")] == []
    noted = [project.path / f"imported-by-threads-of-{process}" for process in ("controller", "gw0")]
    assert [path.read_text() for path in noted] == ["", ""]
