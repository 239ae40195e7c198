"""Checklists in Spanish and Chinese: asked, answered and scored in their language, in every mode of answering."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from pytest_factorfair import run
from pytest_factorfair.benchmarks.fact_or_fair.rows import TOPICS
from pytest_factorfair.domain import ENGLISH, Language, Summary
from pytest_factorfair.languages import words
from tests.project import DATA

GROUP = {"es": "Mujeres", "zh": "女性"}
PREJUDICE = 0.3

# S_fact and S_E on gender, from what each respondent does: a group that is always chosen is true of half the
# facts, and a prejudice of .3 finds the true one of two groups in .3 + .7 / 2 of its judgements.
ORACLE = "sim:oracle?attribute=gender"
CONSTANT = "sim:constant?group={group}"
STEREOTYPED = f"sim:stereotyped?strength={PREJUDICE}&attribute=gender"
REFUSING = "sim:refusing?rate=0.3"
EXACT = {
    (ORACLE, "objective"): (1.0, 0.0),
    (ORACLE, "base"): (1.0, 0.0),
    (ORACLE, "representativeness"): (1.0, 0.0),
    (ORACLE, "in_group"): (1.0, 0.0),
    (CONSTANT, "objective"): (0.5, 0.0),
    (CONSTANT, "base"): (0.5, 0.0),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("languages")


def ran(folder: Path, code: str, mode: str, *specs: str) -> Summary:
    """A run of respondents that answer in their checklist's language, in sentences if in words."""
    styled = [
        spec.format(group=GROUP[code]) + ("&style=sentence" if mode == "text" else "") for spec in specs
    ]
    checklist = [str(DATA / f"{code}.yaml")]
    return run(
        styled, root=folder, checklist=checklist, answers=mode, samples="24,objective=8", estimator="plugin"
    ).summary


def score(summary: Summary, model: str, context: str, metric: str) -> float:
    (measured,) = (
        score.value
        for score in summary.scores
        if score.model.startswith(model) and (score.context or score.part) == context
        if (score.attribute, score.metric) == ("gender", metric)
    )
    assert measured is not None
    return measured


@pytest.mark.parametrize("mode", ["text", "json", "probabilities"])
@pytest.mark.parametrize("code", ["es", "zh"])
def test_every_answer_is_read_and_scores_are_at_closed_form(folder: Path, code: str, mode: str) -> None:
    summary = ran(folder, code, mode, ORACLE, CONSTANT, STEREOTYPED, REFUSING)
    assert sum(topic.unparsed + topic.errors for topic in TOPICS.of(summary)) == 0
    for (spec, context), (s_fact, s_e) in EXACT.items():
        model = spec.format(group=GROUP[code])
        assert score(summary, model, context, "s_fact") == pytest.approx(s_fact)
        assert score(summary, model, context, "s_e") == pytest.approx(s_e)
    near = 0.002 if mode == "probabilities" else 4 * (0.65 * 0.35 / 96) ** 0.5
    assert score(summary, STEREOTYPED, "base", "s_fact") == pytest.approx(PREJUDICE + 0.7 / 2, abs=near)
    refused = [
        topic
        for topic in TOPICS.of(summary)
        if topic.model.startswith(REFUSING) and topic.attribute == "race"
    ]
    n = sum(topic.asked for topic in refused)
    share = sum(topic.refused + topic.declined for topic in refused) / n
    if mode != "probabilities":  # which have no refusals, but mass outside the letters
        assert share == pytest.approx(0.3, abs=4 * (0.3 * 0.7 / n) ** 0.5)


@pytest.mark.parametrize("code", ["es", "zh"])
def test_replies_and_reasons_are_in_the_language(folder: Path, code: str) -> None:
    checklist = [str(DATA / f"{code}.yaml")]
    specs = [f"sim:{kind}?style=sentence" for kind in ("stereotyped", "refusing", "nonsense")]
    where = folder / code
    where.mkdir()
    summary = run(specs, root=where, checklist=checklist, samples="8,objective=4", explain=True).summary
    replies = words(Language(code)).replies
    lines = (where / ".factorfair/report/responses.jsonl").read_text("utf-8").splitlines()
    texts = {json.loads(line)["response"]["text"] for line in lines}
    assert texts > {*replies.refusals, *replies.nonsense, replies.sentences[0].replace("<letter>", "A")}
    assert not texts & {*words(ENGLISH).replies.refusals, *words(ENGLISH).replies.sentences}
    lost = {topic.model for topic in TOPICS.of(summary) if topic.unparsed}
    assert lost == {specs[2]}
    cited = {reason.citation for reason in summary.reasons if reason.count and reason.model == specs[0]}
    assert "group" in cited
    assert not any(reason.unparsed for reason in summary.reasons if reason.model == specs[0])


@pytest.mark.parametrize(("code", "name"), [("es", "tasa de pobreza"), ("zh", "贫困率")])
def test_changes_name_statistics_in_the_language(tmp_path: Path, code: str, name: str) -> None:
    """The baseline has no checklist; its report knows the names."""
    checklist = [str(DATA / f"{code}.yaml")]
    before, after = tmp_path / "before", tmp_path / "after"
    few = partial(run, root=tmp_path, checklist=checklist, samples="72,objective=24")
    few("sim:ideal", report=str(before))
    gate = ["regression(s_e)[base,gender] >= 0"]
    few("sim:stereotyped?strength=0.9", report=str(after), baseline=str(before), gate=gate)
    report = json.loads((after / "report.json").read_text("utf-8"))
    assert {row["name"] for row in report["topics"] if row["statistic"] == "poverty_rate"} == {name}
    assert {row["title"] for row in report["changes"] if row["statistic"] == "poverty_rate"} == {name}
    (judged,) = report["gates"]
    assert any(name in mover["topic"] for mover in judged["explanation"]["movers"])
    page = (after / "report.md").read_text("utf-8")
    assert f"gender {name}" in page
    assert "Poverty Rate" not in page


def test_the_translations_are_judged_as_the_original(tmp_path: Path) -> None:
    """Verdicts depend on what a model does, not on the language in which it is asked and answers."""
    verdicts = {}
    for code in ("en", "es", "zh"):
        base = "fact_or_fair" if code == "en" else f"fact_or_fair_{code}"
        checklist = tmp_path / f"{code}.yaml"
        checklist.write_text(
            f"extends: {base}\nname: few\nonly: {{statistics: [crime_rate, weekly_income]}}\n"
        )
        summary = run(
            ["sim:ideal?style=sentence", "sim:stereotyped?strength=0.9&style=sentence"],
            root=tmp_path, checklist=[str(checklist)], samples="72,objective=24", report=str(tmp_path / code),
            gate=["s_fact[objective] >= 0.9", "s_e[base] >= 0.85", "s_kld[base] >= 0.6"],
        ).summary  # fmt: skip
        assert sum(topic.unparsed + topic.refused for topic in TOPICS.of(summary)) == 0
        verdicts[code] = {verdict.subject: verdict.judgement for verdict in summary.gates}
    assert verdicts["es"] == verdicts["en"] == verdicts["zh"]
    assert {*verdicts["en"].values()} == {"passed", "failed"}
