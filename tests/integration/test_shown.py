"""What the terminal says when things go badly: what happened, how often, and what to try."""

from __future__ import annotations

import base64
import gzip
import json
import re
import socket
from xml.etree import ElementTree as ET

import pytest

from tests.project import CASES, Project, program
from tests.servers import StubServer

HOUSE = program("replies_to_show")


@pytest.fixture
def house(project: Project) -> Project:
    project.write("house.py", HOUSE)
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    return project


def between(lines: list[str], title: str, last: str) -> list[str]:
    """The lines between two headings of pytest's."""
    begin = next(number for number, line in enumerate(lines) if f"= {title} =" in line)
    end = next(number for number, line in enumerate(lines) if number > begin and f"= {last}" in line)
    return lines[begin + 1 : end]


def test_equal_failures_are_printed_once_and_reported_each(house: Project, dist: tuple[str, ...]) -> None:
    result = house.run(*dist, "--junitxml=junit.xml", model="python:house:down")
    result.assert_outcomes(failed=CASES)
    heading, *lines = between(result.outlines, "FAILURES", "factorfair: ")
    assert heading.strip("_ ").startswith("test_checklist[")
    assert heading.strip("_ ").endswith("] and 13 more cases")
    text = "\n".join(lines)
    assert text.count("[gw") == (dist == ("-n2",))  # a worker is named once, on its own line
    assert text.count(" could not be obtained: python:house:down: ConnectionError: connection refused\n") == 1
    assert "\nA case fails if more than half of its answers are lost.\n" in text
    assert "\nTry: fix the error and run again: only what is missing is asked" in text
    (line,) = between(result.outlines, "short test summary info", "")
    assert line.startswith("FAILED factorfair::test_checklist[14 cases] - python:house:down: ")
    junit = ET.parse(house.path / "junit.xml").getroot()  # noqa: S314  # written by this very run
    assert (
        len({case.get("name") for case in junit.iter("testcase") if case.find("failure") is not None})
        == CASES
    )


COUNTING = """
def pytest_terminal_summary(terminalreporter):
    print("failed for other plugins:", len(terminalreporter.stats["failed"]))
"""


def test_other_plugins_find_every_failure(house: Project) -> None:
    house.write("conftest.py", COUNTING)
    result = house.run("-p", "no:xdist", model="python:house:down")
    result.stdout.fnmatch_lines([f"failed for other plugins: {CASES}"])


def test_of_many_kinds_of_failures_ten_are_shown(house: Project) -> None:
    result = house.run("-p", "no:xdist", model="python:house:moody")
    result.assert_outcomes(failed=CASES)
    # On CI pytest prints each failure's whole message, so only the first lines are counted.
    lines = between(result.outlines, "short test summary info", "")
    failures = [line for line in lines if line.startswith("FAILED ")]
    assert len(failures) == 11
    assert "test_checklist[4 cases]" in failures[-1]
    result.stdout.fnmatch_lines(["*] and 3 other cases _*"])


def test_a_failed_test_of_the_users_own_is_never_merged(house: Project) -> None:
    house.write(
        "test_own.py",
        "import pytest\n\n@pytest.mark.parametrize('n', [1, 2])\ndef test_own(n):\n    assert 0\n",
    )
    result = house.run("-p", "no:xdist", model="python:house:down")
    result.assert_outcomes(failed=CASES + 2)
    lines = between(result.outlines, "short test summary info", "")
    assert [line.split(" - ")[0] for line in lines] == [
        "FAILED test_own.py::test_own[1]",
        "FAILED test_own.py::test_own[2]",
        "FAILED factorfair::test_checklist[14 cases]",
    ]


def test_an_unparsed_reply_is_quoted_with_what_to_try(house: Project) -> None:
    result = house.run("-p", "no:xdist", model="python:house:talkative")
    _, problem, _, quoted, remedy = between(result.outlines, "FAILURES", "factorfair: ")
    assert problem == "4 of 4 answers could not be read: names no option"
    reply = "Well, ## [error] that depends on so many things depends on so many things "
    assert quoted.startswith(f'Example (names no option): "{reply}')
    assert quoted.endswith('..."')
    assert len(quoted.split('"')[1].replace("## [", "##[")) == 120
    assert "--factorfair-model-arg=system=TEXT" in remedy
    assert "pytest_factorfair_read_answer" in remedy


def test_the_summary_has_the_most_frequent_shapes_of_unparsed_replies(
    house: Project, dist: tuple[str, ...]
) -> None:
    result = house.run(*dist, model="python:house:mumbling")
    note = 'python:house:mumbling: 216 unparsed replies, most often like "##[error] well, <number>" (216)'
    shown = note.replace("##[", "## [")
    assert f"note: {shown}" in result.outlines
    report = house.path / ".factorfair" / "report"
    assert note in json.loads((report / "report.json").read_text())["notes"]
    assert "216 unparsed replies, most often like" in (report / "report.md").read_text()
    assert (
        "most often like &#34;##[error] well, &lt;number&gt;&#34; (216)"
        in (report / "report.html").read_text()
    )


