"""Which letter a respondent chooses: pure, given numbers in [0, 1) to draw from."""

from __future__ import annotations

import hashlib
import struct
from itertools import product
from math import prod
from typing import Literal, NamedTuple

from pytest_factorfair.models.simulated.traits import Traits
from pytest_factorfair.protocols.protocol import Situation

Motive = Literal["position", "favour", "knowledge", "follow", "prejudice", "chance"]
"""The trait that decided; ``chance`` if none did."""


class Draws(NamedTuple):
    """Independent uniform numbers in [0, 1), one for each thing left to chance."""

    refuse: float
    nonsense: float
    position: float
    favour: float
    follow: float
    lean: float
    pick: float
    withhold: float


def draws(text: str, salt: bytes) -> Draws:
    """Numbers that depend on the text and salt alone, whichever process asks."""
    digest = hashlib.blake2b(text.encode(), key=salt).digest()
    return Draws(*((word >> 11) * 2.0**-53 for word in struct.unpack("<8Q", digest)))


class Decision(NamedTuple):
    """The letter chosen, and why."""

    letter: str
    motive: Motive


def choose(situation: Situation, attribute: str | None, traits: Traits, draws: Draws) -> Decision:
    """Uniform among the letters that a trait prefers, or among all.

    ``attribute`` is the one that the respondent leans on in this checklist.
    """
    letters, motive = _candidates(situation, attribute, traits, draws)
    return Decision(letters[int(draws.pick * len(letters))], motive)


def probabilities(situation: Situation, attribute: str | None, traits: Traits) -> dict[str, float]:
    """The probability with which ``choose`` returns each letter, over all its random decisions."""
    found = dict.fromkeys((letter for letter, _ in situation.options), 0.0)
    lean = traits.knowledge if situation.asked else traits.prejudice
    follow = traits.prejudice if situation.stereotype else traits.follow
    chances = (traits.position, traits.favour, follow, lean)
    for ways in product((True, False), repeat=len(chances)):
        weight = prod(chance if way else 1 - chance for chance, way in zip(chances, ways, strict=True))
        if weight > 0:
            position, favour, follow, leans = (0.0 if way else 1.0 for way in ways)
            drawn = Draws(0, 0, position, favour, follow, leans, 0, 0)
            letters, _ = _candidates(situation, attribute, traits, drawn)
            for letter in letters:
                found[letter] += weight / len(letters)
    return found


def _candidates(
    situation: Situation, attribute: str | None, traits: Traits, draws: Draws
) -> tuple[tuple[str, ...], Motive]:
    """The letters that the first trait that applies leaves; all of them, by chance, if none applies."""
    everyone = tuple(letter for letter, _ in situation.options)
    letters: tuple[str, ...] = ()
    motive: Motive = "chance"
    favourites = situation.having(attribute, traits.group)
    knows = bool(situation.asked) and draws.lean < traits.knowledge
    leans_on, opposite = attribute or "", traits.belief == "opposite"
    believes = situation.stereotype.get(leans_on) if traits.belief == "stereotype" else None
    stereotype = situation.having(attribute, believes)
    if draws.position < traits.position:
        letters, motive = everyone[:1], "position"
    elif favourites and draws.favour < traits.favour:
        true = situation.true(but=attribute)  # a picture shows what it knows of the others
        letters, motive = tuple(one for one in favourites if one in true or not knows), "favour"
    elif stereotype and draws.follow < traits.prejudice:  # there is no named group to follow
        letters, motive = stereotype, "prejudice"
    elif situation.asked:
        if knows:
            letters = situation.false(situation.asked) if opposite else situation.true()
            motive = "knowledge"
    elif leans_on in situation.named and draws.follow < traits.follow:
        letters, motive = situation.having(leans_on, situation.named[leans_on]), "follow"
    elif draws.lean < traits.prejudice:
        truth = situation.truths.get(leans_on)
        letters = situation.false((leans_on,)) if opposite else situation.having(leans_on, truth)
        motive = "prejudice"
    return (letters, motive) if letters else (everyone, "chance")
