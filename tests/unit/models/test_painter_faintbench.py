"""The simulated image model on FAIntbench: whom its code cards show."""

from __future__ import annotations

import asyncio
from ast import literal_eval
from collections import Counter
from functools import cache
from itertools import product
from math import sqrt
from pathlib import Path

import pytest

from pytest_factorfair.benchmarks.faintbench.cases import cases, queries
from pytest_factorfair.benchmarks.faintbench.checklist import Faintbench, PromptCase
from pytest_factorfair.detection.registry import build as detector
from pytest_factorfair.domain import Request, Response, Sampling
from pytest_factorfair.errors import InputError
from pytest_factorfair.models.simulated.painter import build
from pytest_factorfair.models.spec import parse
from pytest_factorfair.pictures.cards import paint as paint_cards
from pytest_factorfair.pictures.classes import painted
from tests.unit.benchmarks.faintbench.files import loaded, written

pytestmark = pytest.mark.usefixtures("codes")

ALL = Sampling("balanced", samples=1, objective=1, seed=0, prompts="all", per_prompt=1)
FAINTBENCH = loaded("faintbench")
CASES = {case.id: case for case in cases(FAINTBENCH, ALL)}
ATTRIBUTES = {attribute.name: attribute.groups for attribute in FAINTBENCH.attributes}
GROUPS = {painted(name, group): (name, group) for name, groups in ATTRIBUTES.items() for group in groups}
PICTURES = 120

Groups = dict[str, str]


def paint(spec: str, asked: list[PromptCase], pictures: int, of: Faintbench = FAINTBENCH) -> list[Response]:
    """Pictures of the cases in turn, each with another seed."""
    model = build(parse(spec, {}, checklists=(of,)))
    requests = [
        Request(query.prompt, repeat, 1000 * number + repeat, query)
        for number, case in enumerate(asked)
        for query in queries(of, case, ALL)[:1]
        for repeat in range(pictures)
    ]

    async def all_of_them() -> list[Response]:
        return [await model.ask(request) for request in requests]

    return asyncio.run(all_of_them())


def look(responses: list[Response]) -> list[tuple[Groups, ...]]:
    """The groups of the people on each picture, from left to right, by their codes."""
    pictures = [literal_eval((response.image or b"").decode()) for response in responses]
    return [
        tuple(dict(GROUPS[code] for code in person.items()) for person in people) for people, _ in pictures
    ]


@cache
def seen(spec: str, case: str, pictures: int = PICTURES) -> list[tuple[Groups, ...]]:
    return look(paint(spec, [CASES[case]], pictures))


def near(hits: int, n: int, expected: float) -> bool:
    """Whether a share is within four standard errors of the expected one (exactly at 0 and 1)."""
    return abs(hits / n - expected) <= 4 * sqrt(expected * (1 - expected) / n)


def shares(case: str, side: int, attribute: str) -> dict[str, float]:
    return dict(FAINTBENCH.subject(CASES[case].subject).sides[side].shares[attribute])


def check(spec: str, case: str, side: int, attribute: str, expected: dict[str, float]) -> None:
    """Asserts that a side's groups come as often as expected."""
    counts = Counter(people[side][attribute] for people in seen(spec, case))
    for group, share in expected.items():
        assert near(counts[group], PICTURES, share), (group, share, counts)
    assert counts.total() == PICTURES


@pytest.mark.parametrize("attribute", ATTRIBUTES)
@pytest.mark.parametrize(
    ("case", "side"),
    [
        ("implicit-occupation-nurse", 0),
        ("implicit-occupation-farmer", 0),
        ("implicit-characteristic-rich", 0),
        ("implicit-relation-doctor_patient", 0),
        ("implicit-relation-doctor_patient", 1),
    ],
)
def test_the_ideal_shows_people_as_they_are(case: str, side: int, attribute: str) -> None:
    check("sim:ideal", case, side, attribute, shares(case, side, attribute))


def test_every_group_is_drawn_by_itself() -> None:
    people = seen("sim:ideal", "implicit-relation-doctor_patient")
    left_groups, right_groups = ("man", "young"), ("woman", "elderly")
    both = sum(
        (left_person["gender"], left_person["age"]) == left_groups
        and (right_person["gender"], right_person["age"]) == right_groups
        for left_person, right_person in people
    )
    assert near(both, PICTURES, 0.5 * 0.418 * 0.5 * 0.191)


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_the_uniform_shows_all_groups_alike_whatever_is_asked(attribute: str) -> None:
    groups = ATTRIBUTES[attribute]
    equal = dict.fromkeys(groups, 1 / len(groups))
    check("sim:uniform", "implicit-occupation-nurse", 0, attribute, equal)
    check("sim:uniform", f"explicit-occupation-nurse-{attribute}-{groups[0]}", 0, attribute, equal)


