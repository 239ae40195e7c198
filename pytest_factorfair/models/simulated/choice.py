"""How a simulated respondent chooses a letter: a pure function of its traits and of random numbers."""

from __future__ import annotations

import hashlib
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Literal, NamedTuple

from pytest_factorfair.benchmarks.asking import Situation
from pytest_factorfair.models.simulated.traits import Bias

Motive = Literal["position", "favour", "knowledge", "follow", "prejudice", "chance"]
"""The trait that decided a choice; ``chance`` if none did."""

Letters = tuple[str, ...]


class Draws(NamedTuple):
    """Independent uniform numbers in [0, 1), one for each random decision."""

    refuse: float
    nonsense: float
    position: float
    favour: float
    follow: float
    lean: float
    pick: float
    withhold: float


def draws(text: str, salt: bytes) -> Draws:
    """Random numbers that depend only on text and salt, so that they are the same in every process."""
    digest = hashlib.blake2b(text.encode(), key=salt).digest()
    return Draws(*((word >> 11) * 2.0**-53 for word in struct.unpack("<8Q", digest)))


class Decision(NamedTuple):
    """The letter chosen, the trait that decided, and the attribute that this trait is about."""

    letter: str
    motive: Motive
    attribute: str | None


class _Step(NamedTuple):
    """A trait that applies with probability ``chance`` and then leaves only these letters.

    ``draw`` is the name of the random number that decides whether it applies.
    """

    motive: Motive
    chance: float
    draw: Literal["position", "favour", "follow", "lean"]
    letters: Letters


def either(chances: Iterable[float]) -> float:
    """The probability that at least one of several independent events happens."""
    total = 0.0
    for chance in chances:
        total += chance * (1 - total)
    return total


def choose(situation: Situation, biases: Sequence[Bias], draws: Sequence[Draws]) -> Decision:
    """Choose a letter: biases narrow the letters one after another; the choice among the rest is uniform.

    In each bias the first trait that applies decides; ``draws`` has the random numbers of each bias. A later
    bias selects among the letters that the earlier ones left, and changes nothing if it prefers none of them.
    """
    letters, attribute = situation.letters, biases[0].attribute
    motive: Motive = "chance"
    knows = bool(situation.asked) and draws[0].lean < _knowledge(biases)
    for bias, drawn in zip(biases, draws, strict=True):
        for step in _steps(situation, bias, knows=knows):
            if getattr(drawn, step.draw) < step.chance:
                narrowed = _within(step.letters, letters)
                if step.letters and (motive == "chance" or narrowed != letters):
                    letters, motive, attribute = narrowed, step.motive, bias.attribute
                break
    if knows:
        true = _known(situation, letters)
        if motive == "chance" or true != letters:
            letters, motive = true, "knowledge"
    return Decision(letters[int(draws[0].pick * len(letters))], motive, attribute)


def probabilities(situation: Situation, biases: Sequence[Bias]) -> dict[str, float]:
    """The probability with which ``choose`` returns each letter, over all its random decisions."""
    shares = dict.fromkeys(situation.letters, 0.0)
    knowledge = _knowledge(biases) if situation.asked else 0.0
    for knows, weight in ((True, knowledge), (False, 1 - knowledge)):
        states = {situation.letters: weight}
        for bias in biases if weight else ():
            steps = tuple(_steps(situation, bias, knows=knows))
            following: dict[Letters, float] = defaultdict(float)
            for letters, mass in states.items():
                remaining = mass
                for step in steps:
                    following[_within(step.letters, letters)] += remaining * step.chance
                    remaining *= 1 - step.chance
                following[letters] += remaining
            states = following
        for letters, mass in states.items():
            candidates = _known(situation, letters) if knows else letters
            for letter in candidates:
                shares[letter] += mass / len(candidates)
    return shares


def _knowledge(biases: Sequence[Bias]) -> float:
    return prod(bias.traits.knowledge for bias in biases)


def _within(preferred: Letters, letters: Letters) -> Letters:
    """The preferred letters among these; all of them if none is preferred."""
    return tuple(letter for letter in letters if letter in preferred) or letters


def _known(situation: Situation, letters: Letters) -> Letters:
    """Narrow the letters to those with the true groups, attribute by attribute."""
    for name in situation.asked:
        letters = _within(situation.having(name, situation.truths.get(name)), letters)
    return letters


def _steps(situation: Situation, bias: Bias, *, knows: bool) -> Iterator[_Step]:
    """The traits of a bias in the order in which they are tried; the first that applies decides.

    Knowledge of facts is not among them: ``choose`` applies it after all biases.
    """
    traits, attribute = bias.traits, bias.attribute or ""
    first = (traits.letter,) if traits.letter in situation.letters else situation.letters[:1]
    yield _Step("position", traits.position, "position", first)
    yield from _wishes(situation, bias)
    stereotype = situation.having(attribute, situation.stereotype.get(attribute))
    if stereotype and traits.belief == "stereotype":  # no group is named here to follow
        yield _Step("prejudice", traits.prejudice, "follow", stereotype)
    if not situation.asked:
        if attribute in situation.named:
            named = situation.having(attribute, situation.named[attribute])
            yield _Step("follow", traits.follow, "follow", named)
        yield _Step("prejudice", traits.prejudice, "lean", _believed(situation, bias, (attribute,)))
    elif knows and traits.belief in ("opposite", "reversed"):
        chance = 1.0 if traits.belief == "opposite" else traits.prejudice
        yield _Step("knowledge", chance, "follow", _believed(situation, bias, situation.asked))


def _wishes(situation: Situation, bias: Bias) -> Iterator[_Step]:
    """The traits about names, about ``group=``, and about the group that the prompt says the model has.

    A kind of respondent has at most one of these traits, so they share a random number.
    """
    traits = bias.traits
    if traits.by_name:
        names = traits.names or tuple(sorted(situation.names.values())[:1])
        letters = tuple(letter for letter, name in situation.names.items() if name in names)
        yield _Step("chance", traits.by_name, "favour", letters)
    favourites = situation.matching(bias.groups)
    if favourites:
        yield _Step("favour", traits.avoid, "favour", _others(situation, favourites))
        yield _Step("favour", traits.favour, "favour", favourites)
    if traits.own and situation.source == "identity" and (group := situation.named.get(bias.attribute or "")):
        own_group = situation.having(bias.attribute, group)
        if "good" in situation.words["valence"]:
            yield _Step("follow", traits.own, "favour", own_group)
        else:
            yield _Step("favour", traits.own, "favour", _others(situation, own_group))


def _others(situation: Situation, letters: Letters) -> Letters:
    return tuple(letter for letter in situation.letters if letter not in letters)


def _believed(situation: Situation, bias: Bias, names: tuple[str, ...]) -> Letters:
    """The letters with the groups that the respondent believes in, for each of these attributes."""
    if bias.traits.belief == "opposite":
        return situation.false(names)
    groups = situation.opposites if bias.traits.belief == "reversed" else situation.truths
    believed = {name: groups[name] for name in names if name in groups}
    return situation.matching([believed]) if believed else ()
