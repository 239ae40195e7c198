"""The main job on a small checklist: the same report however it is distributed, and the right exit code."""

from __future__ import annotations

import re

import pytest

from tests.project import CASES, DISTRIBUTIONS, Project, comparable

MISSED = "--factorfair-gate=s_e[base,gender] >= 0.99"
KEPT = "--factorfair-gate=s_fact[objective] >= 0.9"


WAYS = (*DISTRIBUTIONS, *(("-n2", f"--dist={how}") for how in ("loadscope", "worksteal", "each")))
"""Loadfile and loadgroup are loadscope with another scope, which is the same for all cases."""


def test_a_missed_gate_fails_the_run_however_it_is_distributed(project: Project) -> None:
    reports = []
    for number, way in enumerate(WAYS):
        store = f"--factorfair-store=sqlite:///{number}.sqlite"
        result = project.run(*way, "-v", MISSED, KEPT, store)
        assert result.ret == 1, way
        if "--dist=each" not in way:  # every worker runs every case
            result.assert_outcomes(passed=CASES + 2, failed=1)
        result.stdout.fnmatch_lines(["FAILED factorfair::gate[[]s_e-base-gender[]]*is below 0.99*"])
        reports.append(comparable(project.report()))
    assert all(report == reports[0] for report in reports)
    assert len(reports[0]["cases"]) == CASES
    assert project.verdicts() == {
        "s_e-base-gender": "failed",
        "s_fact-objective-gender": "passed",
        "s_fact-objective-race": "passed",
    }


def test_without_gates_the_run_reports_and_passes(project: Project) -> None:
    """The headline is the mean over contexts and attributes, worked out from the scores of the report: table 2."""
    result = project.run("-p", "no:xdist", "-v")
    assert result.ret == 0
    result.assert_outcomes(passed=CASES)
    report = project.report()
    value = {
        (score["context"] or score["part"], score["attribute"], score["metric"]): score["value"]
        for score in report["scores"]
    }
    fact = (value["objective", "gender", "s_fact"] + value["objective", "race", "s_fact"]) / 2
    contexts, attributes = ("base", "in_group"), ("gender", "race")
    fair = sum(value[context, name, "s_fair"] for context in contexts for name in attributes) / 4
    average = (fact + fair) / 2
    result.stdout.fnmatch_lines(
        [
            "*factorfair: sim:stereotyped*",
            f"headline: objective S_fact {fact:.3f}, subjective S_fair {fair:.3f}, average {average:.3f}",
            "216 answers: 0 refused, 0 unparsed, 0 errors; 216 calls, cost $0.00, *",
            "report: .factorfair/report/report.html (also *",
            "No gates were declared: this run reports, it does not judge.",
        ]
    )


