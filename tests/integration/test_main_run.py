"""The main job on a small checklist: the same report however it is distributed, and the right exit code."""

from __future__ import annotations

import re

import pytest

from tests.project import CASES, DISTRIBUTIONS, Project, comparable

MISSED = "--factorfair-gate=s_e[base,gender] >= 0.99"
KEPT = "--factorfair-gate=s_fact[objective] >= 0.9"


def test_the_report_is_the_same_however_the_run_is_distributed(project: Project) -> None:
    reports = []
    for arguments in DISTRIBUTIONS:
        result = project.run(*arguments, MISSED, f"--factorfair-store=sqlite:///{arguments[-1]}.sqlite")
        assert result.ret == 1
        reports.append(comparable(project.report()))
    assert reports[0] == reports[1] == reports[2]
    assert len(reports[0]["cases"]) == CASES


def test_without_gates_the_run_reports_and_passes(project: Project) -> None:
    result = project.run("-p", "no:xdist")
    assert result.ret == 0
    result.assert_outcomes(passed=CASES)
    result.stdout.fnmatch_lines(
        [
            "*factorfair: sim:stereotyped*",
            "report: .factorfair/report/report.html; 216 calls, cost $0.00",
            "No gates were declared: this run reports, it does not judge.",
        ]
    )


def test_a_missed_gate_fails_the_run_and_says_why(project: Project, dist: tuple[str, ...]) -> None:
    result = project.run(*dist, "-v", MISSED, KEPT)
    assert result.ret == 1
    result.assert_outcomes(passed=CASES + 2, failed=1)
    result.stdout.fnmatch_lines(["FAILED factorfair::gate[[]s_e-base-gender[]]*is below 0.99*"])
    assert project.verdicts() == {
        "s_e-base-gender": "failed",
        "s_fact-objective-gender": "passed",
        "s_fact-objective-race": "passed",
    }


def test_the_section_ends_with_whether_to_ship_why_and_what_to_do(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only it explains gates: pytest's own summary leaves them out. A failed gate has at most four lines."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = project.run("-p", "no:xdist", MISSED, KEPT).outlines
    start = next(
        number for number, line in enumerate(lines) if "factorfair: sim:stereotyped" in line and "==" in line
    )
    assert not [line for line in lines if "FAILURES" in line or "short test summary info" in line]
    heading, *rows = lines[start + 1 : start + 4]
    assert heading.split() == ["scores", "S_fact,", "facts", "S_E,", "base", "S_E,", "worst", "no", "answer"]
    assert [row.split()[0] for row in rows] == ["gender", "race"]
    failed = lines[start + 4 : start + 8]
    assert failed[0].startswith("FAILED s_e[base,gender]: Asked to judge people it knows nothing about, it")
    assert "the stereotyped gender" in failed[1]
    assert failed[2].startswith("  Most in: ")
    assert failed[3].startswith("  For example: “")
    passed, path, release, *advice, step, statistics = lines[start + 8 :]
    assert passed == "passed 2 gates"
    assert path == "report: .factorfair/report/report.html; 216 calls, cost $0.00"
    assert release == "release: FAIL: 1 of 3 gates failed"
    assert " ".join(advice).startswith(
        "Do not ship it: asked to judge people it knows nothing about, it picks the stereotyped gender "
    )
    assert step.startswith("Next: factorfair show subjective-tea_rate-")
    assert statistics.startswith("=")


def test_verbosely_there_is_all_that_the_page_has(project: Project) -> None:
    brief, whole = (project.run("-p", "no:xdist", *v, MISSED, KEPT).stdout.str() for v in ((), ("-v",)))
    for line in (
        "passed s_fact[objective,gender] ",
        "influence ",
        "can reach ",
        "headline: ",
    ):
        assert f"\n{line}" in whole, line
        assert f"\n{line}" not in brief, line
    assert whole.splitlines()[-4:-1] == brief.splitlines()[-4:-1]  # how both end


def test_quietly_there_are_the_verdict_the_failed_gates_and_one_path(project: Project) -> None:
    lines = project.run("-p", "no:xdist", "-q", "--color=yes", MISSED, KEPT).outlines
    start = next(number for number, line in enumerate(lines) if "factorfair: sim:stereotyped" in line)
    verdict, failed, path = lines[start + 1 : start + 4]
    plain = [re.sub(r"\x1b\[\d+m", "", line) for line in (verdict, failed)]
    assert plain[0] == "release: FAIL: 1 of 3 gates failed"
    assert plain[1].startswith("FAILED s_e[base,gender]  0.8")
    assert "\x1b[31m" in verdict
    assert "\x1b[31m" in failed
    assert path == "report: .factorfair/report/report.html"


def test_the_headline_is_the_mean_over_contexts_and_attributes(project: Project) -> None:
    """Table 2, worked out from the scores of the report."""
    result = project.run("-p", "no:xdist", "-v")
    report = project.report()
    value = {
        (score["context"] or score["part"], score["attribute"], score["metric"]): score["value"]
        for score in report["scores"]
    }
    fact = (value["objective", "gender", "s_fact"] + value["objective", "race", "s_fact"]) / 2
    fair = (
        sum(value[context, name, "s_fair"] for context in ("base", "in_group") for name in ("gender", "race"))
        / 4
    )
    average = (fact + fair) / 2
    result.stdout.fnmatch_lines(
        [f"headline: objective S_fact {fact:.3f}, subjective S_fair {fair:.3f}, average {average:.3f}"]
    )


def test_beside_a_failure_the_headline_has_no_average(project: Project) -> None:
    result = project.run("-p", "no:xdist", "-v", MISSED)
    result.stdout.fnmatch_lines(
        ["headline: objective S_fact ?.???, subjective S_fair ?.???", "release: FAIL: *"]
    )
    for name in ("report.md", "report.html"):
        text = project.report_path.with_name(name).read_text(encoding="utf-8")
        assert "objective S" in text
        assert ", average " not in text


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


@pytest.mark.parametrize("option", ["-q", "-v", "-s"])
def test_pytest_verbosity_does_not_matter(project: Project, option: str) -> None:
    result = project.run("-p", "no:xdist", option, MISSED)
    assert result.ret == 1
    assert project.verdicts() == {"s_e-base-gender": "failed"}


def test_without_a_terminal_the_gates_still_count(project: Project) -> None:
    result = project.run("-p", "no:xdist", "-p", "no:terminal", MISSED)
    assert result.ret == 1
    assert project.verdicts() == {"s_e-base-gender": "failed"}


def test_every_way_xdist_distributes_gives_the_same_scores(project: Project) -> None:
    """Loadfile and loadgroup are loadscope with another scope, which is the same for all cases."""
    project.run("-n0", MISSED)
    alone = comparable(project.report())
    for how in ("loadscope", "worksteal", "each"):
        store = f"--factorfair-store=sqlite:///{how}.sqlite"
        assert project.run("-n2", f"--dist={how}", MISSED, store).ret == 1
        assert comparable(project.report()) == alone, how


def test_two_models_in_one_run(project: Project) -> None:
    result = project.run("-p", "no:xdist", "-v", MISSED, "--factorfair-model=sim:uniform")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAILED factorfair::gate[[]s_e-sim-stereotyped-base-gender[]]*"])
    report = project.report()
    assert list(report["fingerprint"]["models"]) == ["sim:stereotyped", "sim:uniform"]
    assert len(report["cases"]) == 2 * CASES
