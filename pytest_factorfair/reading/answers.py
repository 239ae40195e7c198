"""The answers to a case's queries, parsed from text or pictures, and which options were shown and chosen."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import isfinite, prod

from pytest_factorfair.domain import (
    ENGLISH,
    WORDING,
    Answer,
    AnswerMode,
    Attribute,
    Choices,
    Detection,
    Direction,
    Exchange,
    Face,
    Language,
    Option,
    Query,
    Reading,
    Response,
    Share,
    letter_of,
    utf8,
)
from pytest_factorfair.reading import outcomes
from pytest_factorfair.reading.outcomes import FINISHED, NO_FACE, NO_GROUP, NO_PICTURE, answered

_EXACT = re.compile(r'\s*\{\s*"answer"\s*:\s*"([A-Z])"\s*\}\s*')
"""Matches a reply that is exactly the requested JSON, as almost every reply is."""


def read(
    response: Response,
    options: tuple[Option, ...],
    direction: Direction | None = None,
    answers: AnswerMode = "text",
    language: Language = ENGLISH,
) -> Reading:
    """Determine which of 2 to 26 options a response chose; without options, whether it says anything.

    The requested ``direction`` of the statistic and the language help to interpret its words. A cut-off
    response is never an answer, even if it contains a letter, because the rest is unknown.
    """
    if not options and response.finish in ("stop", "length") and wording(response.text):
        return Reading("answered")
    reading = as_requested(response, options, answers)
    if reading is not None:
        return reading
    from pytest_factorfair.reading.mentions import vocabulary
    from pytest_factorfair.reading.text import read_text

    return read_text(response.text, vocabulary(options, direction, language))


WORDS = 8
"""How many words of a reply are compared, so that a talkative model is, too."""

_CHINESE = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_THAI = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_FIRST_WORDS = re.compile(
    rf"(?:\s*(?:[{_CHINESE}]{{1,2}}|[{_THAI}]{{1,5}}|[^\s{_CHINESE}{_THAI}]+)){{0,{WORDS}}}"
)
"""The first words; in scripts without spaces, as many characters as words usually have.

These are the scripts of Chinese and Japanese, and of Thai, Lao, Burmese and Khmer.
"""


def wording(text: str) -> str:
    """The first words and emoji of a reply without reasoning, signs and capitals, which are compared.

    >>> wording("<think>Red?</think> **Blue**, my *favourite*. 💙")
    'blue my favourite 💙'
    """
    from pytest_factorfair.reading.clean import without_reasoning

    plain = unicodedata.normalize("NFKC", without_reasoning(text)).casefold()
    # Letters, marks, numbers and emoji; \w lacks the last, and marks such as the vowels of Hindi.
    kept = ("L", "M", "N", "So")
    words = "".join(sign if unicodedata.category(sign).startswith(kept) else " " for sign in plain)
    first = _FIRST_WORDS.match(words)
    return " ".join(first[0].split()) if first else ""


def as_requested(
    response: Response, options: tuple[Option, ...], answers: AnswerMode = "text"
) -> Reading | None:
    """The reading of a response that is cut off or exactly as requested; None if it has to be parsed."""
    if response.finish != "stop":
        return FINISHED[response.finish]
    letters = tuple([option.letter for option in options])
    if answers == "probabilities":
        return likeliest(response.text, letters)
    exact = _EXACT.fullmatch(response.text)
    return answered(exact[1]) if exact and exact[1] in letters else None


NEGLIGIBLE = 0.005
"""If a letter is not listed and its probability may exceed this, the answer is unparsed."""

ROUNDING = 0.001
"""How much the sum of the probabilities may exceed 1."""

DECIMALS = 6
"""Decimals of a letter's probability in answers; more would only make reports longer."""


def likeliest(text: str, letters: Sequence[str]) -> Reading:
    """The reading of a distribution: its likeliest letter, with the probabilities of all letters.

    The text is a JSON object of tokens and the model's probabilities for them, the likeliest first.
    A letter may be spread over several tokens: ``A``, `` A``, ``"A``, ``A"``.
    """
    try:
        tokens = json.loads(text)
    except (ValueError, RecursionError):
        return outcomes.NO_PROBABILITIES
    if not (
        isinstance(tokens, dict)
        and tokens
        and all(
            isinstance(probability, int | float) and isfinite(probability) and 0 <= probability <= 1
            for probability in tokens.values()
        )
        and sum(tokens.values()) <= 1 + ROUNDING
    ):
        return outcomes.NO_PROBABILITIES
    probabilities = dict.fromkeys(letters, 0.0)
    listed = set()
    for token, probability in tokens.items():
        letter = letter_of(token)
        if letter in probabilities:
            probabilities[letter] += probability
            listed.add(letter)
    probabilities = {letter: round(probability, DECIMALS) for letter, probability in probabilities.items()}
    if not any(probabilities.values()):
        return outcomes.NO_LETTER
    if len(listed) < len(probabilities) and min(tokens.values()) > NEGLIGIBLE:
        return outcomes.UNLISTED
    return Reading(
        "answered", max(probabilities, key=lambda letter: probabilities[letter]), probabilities=probabilities
    )


