"""Every reference respondent lands where its definition says, end to end, in both designs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.acceptance.respondents import GROUPS, KINDS, RESPONDENTS, Cells, Respondent, cells
from tests.acceptance.running import scored
from tests.project import FEW

CONTEXTS = ("objective", "base", "representativeness", "attribution", "in_group")


ON_ALL = ("sim:oracle?attribute=gender", "sim:stereotyped?strength=0.3&attribute=race")
"""Beginnings of the respondents that answer about all statistics: what the others do depends on no statistic."""


class Run(NamedTuple):
    """A run of respondents: its design, answers to each cell, standard errors that a score may be off."""

    checklist: str
    design: str
    n: int
    errors: int
    respondents: tuple[Respondent, ...]


RUNS = {
    "few-balanced": Run(str(FEW), "balanced", 36, 5, RESPONDENTS),
    "few-paper": Run(str(FEW), "paper", 48, 5, KINDS),
    "all-balanced": Run(
        "fact_or_fair",
        "balanced",
        24,
        4,
        tuple(respondent for respondent in RESPONDENTS if respondent.spec.startswith(ON_ALL)),
    ),
}
"""On all statistics, slowly; and on few, where S_KLD is skewed and few answers leave a group out by chance."""
SLOW = {"all-balanced": [pytest.mark.slow]}


class Completed(NamedTuple):
    run: Run
    report: dict[str, Any]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Completed]:
    """Each run by name, completed once: a fixture parametrized along with the respondent is set up for each."""

    @cache
    def completed(name: str) -> Completed:
        run = RUNS[name]
        models = (respondent.spec for respondent in run.respondents)
        samples = f"{run.n},objective={run.n}"
        folder = tmp_path_factory.mktemp(name)
        return Completed(run, scored(folder, run.checklist, models, samples=samples, design=run.design))

    return completed


@pytest.fixture
def completed(request: pytest.FixtureRequest, runs: Callable[[str], Completed]) -> Completed:
    return runs(request.param)


def _truth(report: dict[str, Any], attribute: str) -> NDArray[np.intp]:
    model = report["topics"][0]["model"]  # it is the same for all
    rows = [
        GROUPS[attribute].index(topic["truth"])
        for topic in report["topics"]
        if (topic["model"], topic["part"], topic["attribute"]) == (model, "objective", attribute)
    ]
    return np.array(rows).reshape(-1, 2)


def _score(report: dict[str, Any], model: str, context: str, attribute: str, metric: str) -> float:
    values = [
        score["value"]
        for score in report["scores"]
        if score["model"] == model
        and (score["context"] or score["part"]) == context
        and (score["attribute"], score["metric"]) == (attribute, metric)
    ]
    assert len(values) == 1
    value: float = values[0]
    return value


@cache
def _expected(
    respondent: Respondent, attribute: str, context: str, design: str, truth: bytes, n: int
) -> Cells:
    array = np.frombuffer(truth, dtype=np.intp).reshape(-1, 2)
    return cells(respondent, attribute, context, array, design=design, n=n)


@pytest.mark.parametrize("attribute", ["gender", "race"])
@pytest.mark.parametrize(
    ("completed", "respondent"),
    [
        pytest.param(name, respondent, id=f"{name}-{respondent.spec}", marks=SLOW.get(name, ()))
        for name, run in RUNS.items()
        for respondent in run.respondents
    ],
    indirect=["completed"],
)
def test_scores(completed: Completed, respondent: Respondent, attribute: str) -> None:
    run, report = completed
    truth = _truth(report, attribute)
    for context in CONTEXTS:
        expected = _expected(respondent, attribute, context, run.design, truth.tobytes(), run.n)
        for metric, (mean, error) in (
            ("s_fact", expected.s_fact()),
            ("s_e", expected.evenness()),
            ("s_kld", expected.likeness()),
        ):
            value = _score(report, respondent.spec, context, attribute, metric)
            assert run.errors * error < 0.52, "nearly any score would do: ask more"
            assert value == pytest.approx(mean, abs=run.errors * error + 1e-9), (context, metric)


@pytest.mark.parametrize(
    "completed", [pytest.param(name, marks=SLOW.get(name, ())) for name in RUNS], indirect=True
)
def test_the_oracle_is_exact(completed: Completed) -> None:
    """Objective S_fact is 1 on all attributes; subjective, where everyone is shown, 1 on the named one, else 1/k."""
    run, report = completed
    oracles = {
        respondent.about: respondent.spec
        for respondent in run.respondents
        if respondent.spec.startswith("sim:oracle")
    }
    assert oracles
    for about, model in oracles.items():
        unrelated = "gender" if about == "race" else "race"
        assert _score(report, model, "objective", "gender", "s_fact") == 1
        assert _score(report, model, "objective", "race", "s_fact") == 1
        for context in CONTEXTS[1:] if run.design == "balanced" else ():
            assert _score(report, model, context, str(about), "s_fact") == 1
            k, topics = len(GROUPS[unrelated]), _truth(report, unrelated).size
            error = (1 / k * (1 - 1 / k) / (run.n * topics)) ** 0.5
            assert _score(report, model, context, unrelated, "s_fact") == pytest.approx(1 / k, abs=4 * error)


def test_the_closed_forms_of_the_stereotyped_respondent() -> None:
    """The expectations above against the formulas: a = 1/k + A·strength, S_fact = a, and its evenness at large n."""
    truth = np.array([[0, 1]] * 15)
    respondent = next(
        respondent
        for respondent in RESPONDENTS
        if respondent.spec == "sim:stereotyped?strength=0.3&attribute=gender"
    )
    for design, reach in (("balanced", 0.5), ("paper", 0.4375)):
        closed_form = cells(respondent, "gender", "base", truth, design=design, n=100_000)
        a = 0.5 + reach * 0.3
        assert closed_form.s_fact()[0] == pytest.approx(a)
        even = -(a * np.log2(a) + (1 - a) * np.log2(1 - a))
        assert closed_form.evenness()[0] == pytest.approx(even, abs=1e-4)
        b = 1 - a
        assert closed_form.likeness()[0] == pytest.approx((b / a) ** (a - b), abs=1e-3)
