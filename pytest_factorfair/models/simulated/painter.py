"""The simulated image model: paints a code card of the people that it would show for a prompt."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import prod
from typing import TypeAlias

from pytest_factorfair.benchmarks.asking import DepictedPerson, Situation
from pytest_factorfair.domain import Checklist, Request, Response
from pytest_factorfair.errors import InputError
from pytest_factorfair.models.simulated.choice import Draws, choose, draws, either
from pytest_factorfair.models.simulated.traits import (
    Belief,
    Bias,
    SimulatedModel,
    Traits,
    read_traits,
    title,
)
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.pictures import cards, classes

Groups: TypeAlias = Mapping[str, str]

_MEANINGLESS = {"position": "letters", "follow": "groups in a context"}


def build(spec: ModelSpec) -> Painter:
    """Build the painter of ``sim:kind?name=value`` for the spec's checklists.

    Raises:
        InputError: an unknown kind, option, group or attribute, a value out of range, a trait that
            only a language model can have, or a group that code cards cannot show.
    """
    if "format" in (*spec.options, *spec.arguments):
        raise InputError(
            f"model '{spec.text}': code cards are PNG, whose colours are exact; leave format out"
        )
    traits = read_traits(spec)
    for name, lacking in _MEANINGLESS.items():
        if any(getattr(respondent, name) for respondent in traits):
            raise InputError(f"model '{spec.text}': pictures have no {lacking}, so {name} means nothing here")
    return Painter(traits, spec.checklists)


class Painter(SimulatedModel):
    """An image model with scores that are known in advance; it paints code cards instead of people.

    A picture depends only on the model's identity and the request, so a run is the same on any worker and in
    any order. Traits apply to the checklist's attributes as in a simulated respondent; nonsense is a picture
    without people.
    """

    def __init__(self, traits: tuple[Traits, ...], loaded: tuple[Checklist, ...]) -> None:
        super().__init__(traits, loaded, modality="image")
        self._codes = {
            (attribute.name, group): classes.painted(attribute.name, group)
            for checklist in loaded
            for attribute in checklist.attributes
            if not attribute.crossed
            for group in attribute.groups
        }

    async def ask(self, request: Request) -> Response:
        """Paint immediately."""
        model = title(self._traits)
        seen, biases = self.knowledge.look_up(request)
        chances = [self._chance(request, *_further(number)) for number in range(len(biases))]
        if seen is None or chances[0].nonsense < either(bias.traits.nonsense for bias in biases):
            return Response("", image=cards.blank(seed=request.seed), model=model)
        if isinstance(seen, Situation):
            people: tuple[Groups, ...] = (dict(seen.options)[choose(seen, biases, chances).letter],)
        else:
            people = self._portrayed(seen, biases, request)
        refused = chances[0].refuse < either(bias.traits.refuse for bias in biases)
        withheld = (
            drawn.withhold < bias.traits.withhold
            for bias, drawn in zip(biases, chances, strict=True)
            if any(combination.items() <= groups.items() for groups in people for combination in bias.groups)
        )
        if refused or any(withheld):
            return Response("", finish="refusal", model=model)
        # Code cards have no codes for crossed attributes: the attributes that they combine are painted.
        codes = (
            dict(self._codes[pair] for pair in groups.items() if pair in self._codes) for groups in people
        )
        return Response("", image=cards.paint(*codes, seed=request.seed), model=model)

    def _chance(self, request: Request, *of: object) -> Draws:
        """The random numbers of a picture, or of the part of it that ``of`` names."""
        return draws(":".join(map(str, (request.seed, request.repeat, request.prompt, *of))), self._salt)

    def _portrayed(
        self, depicted_people: tuple[DepictedPerson, ...], biases: tuple[Bias, ...], request: Request
    ) -> tuple[Groups, ...]:
        """The groups of the people shown, by attribute, from left to right."""
        return tuple(
            {
                name: _group(
                    person,
                    side,
                    name,
                    biases,
                    [self._chance(request, side, name, *_further(number)) for number in range(len(biases))],
                    [
                        self._chance(request, side, bias.attribute, *_further(number))
                        for number, bias in enumerate(biases)
                    ],
                )
                for name in person.shares
            }
            for side, person in enumerate(depicted_people)
        )


def _further(number: int) -> tuple[str, ...]:
    """The suffix that gives each bias after the first its own random numbers."""
    return (f"+{number}",) if number else ()


def _group(
    person: DepictedPerson,
    position: int,
    attribute: str,
    biases: Sequence[Bias],
    draws: Sequence[Draws],
    of_person: Sequence[Draws],
) -> str:
    """Choose the group that is shown of the person at a position; the first bias that applies decides.

    For each bias, ``draws`` has the numbers for this attribute, and ``of_person`` those that all attributes
    of a combination share. Prejudice concerns one attribute; without ``attribute=``, beliefs other than a
    stereotype concern all. A contrary painter ignores requests for groups that it is prejudiced about.
    """
    shares, requested = person.shares[attribute], person.requested.get(attribute)
    # Not the draw of prejudice (lean), because knowledge and prejudice are independent.
    knows = draws[0].follow < prod(bias.traits.knowledge for bias in biases)
    avoided: set[str] = set()
    for bias, drawn, shared in zip(biases, draws, of_person, strict=True):
        traits = bias.traits
        everywhere = traits.belief != "stereotype" and traits.attribute is None
        prejudiced = everywhere or attribute == bias.attribute
        if knows and requested is not None and not (prejudiced and traits.belief == "opposite"):
            return requested
        if bias.groups and shared.favour < traits.favour:
            combination = bias.groups[int(shared.withhold * len(bias.groups))]
            if attribute in combination:
                return combination[attribute]
        if shared.favour < traits.avoid:
            avoided.update(groups[attribute] for groups in bias.groups if attribute in groups)
        if prejudiced and drawn.lean < traits.prejudice:
            return _believed(person, position, attribute, traits.belief)
    # Draw a group with its share as probability; negative shares count as 0.
    weights = {group: max(share, 0.0) if knows else 1.0 for group, share in shares.items()}
    offered = {group: weight for group, weight in weights.items() if group not in avoided}
    if not any(offered.values()):
        offered = weights
    upto = list(accumulate(offered.values()))
    return tuple(offered)[bisect_right(upto, draws[0].pick * upto[-1])]


def _believed(person: DepictedPerson, position: int, attribute: str, belief: Belief) -> str:
    """The group of the person at a position in the eyes of a prejudiced painter."""
    shares = person.shares[attribute]
    groups = tuple(shares)  # in the order of the checklist
    if belief == "opposite":
        requested = person.requested.get(attribute)
        return min((group for group in groups if group != requested), key=lambda group: shares[group])
    if belief == "diverse":
        return groups[position % len(groups)]
    if belief == "stereotype" and attribute in person.stereotype:
        return person.stereotype[attribute]
    if belief == "stereotype" and person.advantaged is not None:
        return groups[0 if person.advantaged else -1]
    return max(groups, key=lambda group: shares[group])
