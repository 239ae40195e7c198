"""The three ways to answer say the same of every reference respondent; probabilities say it to five digits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.acceptance.respondents import GROUPS, RESPONDENTS, Cells, Respondent, cells
from tests.acceptance.running import reported
from tests.project import FEW

PLACES = ("objective", "base", "representativeness", "attribution", "in_group")
Reports = dict[str, dict[str, Any]]


def run(folder: Path, mode: str, *arguments: str) -> dict[str, Any]:
    specs = [f"--factorfair-model={respondent.spec}" for respondent in RESPONDENTS]
    chosen = (f"--factorfair-checklist={FEW}", "--factorfair-samples=24,objective=24")
    return reported(folder, "-q", f"--factorfair-answers={mode}", *specs, *chosen, *arguments)[0]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    return {mode: run(tmp_path_factory.mktemp(mode), mode, "-n0") for mode in ("json", "probabilities")}


def expected(report: dict[str, Any], respondent: Respondent, attribute: str, place: str) -> Cells:
    rows = [
        GROUPS[attribute].index(topic["truth"])
        for topic in report["topics"]
        if (topic["model"], topic["part"], topic["attribute"]) == ("sim:ideal", "objective", attribute)
    ]
    truth = np.array(rows).reshape(-1, 2)
    return cells(respondent, attribute, place, truth, design="balanced", n=24)


def scores(report: dict[str, Any], model: str, place: str, attribute: str) -> dict[str, dict[str, Any]]:
    return {
        score["metric"]: score
        for score in report["scores"]
        if (score["model"], score["context"] or score["part"], score["attribute"])
        == (model, place, attribute)
    }


def exact(found: Cells) -> dict[str, float]:
    """S_fact, S_E and S_KLD of the expected shares themselves."""
    shares = found.shares
    high, low = shares[:, 0], shares[:, 1]
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    divergence = (high * (logs[:, 0] - logs[:, 1])).sum(axis=-1)
    impossible = ((high > 0) & (low == 0)).any(axis=-1)
    return {
        "s_fact": float(np.take_along_axis(shares, found.truth[..., None], axis=-1).mean()),
        "s_e": float(-(shares * logs).sum(axis=-1).mean() / np.log(shares.shape[-1])),
        "s_kld": float(np.where(impossible, 0, np.exp(-divergence)).mean()),
    }


@pytest.mark.parametrize("attribute", ["gender", "race"])
@pytest.mark.parametrize("respondent", RESPONDENTS, ids=lambda respondent: respondent.spec)
def test_probabilities_give_the_closed_forms(
    reports: Reports, respondent: Respondent, attribute: str
) -> None:
    """To five digits, but where a context is followed that names groups at random: not evenly in each topic."""
    report = reports["probabilities"]
    for place in PLACES:
        found = scores(report, respondent.spec, place, attribute)
        closed = exact(expected(report, respondent, attribute, place))
        named = respondent.follow and place in ("attribution", "in_group")
        for metric, value in closed.items():
            assert found[metric]["value"] == pytest.approx(value, abs=0.02 if named else 1e-5), (
                place,
                metric,
            )
            assert found[metric]["low"] - 1e-5 <= value <= found[metric]["high"] + 1e-5, (place, metric)


@pytest.mark.parametrize("attribute", ["gender", "race"])
@pytest.mark.parametrize("respondent", RESPONDENTS, ids=lambda respondent: respondent.spec)
def test_letters_as_json_agree_within_errors(
    reports: Reports, respondent: Respondent, attribute: str
) -> None:
    report = reports["json"]
    for place in PLACES:
        found = scores(report, respondent.spec, place, attribute)
        closed = expected(report, respondent, attribute, place)
        for metric, (mean, error) in (
            ("s_fact", closed.s_fact()),
            ("s_e", closed.evenness()),
            ("s_kld", closed.likeness()),
        ):
            assert found[metric]["value"] == pytest.approx(mean, abs=5 * error + 1e-9), (place, metric)
    outcomes = {
        answer["outcome"]
        for case in report["cases"]
        if case["model"] == respondent.spec
        for answer in case["answers"]
    }
    assert outcomes <= {"answered", "refused"}


def test_who_asks_makes_no_difference(reports: Reports, tmp_path: Path) -> None:
    """Two workers, and no xdist at all, with the store of the first: the same report."""
    wanted = told(reports["probabilities"])
    assert told(run(tmp_path, "probabilities", "-n2")) == wanted
    again = run(tmp_path, "probabilities", "-p", "no:xdist", "--factorfair-replay")
    assert told(again) == wanted
    assert again["usage"]["calls"] == 0


def told(report: dict[str, Any]) -> dict[str, Any]:
    """What two runs must agree in."""
    kept = {name: value for name, value in report.items() if name != "usage"}
    kept["fingerprint"] = {
        name: value for name, value in report["fingerprint"].items() if name not in ("versions", "times")
    }
    return kept
