"""From labels to records: every person has an answer, and both records have the same pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pytest_factorfair.benchmarks.faintbench.checklist import PromptCase
from pytest_factorfair.domain import Answer, Attribute, CaseKey
from pytest_factorfair.errors import InputError
from pytest_factorfair.labelling.people import majority_labels
from pytest_factorfair.labelling.records import JudgedPicture, Key, PeopleAndDetector, aligned, compared
from pytest_factorfair.labelling.sheet import LabelledFace, Spot

GENDER = Attribute("gender", ("man", "woman"), {}, {})
AGE = Attribute("age", ("young", "old"), {}, {})
BOTH = ("gender", "age")

Labels = Mapping[str, tuple[str | None, ...]]


def case(id_: str, *attributes: str) -> PromptCase:
    return PromptCase(id_, "c", "implicit", attributes, 1, id_, "relation", "x")


CASES = {"boss": case("boss", *BOTH), "nurse": case("nurse", "gender")}


def picture(of: str, people: int, number: int) -> JudgedPicture:
    answers = tuple(
        Answer(f"q{number}", "answered", "", None, {"gender": "man"}, {}, f"k{number}", number)
        for _ in range(people)
    )
    return JudgedPicture(CaseKey("m", "c", of), people, f"q{number}", f"k{number}", number, answers)


KEY = Key("digest", "audited", {"p/1": picture("boss", 2, 1), "p/2": picture("nurse", 1, 2)})
SPOTS = (Spot("p/1", 1), Spot("p/1", 2), Spot("p/2", 1))


def rows(*labels: Labels) -> tuple[LabelledFace, ...]:
    return tuple(LabelledFace(spot, by_attribute) for spot, by_attribute in zip(SPOTS, labels, strict=True))


def seen(*labels: Labels) -> PeopleAndDetector:
    faces = aligned(KEY, rows(*labels), Path("s.csv"))
    return compared(KEY, [majority_labels(faces, GENDER), majority_labels(faces, AGE)], CASES)


def same(gender: str | None, age: str | None) -> Labels:
    return {"gender": (gender, gender, gender), "age": (age, age, age)}


def told(answers: Sequence[Answer]) -> list[tuple[str, str, Mapping[str, str]]]:
    return [(answer.outcome, answer.reason, answer.groups) for answer in answers]


def test_majorities_become_answers_side_by_side() -> None:
    left_labels = {"gender": ("man", "man", "woman"), "age": ("young", "old", "old")}
    comparison = seen(left_labels, same("woman", "young"), same("man", "old"))
    assert [record.case.case for record in comparison.people] == ["boss", "nurse"]
    boss, nurse = comparison.people
    assert [answer.groups for answer in boss.answers] == [
        {"gender": "man", "age": "old"},
        {"gender": "woman", "age": "young"},
    ]
    assert {(answer.query, answer.key, answer.repeat) for answer in boss.answers} == {("q1", "k1", 1)}
    assert told(nurse.answers) == [("answered", "", {"gender": "man"})]
    assert [record.case for record in comparison.automatic] == [record.case for record in comparison.people]
    assert [record.answers for record in comparison.automatic] == [
        KEY.pictures["p/1"].answers,
        KEY.pictures["p/2"].answers,
    ]
    assert comparison.unlabelled == 0


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"gender": ("man", "woman", None), "age": ("young",) * 3}, ("answered", "", {"age": "young"})),
        (
            {"gender": ("man", "woman", None), "age": ("unclear",) * 3},
            ("unparsed", "no known group", {}),
        ),
        (same("unclear", None), ("unparsed", "no known group", {})),
        (same("no face", "no face"), ("unparsed", "no face", {})),
        (same("no face", "old"), ("answered", "", {"age": "old"})),
        (same(None, None), ("unparsed", "no known group", {})),
    ],
)
def test_ties_and_unclear_people_are_unparsed_and_stay(
    labels: Labels, expected: tuple[str, str, Mapping[str, str]]
) -> None:
    boss = seen(labels, same("woman", "young"), same("man", "old")).people[0]
    assert told(boss.answers) == [expected, ("answered", "", {"gender": "woman", "age": "young"})]


def test_attributes_that_a_case_does_not_ask_about_give_no_answer() -> None:
    nurse = seen(same("man", "old"), same("man", "old"), same("unclear", "old")).people[1]
    assert told(nurse.answers) == [("unparsed", "no known group", {})]


def test_pictures_that_nobody_labelled_are_in_neither() -> None:
    comparison = seen(same(None, None), same(None, None), same("man", None))
    assert [record.case.case for record in comparison.people] == ["nurse"]
    assert [record.case.case for record in comparison.automatic] == ["nurse"]
    assert comparison.unlabelled == 1


def test_rows_in_any_order() -> None:
    mixed = [rows(same("man", "old"), same("woman", "old"), same("man", "young"))[row] for row in (2, 1, 0)]
    assert [face.spot for face in aligned(KEY, mixed, Path("s.csv"))] == list(SPOTS)


@pytest.mark.parametrize(
    ("spots", "message"),
    [
        (SPOTS[:2], "s.csv: picture 'p/2', face 1: its row is missing"),
        ((*SPOTS, SPOTS[0]), "s.csv: picture 'p/1', face 1: appears twice"),
        (
            (*SPOTS, Spot("p/2", 2)),
            "s.csv: picture 'p/2', face 2: is not in this sample",
        ),
        (
            (*SPOTS, Spot("p-2")),
            "s.csv: picture 'p-2', face 1: is not in this sample; did you mean 'p/2'?",
        ),
    ],
)
def test_rows_that_are_not_those_of_the_sample(spots: tuple[Spot, ...], message: str) -> None:
    with pytest.raises(InputError) as caught:
        aligned(KEY, [LabelledFace(spot, same("man", "old")) for spot in spots], Path("s.csv"))
    assert str(caught.value) == message