def test_knowledge_is_how_often_the_group_asked_for_is_delivered() -> None:
    case = "explicit-relation-doctor_patient-race-latino-african"
    for side, asked in enumerate(("latino", "african")):
        expected = dict.fromkeys(ATTRIBUTES["race"], 0.4 / 5)
        expected[asked] = 0.6 + 0.4 / 5
        check("sim:ideal?knowledge=0.6", case, side, "race", expected)
        mixed = {group: 0.6 * share + 0.4 / 3 for group, share in shares(case, side, "age").items()}
        check("sim:ideal?knowledge=0.6", case, side, "age", mixed)


@pytest.mark.parametrize("spec", ["sim:ideal", "sim:oracle", "sim:stereotyped", "sim:constant?group=man"])
def test_what_is_asked_for_is_delivered_on_its_side(spec: str) -> None:
    asked = [case for case in CASES.values() if case.requested]
    assert len(asked) == 2440
    for case, people in zip(asked, look(paint(spec, asked, 1)), strict=True):
        assert tuple(groups[case.attributes[0]] for groups in people) == case.requested
        assert all(groups.keys() == ATTRIBUTES.keys() for groups in people)


def test_every_painted_person_is_read() -> None:
    """Every combination of the ten groups is read, each in turn to the left of every other."""
    everyone = [dict(zip(ATTRIBUTES, groups, strict=True)) for groups in product(*ATTRIBUTES.values())]
    assert len(everyone) == 30
    codes = [dict(painted(*pair) for pair in groups.items()) for groups in everyone]
    for shift in (1, 7):
        pictures = [paint_cards(codes[i], codes[i - shift], seed=31 * shift + i) for i in range(30)]
        detections = detector("sim", custom={}).read(pictures, FAINTBENCH.attributes)
        people = [tuple(face.groups for face in detection.faces) for detection in detections]
        assert people == [(everyone[i], everyone[i - shift]) for i in range(30)]


def test_one_group_is_shown_wherever_none_is_asked_for() -> None:
    case = "implicit-relation-doctor_patient"
    for side in (0, 1):
        check("sim:constant?group=latino", case, side, "race", {"latino": 1.0})
        check("sim:constant?group=latino", case, side, "age", shares(case, side, "age"))
    explicit = "explicit-occupation-nurse-gender-man"
    check("sim:constant?group=latino", explicit, 0, "race", {"latino": 1.0})
    check("sim:constant?group=latino&strength=0.5", explicit, 0, "race", {"latino": 0.5 + 0.5 * 0.12})


@pytest.mark.parametrize(
    ("spec", "nurse", "farmer"),
    [
        ("sim:oracle", ("woman", "south_asian", "middle_aged"), ("man", "south_asian", "middle_aged")),
        ("sim:contrary", ("man", "latino", "elderly"), ("woman", "latino", "young")),
    ],
)
def test_likeliest_and_rarest_groups(spec: str, nurse: tuple[str, ...], farmer: tuple[str, ...]) -> None:
    """The likeliest and rarest groups: 14 % of nurses are men, 6 % elderly; 13 % of farmers women, 14 % young."""
    for case, groups in (("nurse", nurse), ("farmer", farmer)):
        people = seen(spec, f"implicit-occupation-{case}", 20)
        assert people == [(dict(zip(ATTRIBUTES, groups, strict=True)),)] * 20


def test_the_contrary_leans_on_one_attribute_if_it_is_given() -> None:
    case = "implicit-occupation-nurse"
    check("sim:contrary?attribute=race", case, 0, "race", {"latino": 1.0})
    check("sim:contrary?attribute=race", case, 0, "gender", shares(case, 0, "gender"))


def test_the_contrary_never_shows_whom_it_is_asked_for() -> None:
    asked = [case for case in CASES.values() if case.requested][::23]
    for case, people in zip(asked, look(paint("sim:contrary", asked, 1)), strict=True):
        for groups, unwanted in zip(people, case.requested, strict=True):
            assert groups[case.attributes[0]] != unwanted
    rarest_but_one = seen("sim:contrary", "explicit-occupation-nurse-race-latino", 20)
    assert {people[0]["race"] for people in rarest_but_one} == {"african"}


@pytest.mark.parametrize(
    ("attribute", "favoured", "disfavoured"),
    [("gender", "man", "woman"), ("race", "european", "south_asian")],
)
def test_stereotypes_are_opposite_within_a_pair(attribute: str, favoured: str, disfavoured: str) -> None:
    spec = f"sim:stereotyped?strength=0.7&attribute={attribute}"
    for case, side, group in (
        ("implicit-characteristic-rich", 0, favoured),
        ("implicit-occupation-nurse", 0, disfavoured),
        ("implicit-relation-doctor_patient", 0, favoured),
        ("implicit-relation-doctor_patient", 1, disfavoured),
    ):
        base_shares = shares(case, side, attribute)
        expected = {name: 0.3 * share + 0.7 * (name == group) for name, share in base_shares.items()}
        check(spec, case, side, attribute, expected)
    check(spec, "implicit-occupation-nurse", 0, "age", shares("implicit-occupation-nurse", 0, "age"))


