"""A simulated respondent's traits: its kind, a preset of them, and ``sim:kind?name=value``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_factorfair import protocols
from pytest_factorfair.domain import ENGLISH, Checklist, Request
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.languages import Replies, words
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.protocols.protocol import Sitter, Situation

Belief = Literal["stereotype", "truth", "opposite"]
"""The beliefs of a respondent.

For a fact, stereotype and truth are both the true group, the opposite is any other. For a person with shares
of groups, the truth is the likeliest group and the opposite the rarest that is not asked for; the stereotype
is the first group for the advantaged person of a pair, the last for the disadvantaged one, and the likeliest
for anyone else.
"""


@dataclass(frozen=True, slots=True)
class Archetype:
    """A respondent: what ``strength=`` means, its default traits, its own options, its belief."""

    strength: str = "prejudice"
    preset: Mapping[str, float] = field(default_factory=dict)
    takes: tuple[str, ...] = ()
    belief: Belief = "stereotype"


KINDS: Mapping[str, Archetype] = {
    "uniform": Archetype(preset={"knowledge": 0.0}),
    "oracle": Archetype(preset={"prejudice": 1.0}, belief="truth"),
    "contrary": Archetype(preset={"prejudice": 1.0}, belief="opposite"),
    "ideal": Archetype(),
    "stereotyped": Archetype(preset={"prejudice": 0.3}),
    "constant": Archetype(strength="favour", preset={"favour": 1.0}, takes=("group",)),
    "position_biased": Archetype(strength="position", preset={"position": 0.5}),
    "refusing": Archetype(preset={"rate": 0.3}, takes=("group", "rate")),
    "context_following": Archetype(strength="follow", preset={"follow": 0.5}),
    "nonsense": Archetype(preset={"nonsense": 1.0}),
}


@dataclass(frozen=True, slots=True)
class Traits:
    """How a respondent answers; all numbers are probabilities.

    In the order in which they apply: ``refuse`` any query, ``nonsense`` instead of an answer,
    ``position`` takes the first letter, ``favour`` takes ``group`` if offered, ``knowledge`` gives
    the true answer to an objective query, ``follow`` takes the group that the context names,
    ``prejudice`` takes the topic's true group; otherwise the choice is uniform.
    ``withhold`` refuses after having chosen ``group``. ``attribute`` is the one that ``follow``
    and ``prejudice`` are about; None means the one with ``group``, else the checklist's first
    with labels.

    In a picture of a person with shares of groups, ``knowledge`` is of the group asked for, otherwise of the
    shares; it takes precedence over ``favour``.
    """

    kind: str
    knowledge: float = 1.0
    prejudice: float = 0.0
    position: float = 0.0
    favour: float = 0.0
    follow: float = 0.0
    refuse: float = 0.0
    withhold: float = 0.0
    nonsense: float = 0.0
    group: str | None = None
    attribute: str | None = None
    style: str = "json"

    @property
    def belief(self) -> Belief:
        """The belief of its kind."""
        return KINDS[self.kind].belief


STYLES: Mapping[str, str] = {
    "json": '{"answer": "<letter>"}',
    "letter": "<letter>",
    "sentence": "",
    "fenced": '```json\n{"answer": "<letter>"}\n```',
}
"""A sentence is one of the language's own."""

_SHARES = ("knowledge", "prejudice", "position", "follow", "refuse", "nonsense")
_COMMON = (*_SHARES, "strength", "attribute", "style")


def read_traits(spec: ModelSpec) -> Traits:
    """The traits of a spec; the run's arguments count as options too.

    Raises:
        InputError: an unknown kind, option, group, attribute or style, or a value out of range.
    """
    kind = KINDS.get(spec.target)
    if kind is None:
        raise _wrong(spec, f"unknown respondent '{spec.target}'{nearest(spec.target, KINDS)}")
    known = (*_COMMON, *kind.takes)
    for name in (*spec.options, *spec.arguments):
        if name not in known:
            raise _wrong(spec, f"'{spec.target}' has no option '{name}'{nearest(name, known)}")
        if name in spec.options and name in spec.arguments:
            raise _wrong(spec, f"option '{name}' is given in the spec and as a model argument; keep one")
    given = {**spec.arguments, **spec.options}
    if "strength" in given and kind.strength in given:
        raise _wrong(spec, f"strength is {kind.strength} for '{spec.target}'; keep one of the two")
    group, attribute = given.pop("group", None), given.pop("attribute", None)
    style = given.pop("style", "json")
    if style not in STYLES:
        raise _wrong(spec, f"unknown style '{style}'{nearest(style, STYLES)}")
    _check_words(spec, group=group, attribute=attribute)
    # Any: mypy would compare the shares with every field of the class.
    shares: dict[str, Any] = _shares(spec, kind, given, group=group)
    return Traits(spec.target, group=group, attribute=attribute, style=style, **shares)


