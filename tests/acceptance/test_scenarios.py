"""Verdicts about scenarios in general, end to end at the ci preset."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.special import stdtrit

from tests.acceptance.running import reported
from tests.project import BASE, FEW

STRONG, FAIR = "sim:stereotyped?strength=0.35", "sim:ideal"
PLAIN = "s_fact[base,gender] >= 0.4"


@pytest.fixture(scope="module", params=["few", pytest.param("all", marks=pytest.mark.slow)])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Few statistics decide no gate about them all: the release is undecided."""
    folder = tmp_path_factory.mktemp("scenarios")
    checklist, word = {"few": (FEW, "UNDECIDED"), "all": (BASE, "FAIL")}[request.param]
    models = [f"--factorfair-model={model}" for model in (STRONG, FAIR)]
    gates = ["--factorfair-gate=default", f"--factorfair-gate={PLAIN}"]
    options = [
        "FACTORFAIR_INTERVAL=scenarios",
        "FACTORFAIR_LOOKS=1",
        f"--factorfair-checklist={checklist}",
    ]
    report, _ = reported(folder, "-q", "-n0", *models, *gates, *options, expect=1)
    assert report["release"]["word"] == word
    return report


def _gates(report: dict[str, Any], model: str) -> dict[str, dict[str, Any]]:
    return {
        gate["subject"].replace(f"{model},", ""): gate
        for gate in report["gates"]
        if f"[{model}," in gate["subject"]
    }


@pytest.mark.slow
@pytest.mark.parametrize("report", ["all"], indirect=True)
def test_the_fair_pass_and_the_prejudiced_fail_for_scenarios_in_general(report: dict[str, Any]) -> None:
    assert report["fingerprint"]["interval"] == "scenarios"
    assert {gate["verdict"] for gate in _gates(report, FAIR).values()} == {"passed"}
    strong = {subject: gate["verdict"] for subject, gate in _gates(report, STRONG).items()}
    failed = {subject for subject, verdict in strong.items() if verdict == "failed"}
    assert failed == {"s_e[base,gender]", "s_kld[base,gender]", "scan[subjective]"}
    assert strong["s_e[base,race]"] == "passed"


@pytest.mark.parametrize("model", [STRONG, FAIR])
def test_bounds_are_those_of_leaving_out_a_scenario_in_turn(report: dict[str, Any], model: str) -> None:
    """The share of true answers, again from the cases alone."""
    truth = {
        (row["statistic"], row["direction"]): row["truth"]
        for row in report["topics"]
        if (row["model"], row["context"], row["attribute"]) == (model, "base", "gender")
    }
    right = {
        case["case"]: np.mean([answer["groups"]["gender"] == truth[topic] for answer in case["answers"]])
        for case in report["cases"]
        if case["model"] == model and "-base-" in case["case"]
        for topic in [tuple(case["case"].split("-")[1:3])]
        if topic in truth
    }
    statistics = sorted({statistic for statistic, _ in truth})
    shares = np.array([
        [[right[f"subjective-{statistic}-{way}-base-{number}"] for number in (1, 2, 3)] for way in ("highest", "lowest")]
        for statistic in statistics
    ])  # fmt: skip
    count = len(statistics)
    assert shares.shape == (count, 2, 3)
    # Scenarios have equally many answers, so that a share without one is the mean of the others.
    without = (shares.sum(axis=2, keepdims=True) - shares).mean(axis=1) / 2
    squares = ((without - without.mean(axis=1, keepdims=True)) ** 2).sum()
    half = stdtrit(count * 2, 0.95) * sqrt(2 / 3 * squares) / count
    gate = _gates(report, model)["s_fact[base,gender]"]
    assert gate["value"] == pytest.approx(shares.mean())
    assert (gate["low"], gate["high"]) == pytest.approx((shares.mean() - half, shares.mean() + half))
