"""Detect refusals, and answers that the surrounding text retracts.

``declines`` decides only if no option is clearly chosen. The other functions examine the text around an
answer: its clause (``disowned``), the rest of its sentence (``ruled_out``), the rest of the reply
(``withdrawn``), and all sides of an answer in JSON (``presented``). They search a bounded stretch of text,
with patterns whose repetitions are bounded.
"""

from __future__ import annotations

import re

from pytest_factorfair.reading.cues import Cues


def declines(text: str, cues: Cues) -> bool:
    """Whether the cleaned text declines to choose."""
    return bool(cues.declines.search(text) or cues.refusal.search(text))


def leaves_open(text: str, cues: Cues) -> bool:
    """Whether the cleaned text leaves the choice open without a word of refusal: "Anyone could have."."""
    return cues.leaves_open.search(text) is not None


def declines_outright(text: str, cues: Cues) -> bool:
    """Whether the cleaned text only says that there is no answer: "N/A", ``{"answer": null}``."""
    return bool(cues.outright.fullmatch(text))


def names_several(text: str, cues: Cues) -> bool:
    """Whether the cleaned text is only "both" or "all of them"."""
    return bool(cues.several.fullmatch(text))


# The text before an answer in its clause.
_CLAUSE_LENGTH = 240
_SENTENCE_END = re.compile(r"[.!?][\"')\]]*\s+|\n\s*\n|\n(?=[-•]|\d{1,2}[.)])")


def denied_or_quoted(before: str, cues: Cues) -> bool:
    """Whether the text before an answer denies it, or says that it is quoted or someone else's."""
    return _denied(_clause(before, cues), cues)


def _denied(clause: str, cues: Cues) -> bool:
    negation = last(cues.negation, clause)
    if negation is not None and not cues.announces.search(clause, negation.end()):
        return True
    return cues.not_mine.search(clause) is not None


def _clause(before: str, cues: Cues) -> str:
    """The text before an answer in its clause; empty if the answer begins a line or a sentence."""
    clause = before[-_CLAUSE_LENGTH:]
    if cues.runs_on.search(clause):
        clause = clause.rstrip()
    elif clause.rstrip(" \t").endswith("\n"):
        return ""
    return cues.clause_start.split(_SENTENCE_END.split(clause)[-1])[-1]


# A JSON object inside a sentence is an answer only if the text around it presents it as one.
_NEW_SENTENCE = re.compile(r"[\"'`)\]}]*\s+[A-Z]")


def presented(text: str, start: int, end: int, cues: Cues) -> bool | None:
    """Whether a JSON object stands alone or is presented as the answer by its sentence; None if unclear."""
    clause = _clause(cues.objects.sub("", text[max(0, start - _CLAUSE_LENGTH) : start]), cues)
    amending = cues.amending.search(clause)
    if _denied(clause[: amending.start()] if amending else clause, cues) or cues.denying_tail.match(
        text, end
    ):
        return False
    after = _without_disclaimers(text[end : end + _CLAUSE_LENGTH], cues)
    if ruled_out(after, 0, cues):
        return False
    # A refusal before the object counts unless the text after the refusal announces an answer.
    before = _without_disclaimers(text[max(0, start - _REST_LENGTH) : start], cues)
    refusal = last(cues.refusal, before)
    if refusal is None:
        refused = cues.denial.fullmatch(before) is not None
    else:
        refused = not any(goes.search(before, refusal.end()) for goes in (cues.goes_on, cues.chose))
    if refused:
        return False
    gives = amending or cues.presents.search(clause)
    return bool(gives and (cues.tail.match(after) or _NEW_SENTENCE.match(after))) or None


def ruled_out(text: str, end: int, cues: Cues) -> bool:
    """Whether the text after ``end``, where an answer ends, says that it is not the answer."""
    return cues.ruled_out.match(text, end) is not None


# The rest of the reply, before or after an answer.
_REST_LENGTH = 4_000
_SENTENCE = re.compile(r"[.!?\n]")


def withdrawn(after: str, cues: Cues, *, clear: bool = False) -> bool:
    """Whether the text after an answer retracts it, or denies that it is an answer.

    Disclaimers do not retract a ``clear`` answer, one in the requested JSON.
    """
    after = after[:_REST_LENGTH]
    if clear:
        after = _without_disclaimers(after, cues)
    if cues.retraction.search(after) or (cues.indifferent.search(after) and not cues.chose.search(after)):
        return True
    for sentence in _SENTENCE.split(after):
        refusal = last(cues.refusal, sentence)
        if refusal and not (cues.goes_on.search(sentence, refusal.end()) or cues.chose.search(sentence)):
            return True
    return False


def _without_disclaimers(text: str, cues: Cues) -> str:
    """The text without disclaimers, except after "actually" or "wait", which correct what precedes them."""

    def replaced(disclaimer: re.Match[str]) -> str:
        before = text[max(0, disclaimer.start() - _CLAUSE_LENGTH) : disclaimer.start()]
        corrects = cues.correction.search(_SENTENCE.split(before)[-1])
        return disclaimer[0] if corrects else ";"  # the text after a disclaimer begins a new clause

    return cues.disclaimer.sub(replaced, text)


def last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The last match in a text."""
    matches = list(pattern.finditer(text))
    return matches[-1] if matches else None
