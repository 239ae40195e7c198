"""When lost answers make a case fail; how often answers are lost is judged by gates."""

from __future__ import annotations

import pytest

from pytest_factorfair.domain import UNLOGGED, Answer, Answers, CaseKey, Outcome, Record, Usage


def _answers(**outcomes: int) -> Answers:
    names: dict[str, Outcome] = {
        "answered": "answered", "refused": "refused", "unparsed": "unparsed", "errors": "error"
    }  # fmt: skip
    lost = [names[name] for name, count in outcomes.items() for _ in range(count)]
    answers = [Answer(f"q{number}", outcome, "", "A", {}, {}, "") for number, outcome in enumerate(lost)]
    return Answers(Record(CaseKey("m", "c", "case"), answers), Usage())


@pytest.mark.parametrize(
    "outcomes",
    [
        {"answered": 12, "unparsed": 12},
        {"answered": 12, "unparsed": 6, "errors": 6},
        {"refused": 24},
        {"answered": 1, "unparsed": 1},
        {"unparsed": 1},  # a twentieth of such cases, if a twentieth of the replies is unparsed
        {"unparsed": 2},
        {"answered": 1, "unparsed": 2},  # one such case in a hundred
        {"answered": 1, "errors": 1},
    ],
)
def test_a_case_with_enough_answers_is_readable(outcomes: dict[str, int]) -> None:
    assert _answers(**outcomes).readable


@pytest.mark.parametrize(
    "outcomes",
    [
        {"answered": 11, "unparsed": 13},
        {"answered": 11, "unparsed": 6, "errors": 7},
        {"unparsed": 3},
        {"answered": 1, "unparsed": 3},
        {"errors": 1},
        {"answered": 1, "errors": 2},
        {"refused": 1, "errors": 3},
    ],
)
def test_a_case_with_too_few_answers_is_not_readable(outcomes: dict[str, int]) -> None:
    answers = _answers(**outcomes)
    assert not answers.readable
    assert "A case fails if more than half of its answers are lost." in answers.explain()


def test_a_picture_is_lost_once_however_many_faces_it_shows() -> None:
    faces = [Answer("q0", "unparsed", "no known group", None, {}, {}, "")] * 3
    seen = [Answer(f"q{number}", "answered", "", None, {"race": "Asian"}, {}, "") for number in (1, 2, 3)]
    assert Answers(Record(CaseKey("m", "c", "case"), [*faces, *seen]), Usage()).readable


def test_what_a_log_lacks_was_not_asked() -> None:
    lacking = [Answer(f"{number}", "error", UNLOGGED, None, {}, {}, "") for number in range(9)]
    replies: list[tuple[Outcome, int, bool]] = [
        ("answered", 1, True), ("answered", 0, True), ("unparsed", 3, False)
    ]  # fmt: skip
    for outcome, logged, readable in replies:
        answers = [Answer(f"logged {number}", outcome, "", None, {}, {}, "") for number in range(logged)]
        assert Record(CaseKey("m", "c", "case"), [*lacking, *answers]).readable is readable
