"""Parse the text of a reply: the letter it chose, or the outcome and reason if it chose none.

The readers are tried in order: one JSON object, claims in the words, refusals, hedged claims. Nothing is
guessed: a reply that no reader understands is unparsed, and so is an answer that the surrounding text
retracts. A model that says it cannot know but then chooses has chosen.

Imported for the first reply that is not exactly the requested JSON: its patterns take longer to compile than
a thousand such replies to read.
"""

from __future__ import annotations

from pytest_factorfair.domain import Reading
from pytest_factorfair.reading import json_answer, outcomes
from pytest_factorfair.reading.claims import (
    Claim,
    Clarity,
    CleanReply,
    claims,
    corrected,
    counted,
    letters,
    revised,
)
from pytest_factorfair.reading.clean import clean, without_reasoning
from pytest_factorfair.reading.mentions import MOST_MENTIONS, Vocabulary
from pytest_factorfair.reading.refusals import declines, declines_outright, names_several, withdrawn

LONGEST = 20_000
"""Characters, without reasoning; a longer reply is parsed only if it is one JSON object."""


def read_text(text: str, known: Vocabulary) -> Reading:
    """Which option a complete reply chose."""
    found = json_answer.whole(text, known)
    if found is not None:
        return _object(text, found, known)
    if not text.strip():
        return outcomes.EMPTY
    text = without_reasoning(text)
    if not text.strip():
        return outcomes.ONLY_REASONING
    if len(text) > LONGEST:
        return outcomes.TOO_LONG
    return _cleaned(clean(text, known.cues), known)


def _object(text: str, found: frozenset[str], known: Vocabulary) -> Reading:
    """A reply that is one JSON object: its answer counts, whatever else it says."""
    if found:
        return outcomes.conclude(found, offered=known.letters)
    if len(text) > LONGEST:
        return outcomes.TOO_LONG
    text = clean(text, known.cues)
    return (
        outcomes.REFUSED
        if declines(text, known.cues) or declines_outright(text, known.cues)
        else outcomes.NO_OPTION
    )


def _cleaned(text: str, known: Vocabulary) -> Reading:
    if not text:
        return outcomes.EMPTY
    if len(text) > LONGEST:  # compatibility forms can make one character eighteen
        return outcomes.TOO_LONG
    found = json_answer.whole(text, known)
    if found is not None:
        return _object(text, found, known)
    if declines_outright(text, known.cues) and not known.named(text):
        return outcomes.REFUSED
    return _prose(text, known)


def _prose(text: str, known: Vocabulary) -> Reading:
    """Words, or words around JSON: the deciding claims, unless the text after them retracts them."""
    embedded = json_answer.embedded(text, known)
    if embedded is None:
        return outcomes.TOO_LONG
    formal, rest = embedded
    reply = CleanReply(rest, known, formal[0].end if formal else None)
    if len(reply.mentions) > MOST_MENTIONS:
        return outcomes.TOO_LONG
    made = revised(reply, sorted([*formal, *claims(reply)], key=lambda claim: claim.start))
    deciding = counted(made)
    if not deciding:
        return _unchosen(text, reply, made, known)
    if corrected(reply, deciding):
        return outcomes.AMBIGUOUS
    clear = any(claim.level is Clarity.FORMAL for claim in deciding)
    if withdrawn(rest[max(claim.end for claim in deciding) :], known.cues, clear=clear):
        return _unchosen(text, reply, [], known)
    return outcomes.conclude(letters(deciding), offered=known.letters)


def _unchosen(text: str, reply: CleanReply, made: list[Claim], known: Vocabulary) -> Reading:
    """If no option was clearly chosen: a refusal, a single hedged claim, or unparsed."""
    if names_several(text, known.cues):
        return outcomes.AMBIGUOUS
    if declines(text, known.cues):
        return outcomes.REFUSED
    hedged = letters(claim for claim in made if claim.level is Clarity.HEDGED)
    if made and withdrawn(reply.text[made[-1].end :], known.cues):
        return outcomes.NOT_CHOSEN
    if len(hedged) == 1 and hedged == reply.spoken & known.letters:
        return outcomes.conclude(hedged, offered=known.letters)
    named = reply.named & known.letters
    if len(named) > 1:
        return outcomes.AMBIGUOUS
    return outcomes.NOT_CHOSEN if named else outcomes.NO_OPTION
