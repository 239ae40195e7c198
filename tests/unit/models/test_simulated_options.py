from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_factorfair.benchmarks import load
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair
from pytest_factorfair.domain import Attribute
from pytest_factorfair.errors import InputError
from pytest_factorfair.models.simulated.traits import KINDS as RESPONDENTS
from pytest_factorfair.models.simulated.traits import Traits, leaning, read_traits
from pytest_factorfair.models.spec import parse
from tests.unit.models.sample import GENDER, RACE, SAMPLE

ETHNICITY = replace(RACE, name="ethnicity")
CROSSED = Attribute("both", ("Asian Female", "Asian Male"), {}, {}, ("race", "gender"))

KINDS = ", ".join(sorted(RESPONDENTS))
OPTIONS = "knowledge, nonsense, position, prejudice, refuse, strength, style, when"
CONDITIONS = "age, at, attribute, context, direction, first, name, named, part, scenario, statistic, topic, true, valence"
NOBODY = "'self_serving' needs a context that says who the model is, which no checklist of this run has"


def having(*attributes: Attribute) -> FactOrFair:
    return replace(SAMPLE, attributes=attributes)


def read(text: str, *checklists: FactOrFair, **arguments: str) -> Traits:
    (traits,) = read_traits(parse(text, arguments, checklists=checklists or (SAMPLE,)))
    return traits


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sim:uniform", Traits("uniform", knowledge=0.0)),
        ("sim:oracle", Traits("oracle", prejudice=1.0)),
        ("sim:contrary", Traits("contrary", prejudice=1.0)),
        ("sim:contrary?strength=0.5", Traits("contrary", prejudice=0.5)),
        ("sim:ideal", Traits("ideal")),
        ("sim:stereotyped", Traits("stereotyped", prejudice=0.3)),
        ("sim:stereotyped?strength=1&refuse=.1", Traits("stereotyped", prejudice=1.0, refuse=0.1)),
        ("sim:constant?group=Male", Traits("constant", favour=1.0, group="Male")),
        ("sim:position_biased", Traits("position_biased", position=0.5)),
        (
            "sim:position_biased?strength=0.1&prejudice=0.2",
            Traits("position_biased", position=0.1, prejudice=0.2),
        ),
        ("sim:refusing", Traits("refusing", refuse=0.3)),
        ("sim:refusing?rate=0.1", Traits("refusing", refuse=0.1)),
        ("sim:refusing?refuse=0.1", Traits("refusing", refuse=0.1)),
        ("sim:refusing?group=White", Traits("refusing", withhold=0.3, group="White")),
        (
            "sim:refusing?group=White&rate=0.2&refuse=0.1",
            Traits("refusing", withhold=0.2, refuse=0.1, group="White"),
        ),
        ("sim:context_following", Traits("context_following", follow=0.5)),
        ("sim:context_following?strength=0.7", Traits("context_following", follow=0.7)),
        ("sim:nonsense", Traits("nonsense", nonsense=1.0)),
        ("sim:ideal?attribute=race&style=fenced", Traits("ideal", attribute="race", style="fenced")),
        ("sim:avoiding?group=Black", Traits("avoiding", avoid=1.0, group="Black")),
        ("sim:reversed?strength=0.4", Traits("reversed", prejudice=0.4)),
        (
            "sim:name_biased?names=Sam,Alex&strength=0.8",
            Traits("name_biased", by_name=0.8, names=("Sam", "Alex")),
        ),
        (
            "sim:oracle?when=context:base,attribution,valence:bad",
            Traits("oracle", prejudice=1.0, when={"context": ("attribution", "base"), "valence": ("bad",)}),
        ),
        ("sim:ideal?when=age:20-40", Traits("ideal", when={"age": ("25", "35")})),
    ],
)
def test_specs_become_traits(text: str, expected: Traits) -> None:
    assert read(text) == expected


def test_several_respondents_in_one() -> None:
    spec = parse("sim:stereotyped?attribute=race+ideal?refuse=0.1", {"strength": "0.4"}, checklists=(SAMPLE,))
    assert read_traits(spec) == (
        Traits("stereotyped", prejudice=0.4, attribute="race"),
        Traits("ideal", refuse=0.1),
    )


def test_a_condition_that_one_of_the_checklists_meets() -> None:
    other_checklist = replace(SAMPLE, name="other", digest="other", topics=SAMPLE.topics[2:])
    traits = read("sim:oracle?when=topic:crime_rate-highest,scenario:3", other_checklist, SAMPLE)
    assert traits.when == {"topic": ("crime_rate-highest",), "scenario": ("3",)}
    with pytest.raises(InputError):
        read("sim:oracle?when=topic:crime_rate-highest,scenario:3", other_checklist)