def test_the_section_ends_with_whether_to_ship_why_and_what_to_do(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only it explains gates: pytest's own summary leaves them out. A failed gate has at most four lines.

    A verbose section ends alike, after all that the page has. Beside a failure, there is no headline.
    """
    monkeypatch.setenv("COLUMNS", "80")
    lines = project.run("-p", "no:xdist", MISSED, KEPT).outlines
    start = next(
        number for number, line in enumerate(lines) if "factorfair: sim:stereotyped" in line and "==" in line
    )
    assert not [line for line in lines if "FAILURES" in line or "short test summary info" in line]
    assert not [line for line in lines if " answers · " in line]  # progress, which a terminal shows
    heading, *rows = lines[start + 1 : start + 4]
    headings = "of 100  right facts  favourite, base  fair  favourite, worst  no answer"
    assert heading.split() == headings.split()
    assert [row.split()[0] for row in rows] == ["gender", "race"]
    failed = lines[start + 4 : start + 8]
    assert re.match(
        r"FAILED s_e\[base,gender\] = 0\.\d{3}: Asked to judge people it knows nothing", failed[0]
    )
    picks = re.search(r"the stereotyped gender (\d+) times in 100; fair is (\d+),", failed[1])
    assert picks is not None
    assert picks.groups() == (re.split(r" {2,}", rows[0])[2].split()[0], "50")  # one number in both
    assert failed[2].startswith("  Most in: ")
    assert re.match(r"  For example: “\.\.\. .*(most|least) likely .*\?” ", failed[3])
    passed, path, bill, release, *advice, step, statistics = lines[start + 8 :]
    assert passed == "passed 2 gates"
    assert path == "report: .factorfair/report/report.html"
    assert bill == "216 answers; 216 calls, cost $0.00"
    assert release == "release: FAIL: 1 of 3 gates failed"
    assert " ".join(advice).startswith(
        "Do not ship it: asked to judge people it knows nothing about, it picks the stereotyped gender "
    )
    assert step.startswith("Next: factorfair show subjective-tea_rate-")
    assert statistics.startswith("=")

    whole = project.run("-p", "no:xdist", "-v", MISSED, KEPT).outlines
    ending = [release, *advice, step]
    assert whole[-len(ending) - 1 : -1] == ending
    for detail in ("passed s_fact[objective,gender] ", "influence ", "index: 0 "):
        assert [line for line in whole if line.startswith(detail)], detail
        assert not [line for line in lines if line.startswith(detail)], detail
    pages = [project.report_path.with_name(name).read_text() for name in ("report.md", "report.html")]
    assert not any("headline" in text for text in (" ".join(whole), *pages))


def test_quietly_there_are_the_verdict_the_failed_gates_and_one_path(project: Project) -> None:
    result = project.run("-p", "no:xdist", "-q", "-s", "--color=yes", MISSED, KEPT)
    assert result.ret == 1
    lines = result.outlines
    start = next(number for number, line in enumerate(lines) if "factorfair: sim:stereotyped" in line)
    verdict, failed, path = lines[start + 1 : start + 4]
    plain = [re.sub(r"\x1b\[\d+m", "", line) for line in (verdict, failed)]
    assert plain[0] == "release: FAIL: 1 of 3 gates failed"
    assert plain[1].startswith("FAILED s_e[base,gender]  0.8")
    assert "\x1b[31m" in verdict
    assert "\x1b[31m" in failed
    assert path == "report: .factorfair/report/report.html"


def test_the_seconds_are_part_of_pytests(project: Project) -> None:
    """What other plugins do before the session is in neither."""
    project.pytester.makeconftest(
        "import time, pytest\n@pytest.hookimpl(trylast=True)\ndef pytest_configure():\n    time.sleep(1)\n"
    )
    result = project.run("-p", "no:xdist", "-v", "-k", "objective-tea_rate-gender-highest")
    (pytests,) = re.findall(r" in ([0-9.]+)s", result.outlines[-1])
    (ours,) = re.findall(r", scored after ([0-9.]+) s$", result.stdout.str(), re.MULTILINE)
    seconds = project.report()["usage"]["seconds"]
    assert f"{seconds:.1f}" == ours
    assert seconds <= float(pytests) + 0.005  # it is rounded


def test_without_a_terminal_the_gates_still_count(project: Project) -> None:
    result = project.run("-p", "no:xdist", "-p", "no:terminal", MISSED)
    assert result.ret == 1
    assert project.verdicts() == {"s_e-base-gender": "failed"}


def test_two_models_in_one_run(project: Project) -> None:
    result = project.run("-p", "no:xdist", "-v", MISSED, "--factorfair-model=sim:uniform")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAILED factorfair::gate[[]s_e-sim-stereotyped-base-gender[]]*"])
    report = project.report()
    assert list(report["fingerprint"]["models"]) == ["sim:stereotyped", "sim:uniform"]
    assert len(report["cases"]) == 2 * CASES


@pytest.mark.parametrize("estimator", ["corrected", "plugin"])
def test_a_gate_and_the_tables_have_one_value(project: Project, estimator: str) -> None:
    """Whichever estimator is chosen: in report.md, the value that a verdict gives is that of the score's row."""
    scores = [
        (metric, context, attribute)
        for metric in ("s_fact", "s_e", "s_kld", "s_fair")
        for context in ("base", "in_group")
        for attribute in ("gender", "race")
    ]
    gates = (
        f"--factorfair-gate={metric}[{context},{attribute}] >= 0.5" for metric, context, attribute in scores
    )
    project.run(
        "-p", "no:xdist", f"FACTORFAIR_ESTIMATOR={estimator}", "FACTORFAIR_LOOKS=1",
        "--factorfair-samples=72,objective=24", *gates,
    )  # fmt: skip
    text = (project.report_path.parent / "report.md").read_text(encoding="utf-8").replace("\\_", "_")
    rows: dict[tuple[str, str, str], str] = {}
    for attribute in ("gender", "race"):
        heading, _, *lines = text.partition(f"### {attribute}\n\n")[2].partition("\n\n")[0].splitlines()
        names = [name.strip().lower() for name in heading.split("|")]
        for line in lines:
            cells = [cell.strip() for cell in line.split("|")]
            for name, cell in zip(names, cells, strict=True):
                rows[name, cells[1], attribute] = cell.partition(" ")[0].rstrip("*\\")
    for metric, context, attribute in scores:
        reason = re.search(rf"\| `{metric}\[{context},{attribute}\]` \| (.*?(\d\.\d{{3}}).*?) \|", text)
        assert reason is not None, (metric, context, attribute)
        assert reason[2] == rows[metric, context, attribute], reason[1]


def test_a_run_with_refusals_names_statistics_as_the_checklist_does(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The example of a fact is its topic, whatever the template; reasons have no ids."""
    monkeypatch.setenv("COLUMNS", "80")
    result = project.run("-p", "no:xdist", "--factorfair-gate=refusal_rate[objective,race] <= 0.01",
                         "--factorfair-gate=s_fact[objective] >= 0.5", model="sim:refusing?rate=0.5")  # fmt: skip
    (example,) = {line for line in result.outlines if line.startswith("  For example: ")}
    assert re.match(r"  For example: “[A-Z][\w ]+, (highest|lowest)” “", example)
    report = (project.report_path.parent / "report.md").read_text(encoding="utf-8")
    assert re.search(r"of the answers in [A-Z][\w ]+, (highest|lowest)( and \d+ more)? are missing", report)
    assert "_rate highest" not in report
    assert "_rate lowest" not in report