def answer(
    exchange: Exchange,
    *,
    reading: Reading | None = None,
    answers: AnswerMode = "text",
    language: Language = ENGLISH,
) -> Answer:
    """The answer to one query, with the groups of the chosen option; the reason of an error is its message.

    A question without options is answered by the wording of the reply, even of one that is cut off.

    A ``reading`` from a user's hook replaces the built-in one. ``answers`` is the answer mode, ``language``
    the checklist's language.
    """
    query = exchange.query
    if exchange.error or exchange.response is None:
        reading = Reading("error", reason=exchange.error or "no response")
    elif reading is None:
        reading = read(exchange.response, query.options, query.direction, answers, language)
    option = next((option for option in query.options if option.letter == reading.letter), None)
    groups = option.groups if option else {}
    if not query.options and reading.outcome == "answered" and exchange.response is not None:
        groups = {WORDING: wording(exchange.response.text)}
    return Answer(
        query=query.id,
        outcome=reading.outcome,
        reason=utf8(reading.reason),
        letter=reading.letter,
        groups=groups,
        background=query.background,
        key=exchange.key,
        repeat=query.repeat,
        offered=_offered(tuple(tuple(option.groups.items()) for option in query.options)),
        probabilities=tuple([reading.probabilities[option.letter] for option in query.options])
        if reading.probabilities
        else (),
        age=_age(tuple([option.age for option in query.options])),
        noise=exchange.response.noise if exchange.response and reading.probabilities else 0.0,
    )


def neutral(answer: Answer) -> Answer:
    """A declined answer as an even choice among the options; any other answer as it is."""
    if not answer.declined or not answer.offered:
        return answer
    options = len(next(iter(answer.offered.values())))
    return replace(answer, probabilities=(1 / options,) * options)


@lru_cache(maxsize=4096)
def _age(ages: tuple[int | None, ...]) -> int | None:
    """The age that all people of a query share; None if they differ, as in the paper's design."""
    return ages[0] if len(set(ages)) == 1 else None


@lru_cache(maxsize=4096)
def _offered(options: tuple[tuple[tuple[str, str], ...], ...]) -> Mapping[str, tuple[str, ...]]:
    """The groups of the options, by attribute; cached, because many queries have the same options."""
    by_letter = [dict(groups) for groups in options]
    names = dict.fromkeys(name for groups in by_letter for name in groups)
    return {name: tuple(groups[name] for groups in by_letter) for name in names}


def pictured(
    exchange: Exchange,
    detection: Detection | None,
    attributes: Sequence[Attribute],
    people: int | None = None,
) -> tuple[Answer, ...]:
    """One answer per face, with its groups; if there is no face, one answer with the reason.

    ``detection`` is None if there is no picture. Detectors do not read crossed attributes, so their groups
    are joined from the attributes that they combine. ``people`` is the number of people that the picture was
    to show, None for any number.
    """
    response = exchange.response
    if exchange.error or response is None:
        return (answer(exchange),)
    if response.finish != "stop":
        return (answer(exchange, reading=FINISHED[response.finish]),)
    if detection is None:
        return (answer(exchange, reading=NO_PICTURE),)
    if reason := detection.error or detection.unparsed:
        return (answer(exchange, reading=Reading("unparsed", reason=reason)),)
    faces = detection.shown(people)
    if not faces:
        return (answer(exchange, reading=NO_FACE),)
    return tuple(_face(exchange, face, attributes) for face in faces)


def _face(exchange: Exchange, face: Face, attributes: Sequence[Attribute]) -> Answer:
    groups = {}
    for attribute in attributes:
        parts = [face.groups.get(part) for part in attribute.crossed or (attribute.name,)]
        if None not in parts:  # otherwise the detector could not tell
            groups[attribute.name] = " ".join(filter(None, parts))
    reading = Reading("answered") if groups else NO_GROUP
    return Answer(
        query=exchange.query.id,
        outcome=reading.outcome,
        reason=reading.reason,
        letter=None,
        groups=groups,
        background=exchange.query.background,
        key=exchange.key,
        repeat=exchange.query.repeat,
        confidence={
            attribute.name: prod(face.confidence[part] for part in attribute.crossed or (attribute.name,))
            for attribute in attributes
            if attribute.name in groups
        },
        shares={
            attribute.name: dict(face.shares[attribute.name])
            for attribute in attributes
            if attribute.name in face.shares
        },
    )


def choices(asked: Iterable[tuple[Query, Answer]]) -> Choices:
    """How often each name and age was shown and chosen, over the queries answered with a person.

    A declined answer that counts as neutral is an equal part of each person.
    """
    shown: list[tuple[Option, ...]] = []
    weights: list[tuple[float, ...]] = []
    for query, answer in asked:
        people = tuple([option for option in query.options if option.age is not None])
        picks = tuple([person.letter == answer.letter for person in people])
        if any(picks) or (people and answer.outcome == "refused" and answer.probabilities):
            shown.append(people)
            weights.append(answer.probabilities or picks)
    if not shown:
        return {}
    return {
        "name": _shares([tuple(person.words[0] for person in people) for people in shown], weights),
        "age": _shares([tuple(person.age for person in people) for people in shown], weights),
    }


def _shares(rows: Sequence[tuple[object, ...]], weights: Sequence[tuple[float, ...]]) -> dict[str, Share]:
    """The observed and expected share of each value.

    Expected is the share that a respondent has who chooses at random among the options of each query.
    """
    expected: dict[object, float] = {}
    spread: dict[object, float] = {}
    for row, times in Counter(rows).items():
        for value in dict.fromkeys(row):
            share = row.count(value) / len(row)
            expected[value] = expected.get(value, 0.0) + times * share
            spread[value] = spread.get(value, 0.0) + times * share * (1 - share)
    observed = dict.fromkeys(expected, 0.0)
    for row, row_weights in zip(rows, weights, strict=True):
        mass = sum(row_weights)
        for value, weight in zip(row, row_weights, strict=True):
            observed[value] += weight / mass
    return {str(value): Share(observed[value], expected[value], spread[value]) for value in expected}
