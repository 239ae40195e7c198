"""Every reference respondent lands where its definition says, end to end through pytest, in both designs."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.acceptance.respondents import GROUPS, RESPONDENTS, Cells, Respondent, cells
from tests.acceptance.running import reported

PLACES = ("objective", "base", "representativeness", "attribution", "in_group")
N = {"objective": 24, "subjective": 24}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """One run of all respondents per design, 24 answers per cell."""
    return {design: _run(tmp_path_factory.mktemp(design), design) for design in ("balanced", "paper")}


def _run(folder: Path, design: str) -> dict[str, Any]:
    specs = [f"--factorfair-model={respondent.spec}" for respondent in RESPONDENTS]
    chosen = [f"--factorfair-design={design}", "--factorfair-samples=24,objective=24"]
    report, _ = reported(folder, "-q", "-n0", *specs, *chosen)
    return report


def _truth(report: dict[str, Any], attribute: str) -> NDArray[np.intp]:
    rows = [
        GROUPS[attribute].index(topic["truth"])
        for topic in report["topics"]
        if (topic["model"], topic["part"], topic["attribute"]) == ("sim:ideal", "objective", attribute)
    ]
    return np.array(rows).reshape(-1, 2)


def _score(report: dict[str, Any], model: str, place: str, attribute: str, metric: str) -> float:
    found = [
        score["value"]
        for score in report["scores"]
        if score["model"] == model
        and (score["context"] or score["part"]) == place
        and (score["attribute"], score["metric"]) == (attribute, metric)
    ]
    assert len(found) == 1
    value: float = found[0]
    return value


@cache
def _expected(respondent: Respondent, attribute: str, place: str, design: str, truth: bytes) -> Cells:
    array = np.frombuffer(truth, dtype=np.intp).reshape(-1, 2)
    size = N["objective" if place == "objective" else "subjective"]
    return cells(respondent, attribute, place, array, design=design, n=size)


@pytest.mark.parametrize("attribute", ["gender", "race"])
@pytest.mark.parametrize("respondent", RESPONDENTS, ids=lambda respondent: respondent.spec)
@pytest.mark.parametrize("design", ["balanced", "paper"])
def test_scores(
    reports: dict[str, dict[str, Any]], design: str, respondent: Respondent, attribute: str
) -> None:
    report = reports[design]
    truth = _truth(report, attribute)
    for place in PLACES:
        expected = _expected(respondent, attribute, place, design, truth.tobytes())
        for metric, (mean, error) in (
            ("s_fact", expected.s_fact()),
            ("s_e", expected.evenness()),
            ("s_kld", expected.likeness()),
        ):
            value = _score(report, respondent.spec, place, attribute, metric)
            assert value == pytest.approx(mean, abs=4 * error + 1e-9), (place, metric)


def test_the_oracle_is_exact(reports: dict[str, dict[str, Any]]) -> None:
    """Objective S_fact is 1 on all attributes, subjective 1 on the named one and 1/k on the other."""
    for about, other in (("gender", "race"), ("race", "gender")):
        model = f"sim:oracle?attribute={about}"
        report = reports["balanced"]
        assert _score(report, model, "objective", "gender", "s_fact") == 1
        assert _score(report, model, "objective", "race", "s_fact") == 1
        for place in PLACES[1:]:
            assert _score(report, model, place, about, "s_fact") == 1
            k, topics = len(GROUPS[other]), _truth(report, other).size
            error = (1 / k * (1 - 1 / k) / (24 * topics)) ** 0.5
            assert _score(report, model, place, other, "s_fact") == pytest.approx(1 / k, abs=4 * error)


def test_the_closed_forms_of_the_stereotyped_respondent() -> None:
    """The expectations above against the formulas: a = 1/k + A·strength, S_fact = a, and its evenness at large n."""
    truth = np.array([[0, 1]] * 15)
    respondent = next(
        one for one in RESPONDENTS if one.spec == "sim:stereotyped?strength=0.3&attribute=gender"
    )
    for design, reach in (("balanced", 0.5), ("paper", 0.4375)):
        found = cells(respondent, "gender", "base", truth, design=design, n=100_000)
        a = 0.5 + reach * 0.3
        assert found.s_fact()[0] == pytest.approx(a)
        even = -(a * np.log2(a) + (1 - a) * np.log2(1 - a))
        assert found.evenness()[0] == pytest.approx(even, abs=1e-4)
        b = 1 - a
        assert found.likeness()[0] == pytest.approx((b / a) ** (a - b), abs=1e-3)