def test_model_arguments_count_as_options() -> None:
    assert read("sim:stereotyped?refuse=0.1", strength="0.4") == read(
        "sim:stereotyped?refuse=0.1&strength=0.4"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sim:sterotyped", "unknown respondent 'sterotyped'; did you mean 'stereotyped'?"),
        ("sim:x", f"unknown respondent 'x'; known: {KINDS}"),
        ("sim:oracle?strenght=1", "'oracle' has no option 'strenght'; did you mean 'strength'?"),
        (
            "sim:oracle?group=Male",
            f"'oracle' has no option 'group'; known: attribute, decline, follow, {OPTIONS}",
        ),
        (
            "sim:constant?group=Male&favour=1",
            f"'constant' has no option 'favour'; known: attribute, decline, follow, group, {OPTIONS}",
        ),
        ("sim:oracle?strength=1.01", "strength must be a number from 0 to 1, not '1.01'"),
        ("sim:oracle?strength=-0.1", "strength must be a number from 0 to 1, not '-0.1'"),
        ("sim:oracle?knowledge=nan", "knowledge must be a number from 0 to 1, not 'nan'"),
        ("sim:refusing?rate=often", "rate must be a number from 0 to 1, not 'often'"),
        (
            "sim:stereotyped?strength=1&prejudice=1",
            "strength is prejudice for 'stereotyped'; keep one of the two",
        ),
        ("sim:refusing?rate=0.1&refuse=0.1", "without group=, rate means refuse; keep one of the two"),
        ("sim:ideal?attribute=Race", "unknown attribute 'Race'; did you mean 'race'?"),
        ("sim:ideal?attribute=age", "unknown attribute 'age'; known: gender, race"),
        ("sim:constant", "it needs a group, such as 'sim:constant?group=Female'"),
        ("sim:constant?group=female", "unknown group 'female'; did you mean 'Female'?"),
        (
            "sim:constant?group=Black&attribute=gender",
            "unknown group 'Black' of 'gender'; known: Female, Male",
        ),
        ("sim:ideal?style=jsn", "unknown style 'jsn'; did you mean 'json'?"),
        ("sim:avoiding", "it needs a group, such as 'sim:avoiding?group=Female'"),
        ("sim:constant?group=Black/Mal", "unknown group 'Mal'; did you mean 'Male'?"),
        ("sim:constant?group=Black,Whit", "unknown group 'Whit'; did you mean 'White'?"),
        ("sim:name_biased?names=Alex,Jordn", "unknown name 'Jordn'; did you mean 'Jordan'?"),
        (
            "sim:oracle?names=Alex",
            f"'oracle' has no option 'names'; known: attribute, decline, follow, {OPTIONS}",
        ),
        ("sim:self_serving", NOBODY),
        ("sim:oracle?when=scenrio:1", "unknown condition 'scenrio'; did you mean 'scenario'?"),
        (
            "sim:oracle?when=weather:bad",
            f"unknown condition 'weather'; known: {CONDITIONS}",
        ),
        ("sim:oracle?when=scenario:4", "no question of this run meets 'scenario:4'; known: 1, 2, 3"),
        (
            "sim:oracle?when=topic:crime_rate-high",
            "no question of this run meets 'topic:crime_rate-high'; did you mean 'crime_rate-highest'?",
        ),
        ("sim:oracle?when=age:50-60", "no question of this run meets 'age:50-60'; known: 15, 25, 35, 45, 85"),
        ("sim:oracle?when=bad", "'bad' is not a condition; write condition:word, such as valence:bad"),
        (
            "sim:oracle?when=valence:",
            "'valence:' is not a condition; write condition:word, such as valence:bad",
        ),
        (
            "sim:oracle?when=context:base,named:White",
            "no question of this run meets 'context:base,named:White'",
        ),
        (
            "sim:oracle?when=statistic:homeownership_rate,true:Male",
            "no question of this run meets 'statistic:homeownership_rate,true:Male'",
        ),
        (
            "sim:oracle?when=part:objective,scenario:1",
            "no question of this run meets 'part:objective,scenario:1'",
        ),
        ("sim:ideal+streotyped", "unknown respondent 'streotyped'; did you mean 'stereotyped'?"),
        ("sim:ideal+oracle?strenght=1", "'oracle' has no option 'strenght'; did you mean 'strength'?"),
        ("sim:ideal+oracle?style=letter", "style belongs to the first respondent"),
        ("sim:ideal+", f"unknown respondent ''; known: {KINDS}"),
    ],
)
def test_wrong_specs_are_one_line(text: str, problem: str) -> None:
    with pytest.raises(InputError) as error:
        read(text)

    assert str(error.value) == f"model '{text}': {problem}"


def test_an_unknown_argument_is_refused() -> None:
    with pytest.raises(InputError) as error:
        read("sim:oracle", refusal="0.1")

    assert str(error.value) == "model 'sim:oracle': 'oracle' has no option 'refusal'; did you mean 'refuse'?"


def test_an_option_that_is_an_argument_too() -> None:
    with pytest.raises(InputError) as error:
        read("sim:oracle?refuse=0.1", refuse="0.1")

    assert str(error.value) == (
        "model 'sim:oracle?refuse=0.1': option 'refuse' is given in the spec and as a model argument; "
        "keep one"
    )


def test_a_group_of_several_attributes_needs_the_attribute() -> None:
    twice = having(GENDER, RACE, ETHNICITY)
    with pytest.raises(InputError) as error:
        read("sim:constant?group=White", twice)

    assert str(error.value) == (
        "model 'sim:constant?group=White': several attributes have a group 'White'; "
        "add attribute=race or attribute=ethnicity"
    )
    assert leaning(read("sim:constant?group=White&attribute=ethnicity", twice), twice) == "ethnicity"


@pytest.mark.parametrize(
    ("name", "expected"), [("fact_or_fair", "gender"), ("fact_or_fair_crossed", "gender_and_race")]
)
def test_prejudice_is_about_what_a_checklist_has_labels_of(name: str, expected: str) -> None:
    checklist = load(name, truth="audited", base=Path())
    assert isinstance(checklist, FactOrFair)
    assert leaning(read("sim:stereotyped", checklist), checklist) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sim:stereotyped", ("gender", "gender", "both")),  # ethnicity has no labels
        ("sim:stereotyped?attribute=race", ("race", None, None)),
        ("sim:constant?group=White", ("race", "ethnicity", None)),
        ("sim:refusing?group=Asian Female", (None, None, "both")),
    ],
)
def test_each_checklist_has_its_own_leaning(text: str, expected: tuple[str | None, ...]) -> None:
    checklists = (SAMPLE, having(ETHNICITY, GENDER), having(CROSSED))

    assert tuple(leaning(read(text, *checklists), checklist) for checklist in checklists) == expected
