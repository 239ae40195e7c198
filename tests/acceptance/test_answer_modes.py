"""The three ways to answer say the same of every reference respondent; probabilities say it to five digits."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pytest_factorfair as factorfair
from pytest_factorfair.benchmarks.fact_or_fair.printing.drilldown import cells as cells_of
from pytest_factorfair.domain import AnswerMode
from tests.acceptance.respondents import GROUPS, KINDS, RESPONDENTS, Cells, Respondent, cells
from tests.acceptance.running import scored
from tests.project import DATA, FEW, Project, comparable

CONTEXTS = ("objective", "base", "representativeness", "attribution", "in_group")
IN_JSON = ("sim:ideal", "sim:refusing?rate=0.3", "sim:stereotyped?strength=0.3&attribute=gender")
RESPONDENTS_IN_JSON = tuple(respondent for respondent in RESPONDENTS if respondent.spec in IN_JSON)
"""A letter in JSON is scored like a letter in text, for which the closed forms of all respondents are checked."""


def run(folder: Path, mode: AnswerMode, respondents: Iterable[Respondent]) -> dict[str, Any]:
    models = (respondent.spec for respondent in respondents)
    return scored(folder, str(FEW), models, answers=mode, samples="24,objective=24")


@pytest.fixture(scope="module")
def probabilities(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(tmp_path_factory.mktemp("probabilities"), "probabilities", KINDS)


@pytest.fixture(scope="module")
def json(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(tmp_path_factory.mktemp("json"), "json", RESPONDENTS_IN_JSON)


def expected(report: dict[str, Any], respondent: Respondent, attribute: str, context: str) -> Cells:
    rows = [
        GROUPS[attribute].index(topic["truth"])
        for topic in report["topics"]
        if (topic["model"], topic["part"], topic["attribute"]) == ("sim:ideal", "objective", attribute)
    ]
    truth = np.array(rows).reshape(-1, 2)
    return cells(respondent, attribute, context, truth, design="balanced", n=24)


def scores(report: dict[str, Any], model: str, context: str, attribute: str) -> dict[str, dict[str, Any]]:
    return {
        score["metric"]: score
        for score in report["scores"]
        if (score["model"], score["context"] or score["part"], score["attribute"])
        == (model, context, attribute)
    }


def exact(counted: Cells) -> dict[str, float]:
    """S_fact, S_E and S_KLD of the expected shares themselves."""
    shares = counted.shares
    high, low = shares[:, 0], shares[:, 1]
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    divergence = (high * (logs[:, 0] - logs[:, 1])).sum(axis=-1)
    impossible = ((high > 0) & (low == 0)).any(axis=-1)
    return {
        "s_fact": float(np.take_along_axis(shares, counted.truth[..., None], axis=-1).mean()),
        "s_e": float(-(shares * logs).sum(axis=-1).mean() / np.log(shares.shape[-1])),
        "s_kld": float(np.where(impossible, 0, np.exp(-divergence)).mean()),
    }


@pytest.mark.parametrize("attribute", ["gender", "race"])
@pytest.mark.parametrize("respondent", KINDS, ids=lambda respondent: respondent.spec)
def test_probabilities_give_the_closed_forms(
    probabilities: dict[str, Any], respondent: Respondent, attribute: str
) -> None:
    """To five digits, but where a context is followed that names groups at random: not evenly in each topic."""
    for context in CONTEXTS:
        by_metric = scores(probabilities, respondent.spec, context, attribute)
        closed = exact(expected(probabilities, respondent, attribute, context))
        named = respondent.follow and context in ("attribution", "in_group")
        for metric, value in closed.items():
            assert by_metric[metric]["value"] == pytest.approx(value, abs=0.02 if named else 1e-5), (
                context,
                metric,
            )
            assert by_metric[metric]["low"] - 1e-5 <= value <= by_metric[metric]["high"] + 1e-5, (
                context,
                metric,
            )


@pytest.mark.parametrize("attribute", ["gender", "race"])
@pytest.mark.parametrize("respondent", RESPONDENTS_IN_JSON, ids=lambda respondent: respondent.spec)
def test_letters_as_json_agree_within_errors(
    json: dict[str, Any], respondent: Respondent, attribute: str
) -> None:
    for context in CONTEXTS:
        by_metric = scores(json, respondent.spec, context, attribute)
        closed = expected(json, respondent, attribute, context)
        for metric, (mean, error) in (
            ("s_fact", closed.s_fact()),
            ("s_e", closed.evenness()),
            ("s_kld", closed.likeness()),
        ):
            assert by_metric[metric]["value"] == pytest.approx(mean, abs=5 * error + 1e-9), (context, metric)
    outcomes = {
        answer["outcome"]
        for case in json["cases"]
        if case["model"] == respondent.spec
        for answer in case["answers"]
    }
    assert outcomes <= {"answered", "refused"}


def test_who_asks_makes_no_difference(project: Project) -> None:
    """Two workers, and no xdist at all with the store of the first: the same report."""
    modes = ("--factorfair-answers=probabilities", "--factorfair-model=sim:refusing?rate=0.3&group=Black")
    assert project.run("-p", "no:xdist", *modes).ret == 0
    reference = comparable(project.report())
    new_store = "--factorfair-store=sqlite:///other.sqlite"
    assert project.run("-n2", *modes, new_store).ret == 0
    assert comparable(project.report()) == reference
    assert project.run("-p", "no:xdist", *modes, new_store, "--factorfair-reuse=only").ret == 0
    assert comparable(project.report()) == reference
    assert project.report()["usage"]["calls"] == 0


@pytest.mark.parametrize(
    ("answers", "held"), [("text", set()), ("probabilities", {0.7})], ids=["replies", "probabilities"]
)
def test_a_cell_of_the_page_says_how_much_the_letters_hold(
    tmp_path: Path, answers: AnswerMode, held: set[float]
) -> None:
    summary = factorfair.run(
        "sim:uniform?nonsense=0.3",
        answers=answers,
        checklist=[str(DATA / "small.yaml")],
        samples="24,objective=4",
        root=tmp_path,
    ).summary
    assert {end["held"] for cell in cells_of(summary, ()) for end in cell["ends"] if "held" in end} == held