def test_a_person_has_no_other_end_of_a_statistic() -> None:
    with pytest.raises(InputError, match="'reversed' needs a statistic with two ends, which no checklist"):
        build(parse("sim:reversed", {}, checklists=(FAINTBENCH,)))


def test_an_avoided_group_is_replaced_in_proportion() -> None:
    case = "implicit-occupation-nurse"
    base_shares = shares(case, 0, "race")
    without_latino = {
        group: share / (1 - base_shares["latino"])
        for group, share in base_shares.items()
        if group != "latino"
    }
    check("sim:avoiding?group=latino", case, 0, "race", {**without_latino, "latino": 0.0})
    half = {group: 0.5 * share + 0.5 * without_latino.get(group, 0.0) for group, share in base_shares.items()}
    check("sim:avoiding?group=latino&strength=0.5", case, 0, "race", half)
    check("sim:avoiding?group=man,woman", case, 0, "gender", shares(case, 0, "gender"))


def test_combinations_are_of_one_person() -> None:
    pictures = seen("sim:constant?group=man/latino,woman/african", "implicit-relation-doctor_patient")
    pairs = Counter((person["gender"], person["race"]) for people in pictures for person in people)
    assert set(pairs) == {("man", "latino"), ("woman", "african")}
    assert near(pairs["man", "latino"], 2 * PICTURES, 0.5)


def test_conditions_and_several_biases() -> None:
    spec = "sim:constant?group=man&when=kind:occupation+constant?group=young"
    for case, gender in (
        ("implicit-occupation-nurse", {"man": 1.0}),
        ("implicit-characteristic-rich", shares("implicit-characteristic-rich", 0, "gender")),
    ):
        check(spec, case, 0, "gender", gender)
        check(spec, case, 0, "age", {"young": 1.0})


def test_a_stereotype_of_people_in_no_pair_is_their_likeliest_group() -> None:
    spec = "sim:stereotyped?strength=1&attribute=age"
    check(spec, "implicit-relation-husband_wife", 0, "age", {"young": 1.0})
    check(spec, "implicit-relation-husband_wife", 1, "age", {"young": 1.0})


def test_same_request_same_picture_wherever_asked() -> None:
    asked = [CASES["implicit-occupation-nurse"], CASES["implicit-relation-doctor_patient"]]
    responses, repeated = (paint("sim:stereotyped", asked, 10) for _ in range(2))
    assert [response.image for response in responses] == [response.image for response in repeated]
    assert len({response.image for response in responses}) == 20


def test_refusals_come_at_their_rate() -> None:
    responses = paint("sim:refusing?rate=0.3", [CASES["implicit-characteristic-rich"]], PICTURES)
    refused = [response.finish == "refusal" for response in responses]
    assert near(sum(refused), PICTURES, 0.3)
    assert [response.image is None for response in responses] == refused


def test_withholding_a_group_refuses_its_pictures() -> None:
    responses = paint(
        "sim:refusing?group=man&rate=0.4", [CASES["implicit-relation-doctor_patient"]], PICTURES
    )
    delivered = look([response for response in responses if response.finish == "stop"])
    assert near(PICTURES - len(delivered), PICTURES, 0.4 * (1 - 0.5 * 0.5))
    without = sum(all(groups["gender"] == "woman" for groups in people) for people in delivered)
    assert near(without, len(delivered), 0.25 / 0.7)


def test_nonsense_shows_nobody() -> None:
    assert seen("sim:nonsense", "implicit-relation-doctor_patient", 20) == [()] * 20


def test_a_negative_share_counts_as_zero() -> None:
    """A negative share counts as 0: the published shares of fashion designers include -2.6 % elderly."""
    published = loaded("faintbench", truth="published")
    case = CASES["implicit-occupation-fashion_designer"]
    counts = Counter(groups["age"] for (groups,) in look(paint("sim:ideal", [case], PICTURES, published)))
    assert counts["elderly"] == 0
    assert near(counts["young"], PICTURES, 0.4358 / (0.4358 + 0.5897))


def test_groups_that_no_card_shows(tmp_path: Path) -> None:
    tea = written(tmp_path)
    with pytest.raises(InputError, match="no class of faces maps to 'tall'"):
        build(parse("sim:ideal", {}, checklists=(tea,)))
