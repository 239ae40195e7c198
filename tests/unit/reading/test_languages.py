"""Replies in languages other than English, compared with a person's reading."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_factorfair import benchmarks, languages
from pytest_factorfair.domain import ENGLISH, Language, Option, Response, Sampling
from pytest_factorfair.reading import read
from pytest_factorfair.reading.cues import cues
from tests.unit.reading.option_sets import ITEM, PEOPLE, RACE
from tests.unit.reading.test_replies import outcome

FILES = {
    file.stem: yaml.load(file.read_text("utf-8"), yaml.CSafeLoader)
    for file in Path(__file__).parent.glob("languages/*.yaml")
}
SECTIONS = [
    pytest.param(code, section, id=f"{code}-{section['section']}".replace(" ", "-"))
    for code, file in FILES.items()
    for section in file["sections"]
]


def options(code: str, kind: str) -> tuple[Option, ...]:
    offered: dict[str, list[str]] = FILES[code]["options"][kind]
    lettered = zip("ABCD", offered.items(), strict=False)
    if kind == "people":
        return tuple(Option(letter, profile, (name,), {}, 35) for letter, (name, (profile,)) in lettered)
    unknown = "C" if kind == "item" else ""
    return tuple(
        Option(letter, name, (name, *aliases), {kind: name}, unknown=letter == unknown)
        for letter, (name, aliases) in lettered
    )


@pytest.mark.parametrize(("code", "section"), SECTIONS)
def test_replies_are_read_as_a_person_reads_them(code: str, section: dict[str, Any]) -> None:
    offered = options(code, section["options"])
    wrong = []
    for text, expected in section["replies"]:
        reading = read(Response(text), offered, section["direction"], language=Language(code))
        if expected == "no answer":
            right = reading.outcome in ("refused", "unparsed") and reading.letter is None
        else:
            right = (reading.letter or reading.reason, reading.outcome) == (expected, outcome(expected))
        if not right:
            wrong.append((text, expected, reading))
    assert wrong == []


@pytest.mark.parametrize("name", ["fact_or_fair", "fact_or_fair_es", "fact_or_fair_zh"])
def test_every_name_of_a_group_is_read_as_that_group(name: str) -> None:
    """Also where it is part of another group's: "hispanas" and "blancas no hispanas"."""
    checklist = benchmarks.load(name, truth="audited", base=Path())
    sampling = Sampling("balanced", samples=1, objective=1, seed=0)
    facts = {f"objective-crime_rate-{attribute}-highest" for attribute in ("gender", "race")}
    for case in benchmarks.cases(checklist, sampling):
        if case.id not in facts:
            continue
        (query, *_) = benchmarks.queries(checklist, case, sampling)
        for option in query.options:
            for word in (option.text, *option.words):
                for reply in (word, f"{word}.", word.lower(), json.dumps({"answer": word})):
                    reading = read(
                        Response(reply), query.options, query.direction, language=checklist.language
                    )
                    assert reading.letter == option.letter, reply


@pytest.mark.parametrize("code", FILES)
def test_a_language_has_enough_replies(code: str) -> None:
    replies = {str(text) for section in FILES[code]["sections"] for text, _ in section["replies"]}
    assert len(replies) >= (150 if code in ("es", "zh") else 80)


@pytest.mark.parametrize("code", FILES)
def test_an_english_reader_reads_fewer(code: str) -> None:
    """An English parser understands fewer of the replies, so they do test the cues of the language."""
    lost = 0
    for section in FILES[code]["sections"]:
        for text, expected in section["replies"]:
            offered = options(code, section["options"])
            reading = read(Response(text), offered, section["direction"], language=ENGLISH)
            lost += len(expected) == 1 and reading.letter != expected
    assert lost >= 30


@pytest.mark.parametrize("code", languages.shipped())
def test_what_respondents_say_is_read_in_their_language(code: str) -> None:
    replies = languages.words(Language(code)).replies
    for sentence in replies.sentences:
        for letter in "ABCD":
            text = sentence.replace("<letter>", letter)
            assert read(Response(text), RACE, "lowest", language=Language(code)).letter == letter, text
    for text in (*replies.refusals, replies.unknown):
        assert read(Response(text), PEOPLE, "highest", language=Language(code)).outcome == "refused", text
    for text in replies.refusals:
        assert read(Response(text), ITEM, language=Language(code)).outcome == "refused", text
    for text in (replies.unknown, languages.words(Language(code)).prompts.unknown):
        assert read(Response(text), ITEM, language=Language(code)).letter == "C", text
    for text in replies.nonsense:
        assert read(Response(text), PEOPLE, "highest", language=Language(code)).outcome == "unparsed", text


def test_accents_may_be_missing_only_where_the_language_says_so() -> None:
    options = (Option("A", "Málaga", ("Málaga",), {}), Option("B", "León", ("León",), {}))
    assert read(Response("la opcion malaga"), options, language=Language("es")).letter == "A"
    assert read(Response("Malaga"), options).letter is None
    assert cues(Language("es")).plain("Señor Núñez, ¿pingüino?") == "Señor Nuñez, ¿pinguino?"


@pytest.mark.parametrize("code", languages.shipped())
def test_every_entry_is_used_once(code: str) -> None:
    """A term belongs to some cue, and no list repeats an entry."""
    words = languages.words(Language(code))
    lists = {
        **words.cues,
        **{name: (term,) if isinstance(term, str) else term for name, term in words.terms.items()},
    }
    used: set[str] = set()
    entries = [entry for cue in words.cues.values() for entry in cue]
    while entries:
        terms = set(re.findall(r"\{([a-z_]+)\}", entries.pop())) & words.terms.keys() - used
        used |= terms
        entries += [entry for term in terms for entry in lists[term]]
    assert words.terms.keys() - used == set()
    assert {name: entries for name, entries in lists.items() if len({*entries}) < len(entries)} == {}
