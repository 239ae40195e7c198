"""Parse the text of a reply: the letter it chose, or the outcome and reason if it chose none.

Steps are tried in order: one JSON object, assertions in the text, refusals, hedged assertions. Nothing is
guessed: a reply that no step understands is unparsed, and so is an answer that the surrounding text retracts.
A model that says it cannot know but then chooses has chosen; one that says no more chooses the option that
means unknown, where there is one.

The module is imported for the first reply that is not exactly the requested JSON, because compiling its
patterns takes longer than reading a thousand replies that are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise

from pytest_factorfair.domain import Reading
from pytest_factorfair.reading import outcomes
from pytest_factorfair.reading.assertions import (
    Assertion,
    Clarity,
    CleanReply,
    assertions,
    corrected,
    counted,
    letters,
    revised,
)
from pytest_factorfair.reading.clean import clean, without_reasoning
from pytest_factorfair.reading.mentions import MOST_MENTIONS, Vocabulary
from pytest_factorfair.reading.outcomes import NOTHING, UNKNOWN
from pytest_factorfair.reading.refusals import (
    declines,
    declines_outright,
    leaves_open,
    names_several,
    presented,
    withdrawn,
)

LONGEST = 20_000
"""Maximum length without reasoning; a longer reply is parsed only if it is one JSON object."""

LONGEST_OBJECT = 2_000_000
"""Maximum length of a reply that is one JSON object; parsing a longer one takes too much memory."""

MOST_OBJECTS = 40
"""Maximum number of JSON answers; a reply with more repeats itself, and is not an answer."""


def read_text(text: str, vocabulary: Vocabulary) -> Reading:
    """Determine which option a complete reply chose."""
    if (named := _whole_object(text, vocabulary)) is not None:
        return _read_object(text, named, vocabulary)
    visible = without_reasoning(text)
    if not visible.strip():
        return outcomes.ONLY_REASONING if text.strip() else outcomes.EMPTY
    if len(visible) <= LONGEST:
        visible = clean(visible, vocabulary.cues)
    if not visible or len(visible) > LONGEST:  # normalisation can turn one character into eighteen
        return outcomes.TOO_LONG if visible else outcomes.EMPTY
    if (named := _whole_object(visible, vocabulary)) is not None:
        return _read_object(visible, named, vocabulary)
    if declines_outright(visible, vocabulary.cues) and not vocabulary.named(visible):
        return _declined(visible, vocabulary) or outcomes.REFUSED
    return _read_prose(visible, vocabulary)


def _read_object(text: str, named: frozenset[str], vocabulary: Vocabulary) -> Reading:
    """Read a reply that is one JSON object: only its answer counts."""
    if named:
        return outcomes.conclude(named, offered=vocabulary.letters)
    if len(text) > LONGEST:
        return outcomes.TOO_LONG
    text = clean(text, vocabulary.cues)
    outright = declines_outright(text, vocabulary.cues)
    return _declined(text, vocabulary) or (outcomes.REFUSED if outright else outcomes.NO_OPTION)


def _read_prose(text: str, vocabulary: Vocabulary) -> Reading:
    """Read text, with or without JSON: the deciding assertions count unless later text retracts them."""
    embedded = _embedded_objects(text, vocabulary)
    if embedded is None:
        return outcomes.TOO_LONG
    formal, prose = embedded
    reply = CleanReply(prose, vocabulary, formal[0].end if formal else None)
    if len(reply.mentions) > MOST_MENTIONS:
        return outcomes.TOO_LONG
    in_order = sorted([*formal, *assertions(reply)], key=lambda assertion: assertion.start)
    all_assertions = revised(reply, in_order)
    deciding = counted(all_assertions)
    if not deciding:
        return _unchosen(text, reply, all_assertions, vocabulary)
    if corrected(reply, deciding):
        return outcomes.AMBIGUOUS
    clear = any(assertion.level is Clarity.FORMAL for assertion in deciding)
    if withdrawn(prose[max(assertion.end for assertion in deciding) :], vocabulary.cues, clear=clear):
        return _unchosen(text, reply, [], vocabulary)
    return outcomes.conclude(letters(deciding), offered=vocabulary.letters)


def _unchosen(
    text: str, reply: CleanReply, all_assertions: list[Assertion], vocabulary: Vocabulary
) -> Reading:
    """Read a reply that chose no option clearly: a refusal, a single hedged assertion, or unparsed."""
    if names_several(text, vocabulary.cues):
        return outcomes.AMBIGUOUS
    if declined := _declined(text, vocabulary):
        return declined
    hedged = letters(assertion for assertion in all_assertions if assertion.level is Clarity.HEDGED)
    if all_assertions and withdrawn(reply.text[all_assertions[-1].end :], vocabulary.cues):
        return outcomes.NOT_CHOSEN
    if len(hedged) == 1 and hedged == reply.spoken & vocabulary.letters:
        return outcomes.conclude(hedged, offered=vocabulary.letters)
    if leaves_open(text, vocabulary.cues) and not any(mention.lettered for mention in reply.mentions):
        return outcomes.REFUSED
    named = reply.named & vocabulary.letters
    several = outcomes.AMBIGUOUS if len(named) > 1 else outcomes.NOT_CHOSEN
    return several if named else outcomes.NO_OPTION


def _declined(text: str, vocabulary: Vocabulary) -> Reading | None:
    """Read a text that declines to choose: that nobody can know may be an option. None for other texts."""
    if unknown := vocabulary.undetermined(text):
        return outcomes.conclude(unknown, offered=vocabulary.letters)
    return outcomes.REFUSED if declines(text, vocabulary.cues) else None


# Answers in JSON: as the whole reply, in a code block, or inside other text

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
# A comment up to the end of its line or object: {"answer": "C"  // chosen at random
_COMMENT = re.compile(r"(?://|#)[^\n\"{}]{0,200}(?=\n|\})|/\*[^*\"{}]{0,200}\*/")


class JsonObject:
    """A JSON object that keeps all values of a repeated key."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        self.pairs = pairs


