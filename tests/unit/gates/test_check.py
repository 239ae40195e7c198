"""A gate that no score of the run can decide is refused before anything is asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_factorfair.benchmarks import load
from pytest_factorfair.domain import Sampling
from pytest_factorfair.errors import InputError
from pytest_factorfair.gates import check, parse
from tests.unit.gates.planned import planned
from tests.unit.scoring.checklists import FACTS

MODELS = ("sim:uniform", "openai/gpt-4o")
SAMPLING = Sampling("balanced", samples=72, objective=24, seed=0)
KNOWN = (
    "age, attribution, base, facts, first, gender, highest, in_group, lenient, lowest, named, nap_rate, not_own_group, "
    "objective, openai/gpt-4o, own_group, queue_rate, race, refused, representativeness, scenario, "
    "sim:uniform, subjective, tea_rate, unparsed"
)


@pytest.mark.parametrize(
    "text",
    [
        "s_fact >= 0.8",
        "s_fact[objective,gender] >= 0.8",
        "s_fact[subjective] >= 0.2",
        "s_e[base,race] >= 0.9",
        "s_e[base,attribution,race,gender] >= 0.9",
        "s_fact_firm[objective,race,queue_rate,tea_rate] >= 0.4",
        "refusal_rate[facts,openai/gpt-4o] <= 0.05",
        "influence <= 0.1",
        "influence[attribution] <= 0.1",
        "influence[in_group,race] <= 0.1",
        "influence[highest] <= 0.1",
        "influence[in_group,not_own_group,race] <= 0.1",
        "s_e_within >= 0.9",
        "s_e_within[scenario] >= 0.9",
        "s_e_within[base,race,age,first] >= 0.9",
        "s_e_within[attribution,named] >= 0.8",
        "crossed <= 0.3",
        "crossed[base,gender] <= 0.3",
        "group_share[in_group,race] <= 0.3",
        "worst_fact[race] >= 0.25",
        "distance[subjective,in_group] <= 0.1",
    ],
)
def test_gates_that_the_run_can_decide_are_accepted(text: str) -> None:
    check([parse(text)], planned([FACTS], MODELS, SAMPLING))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("s_e[bse,race] >= 0.9", "unknown filter 'bse'; did you mean 'base'?"),
        ("s_e[gendr] >= 0.9", "unknown filter 'gendr'; did you mean 'gender'?"),
        ("s_e[openai/gpt-4] >= 0.9", "unknown filter 'openai/gpt-4'; did you mean 'openai/gpt-4o'?"),
        (
            "s_e[xyz] >= 0.9",
            f"unknown filter 'xyz'; known: {KNOWN}",
        ),
        (
            "s_e[objective,base] >= 0.9",
            "filters 'objective' and 'base' select no s_e score in this run; leave out 'objective' or 'base'",
        ),
        (
            "s_e[queue_rate,gender] >= 0.9",
            "filters 'queue_rate' and 'gender' select no s_e score in this run; leave out 'queue_rate' or 'gender'",
        ),
        (
            "influence[base] <= 0.1",
            "filter 'base' selects no influence score in this run; these do: attribution, in_group, representativeness",
        ),
        (
            "influence[objective] <= 0.1",
            "filter 'objective' selects no influence score in this run; these do: subjective",
        ),
        (
            "influence[in_group,gender] <= 0.1",
            "filters 'in_group' and 'gender' select no influence score in this run; leave out 'in_group' or 'gender'",
        ),
        (
            "s_e_within[scenari] >= 0.9",
            "unknown filter 'scenari'; did you mean 'scenario'?",
        ),
        (
            "s_e_within[base,named] >= 0.9",
            "filters 'base' and 'named' select no s_e_within score in this run; leave out 'base' or 'named'",
        ),
        (
            "implicit >= 0.9",
            "no checklist of this run measures implicit; checklists of the benchmark faintbench do",
        ),
        (
            "explicit[race] >= 0.9",
            "no checklist of this run measures explicit; checklists of the benchmark faintbench do",
        ),
        ("eta <= 0.6", "no checklist of this run measures eta; checklists of the benchmark faintbench do"),
        (
            "regression(s_fact) >= -0.02",
            "a regression needs a former report: give --factorfair-baseline FILE",
        ),
        (
            "s_e[objective,subjective,base] >= 0.9",
            "filter 'objective' matches none of the s_e scores that the others select; leave it out",
        ),
        (
            "s_e[gender,tea_rate,queue_rate] >= 0.9",
            "filter 'queue_rate' matches none of the s_e scores that the others select; leave it out",
        ),
        (
            "s_e[gender,race,queue_rate] >= 0.9",
            "filter 'gender' matches none of the s_e scores that the others select; leave it out",
        ),
    ],
)
def test_gates_that_the_run_cannot_decide_are_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        check(
            [parse("s_fact >= 0.1"), parse(text)],
            planned([FACTS], MODELS, SAMPLING),
            baseline="influence" in text,
        )
    assert str(caught.value) == f"gate '{text}': {problem}"


def test_a_checklist_without_a_part() -> None:
    mute = replace(FACTS, topics=())
    check([parse("s_fact[objective] >= 0.8")], planned([mute], MODELS, SAMPLING))
    with pytest.raises(InputError, match=r"unknown filter 'subjective'; did you mean 'objective'\?"):
        check([parse("s_e[subjective] >= 0.8")], planned([mute], MODELS, SAMPLING))


@pytest.mark.parametrize(
    ("metric", "word", "owner"),
    [
        ("s_e", "scenario", "s_e_within"),
        ("s_e", "highest", "influence"),
        ("influence", "named", "s_e_within"),
        ("crossed", "age", "s_e_within"),
        ("scan", "age", "s_e_within"),
        ("s_e", "lenient", "scan"),
    ],
)
def test_words_of_another_metric_are_refused_with_its_name(metric: str, word: str, owner: str) -> None:
    with pytest.raises(
        InputError, match=f"filter '{word}' selects no {metric} score; it selects those of {owner}$"
    ):
        check([parse(f"{metric}[{word}] >= 0.3")], planned([FACTS], MODELS, SAMPLING))


def test_words_of_several_other_metrics_are_refused() -> None:
    selects = "filter 'base' selects no worst_fact score in this run; these do: "
    with pytest.raises(InputError) as caught:
        check([parse("worst_fact[base] >= 0.3")], planned([FACTS], MODELS, SAMPLING))
    words = str(caught.value).partition(selects)[2].split(", ")
    assert "gender" in words
    assert "base" not in words


def test_people_of_a_paper_query_have_no_age_in_common() -> None:
    run = planned([FACTS], MODELS, replace(SAMPLING, design="paper"))
    check([parse("s_e_within[first] >= 0.5")], run)
    with pytest.raises(InputError, match="unknown filter 'age'"):
        check([parse("s_e_within[age] >= 0.5")], run)


def test_a_checklist_without_named_groups_has_no_influence() -> None:
    plain = replace(FACTS, contexts=FACTS.contexts[:1])
    with pytest.raises(
        InputError, match=r"this run does not measure influence, which needs a context that names a group$"
    ):
        check([parse("influence <= 0.8")], planned([plain], MODELS, SAMPLING))


@pytest.mark.parametrize(
    ("metric", "needed"),
    [
        ("position", "questions with lettered options"),
        ("name_preference", "questions with people to choose from"),
        ("age_preference", "questions with people to choose from"),
        ("refusal_gap", "a context that names a group at random"),
    ],
)
def test_what_pictures_cannot_show_is_refused_before_any_is_made(metric: str, needed: str) -> None:
    portraits = planned([load("fact_or_fair_t2i", truth="audited", base=Path())], ["sim:ideal"], SAMPLING)
    with pytest.raises(InputError) as caught:
        check([parse(f"{metric} <= 0.3")], portraits)
    assert str(caught.value).endswith(f"this run does not measure {metric}, which needs {needed}")


@pytest.mark.parametrize(
    ("minimum", "maximum", "score"),
    [
        ("s_e[base,gender] >= 0.9", "s_e[base,gender] <= 0.5", "s_e[base,gender]"),
        ("s_e[gender,base] >= 0.9", "s_e[base] <= 0.5", "s_e[base,gender]"),
        ("regression(s_e)[base,race] >= 0.1", "regression(s_e)[base] <= -0.1", "s_e[base,race]"),
    ],
)
def test_gates_that_contradict_each_other(minimum: str, maximum: str, score: str) -> None:
    run = planned([FACTS], MODELS[:1], SAMPLING)
    for gates in ((minimum, maximum), (maximum, minimum)):
        with pytest.raises(InputError) as caught:
            check(map(parse, gates), run, baseline=True)
        assert str(caught.value) == (
            f"gates '{minimum}' and '{maximum}': no {score} can pass both; leave one of them out"
        )


@pytest.mark.parametrize(
    "gates",
    [
        ("s_e >= 0.9", "s_e <= 0.5"),  # of judgements, and of facts
        ("s_e[base] >= 0.5", "s_e[base] <= 0.9"),
        ("s_e[base,gender] >= 0.9", "s_e[base,race] <= 0.5"),
        ("s_e[base] >= 0.9", "regression(s_e)[base] <= 0.1"),
    ],
)
def test_gates_in_both_directions(gates: tuple[str, str]) -> None:
    check(map(parse, gates), planned([FACTS], MODELS, SAMPLING), baseline=True)
