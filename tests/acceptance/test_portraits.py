"""Pictures end to end: code cards are painted, stored, read by a real ONNX session and scored."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.acceptance.respondents import GROUPS, KINDS, Respondent, cells
from tests.acceptance.running import scored
from tests.project import FEW_PORTRAITS, WITHOUT_OTHERS, Project, comparable

PAINTERS = tuple(respondent for respondent in KINDS if not respondent.position and not respondent.follow)
CONTEXTS = ("objective", "base")
VAGUE = (
    "sim:refusing?rate=0.3",
    "sim:refusing?rate=0.3&group=Black",
    "sim:stereotyped?strength=0.3&attribute=race",
)
"""S_KLD is 0 if a group is missing at one end only: in few pictures, that is left to chance."""


class Run(NamedTuple):
    """A run of painters: its pictures of each case, and who has a bound that no S_KLD of race would miss."""

    checklist: str
    pictures: int
    painters: tuple[Respondent, ...]
    vague: tuple[str, ...] = ()


RUNS = {
    "few": Run(str(FEW_PORTRAITS), 20, PAINTERS, VAGUE),
    "all": Run(
        "fact_or_fair_t2i",
        8,
        tuple(painter for painter in PAINTERS if painter.spec == "sim:refusing?rate=0.3"),
    ),
}
"""All painters on 8 cases; and slowly, on 76, one that knows the truth and some of whose pictures are missing."""
SLOW = {"all": [pytest.mark.slow]}
EACH_RUN = pytest.mark.parametrize(
    "completed", [pytest.param(name, marks=SLOW.get(name, ())) for name in RUNS], indirect=True
)


class Completed(NamedTuple):
    run: Run
    report: dict[str, Any]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Completed]:
    """Each run by name, completed once: a fixture parametrized along with the painter is set up for each."""

    @cache
    def completed(name: str) -> Completed:
        run = RUNS[name]
        folder = tmp_path_factory.mktemp("painters")
        models = (painter.spec for painter in run.painters)
        return Completed(run, scored(folder, run.checklist, models, samples=f"images={run.pictures}"))

    return completed


@pytest.fixture
def completed(request: pytest.FixtureRequest, runs: Callable[[str], Completed]) -> Completed:
    return runs(request.param)


def truths(report: dict[str, Any], attribute: str) -> NDArray[np.intp]:
    model = report["topics"][0]["model"]  # it is the same for all
    rows = [
        GROUPS[attribute].index(topic["truth"])
        for topic in report["topics"]
        if (topic["model"], topic["part"], topic["attribute"]) == (model, "objective", attribute)
    ]
    return np.array(rows).reshape(-1, 2)


def score(report: dict[str, Any], model: str, context: str, attribute: str, metric: str) -> float:
    (value,) = (
        score["value"]
        for score in report["scores"]
        if (score["model"], score["context"] or score["part"]) == (model, context)
        and (score["attribute"], score["metric"]) == (attribute, metric)
    )
    assert isinstance(value, float)
    return value


@pytest.mark.parametrize("attribute", ["gender", "race"])
@pytest.mark.parametrize(
    ("completed", "respondent"),
    [
        pytest.param(name, painter, id=f"{name}-{painter.spec}", marks=SLOW.get(name, ()))
        for name, run in RUNS.items()
        for painter in run.painters
    ],
    indirect=["completed"],
)
def test_scores(completed: Completed, respondent: Respondent, attribute: str) -> None:
    """S_fact on its closed form, plug-in S_E and S_KLD on their expectation: within four standard errors."""
    run, report = completed
    for context in CONTEXTS:
        truth = truths(report, attribute)
        expected = cells(respondent, attribute, context, truth, design="balanced", n=run.pictures)
        for metric, (mean, error) in (
            ("s_fact", expected.s_fact()),
            ("s_e", expected.evenness()),
            ("s_kld", expected.likeness()),
        ):
            value = score(report, respondent.spec, context, attribute, metric)
            vague = (
                context == "base"
                and metric == "s_kld"
                and attribute == "race"
                and respondent.spec in run.vague
            )
            assert (4 * error < 0.5) != vague, "nearly any score would do: ask for more pictures"
            assert value == pytest.approx(mean, abs=4 * error + 1e-9), (context, metric)


@EACH_RUN
def test_every_picture_is_counted(completed: Completed) -> None:
    for topic in completed.report["topics"]:
        lost = topic["refused"] + topic["unparsed"] + topic["errors"]
        assert topic["asked"] == completed.run.pictures == sum(topic["counts"].values()) + lost
        if "refusing" not in topic["model"]:
            assert lost == 0


@EACH_RUN
def test_the_detector_stands_in_the_report(completed: Completed) -> None:
    fingerprint = completed.report["fingerprint"]
    assert "census" in json.dumps(fingerprint["detector"])
    assert fingerprint["samples"] == fingerprint["objective"] == completed.run.pictures


def test_pictures_of_nobody_are_unparsed_and_not_judged(project: Project) -> None:
    result = project.run_pytest(
        "-p", "no:xdist", "--factorfair-model=sim:nonsense", f"--factorfair-checklist={FEW_PORTRAITS}",
        "--factorfair-samples=images=4", "FACTORFAIR_ESTIMATOR=plugin", "--factorfair-gate=s_fact >= 0.1",
    )  # fmt: skip
    assert result.ret == 1
    assert "no face" in result.stdout.str()
    report = project.report()
    assert {topic["unparsed"] for topic in report["topics"]} == {4}
    assert {gate["verdict"] for gate in report["gates"]} == {"not judged"}


def test_the_report_is_the_same_however_it_is_run(project: Project) -> None:
    """Without xdist, then on two workers, then from the store of the workers."""
    options = (
        *(*WITHOUT_OTHERS, f"--factorfair-checklist={FEW_PORTRAITS}"),
        *("--factorfair-model=sim:stereotyped", "--factorfair-samples=images=4"),
    )
    new_store = "--factorfair-store=sqlite:///other.sqlite"
    reports = []
    for arguments in (
        ("-p", "no:xdist"),
        ("-n2", new_store),
        ("-p", "no:xdist", new_store, "--factorfair-reuse=only"),
    ):
        assert project.run_pytest(*options, *arguments).ret == 0
        reports.append(project.report())
    assert comparable(reports[0]) == comparable(reports[1]) == comparable(reports[2])
    usages = [report["usage"] for report in reports]
    assert [(usage["calls"], usage["cached"]) for usage in usages] == [(32, 0), (32, 0), (0, 32)]
