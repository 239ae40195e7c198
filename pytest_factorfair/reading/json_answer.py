"""Find the answer in JSON: as the whole reply, in a code block, or inside other text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise

from pytest_factorfair.reading.assertions import Assertion, Clarity, CleanReply, assertions, counted, letters
from pytest_factorfair.reading.clean import clean
from pytest_factorfair.reading.mentions import Vocabulary
from pytest_factorfair.reading.outcomes import NOTHING, UNKNOWN
from pytest_factorfair.reading.refusals import (
    declines,
    names_several,
    presented,
    withdrawn,
)

# Innermost objects only: answers are not nested, and a search for balanced braces is not linear.
_OBJECT = re.compile(r"\{[^{}]{1,4000}\}")
# A function call instead of an object: submit_answer("C").
_CALL = re.compile(
    r"(?<![\w.])(?:(?:(?:submit|give|provide|send|set|select|choose|pick|make|my)_?)?"
    r"(?:final_?)?(?:answer|choice|option|letter|selection|response)|submit|select|choose|pick|respond)"
    r"\(\s{0,9}(?:\w{1,20}\s{0,9}[=:]\s{0,9})?([\"'])(?P<value>[^\"'(){}\n]{1,60})\1\s{0,9}\)",
    re.IGNORECASE,
)
_BEFORE_CALL = re.compile(r"[\W_]*|.*[:.,!?]\s?")

_DEEPEST = 4
_LONGEST_VALUE = 300
_LONGEST_UNCLEANED = 3_000
_MOST_VALUES = 26

LONGEST_OBJECT = 2_000_000
"""Maximum length of a reply that is one JSON object; parsing a longer one takes too much memory."""

MOST_OBJECTS = 40
"""Maximum number of JSON answers; a reply with more repeats itself, and is not an answer."""

Pairs = list[tuple[str, object]]


class _Object:
    """A JSON object that keeps all values of a repeated key."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs


def whole(text: str, vocabulary: Vocabulary) -> frozenset[str] | None:
    """The letters of a text that is one JSON object; None if it is not, or if the object has no answer."""
    text = text.strip()
    if len(text) > LONGEST_OBJECT or not (text.startswith("{") and text.endswith("}")):
        return None
    value = _parsed(text)
    return _answer(value, vocabulary) if isinstance(value, _Object) else None


def embedded(text: str, vocabulary: Vocabulary) -> tuple[list[Assertion], str] | None:
    """The assertions of JSON objects in a text, and the text with the objects blanked out; None if too many.

    An object does not count if the surrounding text retracts it, because refusals quote the requested format.
    An object of which that is unclear contradicts those that count.
    """
    objects = _calls(text, vocabulary)
    for match in _OBJECT.finditer(text):
        value = _parsed(match[0])
        if value is None and (loose := vocabulary.cues.loose.fullmatch(match[0])):
            value = _Object([(loose[1], loose[2])])
        answer = _answer(value, vocabulary) if isinstance(value, _Object) else None
        if answer is not None:
            objects.append((match, answer))
    objects.sort(key=lambda pair: pair[0].start())
    if len(objects) > MOST_OBJECTS:
        return None
    counts = [presented(text, *match.span(), vocabulary.cues) for match, _ in objects]
    for index, ((earlier, _), (later, _)) in enumerate(pairwise(objects)):
        if vocabulary.cues.joint.fullmatch(text, earlier.end(), later.start()):
            counts[index] = counts[index + 1] = counts[index] and counts[index + 1]
    if objects and not objects[-1][1]:  # an empty answer retracts earlier ones
        counts = [False] * len(objects)
    assertions: list[Assertion] = []
    blanked: list[str] = []
    at = 0
    for (match, named), counted_in in zip(objects, counts, strict=True):
        if named and (counted_in or (counted_in is None and any(counts))):
            assertions.append(Assertion(Clarity.FORMAL, match.start(), match.end(), named))
        blanked += [text[at : match.start()], "\n" * (match.end() - match.start())]
        at = match.end()
    return assertions, "".join([*blanked, text[at:]])


