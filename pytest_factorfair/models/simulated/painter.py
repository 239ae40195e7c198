"""The simulated image model: looks up the prompt, paints a code card of everyone it would show."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import asdict
from itertools import accumulate
from typing import TypeAlias

from pytest_factorfair.domain import Checklist, Request, Response
from pytest_factorfair.errors import InputError
from pytest_factorfair.models.prices import FREE
from pytest_factorfair.models.simulated.choice import Draws, choose, draws
from pytest_factorfair.models.simulated.traits import Knowledge, Traits, read_traits
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.pictures import cards, classes
from pytest_factorfair.protocols.protocol import Sitter, Situation

Groups: TypeAlias = Mapping[str, str]
_Seen: TypeAlias = Situation | tuple[Sitter, ...]

_MEANINGLESS = {"position": "letters", "follow": "groups in a context"}


def build(spec: ModelSpec) -> Painter:
    """The painter of ``sim:kind?name=value``, which knows the spec's checklists.

    Raises:
        InputError: an unknown kind, option, group or attribute, a value out of range, a trait that
            only a language model can have, or a group that no code card shows.
    """
    if "format" in (*spec.options, *spec.arguments):
        raise InputError(
            f"model '{spec.text}': code cards are PNG, whose colours are exact; leave format out"
        )
    traits = read_traits(spec)
    for name, lacking in _MEANINGLESS.items():
        if getattr(traits, name):
            raise InputError(f"model '{spec.text}': pictures have no {lacking}, so {name} means nothing here")
    return Painter(traits, spec.checklists)


class Painter:
    """A model whose scores are known beforehand: its pictures are code cards, not people.

    A picture depends on its identity and the request alone, so that a run is the same on any worker
    and in any order. It leans on the checklist's attributes as a simulated respondent does; nonsense
    is a picture of nobody.
    """

    endpoint: str = "sim"
    parallel: int | None = None
    price = FREE

    def __init__(self, traits: Traits, loaded: tuple[Checklist, ...]) -> None:
        self._traits = traits
        self._knowledge = Knowledge(traits, loaded)
        self._codes = {
            (attribute.name, group): classes.painted(attribute.name, group)
            for checklist in loaded
            for attribute in checklist.attributes
            if not attribute.crossed
            for group in attribute.groups
        }
        self.identity: Mapping[str, object] = {
            "provider": "sim",
            **asdict(traits),
            "modality": "image",
            "checklists": [{"digest": each.digest, "truth": each.truth} for each in loaded],
        }
        self._salt = hashlib.blake2b(json.dumps(self.identity, sort_keys=True).encode()).digest()

    async def ask(self, request: Request) -> Response:
        """Paint immediately, at no cost."""
        model = f"sim:{self._traits.kind}"
        seen, leans_on = self._knowledge.look_up(request)
        traits, drawn = self._traits, self._chance(request)
        if seen is None or drawn.nonsense < traits.nonsense:
            return Response("", image=cards.blank(seed=request.seed), cost=0.0, model=model)
        people = self._people(seen, leans_on, request)
        withheld = leans_on is not None and traits.group in {groups[leans_on] for groups in people}
        if drawn.refuse < traits.refuse or (withheld and drawn.withhold < traits.withhold):
            return Response("", finish="refusal", cost=0.0, model=model)
        # Crossed attributes are shown by the ones they combine.
        codes = (
            dict(self._codes[each] for each in groups.items() if each in self._codes) for groups in people
        )
        return Response("", image=cards.paint(*codes, seed=request.seed), cost=0.0, model=model)

    async def close(self) -> None:
        """Nothing was opened."""

    def _chance(self, request: Request, *of: object) -> Draws:
        """The numbers of a picture, or of a part of it."""
        return draws(":".join(map(str, (request.seed, request.repeat, request.prompt, *of))), self._salt)

    def _people(self, seen: _Seen, leans_on: str | None, request: Request) -> tuple[Groups, ...]:
        """Everyone's groups by attribute, from left to right."""
        if isinstance(seen, Situation):
            chosen = choose(seen, leans_on, self._traits, self._chance(request)).letter
            return (dict(seen.options)[chosen],)
        return tuple(
            {
                name: self._group(sitter, name, leans_on, self._chance(request, side, name))
                for name in sitter.shares
            }
            for side, sitter in enumerate(seen)
        )

    def _group(self, sitter: Sitter, attribute: str, leans_on: str | None, draws: Draws) -> str:
        """The group that is shown of one person.

        Prejudice is about one attribute; without ``attribute=``, beliefs other than a stereotype are about
        all. A contrary painter ignores requests that it is prejudiced about.
        """
        traits, shares = self._traits, sitter.shares[attribute]
        everywhere = traits.belief != "stereotype" and traits.attribute is None
        prejudiced = everywhere or attribute == leans_on
        requested = sitter.requested.get(attribute)
        knows = draws.follow < traits.knowledge  # not draws.lean: ignorance and prejudice are independent
        if knows and requested is not None and not (prejudiced and traits.belief == "opposite"):
            return requested
        if traits.group is not None and attribute == leans_on and draws.favour < traits.favour:
            return traits.group
        if prejudiced and draws.lean < traits.prejudice:
            if traits.belief == "opposite":
                return min((group for group in shares if group != requested), key=lambda group: shares[group])
            if traits.belief == "stereotype" and sitter.advantaged is not None:
                return tuple(shares)[0 if sitter.advantaged else -1]  # in the order of the checklist
            return max(shares, key=lambda group: shares[group])
        # The group in whose share the draw falls; negative shares count as 0.
        weights = [max(share, 0.0) if knows else 1.0 for share in shares.values()]
        upto = list(accumulate(weights))
        return tuple(shares)[bisect_right(upto, draws.pick * upto[-1])]
