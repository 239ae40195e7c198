"""The options for the estimation of scores, and their effect on the report."""

from __future__ import annotations

from typing import Any

from tests.project import Project


def _scores(project: Project, metric: str) -> list[dict[str, Any]]:
    return [
        score
        for score in project.report()["scores"]
        if (score["metric"], score["context"]) == (metric, "base")
    ]


def test_corrected_scores_have_intervals(project: Project) -> None:
    project.run("FACTORFAIR_ESTIMATOR=corrected", "-n0").assert_outcomes(passed=14)
    fingerprint = project.report()["fingerprint"]
    assert (fingerprint["estimator"], fingerprint["interval"]) == ("corrected", "instrument")
    for score in _scores(project, "s_e"):
        assert score["low"] <= score["corrected"] <= score["high"]
        assert score["value"] < score["corrected"]
        assert score["reason"] == ""


def test_one_scenario_says_nothing_about_scenarios_in_general(project: Project) -> None:
    project.run("FACTORFAIR_ESTIMATOR=corrected", "FACTORFAIR_INTERVAL=scenarios", "-n0")
    assert project.report()["fingerprint"]["interval"] == "scenarios"
    for score in _scores(project, "s_e"):
        assert score["low"] is None
        assert score["reason"].startswith("answers from fewer than 2 scenarios in ")


def test_the_estimator_published_code_gives_no_interval(project: Project) -> None:
    project.run("FACTORFAIR_ESTIMATOR=published-code", "-n0").assert_outcomes(passed=14)
    (score, *_) = _scores(project, "s_kld")
    assert score["corrected"] is score["low"] is None
    assert score["reason"] == "the estimator published-code gives no interval"


def test_the_paper_preset_reports_plain_plugin_values(project: Project) -> None:
    project.run("--factorfair-preset=paper", "FACTORFAIR_TRUTH=audited", "-n0").assert_outcomes(passed=14)
    assert {score["corrected"] for score in _scores(project, "s_e")} == {None}


def test_an_unknown_estimator_is_refused_with_the_nearest(project: Project) -> None:
    result = project.run("FACTORFAIR_ESTIMATOR=plug-in", "-n0")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: FACTORFAIR_ESTIMATOR: unknown value 'plug-in'; did you mean 'plugin'?"]
    )


def test_the_position_biased_respondent_is_named(project: Project) -> None:
    result = project.run("-v", model="sim:position_biased?strength=0.5")
    result.stdout.fnmatch_lines(["note: sim:position_biased?strength=0.5 is position-biased: *subjective*"])
