"""The recommended gates at the ci preset, end to end: who passes, who fails, and what the looks save."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.acceptance.running import reported
from tests.project import BASE, DATA

STRONG, EDGE = (f"sim:stereotyped?strength={strength}" for strength in (0.35, 0.2))
FAIR = "sim:ideal"
PLAIN = DATA / "plain.yaml"
UNREADABLE = {
    f"sim:ideal?nonsense={share}": verdict
    for share, verdict in ((0.01, "passed"), (0.11, "inconclusive"), (0.3, "failed"))
}


def judged(folder: Path, models: Iterable[str], *, checklist: Path) -> dict[str, Any]:
    specs = [f"--factorfair-model={model}" for model in models]
    options = ["--factorfair-gate=default", f"--factorfair-checklist={checklist}"]
    report, printed = reported(folder, "-q", "-n0", *specs, *options, expect=1)
    assert "FAILED factorfair::" not in printed  # no case fails: what answers say is for gates to judge
    return report


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One run of all of them; its Holm correction is over the gates of three models, harder than for one."""
    return judged(tmp_path_factory.mktemp("verdicts"), (STRONG, EDGE, FAIR), checklist=BASE)


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
    by_attribute = 2 * len(("s_e", "s_kld", "scenario", "worst_topic"))
    once = len(("crossed", "name_preference", "position", "subjective", "objective", "refused", "unparsed"))
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
    scores = {f"{name}[base,gender]" for name in ("s_e", "s_kld")}
    assert failed == {*scores, "s_e_within[base,gender,scenario]", "scan[subjective]"}
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


@pytest.fixture(scope="module")
def unreadable(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The limit of ``unparsed_rate`` is .10: one loses far less, one about as much, one far more."""
    return judged(tmp_path_factory.mktemp("unreadable"), UNREADABLE, checklist=PLAIN)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "verdict"), UNREADABLE.items())
def test_replies_that_cannot_be_read_are_for_gates_to_judge(
    unreadable: dict[str, Any], model: str, verdict: str
) -> None:
    """However many of the cases lose more than their share."""
    share = float(model.partition("=")[2])
    cases = [case for case in unreadable["cases"] if case["model"] == model]
    lost = [fmean(answer["outcome"] == "unparsed" for answer in case["answers"]) for case in cases]
    assert sum(unparsed > share for unparsed in lost) > len(lost) / 10
    verdicts = _verdicts(unreadable, model)
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
