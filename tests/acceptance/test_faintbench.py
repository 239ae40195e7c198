"""FAIntbench end to end: painters whose scores are known, through the store and a real ONNX session."""

from __future__ import annotations

from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.running import reported, scored
from tests.project import FEW_PORTRAITS, PLUGIN

PAINTERS = (
    "sim:ideal",
    "sim:constant?group=man",
    "sim:contrary",
    "sim:stereotyped?strength=1&attribute=gender",
)


def run(folder: Path, *arguments: str, expect: int = 0) -> tuple[dict[str, Any], str]:
    return reported(folder, "-q", "--factorfair-checklist=faintbench", *arguments, expect=expect)


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Four painters on the 24 prompts about characteristics, 5 pictures each."""
    folder = tmp_path_factory.mktemp("smoke")
    return scored(folder, "faintbench", PAINTERS, preset="smoke", samples="images=5")


def score(report: dict[str, Any], model: str, metric: str, attribute: str, context: str | None = None) -> Any:
    (matching,) = (
        score
        for score in report["scores"]
        if (score["model"], score["metric"], score["attribute"], score["context"])
        == (model, metric, attribute, context)
    )
    return matching


@pytest.mark.parametrize("attribute", ["gender", "race", "age", "all"])
def test_the_real_shares_score_one(smoke: dict[str, Any], attribute: str) -> None:
    implicit = score(smoke, "sim:ideal", "implicit", attribute)
    assert implicit["low"] <= 1 <= implicit["high"] + 1e-12
    assert implicit["corrected"] > 0.97


def test_one_group_scores_as_its_share_says(smoke: dict[str, Any]) -> None:
    """Characteristics have .5 / .5: (1 + .5 / |(.5, .5)|) / 2."""
    implicit = score(smoke, "sim:constant?group=man", "implicit", "gender")
    assert implicit["value"] == pytest.approx((1 + sqrt(0.5)) / 2, abs=1e-9)


@pytest.mark.parametrize("attribute", ["gender", "race", "age"])
def test_the_rarest_group_scores_the_floor(smoke: dict[str, Any], attribute: str) -> None:
    implicit = score(smoke, "sim:contrary", "implicit", attribute)
    assert implicit["value"] == pytest.approx(implicit["floor"], abs=1e-9)


def test_eta_tells_ignorance_from_discrimination(smoke: dict[str, Any]) -> None:
    constant = score(smoke, "sim:constant?group=man", "eta", "gender")
    opposite = score(smoke, "sim:stereotyped?strength=1&attribute=gender", "eta", "gender")
    assert constant["high"] < 0.2
    assert opposite["low"] > 0.8
    assert score(smoke, "sim:ideal", "eta", "gender")["low"] < 0.5


def test_every_prompt_is_counted(smoke: dict[str, Any]) -> None:
    rows = [row for row in smoke["prompts"] if row["model"] == "sim:ideal"]
    assert len(rows) == 24 * 3
    assert {(row["asked"], sum(row["counts"].values())) for row in rows} == {(5, 5)}


def test_an_obedient_painter_delivers_what_is_asked_for(tmp_path: Path) -> None:
    """All prompts about an occupation, a characteristic and a relation, a picture each."""
    selection = "boxer or rich or doctor_patient"
    report, printed = run(
        tmp_path, "-n0", "--factorfair-model=sim:ideal", "--factorfair-preset=paper", "-k", selection,
        "--factorfair-samples=images=1",
    )  # fmt: skip
    assert "61 passed" in printed
    assert report["usage"]["calls"] == 61
    assert score(report, "sim:ideal", "explicit", "all")["value"] == pytest.approx(1)


def test_both_benchmarks_in_one_run(tmp_path: Path) -> None:
    """They share the store, the detector and the report; gates name what they are about."""
    report, _ = run(
        tmp_path, "-n0", "--factorfair-model=sim:ideal", "--factorfair-preset=smoke",
        f"--factorfair-checklist={FEW_PORTRAITS}", "--factorfair-samples=images=4", PLUGIN,
        "--factorfair-gate=implicit[gender] >= 0.5", "--factorfair-gate=s_fact[objective,gender] >= 0.3",
    )  # fmt: skip
    assert set(report["fingerprint"]["checklists"]) == {"faintbench", "few_portraits"}
    assert {gate["subject"]: gate["verdict"] for gate in report["gates"]} == {
        "implicit[gender]": "passed",
        "s_fact[objective,gender]": "passed",
    }
    assert {gate["subject"]: gate["n"] for gate in report["gates"]}["implicit[gender]"] == 24 * 4
    assert "perceived gender" in (tmp_path / ".factorfair/report/report.md").read_text()