def _calls(text: str, vocabulary: Vocabulary) -> list[tuple[re.Match[str], frozenset[str]]]:
    """Function calls that submit an answer; none if any of them is not presented as an answer."""
    calls = [*_CALL.finditer(text)][: MOST_OBJECTS + 1] if "(" in text else []
    for call in calls:
        line = text[text.rfind("\n", 0, call.start()) + 1 : call.start()]
        if not (_BEFORE_CALL.fullmatch(line) and presented(text, *call.span(), vocabulary.cues)):
            return []
    return [(call, _text(call["value"], vocabulary)) for call in calls]


# A comment up to the end of its line or object: {"answer": "C"  // chosen at random
_COMMENT = re.compile(r"(?://|#)[^\n\"{}]{0,200}(?=\n|\})|/\*[^*\"{}]{0,200}\*/")


def _parsed(text: str) -> object:
    for source in (text, _COMMENT.sub("", text)):
        try:
            return json.loads(source, object_pairs_hook=_Object, strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _answer(value: _Object, vocabulary: Vocabulary, depth: int = 0) -> frozenset[str] | None:
    """The letters, or UNKNOWN, that an object's answer names; None without an answer key.

    Empty if the answer declines, or if the text of another key (of more than one word) retracts it.
    """
    named = [(_key(vocabulary.cues.plain(key)), item) for key, item in value.pairs]
    answers = [item for key, item in named if key in vocabulary.cues.answer_keys] or [
        item for key, item in named if key in vocabulary.cues.keys
    ]
    if not answers and depth < _DEEPEST:
        inner = [_answer(item, vocabulary, depth + 1) for _, item in named if isinstance(item, _Object)]
        nested = [letters for letters in inner if letters is not None]
        return NOTHING.union(*nested) if nested else None
    if not answers:
        return None
    notes = [
        item
        for key, item in named
        if key not in vocabulary.cues.keys and isinstance(item, str) and " " in item
    ]
    if any(
        withdrawn(clean(note[:_LONGEST_UNCLEANED], vocabulary.cues), vocabulary.cues, clear=True)
        for note in notes
    ):
        return NOTHING
    return _union(answers, vocabulary, depth)


def _union(values: Sequence[object], vocabulary: Vocabulary, depth: int) -> frozenset[str]:
    """The letters that several values name together; too many values count as naming all letters."""
    if len(values) > _MOST_VALUES:
        return vocabulary.letters
    return NOTHING.union(*(_value(value, vocabulary, depth) for value in values))


def _value(value: object, vocabulary: Vocabulary, depth: int) -> frozenset[str]:
    if isinstance(value, str):
        return _text(value, vocabulary)
    if isinstance(value, list):
        return _union(value, vocabulary, depth + 1) if depth < _DEEPEST else UNKNOWN
    if isinstance(value, _Object):
        return _answer(value, vocabulary, depth + 1) or UNKNOWN if depth < _DEEPEST else UNKNOWN
    return NOTHING if value is None else UNKNOWN


def _text(value: str, vocabulary: Vocabulary) -> frozenset[str]:
    """The letters that a string value names; empty if it declines, unless an option means unknown."""
    value = clean(value, vocabulary.cues) if len(value) <= _LONGEST_UNCLEANED else ""
    if len(value) == 1 and value.isalpha():
        declined = _key(value) in vocabulary.cues.declined_values  # "无"
        return vocabulary.named(value) or (NOTHING if declined else frozenset({value.upper()}))
    named = vocabulary.named(value) or (
        vocabulary.letters if names_several(value, vocabulary.cues) else NOTHING
    )
    if named or not value or len(value) > _LONGEST_VALUE:
        return named
    if _key(value) in vocabulary.cues.declined_values:
        return vocabulary.undetermined(value)
    reply = CleanReply(value, vocabulary)
    deciding = counted(assertions(reply))
    if deciding and withdrawn(value[max(assertion.end for assertion in deciding) :], vocabulary.cues):
        return vocabulary.undetermined(value)
    asserted = letters(deciding)
    if not asserted & vocabulary.letters:
        unknown = vocabulary.undetermined(value)
        if unknown or declines(value, vocabulary.cues):
            return unknown
    return asserted or reply.spoken or (UNKNOWN if not reply.mentions else NOTHING)


def _key(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum())
