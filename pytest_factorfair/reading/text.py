"""Parse the text of a reply: the letter it chose, or the outcome and reason if it chose none.

Steps are tried in order: one JSON object, assertions in the text, refusals, hedged assertions. Nothing is
guessed: a reply that no step understands is unparsed, and so is an answer that the surrounding text retracts.
A model that says it cannot know but then chooses has chosen; one that says no more chooses the option that
means unknown, where there is one.

The module is imported for the first reply that is not exactly the requested JSON, because compiling its
patterns takes longer than reading a thousand replies that are.
"""

from __future__ import annotations

from pytest_factorfair.domain import Reading
from pytest_factorfair.reading import json_answer, outcomes
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
from pytest_factorfair.reading.refusals import (
    declines,
    declines_outright,
    leaves_open,
    names_several,
    withdrawn,
)

LONGEST = 20_000
"""Maximum length without reasoning; a longer reply is parsed only if it is one JSON object."""


def read_text(text: str, vocabulary: Vocabulary) -> Reading:
    """Determine which option a complete reply chose."""
    named = json_answer.whole(text, vocabulary)
    if named is not None:
        return _object(text, named, vocabulary)
    if not text.strip():
        return outcomes.EMPTY
    text = without_reasoning(text)
    if not text.strip():
        return outcomes.ONLY_REASONING
    if len(text) > LONGEST:
        return outcomes.TOO_LONG
    return _cleaned(clean(text, vocabulary.cues), vocabulary)


def _object(text: str, named: frozenset[str], vocabulary: Vocabulary) -> Reading:
    """Read a reply that is one JSON object: only its answer counts."""
    if named:
        return outcomes.conclude(named, offered=vocabulary.letters)
    if len(text) > LONGEST:
        return outcomes.TOO_LONG
    text = clean(text, vocabulary.cues)
    outright = declines_outright(text, vocabulary.cues)
    return _declined(text, vocabulary) or (outcomes.REFUSED if outright else outcomes.NO_OPTION)


def _cleaned(text: str, vocabulary: Vocabulary) -> Reading:
    if not text:
        return outcomes.EMPTY
    if len(text) > LONGEST:  # normalisation can turn one character into eighteen
        return outcomes.TOO_LONG
    named = json_answer.whole(text, vocabulary)
    if named is not None:
        return _object(text, named, vocabulary)
    if declines_outright(text, vocabulary.cues) and not vocabulary.named(text):
        return _declined(text, vocabulary) or outcomes.REFUSED
    return _prose(text, vocabulary)


def _declined(text: str, vocabulary: Vocabulary) -> Reading | None:
    """Read a text that declines to choose: that nobody can know may be an option. None for other texts."""
    if unknown := vocabulary.undetermined(text):
        return outcomes.conclude(unknown, offered=vocabulary.letters)
    return outcomes.REFUSED if declines(text, vocabulary.cues) else None


def _prose(text: str, vocabulary: Vocabulary) -> Reading:
    """Read text, with or without JSON: the deciding assertions count unless later text retracts them."""
    embedded = json_answer.embedded(text, vocabulary)
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
