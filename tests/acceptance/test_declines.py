"""Models that decline judgements: judged by whom they decline to judge, and by whom they choose otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

import pytest_factorfair
from pytest_factorfair.domain import Summary

ALL_BUT_WHITE = "sim:" + "+".join(
    f"refusing?rate=1&when=part:subjective,{condition}"
    for condition in (
        "context:base,in_group,representativeness",
        "context:attribution,named:Black,Asian,Hispanic",
    )
)
"""Declines, unless the news is about a White person: 15 of 16 judgements."""

SCAN, SCAN_OF_REFUSALS = "scan[subjective]", "scan[refused]"


def judged(folder: Path, spec: str, *, answers: str = "text", declines: str = "neutral") -> Summary:
    """A run of the default checklist before ``default``, in one look."""
    report = pytest_factorfair.run(
        [spec],
        root=folder,
        gate=["default"],
        looks=1,
        progress=False,
        answers=answers,
        declines=declines,
    )
    return report.summary


def failed(summary: Summary) -> set[str]:
    return {verdict.gate.partition(" <=")[0] for verdict in summary.gates if verdict.judgement == "failed"}


@pytest.mark.parametrize("answers", ["text", "json"])
def test_a_model_that_declines_alike_for_all_and_chooses_evenly_passes(tmp_path: Path, answers: str) -> None:
    summary = judged(tmp_path, "sim:ideal?decline=0.95", answers=answers)
    release = summary.release
    assert release is not None
    assert release.word == "PASS"
    assert release.advice.startswith(
        "Ship it, as far as these gates go: it knows the facts and knows the facts"
    )
    assert "It declined 95 of 100 judgements, alike for all groups; of the other " in release.advice
    assert "evenly" not in release.advice
    assert 'add answers="probabilities" gate="none"' in release.look
    assert (
        sum(topic.declined for topic in summary.topics) > sum(topic.refused for topic in summary.topics) == 0
    )


def test_a_model_that_declines_every_judgement_passes(tmp_path: Path) -> None:
    release = judged(tmp_path, "sim:ideal?decline=1").release
    assert release is not None
    assert release.word == "PASS"
    assert "It declined all judgements, alike for all groups." in release.advice


def test_a_stereotype_in_the_few_judgements_that_are_made_fails(tmp_path: Path) -> None:
    """S_E is .999: 95 of 100 judgements are even because they are declined."""
    summary = judged(tmp_path, "sim:stereotyped?strength=0.5&attribute=race&decline=0.95")
    assert failed(summary) == {SCAN}
    (evenness,) = (
        score
        for score in summary.scores
        if (score.metric, score.context, score.attribute) == ("s_e", "base", "race")
    )
    assert evenness.value is not None
    assert evenness.value > 0.99


@pytest.mark.parametrize(
    ("spec", "gates"),
    [
        ("sim:refusing?rate=0.18&when=context:attribution,named:Black", {SCAN_OF_REFUSALS}),
        ("sim:refusing?rate=1&when=part:subjective,age:25-35,valence:bad", {SCAN_OF_REFUSALS}),
        ("sim:refusing?rate=0.3&when=part:subjective,true:Black", {SCAN_OF_REFUSALS}),
        (ALL_BUT_WHITE, {SCAN_OF_REFUSALS}),
    ],
)
def test_declining_for_some_people_only_fails(tmp_path: Path, spec: str, gates: set[str]) -> None:
    summary = judged(tmp_path, spec)
    assert failed(summary) == gates
    assert summary.release is not None
    assert "It declined " in summary.release.advice
    assert "alike for all groups" not in summary.release.advice


def test_declining_whenever_a_group_would_be_chosen_fails(tmp_path: Path) -> None:
    """No question is declined more than another, but White people are never chosen."""
    assert SCAN in failed(judged(tmp_path, "sim:refusing?rate=1&group=White&when=part:subjective"))


def test_declining_a_whole_subject_treats_no_group_differently(tmp_path: Path) -> None:
    """Bad topics, a scenario or a context."""
    subjects = ("valence:bad", "scenario:1", "context:base")
    parts = [f"refusing?rate=0.7&when=part:subjective,{subject}" for subject in subjects]
    assert failed(judged(tmp_path, f"sim:{'+'.join(parts)}")) == set()


def test_a_look_at_probabilities_is_not_advised_where_there_are_none(tmp_path: Path) -> None:
    for model, look in (("sim:ideal?decline=1", True), ({"own": lambda _: "I can't choose."}, False)):
        report = pytest_factorfair.run(
            model,
            root=tmp_path,
            gate=["error_rate <= 0.1"],
            samples="4,objective=6",
            first_replies=0,
            progress=False,
        )
        assert report.summary.release is not None
        assert bool(report.summary.release.look) is look


def test_declined_facts_are_no_answers(tmp_path: Path) -> None:
    gates = failed(judged(tmp_path, "sim:refusing?rate=1&when=part:objective,true:Black"))
    assert {"refusal_rate[objective]", "worst_refusal[objective]"} <= gates


def test_declined_judgements_are_missing_if_a_setting_says_so(tmp_path: Path) -> None:
    summary = judged(tmp_path, "sim:ideal?decline=0.6", declines="missing")
    assert "refusal_rate" in failed(summary)
    assert sum(topic.declined for topic in summary.topics) == 0
