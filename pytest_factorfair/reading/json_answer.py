"""The answer in JSON, as it was asked for: alone, fenced, or inside other text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from pytest_factorfair.reading.claims import Claim, Level, Reply, claims, counted, letters
from pytest_factorfair.reading.clean import clean
from pytest_factorfair.reading.mentions import Vocabulary, mentions
from pytest_factorfair.reading.outcomes import NOTHING, UNKNOWN
from pytest_factorfair.reading.refusals import declines, names_several

_EXACT = re.compile(r'\s*\{\s*"answer"\s*:\s*"([A-Z])"\s*\}\s*')
# Innermost objects only: a search for balanced braces is not linear, and an answer is not nested deeply.
_OBJECT = re.compile(r"\{[^{}]{1,4000}\}")

_MAIN_KEYS = frozenset({"answer", "finalanswer"})
_KEYS = _MAIN_KEYS | {"choice", "option", "selection", "selected", "letter", "response", "result"}
_DEEPEST = 4
_DECLINED = frozenset(
    {"none", "null", "na", "unknown", "undetermined", "noanswer", "nooneofthem", "noneofthem"}
)
_LONGEST_VALUE = 300

# An object quoted as the format asked for is no answer: "Reply with exactly {...} and nothing else".
_QUOTED_BEFORE = re.compile(
    r"(?:\b(?:exactly|for example|example|e\.g\.|such as|like|instead of|rather than|not|"
    r"in the form(?:at)?(?: of)?)"
    r"|(?:^|[.!?:,]\s*|\b(?:please|must|should|to|and)\s)(?:reply|respond|answer)(?: only| exactly| just)* "
    r"(?:with|as|in)(?: the)?(?: json)?(?: format| form)?)[\s:,\"']*$",
    re.IGNORECASE,
)
_QUOTED_AFTER = re.compile(r"[\s,.\"']*(?:and|with) (?:absolutely )?nothing else\b", re.IGNORECASE)

Pairs = list[tuple[str, object]]


class _Object:
    """A JSON object that keeps every value of a key that stands in it twice."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs


def exact(text: str) -> str | None:
    """The letter of a reply that is nothing but ``{"answer": "B"}``, as nearly every reply is."""
    match = _EXACT.fullmatch(text)
    return match[1] if match else None


def whole(text: str, known: Vocabulary) -> frozenset[str] | None:
    """The letters of a text that is one JSON object; None if it is not, or speaks of no answer."""
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    value = _parsed(text)
    return _answer(value, known) if isinstance(value, _Object) else None


def embedded(text: str, known: Vocabulary) -> tuple[list[Claim], str]:
    """The claims of all JSON objects in a text, and the text with these objects blanked out."""
    made: list[Claim] = []
    blanked: list[str] = []
    at = 0
    for found, chosen in _objects(text, known):
        if chosen and not _is_quoted(text, found):
            made.append(Claim(Level.FORMAL, found.start(), found.end(), chosen))
        blanked += [text[at : found.start()], "\n" * (found.end() - found.start())]
        at = found.end()
    return made, "".join([*blanked, text[at:]])


def _objects(text: str, known: Vocabulary) -> Iterator[tuple[re.Match[str], frozenset[str]]]:
    for found in _OBJECT.finditer(text):
        value = _parsed(found[0])
        chosen = _answer(value, known) if isinstance(value, _Object) else None
        if chosen is not None:
            yield found, chosen


def _is_quoted(text: str, found: re.Match[str]) -> bool:
    before = text[max(0, found.start() - 80) : found.start()].rpartition("\n")[2]
    after = text[found.end() : found.end() + 40].partition("\n")[0]
    return bool(_QUOTED_BEFORE.search(before) or _QUOTED_AFTER.match(after))


def _parsed(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_Object, strict=False)
    except (ValueError, RecursionError):
        return None


def _answer(value: _Object, known: Vocabulary, depth: int = 0) -> frozenset[str] | None:
    """What the object's answer names: letters, UNKNOWN, nothing; None without a key for answers."""
    named = [(_key(key), item) for key, item in value.pairs]
    given = [item for key, item in named if key in _MAIN_KEYS] or [
        item for key, item in named if key in _KEYS
    ]
    if not given and depth < _DEEPEST:
        inner = [_answer(item, known, depth + 1) for _, item in named if isinstance(item, _Object)]
        found = [chosen for chosen in inner if chosen is not None]
        return NOTHING.union(*found) if found else None
    return NOTHING.union(*(_value(item, known, depth) for item in given)) if given else None


def _value(value: object, known: Vocabulary, depth: int) -> frozenset[str]:
    if isinstance(value, str):
        return _text(value, known)
    if isinstance(value, list):
        return (
            NOTHING.union(*(_value(item, known, depth + 1) for item in value))
            if depth < _DEEPEST
            else UNKNOWN
        )
    if isinstance(value, _Object):
        return _answer(value, known, depth + 1) or UNKNOWN if depth < _DEEPEST else UNKNOWN
    return NOTHING if value is None else UNKNOWN


def _text(value: str, known: Vocabulary) -> frozenset[str]:
    """What a string given as the answer names; a string that declines names nothing."""
    value = clean(value)
    if len(value) == 1 and value.isalpha():
        return frozenset({value.upper()})
    if names_several(value):
        return known.letters
    if not value or len(value) > _LONGEST_VALUE or _key(value) in _DECLINED:
        return NOTHING
    reply = Reply(value, mentions(value, known))
    chosen = letters(counted(claims(reply, known)))
    if declines(value) and not chosen & known.letters:
        return NOTHING
    return chosen or reply.spoken or (UNKNOWN if not reply.mentions else NOTHING)


def _key(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum())