def _whole_object(text: str, vocabulary: Vocabulary) -> frozenset[str] | None:
    """The letters of a text that is one JSON object; None if it is not, or if the object has no answer."""
    text = text.strip()
    if len(text) > LONGEST_OBJECT or not (text.startswith("{") and text.endswith("}")):
        return None
    value = _parsed(text)
    return _answer(value, vocabulary) if isinstance(value, JsonObject) else None


def _embedded_objects(text: str, vocabulary: Vocabulary) -> tuple[list[Assertion], str] | None:
    """The assertions of JSON objects in a text, and the text with the objects blanked out; None if too many.

    An object does not count if the surrounding text retracts it, because refusals quote the requested format.
    An object of which that is unclear contradicts those that count.
    """
    objects = _calls(text, vocabulary)
    for match in _OBJECT.finditer(text):
        value = _parsed(match[0])
        if value is None and (loose := vocabulary.cues.loose.fullmatch(match[0])):
            value = JsonObject([(loose[1], loose[2])])
        answer = _answer(value, vocabulary) if isinstance(value, JsonObject) else None
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
    formal: list[Assertion] = []
    blanked: list[str] = []
    at = 0
    for (match, named), counted_in in zip(objects, counts, strict=True):
        if named and (counted_in or (counted_in is None and any(counts))):
            formal.append(Assertion(Clarity.FORMAL, match.start(), match.end(), named))
        blanked += [text[at : match.start()], "\n" * (match.end() - match.start())]
        at = match.end()
    return formal, "".join([*blanked, text[at:]])


def _calls(text: str, vocabulary: Vocabulary) -> list[tuple[re.Match[str], frozenset[str]]]:
    """Function calls that submit an answer; none if any of them is not presented as an answer."""
    calls = [*_CALL.finditer(text)][: MOST_OBJECTS + 1] if "(" in text else []
    for call in calls:
        line = text[text.rfind("\n", 0, call.start()) + 1 : call.start()]
        if not (_BEFORE_CALL.fullmatch(line) and presented(text, *call.span(), vocabulary.cues)):
            return []
    return [(call, _text(call["value"], vocabulary)) for call in calls]


def _parsed(text: str) -> object:
    for source in (text, _COMMENT.sub("", text)):
        try:
            return json.loads(source, object_pairs_hook=JsonObject, strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _answer(value: JsonObject, vocabulary: Vocabulary, depth: int = 0) -> frozenset[str] | None:
    """The letters, or UNKNOWN, that an object's answer names; None without an answer key.

    Empty if the answer declines, or if the text of another key (of more than one word) retracts it.
    """
    named = [(_key(vocabulary.cues.plain(key)), item) for key, item in value.pairs]
    answers = [item for key, item in named if key in vocabulary.cues.answer_keys] or [
        item for key, item in named if key in vocabulary.cues.keys
    ]
    if not answers and depth < _DEEPEST:
        inner = [_answer(item, vocabulary, depth + 1) for _, item in named if isinstance(item, JsonObject)]
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
    named = NOTHING
    for value in values:
        if isinstance(value, str):
            named |= _text(value, vocabulary)
        elif isinstance(value, list) and depth < _DEEPEST:
            named |= _union(value, vocabulary, depth + 1)
        elif isinstance(value, JsonObject) and depth < _DEEPEST:
            named |= _answer(value, vocabulary, depth + 1) or UNKNOWN
        elif value is not None:
            named |= UNKNOWN
    return named


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
