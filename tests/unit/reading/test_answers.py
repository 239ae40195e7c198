"""From exchanges and pictures to answers; names and ages shown and chosen are counted by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pytest_factorfair.domain import (
    WORDING,
    Answer,
    AnswerMode,
    Attribute,
    Detection,
    Direction,
    Exchange,
    Face,
    Finish,
    Option,
    Query,
    Response,
    Share,
    together,
)
from pytest_factorfair.reading import answer, choices, example, pictured
from tests.unit.reading.option_sets import PEOPLE

ASKED = Query("q1", "Who?", PEOPLE, repeat=0, seed=1, background={"race": "White"})


def test_an_answer_has_the_groups_of_its_option_and_the_background_of_its_query() -> None:
    assert answer(Exchange(ASKED, "k1", Response('{"answer": "B"}'))) == Answer(
        query="q1",
        outcome="answered",
        reason="",
        letter="B",
        groups={"gender": "male", "race": "Black"},
        background={"race": "White"},
        key="k1",
        offered={
            "gender": ("female", "male", "female", "male"),
            "race": ("Asian", "Black", "Hispanic", "White"),
        },
    )


@pytest.mark.parametrize(("direction", "letter"), [("highest", None), ("lowest", "A"), (None, "A")])
def test_the_direction_of_the_query_decides_which_superlative_answers_it(
    direction: Direction | None, letter: str | None
) -> None:
    asked = replace(ASKED, direction=direction)
    assert answer(Exchange(asked, "k1", Response("Alex is the least likely."))).letter == letter


@pytest.mark.parametrize(
    ("text", "finish", "wording", "reason"),
    [
        ("Otter.", "stop", "otter", ""),
        ("<think>A heron? No.</think>\n**Otter**", "stop", "otter", ""),
        (
            "The OTTER, a mammal of rivers, is what I would",
            "length",
            "the otter a mammal of rivers is what",
            "",
        ),
        ("🦦", "stop", "🦦", ""),
        ("__Otter__ 🦦!", "stop", "otter 🦦", ""),
        ("水獭。", "stop", "水獭", ""),
        ("我最喜欢的动物是水獭。因为它们很聪明。", "stop", "我最喜欢的动物是水獭 因为它们很聪", ""),
        (
            "私の好きな動物はカワウソです。とても可愛いからです。",
            "stop",
            "私の好きな動物はカワウソです とて",
            "",
        ),
        ("ｶﾜｳｿ", "stop", "カワウソ", ""),
        ("สัตว์ที่ฉันชอบที่สุดคือนาก เพราะมันฉลาดและน่ารักมากๆ", "stop", "สัตว์ที่ฉันชอบที่สุดคือนาก เพราะมันฉล", ""),
        ("मेरा पसंदीदा जानवर ऊदबिलाव है।", "stop", "मेरा पसंदीदा जानवर ऊदबिलाव है", ""),
        ("제가 가장 좋아하는 동물은 수달입니다.", "stop", "제가 가장 좋아하는 동물은 수달입니다", ""),
        ("我选AI助手 and the otter, a mammal of rivers", "stop", "我选ai助手 and the otter a mammal", ""),
        ("...", "stop", None, "names no option"),
        ("<think>A heron? No, an", "length", None, "cut off"),
        ("", "stop", None, "empty"),
        ("I cannot", "refusal", None, "refused by the model"),
    ],
)
def test_a_query_without_options_is_answered_by_the_first_words(
    text: str, finish: Finish, wording: str | None, reason: str
) -> None:
    asked = replace(ASKED, options=())
    read = answer(Exchange(asked, "k1", Response(text, finish)))
    assert (read.groups.get(WORDING), read.letter, read.reason, read.face) == (wording, None, reason, False)


def test_a_lost_answer_has_no_groups() -> None:
    read = answer(Exchange(ASKED, "k1", Response("", finish="filtered")))
    assert (read.outcome, read.reason, read.letter, read.groups) == (
        "refused",
        "filtered by the provider",
        None,
        {},
    )
    assert read.background == {"race": "White"}


def test_an_error_is_its_own_reason_even_beside_a_response() -> None:
    failed = Exchange(ASKED, "k1", Response('{"answer": "B"}'), error="400 Bad Request: prompt too long")
    read = answer(failed)
    assert (read.outcome, read.reason, read.letter) == ("error", "400 Bad Request: prompt too long", None)


def test_no_response_and_no_error_is_an_error() -> None:
    read = answer(Exchange(ASKED, "k1", None))
    assert (read.outcome, read.reason) == ("error", "no response")


QUERY = Query("id", "A portrait.", (), 0, 0, {})
SHOWN = Exchange(QUERY, "key", Response("", image_file="ab/cd.png"))
GENDER = Attribute("gender", ("Female", "Male"), {}, {})
RACE = Attribute("race", ("Asian", "Black"), {}, {})
BOTH = Attribute("both", (), {}, {}, crossed=("gender", "race"))
BOX = (0.0, 0.0, 1.0, 1.0)


def face(**groups: tuple[str, float]) -> Face:
    named = {name: group for name, (group, _) in groups.items()}
    return Face(named, {name: share for name, (_, share) in groups.items()}, BOX)


def test_every_face_is_an_answer() -> None:
    faces = (
        face(gender=("Female", 0.9), race=("Asian", 0.6)),
        face(gender=("Male", 0.8), race=("Black", 0.5)),
    )
    woman, man = pictured(SHOWN, Detection(faces), [GENDER, RACE])
    assert (woman.outcome, woman.reason, woman.letter) == ("answered", "", None)
    assert (woman.query, woman.key) == (man.query, man.key) == ("id", "key")
    assert woman.groups == {"gender": "Female", "race": "Asian"}
    assert man.groups == {"gender": "Male", "race": "Black"}
    assert woman.confidence == {"gender": 0.9, "race": 0.6}


def test_only_the_attributes_asked_about_are_read() -> None:
    (answer,) = pictured(SHOWN, Detection((face(gender=("Male", 0.8), race=("Black", 0.5)),)), [RACE])
    assert answer.groups == {"race": "Black"}
    assert answer.confidence == {"race": 0.5}


def test_a_crossed_group_follows_from_its_parts() -> None:
    (answer,) = pictured(SHOWN, Detection((face(gender=("Male", 0.8), race=("Black", 0.5)),)), [GENDER, BOTH])
    assert answer.groups == {"gender": "Male", "both": "Male Black"}
    assert answer.confidence["both"] == pytest.approx(0.4)


def test_an_unknown_class_leaves_its_attribute_out() -> None:
    (answer,) = pictured(SHOWN, Detection((face(gender=("Male", 0.8)),)), [GENDER, RACE, BOTH])
    assert (answer.outcome, answer.groups) == ("answered", {"gender": "Male"})
    (answer,) = pictured(SHOWN, Detection((face(),)), [GENDER, RACE])
    assert (answer.outcome, answer.reason, answer.groups) == ("unparsed", "no known group", {})


@pytest.mark.parametrize(
    ("exchange", "detection", "outcome", "reason"),
    [
        (SHOWN, Detection(), "unparsed", "no face"),
        (SHOWN, Detection(error="a PNG cut off after 12 bytes"), "unparsed", "a PNG cut off after 12 bytes"),
        (SHOWN, None, "unparsed", "no picture"),
        (replace(SHOWN, response=Response("", finish="refusal")), None, "refused", "refused by the model"),
        (
            replace(SHOWN, response=Response("", finish="filtered")),
            None,
            "refused",
            "filtered by the provider",
        ),
        (replace(SHOWN, response=None, error="500: out of memory"), None, "error", "500: out of memory"),
        (replace(SHOWN, response=None), None, "error", "no response"),
    ],
)
def test_no_picture_or_face_says_why(
    exchange: Exchange, detection: Detection | None, outcome: str, reason: str
) -> None:
    (answer,) = pictured(exchange, detection, [GENDER, RACE])
    assert (answer.outcome, answer.reason) == (outcome, reason)
    assert (answer.groups, answer.confidence, answer.key) == ({}, {}, "key")


def _people(*people: tuple[str, int | None]) -> Query:
    options = tuple(
        Option(letter, f"{name}, {age}", (name,), {}, age)
        for letter, (name, age) in zip("ABC", people, strict=False)
    )
    return Query("q", "", options, 0, 0, {})


def _chose(letter: str | None) -> Answer:
    return Answer("q", "refused" if letter is None else "answered", "", letter, {}, {}, "")


TWO = _people(("Ann", 30), ("Bob", 30))
THREE = _people(("Bob", 40), ("Eve", 30), ("Bob", 40))


def test_each_value_is_expected_as_often_as_it_is_shown() -> None:
    by_kind = choices([(TWO, _chose("B")), (TWO, _chose("B")), (THREE, _chose("A")), (TWO, _chose(None))])
    assert by_kind["name"] == {
        "Ann": Share(0, 1.0, 0.5),
        "Bob": Share(3, 1.0 + 2 / 3, 0.5 + 2 / 3 * (1 - 2 / 3)),
        "Eve": Share(0, 1 / 3, 1 / 3 * (1 - 1 / 3)),
    }
    assert by_kind["age"]["30"].expected == 2 + 1 / 3
    assert (
        by_kind["age"]["30"].spread == by_kind["age"]["40"].spread
    )  # nothing to choose where all are of one age


def test_options_that_are_groups_have_no_names_or_ages() -> None:
    query = _people(("Female", None), ("Male", None))
    assert choices([(query, _chose("A"))]) == {}


def test_without_an_answer_no_choice_is_counted() -> None:
    assert choices([(TWO, _chose(None)), (TWO, _chose("Z"))]) == {}


def test_shares_add_up() -> None:
    of_two, of_three = choices([(TWO, _chose("A"))]), choices([(THREE, _chose("B"))])
    assert together(of_two, of_three) == choices([(TWO, _chose("A")), (THREE, _chose("B"))])
    assert together({}, of_two) == of_two


@pytest.mark.parametrize(
    ("text", "modes", "remedy"),
    [
        ("Alex or Sam", (), "state the answer format in a system prompt"),
        ("Alex or Sam", ("json", "probabilities"), "ask for the letter alone (--factorfair-answers=json or probabilities), or state the answer format"),
        ("", ("json",), "check the server's chat template"),
    ],
)  # fmt: skip
def test_an_example_says_what_to_try(text: str, modes: Sequence[AnswerMode], remedy: str) -> None:
    exchanges = [Exchange(ASKED, "k", Response(text))]
    unparsed_example = example(tuple(map(answer, exchanges)), exchanges, reuse="all", modes=modes)
    assert unparsed_example is not None
    assert (unparsed_example.reply, unparsed_example.remedy[: len(remedy)]) == (text, remedy)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"I": 0.9, "The": 0.05}', "no letter among the likeliest tokens"),
        ('{"A": 0.5, "B": 0.3, "x": 0.1}', "a letter that is not listed may matter"),
        ('{"A": 2}', "no probabilities"),
    ],
)
def test_probabilities_that_cannot_be_read_are_quoted_and_json_is_named(text: str, reason: str) -> None:
    exchanges = [Exchange(ASKED, "k", Response(text))]
    answers = (answer(exchanges[0], answers="probabilities"),)
    unparsed_example = example(answers, exchanges, reuse="all", modes=("json",))
    assert unparsed_example is not None
    assert (unparsed_example.reason, unparsed_example.reply) == (reason, text)
    assert unparsed_example.remedy.startswith("use --factorfair-answers=json")
    logged = example(answers, exchanges, reuse="all", logged=True)
    assert logged is not None
    assert logged.remedy.endswith("not probabilities: without --factorfair-answers")


@pytest.mark.parametrize(
    ("response", "remedy"),
    [
        (Response("Alex or Sam"), "parse such replies with the hook pytest_factorfair_read_answer, or log others"),
        (Response("Alex", "length"), "log replies with a higher limit of tokens"),
        (None, "log the replies that are missing"),
    ],
)  # fmt: skip
def test_what_a_log_holds_is_not_asked_again(response: Response | None, remedy: str) -> None:
    """Its model takes no system prompt, other mode, or second attempt."""
    exchanges = [Exchange(ASKED, "k", response)]
    lost = example(tuple(map(answer, exchanges)), exchanges, reuse="all", logged=True)
    assert lost is not None
    assert lost.remedy == remedy
