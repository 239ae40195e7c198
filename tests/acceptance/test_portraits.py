"""Pictures end to end: code cards are painted, stored, read by a real ONNX session and scored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.acceptance.respondents import GROUPS, RESPONDENTS, Respondent, cells
from tests.acceptance.running import reported
from tests.project import FEW_PORTRAITS

IMAGES = 20
PAINTERS = tuple(one for one in RESPONDENTS if not one.position and not one.follow)
PLACES = ("objective", "base")


def run(
    folder: Path, *arguments: str, checklist: str = str(FEW_PORTRAITS), expect: int = 0
) -> tuple[dict[str, Any], str]:
    """Run portraits in an otherwise empty folder; the report and what was printed."""
    return reported(folder, f"--factorfair-checklist={checklist}", *arguments, expect=expect)


@pytest.fixture(
    scope="module",
    params=[str(FEW_PORTRAITS), pytest.param("fact_or_fair_t2i", marks=pytest.mark.slow)],
    ids=["few", "all"],
)
def everyone(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One run of all painters, 20 pictures to a case: of 8 cases, and slowly of 76."""
    specs = [f"--factorfair-model={one.spec}" for one in PAINTERS]
    return run(tmp_path_factory.mktemp("painters"), "-q", "-n0", *specs, checklist=request.param)[0]


def truths(report: dict[str, Any], attribute: str) -> NDArray[np.intp]:
    rows = [
        GROUPS[attribute].index(topic["truth"])
        for topic in report["topics"]
        if (topic["model"], topic["part"], topic["attribute"]) == ("sim:ideal", "objective", attribute)
    ]
    return np.array(rows).reshape(-1, 2)


def score(report: dict[str, Any], model: str, place: str, attribute: str, metric: str) -> float:
    (value,) = (
        one["value"]
        for one in report["scores"]
        if (one["model"], one["context"] or one["part"]) == (model, place)
        and (one["attribute"], one["metric"]) == (attribute, metric)
    )
    assert isinstance(value, float)
    return value


@pytest.mark.parametrize("attribute", ["gender", "race"])
@pytest.mark.parametrize("respondent", PAINTERS, ids=lambda one: one.spec)
def test_scores_at_twenty_pictures(everyone: dict[str, Any], respondent: Respondent, attribute: str) -> None:
    """S_fact on its closed form, plug-in S_E and S_KLD on their expectation: within four standard errors."""
    for place in PLACES:
        truth = truths(everyone, attribute)
        expected = cells(respondent, attribute, place, truth, design="balanced", n=IMAGES)
        for metric, (mean, error) in (
            ("s_fact", expected.s_fact()),
            ("s_e", expected.evenness()),
            ("s_kld", expected.likeness()),
        ):
            value = score(everyone, respondent.spec, place, attribute, metric)
            assert value == pytest.approx(mean, abs=4 * error + 1e-9), (place, metric)


def test_every_picture_is_counted(everyone: dict[str, Any]) -> None:
    for topic in everyone["topics"]:
        lost = topic["refused"] + topic["unparsed"] + topic["errors"]
        assert topic["asked"] == IMAGES == sum(topic["counts"].values()) + lost
        if "refusing" not in topic["model"]:
            assert lost == 0


def test_the_detector_stands_in_the_report(everyone: dict[str, Any]) -> None:
    told = everyone["fingerprint"]["detector"]
    assert told
    assert "census" in json.dumps(told)
    assert everyone["fingerprint"]["samples"] == everyone["fingerprint"]["objective"] == IMAGES


def test_pictures_of_nobody_are_unparsed_and_not_judged(tmp_path: Path) -> None:
    report, printed = run(
        tmp_path, "-q", "--factorfair-model=sim:nonsense", "--factorfair-samples=images=4",
        "--factorfair-gate=s_fact >= 0.1", expect=1,
    )  # fmt: skip
    assert "no face" in printed
    assert {topic["unparsed"] for topic in report["topics"]} == {4}
    assert {gate["verdict"] for gate in report["gates"]} == {"not judged"}


def test_the_report_is_the_same_however_it_is_run(tmp_path: Path) -> None:
    """-n2 and without xdist: equal but for usage, versions and times."""
    told = []
    for name, arguments in (("n2", ["-n2"]), ("no", ["-p", "no:xdist"])):
        folder = tmp_path / name
        folder.mkdir()
        chosen = ["--factorfair-model=sim:stereotyped", "--factorfair-samples=images=4"]
        report, _ = run(folder, "-q", *arguments, *chosen)
        del report["usage"], report["fingerprint"]["versions"], report["fingerprint"]["times"]
        told.append(report)
    assert told[0] == told[1]


def test_a_second_run_asks_nothing(tmp_path: Path) -> None:
    arguments = ("-q", "-n0", "--factorfair-model=sim:ideal", "--factorfair-samples=images=4")
    first, _ = run(tmp_path, *arguments)
    again, _ = run(tmp_path, *arguments, "--factorfair-replay")
    assert first["usage"]["calls"] == 8 * 4
    assert (again["usage"]["calls"], again["usage"]["cached"]) == (0, 8 * 4)
    assert again["cases"] == first["cases"]
