"""Terminal output about failures: what happened, how often, and what to try."""

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


OTHER_SUMMARY = """
def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"seen: {len(terminalreporter.stats['failed'])}")
"""


def test_a_repeated_failure_has_one_entry(house: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The failures come from workers. Each case has its own count of lost answers in reports, and other plugins see all cases."""
    for variable in ("CI", "BUILD_NUMBER"):  # there pytest prints whole messages in its short summary
        monkeypatch.delenv(variable, raising=False)
    house.write("conftest.py", OTHER_SUMMARY)
    result = house.run("-n2", "--junitxml=junit.xml", model="python:house:down")
    result.assert_outcomes(failed=CASES)
    entry = between(result.outlines, "FAILURES", "short test summary info")
    heading, problem, rule, remedy, *others = entry
    assert heading.strip("_ ").startswith(f"{CASES} cases, for example test_checklist[objective-")
    assert " answers could not be obtained: " in problem
    assert rule == "A case fails if more than half of its answers are lost."
    assert remedy == "Try: fix the error and run again: only what is missing is asked"
    assert sorted(line.strip("- ")[:18] for line in others) == ["generated xml file", f"seen: {CASES}"]
    (line,) = between(result.outlines, "short test summary info", "")
    assert line.startswith(
        f"FAILED factorfair::{CASES} cases: answers could not be obtained: python:house:down: "
        "ConnectionError: connection refused, for example test_checklist[objective-"
    )
    junit = ET.parse(house.path / "junit.xml").getroot()  # noqa: S314  # written by this very run
    failures = {case.get("name"): case.find("failure") for case in junit.iter("testcase")}
    assert len(failures) == CASES
    stored = {case["case"]: case["answers"] for case in house.report()["cases"]}
    for name, failure in failures.items():
        assert name is not None
        assert failure is not None
        answers = stored[name.partition("[")[2].removesuffix("]")]
        lost = sum(answer["outcome"] == "error" for answer in answers)
        assert f"{lost} of {len(answers)} answers could not be obtained: " in failure.attrib["message"]
        assert "ConnectionError: connection refused" in failure.attrib["message"]


@pytest.mark.parametrize(("verbosity", "entries", "full"), [((), 4, 4), (("-v",), CASES, 10)])
def test_of_many_causes_the_first_are_shown_in_full(
    house: Project, verbosity: tuple[str, ...], entries: int, full: int
) -> None:
    """In the short form, the last entry stands for all further causes."""
    result = house.run("-p", "no:xdist", *verbosity, model="python:house:moody")
    result.assert_outcomes(failed=CASES)
    text = "\n".join(between(result.outlines, "FAILURES", "short test summary info"))
    assert text.count(" could not be obtained: ") == entries
    assert text.count("\nTry: ") == full
    lines = between(result.outlines, "short test summary info", "")
    failed = [line for line in lines if line.startswith("FAILED factorfair::")]
    assert len(failed) == entries
    rest = f"FAILED factorfair::{CASES - 3} more cases: {CASES - 3} other causes, all shown with -v"
    assert failed[-1].startswith(rest) == (not verbosity)


def test_gates_are_never_shortened(house: Project) -> None:
    """Twelve gates fail, and each has two scores with one reason: every report says all."""
    gates = [f"refusal_rate[objective] >= 0.{number}" for number in range(80, 92)]
    result = house.run(
        "-p",
        "no:xdist",
        "--junitxml=junit.xml",
        *(f"--factorfair-gate={gate}" for gate in gates),
        model="sim:ideal",
    )
    junit = ET.parse(house.path / "junit.xml").getroot()  # noqa: S314  # written by this very run
    texts = [failure.text or "" for failure in junit.iter("failure")]
    assert len(texts) == 2 * len(gates)
    assert result.ret == 1
    for gate in gates:
        assert sum(f"{gate}: " in text for text in texts) == 2


RAISING = """
def pytest_factorfair_read_answer(response):
    raise ValueError("no reader for this")
"""


def test_a_repeated_exception_has_one_line(house: Project) -> None:
    house.write("conftest.py", RAISING)
    result = house.run("-p", "no:xdist", "FACTORFAIR_FIRST_REPLIES=0")
    result.assert_outcomes(failed=CASES)
    lines = between(result.outlines, "FAILURES", "short test summary info")
    assert sum("raised ValueError: no reader for this" in line for line in lines) == 1


def test_a_failed_test_of_the_users_own_is_never_shortened(house: Project) -> None:
    house.write(
        "test_own.py",
        "import pytest\n\n@pytest.mark.parametrize('n', [1, 2])\ndef test_own(n):\n    assert 0\n",
    )
    result = house.run("-p", "no:xdist", model="python:house:down")
    result.assert_outcomes(failed=CASES + 2)
    lines = between(result.outlines, "FAILURES", "short test summary info")
    assert lines.count(">       assert 0") == 2


ASK_ON = "FACTORFAIR_FIRST_REPLIES=0"
"""The run goes on, though none of the first replies can be used."""


def test_an_unparsed_reply_is_quoted_with_what_to_try(house: Project) -> None:
    result = house.run("-p", "no:xdist", ASK_ON, model="python:house:talkative")
    _, problem, _, quoted, remedy, *_ = between(result.outlines, "FAILURES", "short test summary info")
    assert problem == "4 of 4 answers could not be parsed: names no option"
    reply = "Well, ## [error] that depends on so many things depends on so many things "
    assert quoted.startswith(f'Example (names no option): "{reply}')
    assert quoted.endswith('..."')
    assert len(quoted.split('"')[1].replace("## [", "##[")) == 120
    assert "--factorfair-model-arg=system=TEXT" in remedy
    assert "pytest_factorfair_read_answer" in remedy


def test_the_summary_has_the_most_frequent_shapes_of_unparsed_replies(house: Project) -> None:
    result = house.run("-p", "no:xdist", "-v", ASK_ON, model="python:house:mumbling")
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


def test_a_model_that_refuses_everything_is_warned_about(house: Project) -> None:
    result = house.run("-p", "no:xdist", "--factorfair-gate=refusal_rate <= 1", model="python:house:shy")
    assert result.ret == 0
    assert f"warning: {WARNING}" in result.outlines
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
    result = filtered_run(project, stub, 1.0, "-v")
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
    filtered_run(project, stub, 0.5, gate, "FACTORFAIR_LOOKS=1")
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


def test_throttled_calls_are_counted_as_the_server_counts_them(
    project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    stub.script(rate=8, window=0.5)
    base_url = f"--factorfair-model-arg=base_url={stub.base_url}"
    result = project.run("-n2", "-v", base_url, "-k", "objective", model="openai/m")
    assert result.ret == 0
    seen, usage = stub.stats(), project.report()["usage"]
    assert usage["throttled"] == seen["throttled"] > 0
    assert usage["waited"] > 0
    result.stdout.fnmatch_lines(
        [f"24 of 216 planned answers: 0 refused, *; *({seen['throttled']} throttled with 429*"]
    )


def test_a_run_that_stops_says_why_before_anything_else(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with socket.socket() as closed:  # bound, and nobody listens
        closed.bind(("127.0.0.1", 0))
        address = f"--factorfair-model-arg=base_url=http://127.0.0.1:{closed.getsockname()[1]}/v1"
        result = project.run("-p", "no:xdist", address, "FACTORFAIR_RETRIES=1", model="openai/m")
    section = result.outlines.index(next(line for line in result.outlines if "= factorfair: " in line))
    path, bill, why, step, *_ = result.outlines[section + 1 :]  # no table of dashes
    assert path == "report: .factorfair/report/report.html"
    assert re.fullmatch(r"0 of 216 planned answers; \d+ calls, cost \$0\.00", bill)
    assert why.startswith("Not judged: openai/m: the connection failed: Cannot connect to host 127.0.0.1:")
    assert why.endswith(": 14 of 14 cases are missing.")
    assert step == (
        "Next: check that the server is running and that base_url is correct, then run it again to continue: "
        "stored answers are not asked again"
    )