def leaning(traits: Traits, checklist: Checklist) -> str | None:
    """The attribute a respondent is prejudiced about in this checklist; None if the checklist lacks it."""
    if traits.attribute is not None:
        return traits.attribute if traits.attribute in _attributes(checklist) else None
    if traits.group is not None:
        return next(_owners(checklist, traits.group), None)
    return checklist.leading


class Knowledge:
    """The knowledge of a simulated model: its checklists, and the attribute it is biased about in each."""

    def __init__(self, traits: Traits, checklists: tuple[Checklist, ...]) -> None:
        self._checklists = {each.name: (each, leaning(traits, each)) for each in checklists}

    def language(self, request: Request) -> Replies:
        """The phrases in the language of the request's checklist; English for a prompt without a query."""
        case = request.query.case if request.query else None
        known = self._checklists.get(case.checklist) if case else None
        return words(known[0].language if known else ENGLISH).replies

    def look_up(self, request: Request) -> tuple[Situation | tuple[Sitter, ...] | None, str | None]:
        """The scene of the request's query, and the attribute of the bias; None without a query."""
        query = request.query
        if query is None or query.case is None or query.case.checklist not in self._checklists:
            return None, None
        checklist, attribute = self._checklists[query.case.checklist]
        return protocols.situation(checklist, query), attribute


def _shares(
    spec: ModelSpec, kind: Archetype, given: Mapping[str, str], *, group: str | None
) -> dict[str, float]:
    """The probabilities by trait; ``strength`` and ``rate`` stand for the traits they mean for this kind."""
    meant = {"strength": kind.strength, "rate": "refuse" if group is None else "withhold"}
    shares = {}
    for name, text in given.items():
        try:
            share = float(text)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            raise _wrong(spec, f"{name} must be a number from 0 to 1, not '{text}'")
        shares[meant.get(name, name)] = share
    if "rate" in given and "refuse" in given and group is None:
        raise _wrong(spec, "rate is refuse where no group is given; keep one of the two")
    preset = {meant.get(name, name): share for name, share in kind.preset.items()}
    return {**preset, **shares}


def _check_words(spec: ModelSpec, *, group: str | None, attribute: str | None) -> None:
    """Raise InputError for an attribute or group that no checklist has, or that is not enough to tell."""
    known = {name for checklist in spec.checklists for name in _attributes(checklist)}
    if attribute is not None and attribute not in known:
        raise _wrong(spec, f"unknown attribute '{attribute}'{nearest(attribute, known)}")
    if group is None:
        if spec.target == "constant":
            example = next((each.groups[0] for one in spec.checklists for each in one.attributes), "Female")
            raise _wrong(spec, f"it needs a group, such as 'sim:constant?group={example}'")
        return
    offered = {
        name
        for checklist in spec.checklists
        for each in checklist.attributes
        if attribute in (None, each.name)
        for name in each.groups
    }
    if group not in offered:
        of = f" of '{attribute}'" if attribute else ""
        raise _wrong(spec, f"unknown group '{group}'{of}{nearest(group, offered)}")
    for checklist in spec.checklists:
        owners = list(_owners(checklist, group))
        if attribute is None and len(owners) > 1:
            choice = " or ".join(f"attribute={name}" for name in owners)
            raise _wrong(spec, f"several attributes have a group '{group}'; add {choice}")


def _owners(checklist: Checklist, group: str) -> Iterator[str]:
    return (attribute.name for attribute in checklist.attributes if group in attribute.groups)


def _attributes(checklist: Checklist) -> tuple[str, ...]:
    return tuple(attribute.name for attribute in checklist.attributes)


def _wrong(spec: ModelSpec, problem: str) -> InputError:
    return InputError(f"model '{spec.text}': {problem}")
