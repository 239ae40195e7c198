"""The answer in the requested JSON: alone, fenced, or inside other text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise

from pytest_factorfair.reading.claims import Claim, Clarity, CleanReply, claims, counted, letters
from pytest_factorfair.reading.clean import clean
from pytest_factorfair.reading.mentions import Vocabulary
from pytest_factorfair.reading.outcomes import NOTHING, UNKNOWN
from pytest_factorfair.reading.refusals import (
    declines,
    names_several,
    presented,
    withdrawn,
)

# Only innermost objects: a search for balanced braces is not linear, and answers are not deeply nested.
_OBJECT = re.compile(r"\{[^{}]{1,4000}\}")
# A call of a function in place of an object: submit_answer("C").
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
"""A reply with more answers in JSON is a loop, not an answer."""

Pairs = list[tuple[str, object]]


class _Object:
    """A JSON object that keeps all values of a repeated key."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs


def whole(text: str, known: Vocabulary) -> frozenset[str] | None:
    """The letters of a text that is one JSON object; None if it is not, or has no answer."""
    text = text.strip()
    if len(text) > LONGEST_OBJECT or not (text.startswith("{") and text.endswith("}")):
        return None
    value = _parsed(text)
    return _answer(value, known) if isinstance(value, _Object) else None


def embedded(text: str, known: Vocabulary) -> tuple[list[Claim], str] | None:
    """The claims of all JSON objects in a text, and the text with these blanked out; None if too many.

    An object counts only if the surrounding text does not retract it: refusals quote the requested format.
    A doubtful object contradicts others that count.
    """
    objects = _calls(text, known)
    for found in _OBJECT.finditer(text):
        value = _parsed(found[0])
        if value is None and (loose := known.cues.loose.fullmatch(found[0])):
            value = _Object([(loose[1], loose[2])])
        chosen = _answer(value, known) if isinstance(value, _Object) else None
        if chosen is not None:
            objects.append((found, chosen))
    objects.sort(key=lambda one: one[0].start())
    if len(objects) > MOST_OBJECTS:
        return None
    counts = [presented(text, *found.span(), known.cues) for found, _ in objects]
    for index, ((one, _), (other, _)) in enumerate(pairwise(objects)):
        if known.cues.joint.fullmatch(text, one.end(), other.start()):
            counts[index] = counts[index + 1] = counts[index] and counts[index + 1]
    if objects and not objects[-1][1]:  # an empty answer retracts those before it
        counts = [False] * len(objects)
    made: list[Claim] = []
    blanked: list[str] = []
    at = 0
    for (found, named), counted_in in zip(objects, counts, strict=True):
        if named and (counted_in or (counted_in is None and any(counts))):
            made.append(Claim(Clarity.FORMAL, found.start(), found.end(), named))
        blanked += [text[at : found.start()], "\n" * (found.end() - found.start())]
        at = found.end()
    return made, "".join([*blanked, text[at:]])


def _calls(text: str, known: Vocabulary) -> list[tuple[re.Match[str], frozenset[str]]]:
    """The calls of a function that submits an answer; none unless each of them is presented as one."""
    calls = [*_CALL.finditer(text)][: MOST_OBJECTS + 1] if "(" in text else []
    for call in calls:
        line = text[text.rfind("\n", 0, call.start()) + 1 : call.start()]
        if not (_BEFORE_CALL.fullmatch(line) and presented(text, *call.span(), known.cues)):
            return []
    return [(call, _text(call["value"], known)) for call in calls]


def _parsed(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_Object, strict=False)
    except (ValueError, RecursionError):
        return None


def _answer(value: _Object, known: Vocabulary, depth: int = 0) -> frozenset[str] | None:
    """What the object's answer names: letters, UNKNOWN or nothing; None without an answer key.

    It names nothing if a note (another key's text of more than one word) retracts it.
    """
    named = [(_key(known.cues.plain(key)), item) for key, item in value.pairs]
    given = [item for key, item in named if key in known.cues.answer_keys] or [
        item for key, item in named if key in known.cues.keys
    ]
    if not given and depth < _DEEPEST:
        inner = [_answer(item, known, depth + 1) for _, item in named if isinstance(item, _Object)]
        found = [chosen for chosen in inner if chosen is not None]
        return NOTHING.union(*found) if found else None
    if not given:
        return None
    notes = [
        item for key, item in named if key not in known.cues.keys and isinstance(item, str) and " " in item
    ]
    if any(withdrawn(clean(note[:_LONGEST_UNCLEANED], known.cues), known.cues, clear=True) for note in notes):
        return NOTHING
    return _union(given, known, depth)


def _union(values: Sequence[object], known: Vocabulary, depth: int) -> frozenset[str]:
    """What several values name together; more values than letters name nothing."""
    if len(values) > _MOST_VALUES:
        return known.letters
    return NOTHING.union(*(_value(value, known, depth) for value in values))


def _value(value: object, known: Vocabulary, depth: int) -> frozenset[str]:
    if isinstance(value, str):
        return _text(value, known)
    if isinstance(value, list):
        return _union(value, known, depth + 1) if depth < _DEEPEST else UNKNOWN
    if isinstance(value, _Object):
        return _answer(value, known, depth + 1) or UNKNOWN if depth < _DEEPEST else UNKNOWN
    return NOTHING if value is None else UNKNOWN


def _text(value: str, known: Vocabulary) -> frozenset[str]:
    """What the string of an answer names; a string that declines names nothing."""
    value = clean(value, known.cues) if len(value) <= _LONGEST_UNCLEANED else ""
    if len(value) == 1 and value.isalpha():
        declined = _key(value) in known.cues.declined_values  # "无"
        return known.named(value) or (NOTHING if declined else frozenset({value.upper()}))
    named = known.named(value) or (known.letters if names_several(value, known.cues) else NOTHING)
    if named or not value or len(value) > _LONGEST_VALUE or _key(value) in known.cues.declined_values:
        return named
    reply = CleanReply(value, known)
    deciding = counted(claims(reply))
    if deciding and withdrawn(value[max(claim.end for claim in deciding) :], known.cues):
        return NOTHING
    chosen = letters(deciding)
    if declines(value, known.cues) and not chosen & known.letters:
        return NOTHING
    return chosen or reply.spoken or (UNKNOWN if not reply.mentions else NOTHING)


def _key(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum())
