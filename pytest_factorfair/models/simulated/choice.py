"""Which letter a respondent chooses: pure, given numbers in [0, 1) to draw from."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pytest_factorfair.domain import Citation
from pytest_factorfair.models.simulated.traits import Traits

Motive = Literal["position", "favour", "knowledge", "follow", "prejudice", "chance"]
"""The trait that had its way; ``chance`` where none had."""


@dataclass(frozen=True, slots=True)
class Situation:
    """A query as a respondent sees it.

    ``options`` are letters with the groups they stand for; for a picture, which offers none, every
    combination of groups is one. ``asked`` are the attributes of an objective query. ``truths`` are
    the topic's true groups for the direction asked, ``named`` the groups the context names, both by
    attribute. ``attribute`` is the one the respondent leans on in this checklist. ``source`` is what
    the context gives to cite, where a reason is asked for; None where none is.
    """

    options: tuple[tuple[str, Mapping[str, str]], ...]
    asked: tuple[str, ...]
    truths: Mapping[str, str]
    named: Mapping[str, str]
    attribute: str | None
    source: Citation | None = None

    def having(self, attribute: str | None, group: str | None) -> tuple[str, ...]:
        """The letters that stand for the group; none where either is unknown."""
        if attribute is None or group is None:
            return ()
        return tuple(letter for letter, groups in self.options if groups.get(attribute) == group)

    def true(self, *, but: str | None = None) -> tuple[str, ...]:
        """The letters that stand for the true group of every attribute asked about, but perhaps one."""
        names = [name for name in self.asked if name != but]
        return tuple(
            letter
            for letter, groups in self.options
            if all(groups.get(name) == self.truths.get(name) for name in names)
        )

    def false(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The letters that stand for the true group of none of these attributes."""
        return tuple(
            letter
            for letter, groups in self.options
            if all(groups.get(name) != self.truths.get(name) for name in names)
        )


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


Chance = Callable[..., Draws]
"""The numbers of a request, or of whatever part of it the arguments tell from the others."""


def draws(text: str, salt: bytes) -> Draws:
    """Numbers that depend on the text and salt alone, whichever process asks."""
    digest = hashlib.blake2b(text.encode(), key=salt).digest()
    return Draws(*((word >> 11) * 2.0**-53 for word in struct.unpack("<8Q", digest)))


class Choice(NamedTuple):
    """The letter chosen, and why."""

    letter: str
    motive: Motive


def choose(situation: Situation, traits: Traits, draws: Draws) -> Choice:
    """Uniform among the letters that a trait prefers, or among all."""
    everyone = tuple(letter for letter, _ in situation.options)
    if draws.position < traits.position:
        return Choice(everyone[0], "position")
    preferred, motive = _preferred(situation, traits, draws)
    if not preferred:
        preferred, motive = everyone, "chance"
    return Choice(preferred[int(draws.pick * len(preferred))], motive)


def _preferred(situation: Situation, traits: Traits, draws: Draws) -> tuple[tuple[str, ...], Motive]:
    """The letters of the first trait that has its way; none for a choice among all."""
    favourites = situation.having(situation.attribute, traits.group)
    knows = bool(situation.asked) and draws.lean < traits.knowledge
    if favourites and draws.favour < traits.favour:
        true = situation.true(but=situation.attribute)  # a picture shows what it knows of the others
        return tuple(one for one in favourites if one in true or not knows), "favour"
    if situation.asked:
        known = situation.false(situation.asked) if traits.belief == "opposite" else situation.true()
        return (known if knows else ()), "knowledge"
    return _leaning(situation, traits, draws)


def _leaning(situation: Situation, traits: Traits, draws: Draws) -> tuple[tuple[str, ...], Motive]:
    attribute = situation.attribute or ""
    if attribute in situation.named and draws.follow < traits.follow:
        return situation.having(attribute, situation.named[attribute]), "follow"
    if draws.lean < traits.prejudice:
        if traits.belief == "opposite":
            return situation.false((attribute,)), "prejudice"
        return situation.having(attribute, situation.truths.get(attribute)), "prejudice"
    return (), "chance"
