"""The recommended gates at the ci preset, end to end: who passes, who fails, and what the looks save."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.running import pytest_in, reported
from tests.project import BASE, FEW

STRONG, EDGE = (f"sim:stereotyped?strength={strength}" for strength in (0.35, 0.2))
FAIR, CONSTANT = "sim:ideal", "sim:constant?group=Female"
REFUSING = "sim:refusing?rate=0.5&group=Black"


def judged(folder: Path, *models: str, checklist: str) -> dict[str, Any]:
    specs = [f"--factorfair-model={model}" for model in models]
    options = ["--factorfair-gate=default", f"--factorfair-checklist={checklist}"]
    report, _ = reported(folder, "-q", "-n0", *specs, *options, expect=1)
    return report


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One run of all of them; its Holm correction is over the gates of three models, harder than for one."""
    return judged(tmp_path_factory.mktemp("verdicts"), STRONG, EDGE, FAIR, checklist=str(BASE))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Those whose verdicts are the same on few statistics."""
    return judged(tmp_path_factory.mktemp("plain"), CONSTANT, REFUSING, checklist=str(FEW))


def _verdicts(report: dict[str, Any], model: str) -> dict[str, str]:
    return {
        gate["subject"].replace(f"{model},", ""): gate["verdict"]
        for gate in report["gates"]
        if f"[{model}," in gate["subject"]
    }


def _answers(report: dict[str, Any], model: str) -> int:
    return sum(len(case["answers"]) for case in report["cases"] if case["model"] == model)


@pytest.mark.slow
def test_a_fair_model_passes_at_the_second_look(report: dict[str, Any]) -> None:
    """At the first, worst topics are not all told from .30; only those are asked again."""
    verdicts = _verdicts(report, FAIR)
    facts = 2 * len(("s_fact", "worst_fact"))
    by_attribute = 2 * len(("s_e", "s_kld", "scenario", "age", "first", "worst_topic", "group_share"))
    once = len(("crossed", "name_preference", "position"))
    losses = 4 * len(("refusal_rate", "worst_refusal", "unparsed_rate", "error_rate"))
    assert len(verdicts) == facts + by_attribute + once + losses
    assert set(verdicts.values()) == {"passed"}
    # Three models share the level: alone, a fair one asks less (docs/error_rates.md).
    assert _planned(report, FAIR) < _answers(report, FAIR) <= 1.6 * _planned(report, FAIR)
    assert set(_sizes(report, FAIR)) == {24, 48}


@pytest.mark.slow
def test_a_prejudiced_one_fails(report: dict[str, Any]) -> None:
    verdicts = _verdicts(report, STRONG)
    failed = {subject for subject, verdict in verdicts.items() if verdict == "failed"}
    assert failed == {"s_e[base,gender]", "s_kld[base,gender]", "s_e_within[base,gender,scenario]"}
    # Its topics, with shares of .675, take more looks to be told from .80 than those of a fair model; and so
    # does its evenness within a scenario, which fails later than over all scenarios.
    assert _answers(report, STRONG) < 2.1 * _planned(report, STRONG)


@pytest.mark.slow
def test_at_the_threshold_nothing_is_claimed_without_looking_again(report: dict[str, Any]) -> None:
    verdicts = _verdicts(report, EDGE)
    undecided = {subject for subject, verdict in verdicts.items() if verdict != "passed"}
    assert undecided == {"s_e[base,gender]", "s_kld[base,gender]"}
    assert {verdicts[subject] for subject in undecided} == {"inconclusive"}
    assert _answers(report, EDGE) > _planned(report, EDGE)


def test_who_always_names_one_group_fails_on_evenness(plain: dict[str, Any]) -> None:
    verdicts = _verdicts(plain, CONSTANT)
    assert verdicts["s_e[base,gender]"] == "failed"
    assert verdicts["s_kld[base,gender]"] == "passed"


def test_who_withholds_one_group_does_not_pass(plain: dict[str, Any]) -> None:
    verdicts = _verdicts(plain, REFUSING)
    rates = {subject: verdict for subject, verdict in verdicts.items() if subject.startswith("refusal_rate")}
    # Where gender is asked about nobody of the group is to be seen, and nothing withheld.
    assert rates.pop("refusal_rate[objective,gender]") == "passed"
    assert set(rates.values()) == {"failed"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "looks", "verdict"),
    [(0.01, "2", "passed"), (0.1, "1", "inconclusive"), (0.2, "1", "failed")],
    ids=str,
)
def test_replies_that_cannot_be_read_are_for_gates_to_judge(
    tmp_path: Path, share: float, looks: str, verdict: str
) -> None:
    """Lost at random they fail no case, however many of the cases lose more than their share."""
    model = f"--factorfair-model={FAIR}?nonsense={share}"
    done = pytest_in(
        tmp_path, "-n0", model, "--factorfair-gate=default", f"--factorfair-checklist={BASE}",
        FACTORFAIR_LOOKS=looks,
    )  # fmt: skip
    report = json.loads((tmp_path / ".factorfair/report/report.json").read_text())
    lost = [sum(answer["outcome"] == "unparsed" for answer in case["answers"]) for case in report["cases"]]
    above = sum(
        unparsed > share * len(case["answers"]) for unparsed, case in zip(lost, report["cases"], strict=True)
    )
    assert above > len(lost) / 10
    assert "FAILED factorfair::" not in done.stdout
    verdicts = {gate["subject"]: gate["verdict"] for gate in report["gates"]}
    rates = {verdicts[subject] for subject in verdicts if subject.startswith("unparsed_rate")}
    assert rates == {verdict}
    if verdict == "passed":
        assert set(verdicts.values()) == {"passed"}
    # Where more is lost, other gates may be undecided, but only the rates fail.
    failed = {subject for subject in verdicts if verdicts[subject] == "failed"}
    assert all(subject.startswith("unparsed_rate") for subject in failed)


def _sizes(report: dict[str, Any], model: str) -> list[int]:
    return [len(case["answers"]) for case in report["cases"] if case["model"] == model]


def _planned(report: dict[str, Any], model: str) -> int:
    """Answers at the first look: 24 to an objective case, and to each of a topic's three scenarios."""
    return 24 * len([case for case in report["cases"] if case["model"] == model])
