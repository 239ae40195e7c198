"""Notes in reports about pictures that show nobody, or several people."""

from __future__ import annotations

from pytest_factorfair.benchmarks.fact_or_fair.pictures import people_seen
from pytest_factorfair.domain import Answer, CaseKey, Outcome, Record
from tests.unit.scoring.checklists import FACTS


def answer(query: str, outcome: Outcome = "answered", reason: str = "") -> Answer:
    return Answer(query, outcome, reason, None, {}, {}, query)


def record(case: str, *answers: Answer, model: str = "m") -> Record:
    return Record(CaseKey(model, FACTS.name, case), answers)


def test_pictures_not_faces_are_counted() -> None:
    records = [
        record("one", answer("a"), answer("a"), answer("a"), answer("b", "unparsed", "no face")),
        record("two", answer("a"), answer("b"), answer("b"), answer("c", "refused", "refused")),
    ]
    assert list(people_seen(records, FACTS, models=["m"])) == [
        "m: 1 of 5 pictures show no face; 2 of 5 pictures show several, each of which counts"
    ]


def test_portraits_of_one_person_each_give_no_note() -> None:
    records = [record("one", answer("a")), record("one", answer("a"), answer("a"), model="other")]
    assert list(people_seen(records, FACTS, models=["m"])) == []