WARNING = "the model refused all 216 answers: no score says anything about it"


@pytest.mark.parametrize("gates", [(), ("--factorfair-gate=refusal_rate <= 1",)], ids=["report", "gate"])
def test_a_model_that_refuses_everything_is_warned_about(house: Project, gates: tuple[str, ...]) -> None:
    result = house.run("-p", "no:xdist", *gates, model="python:house:shy")
    assert result.ret == 0
    section = result.outlines.index(next(line for line in result.outlines if "= factorfair: " in line))
    assert result.outlines[section + 1] == f"warning: {WARNING}"
    folder = house.report_path.parent
    assert f"> **Warning:** {WARNING}." in (folder / "report.md").read_text(encoding="utf-8")
    assert f"<strong>Warning:</strong> {WARNING}." in (folder / "report.html").read_text(encoding="utf-8")


def filtered_run(project: Project, stub: StubServer, share: float, *options: str) -> pytest.RunResult:
    """A run whose provider filters this share of the replies; its model never refuses."""
    stub.script(filters=share)
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    return project.run("-p", "no:xdist", url, *options, model="hosted_vllm/m")


def test_a_provider_that_filters_everything_is_not_called_a_model_that_refuses(
    project: Project, stub: StubServer
) -> None:
    result = filtered_run(project, stub, 1.0)
    output = "\n".join(result.outlines)
    assert "warning: the provider filtered all 216 answers: no score says anything about it" in output
    assert "note: hosted_vllm/m: 216 replies were filtered by the provider: counted as refused" in output
    assert "216 answers: 0 refused, 216 filtered by the provider, 0 unparsed, 0 errors" in output
    assert "the model refused" not in output
    folder = project.report_path.parent
    for name in ("report.md", "report.html"):
        text = (folder / name).read_text(encoding="utf-8")
        assert "the provider filtered all 216 answers" in text
        assert "the model refused" not in text
    (packed,) = re.findall(r'id="replies">([^<]*)<', text)  # of the page
    replies = json.loads(gzip.decompress(base64.b64decode(packed)))
    shown = [reply for case in replies for reply in case["shown"]]
    assert {(reply["outcome"], reply["reason"]) for reply in shown} == {
        ("filtered", "filtered by the provider")
    }


def test_a_gate_on_refusals_says_that_the_provider_filtered(project: Project, stub: StubServer) -> None:
    gate = "--factorfair-gate=refusal_rate[objective] <= 0.01"
    filtered_run(project, stub, 0.5, gate, "--factorfair-looks=1")
    report = project.report()
    filtered = sum(
        answer.get("reason") == "filtered by the provider"
        for case in report["cases"]
        for answer in case["answers"]
    )
    assert 0 < filtered < 216
    failed = [gate for gate in report["gates"] if gate["verdict"] == "failed"]
    assert failed
    for failure in failed:
        explanation = failure["explanation"]
        assert explanation["sentence"].endswith(
            f" The model itself refused nothing in this run: its provider filtered {filtered} replies, "
            "which count as refused."
        )
        assert any(reply.endswith("filtered") for reply in explanation["example"]["replies"])


@pytest.mark.parametrize("dist", [("-p", "no:xdist"), ("-n2",)], ids=["alone", "n2"])
def test_throttled_calls_are_counted_as_the_server_counts_them(
    project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch, dist: tuple[str, ...]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    stub.script(rate=8, window=0.5)
    base_url = f"--factorfair-model-arg=base_url={stub.base_url}"
    result = project.run(*dist, base_url, "-k", "objective", model="openai/m")
    assert result.ret == 0
    seen, usage = stub.stats(), project.report()["usage"]
    assert usage["throttled"] == seen["throttled"] > 0
    assert usage["waited"] > 0
    result.stdout.fnmatch_lines(
        [f"24 answers: 0 refused, 0 unparsed, 0 errors; *({seen['throttled']} throttled with 429*"]
    )


def test_a_run_that_stops_says_why_before_anything_else(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with socket.socket() as closed:  # bound, and nobody listens
        closed.bind(("127.0.0.1", 0))
        address = f"--factorfair-model-arg=base_url=http://127.0.0.1:{closed.getsockname()[1]}/v1"
        result = project.run("-p", "no:xdist", address, "--factorfair-patience=0.5", model="openai/m")
    section = result.outlines.index(next(line for line in result.outlines if "= factorfair: " in line))
    why, usage, *_ = result.outlines[section + 1 :]
    assert why.startswith("Not judged: openai/m: the connection failed: Cannot connect to host 127.0.0.1:")
    assert why.endswith(": 14 of 14 cases are missing.")
    assert usage.startswith("0 answers: ")  # no table of dashes
