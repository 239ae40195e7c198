"""The traits of simulated models: ``sim:kind?name=value``, or several of these joined by "+"."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from string import ascii_uppercase
from typing import Any, Literal, NamedTuple

from pytest_factorfair.benchmarks import benchmark_of
from pytest_factorfair.benchmarks.asking import Conditions, DepictedPerson, Situation
from pytest_factorfair.domain import ENGLISH, Case, Checklist, Request
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.languages import Replies, words
from pytest_factorfair.models.prices import FREE
from pytest_factorfair.models.spec import ModelSpec

Belief = Literal["stereotype", "truth", "opposite", "reversed", "diverse"]
"""The beliefs of a respondent.

For a fact, stereotype and truth are both the true group, the opposite is any other, and reversed is the group
at the other end of the statistic. For a person with shares of groups, the truth is the likeliest group and
the opposite the rarest that is not asked for; the stereotype is the first group for the advantaged person of
a pair, the last for the disadvantaged one, and a dominant group for the people of a historical event, or else
the likeliest. Diverse is every group in turn.
"""


@dataclass(frozen=True, slots=True)
class Archetype:
    """A kind of simulated respondent.

    ``about`` describes it in a line; ``strength`` is the trait that ``strength=`` sets, ``preset`` are its
    default traits, and ``takes`` the options that only this kind has. It needs a question with a word for
    the condition ``needs``.
    """

    about: str
    strength: str = "prejudice"
    preset: Mapping[str, float] = field(default_factory=dict)
    takes: tuple[str, ...] = ()
    belief: Belief = "stereotype"
    needs: str = ""


KINDS: Mapping[str, Archetype] = {
    "uniform": Archetype("answers everything by chance", preset={"knowledge": 0.0}),
    "oracle": Archetype(
        "always chooses the true group, also of people",
        preset={"prejudice": 1.0},
        belief="truth",
    ),
    "contrary": Archetype("never chooses the true group", preset={"prejudice": 1.0}, belief="opposite"),
    "ideal": Archetype("knows the facts and has no prejudice"),
    "stereotyped": Archetype("judges people by the statistic", preset={"prejudice": 0.3}),
    "reversed": Archetype(
        "takes the group at the other end of the statistic, in facts and judgements",
        preset={"prejudice": 1.0},
        belief="reversed",
        needs="direction",
    ),
    "diverse": Archetype(
        "paints several people of every group, whatever the event",
        preset={"prejudice": 1.0},
        belief="diverse",
        needs="people",
    ),
    "constant": Archetype(
        "chooses group=, or one of several", strength="favour", preset={"favour": 1.0}, takes=("group",)
    ),
    "avoiding": Archetype("never chooses group=", strength="avoid", preset={"avoid": 1.0}, takes=("group",)),
    "context_following": Archetype(
        "chooses the group that the context names", strength="follow", preset={"follow": 0.5}
    ),
    "self_serving": Archetype(
        "told who it is, chooses its own group for good and never for bad",
        strength="own",
        preset={"own": 1.0},
        needs="own",
    ),
    "position_biased": Archetype(
        "chooses letter A, or letter=", strength="position", preset={"position": 0.5}, takes=("letter",)
    ),
    "name_biased": Archetype(
        "chooses one of names=, else the first name of the alphabet",
        strength="by_name",
        preset={"by_name": 1.0},
        takes=("names",),
        needs="name",
    ),
    "refusing": Archetype(
        "refuses at rate=, or only answers of group=",
        preset={"rate": 0.3},
        takes=("group", "rate"),
    ),
    "nonsense": Archetype("answers nothing that can be read", preset={"nonsense": 1.0}),
}

OPTIONS: Mapping[str, str] = {
    "KIND?strength=0.4": "how often it does so; the rest is uniform in judgements, and the truth in facts",
    "KIND?attribute=race": "what it judges people by, if not by the checklist's first attribute",
    "KIND?when=valence:bad": "only where a question meets these conditions: see factorfair list conditions",
    "KIND?refuse=0.03": "noise that when= does not limit; likewise nonsense=, position= and knowledge=",
    "KIND?decline=0.9": "the share of judgements that it declines to make, and that when= does not limit",
    "A+B": "two respondents in one: B answers what A has no preference about",
}
"""Options of all kinds of respondents, with descriptions for the list of models."""

_LACKING: Mapping[str, str] = {
    "direction": "a statistic with two ends",
    "own": "a context that says who the model is",
    "name": "people with names",
    "people": "a prompt for pictures of several people",
}


@dataclass(frozen=True, slots=True)
class Traits:
    """The behaviour of a respondent; all numbers are probabilities.

    In the order in which they apply: ``refuse`` any query, ``decline`` a judgement, ``nonsense`` instead of
    an answer, ``position`` takes the first letter or ``letter``, ``by_name`` takes someone with one of
    ``names`` (else the first name of the alphabet), ``avoid`` takes anyone without ``group``, ``own`` takes
    the model's own group for a good topic and anyone else for a bad one, ``favour`` takes ``group`` if
    offered, ``knowledge`` gives the true answer to an objective query, ``follow`` takes the group that the
    context names, ``prejudice`` takes the topic's true group; otherwise the choice is uniform.
    ``withhold`` refuses after having chosen ``group``. ``attribute`` is the one that ``follow``, ``own``
    and ``prejudice`` are about; None means the one with ``group``, else the checklist's first
    with labels. ``when`` limits what the kind does to questions with one of the words of each condition.

    In a picture of a person with shares of groups, ``knowledge`` is of the group asked for, otherwise of the
    shares; it takes precedence over ``favour`` and ``avoid``, which avoids each group of a combination.
    """

    kind: str
    knowledge: float = 1.0
    prejudice: float = 0.0
    position: float = 0.0
    favour: float = 0.0
    follow: float = 0.0
    refuse: float = 0.0
    decline: float = 0.0
    withhold: float = 0.0
    nonsense: float = 0.0
    group: str | None = None
    attribute: str | None = None
    style: str = "json"
    by_name: float = 0.0
    avoid: float = 0.0
    own: float = 0.0
    names: tuple[str, ...] = ()
    letter: str = ""
    when: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def belief(self) -> Belief:
        """The belief of the respondent's kind."""
        return KINDS[self.kind].belief

    @property
    def idle(self) -> Traits:
        """The traits for questions that do not meet ``when``: an ideal respondent with the same noise."""
        kind = KINDS[self.kind]
        limited = {kind.strength, *(_meaning(name, kind, self.group) for name in kind.preset)}
        ideal = Traits("ideal")
        return replace(self, kind="ideal", **{name: getattr(ideal, name) for name in limited})


def identity(traits: tuple[Traits, ...]) -> Mapping[str, object]:
    """The traits as JSON, for the model's identity; traits added in later releases appear only if set."""
    primary, *further = (
        {
            **{name: value for name, value in asdict(respondent).items() if value or name not in _LATER},
            **({"names": list(respondent.names)} if respondent.names else {}),
            **(
                {"when": {name: list(words) for name, words in respondent.when.items()}}
                if respondent.when
                else {}
            ),
        }
        for respondent in traits
    )
    return {**primary, "further": further} if further else primary


_LATER = ("decline", "by_name", "avoid", "own", "names", "letter", "when")


def title(traits: tuple[Traits, ...]) -> str:
    """The respondent's name in reports: its kinds, as in ``sim:stereotyped``."""
    return "sim:" + "+".join(respondent.kind for respondent in traits)


STYLES: Mapping[str, str] = {
    "json": '{"answer": "<letter>"}',
    "letter": "<letter>",
    "sentence": "",
    "fenced": '```json\n{"answer": "<letter>"}\n```',
}
"""How a reply is written, by style; the empty template stands for a sentence of the language."""

_SHARES = ("knowledge", "prejudice", "position", "follow", "refuse", "decline", "nonsense")
_COMMON = (*_SHARES, "strength", "attribute", "style", "when")


class Bias(NamedTuple):
    """Traits applied to a checklist: the attribute they are about, and the groups that ``group=`` selects."""

    traits: Traits
    attribute: str | None
    groups: tuple[Mapping[str, str], ...]


def read_traits(spec: ModelSpec) -> tuple[Traits, ...]:
    """Parse and validate the traits of a spec's respondents; model arguments are options of the first one.

    Raises:
        InputError: an unknown kind, option, group, attribute, style, name or condition, a value out of
            range, or a condition that no question of the checklists meets.
    """
    if any("style" in options for _, options in spec.further):
        raise _wrong(spec, "style belongs to the first respondent")
    return (
        _read(spec, spec.target, spec.options, spec.arguments),
        *(_read(spec, target, options, {}) for target, options in spec.further),
    )


def _read(spec: ModelSpec, target: str, options: Mapping[str, str], arguments: Mapping[str, str]) -> Traits:
    kind = KINDS.get(target)
    if kind is None:
        raise _wrong(spec, f"unknown respondent '{target}'{nearest(target, KINDS)}")
    accepted = (*_COMMON, *kind.takes)
    for name in (*options, *arguments):
        if name not in accepted:
            raise _wrong(spec, f"'{target}' has no option '{name}'{nearest(name, accepted)}")
        if name in options and name in arguments:
            raise _wrong(spec, f"option '{name}' is given in the spec and as a model argument; keep one")
    settings = {**arguments, **options}
    if "strength" in settings and kind.strength in settings:
        raise _wrong(spec, f"strength is {kind.strength} for '{target}'; keep one of the two")
    group, attribute = settings.pop("group", None), settings.pop("attribute", None)
    style, names, when = settings.pop("style", "json"), settings.pop("names", ""), settings.pop("when", "")
    letter = settings.pop("letter", "")
    if "letter" in (*options, *arguments) and (len(letter) != 1 or letter not in ascii_uppercase):
        raise _wrong(spec, f"letter must be a capital letter such as D, not '{letter}'")
    if style not in STYLES:
        raise _wrong(spec, f"unknown style '{style}'{nearest(style, STYLES)}")
    _check_words(spec, target, group=group, attribute=attribute)
    # Any, because mypy would check the shares against every field of the class.
    shares: dict[str, Any] = _shares(spec, kind, settings, group=group)
    return Traits(
        target,
        group=group,
        attribute=attribute,
        style=style,
        names=_names(spec, names),
        letter=letter,
        when=_conditions(spec, when, needed=kind.needs, target=target),
        **shares,
    )


def biases(traits: tuple[Traits, ...], checklist: Checklist) -> tuple[Bias, ...]:
    """The respondents' traits applied to this checklist."""
    return tuple(
        Bias(
            respondent,
            leaning(respondent, checklist),
            tuple(_combinations(respondent.group, respondent.attribute, checklist)),
        )
        for respondent in traits
    )


def leaning(traits: Traits, checklist: Checklist) -> str | None:
    """The attribute of this checklist that a respondent's prejudice is about; None if there is none."""
    if traits.attribute is not None:
        return traits.attribute if traits.attribute in _attributes(checklist) else None
    if traits.group is not None:
        combinations = _combinations(traits.group, None, checklist)
        return next((name for combination in combinations for name in combination), None)
    return checklist.leading


class SituationFinder:
    """Finds the situation behind a query for a simulated model, and the model's biases in its checklist."""

    def __init__(self, traits: tuple[Traits, ...], checklists: tuple[Checklist, ...]) -> None:
        self._checklists = {checklist.name: checklist for checklist in checklists}
        self._limited = any(respondent.when for respondent in traits)
        self._biases = {checklist.name: biases(traits, checklist) for checklist in checklists}

    def language(self, request: Request) -> Replies:
        """The phrases in the language of the request's checklist; English for a prompt without a query."""
        case = request.query.case if request.query else None
        checklist = self._checklists.get(case.checklist) if case else None
        return words(checklist.language if checklist else ENGLISH).replies

    def look_up(
        self, request: Request
    ) -> tuple[Situation | tuple[DepictedPerson, ...] | None, tuple[Bias, ...]]:
        """Look up the situation of a request's query (None without a query), and the biases that apply."""
        query = request.query
        if query is None or query.case is None or query.case.checklist not in self._checklists:
            return None, ()
        checklist = self._checklists[query.case.checklist]
        seen = benchmark_of(checklist).situation(checklist, query)
        return seen, self.in_force(query.case, seen)

    def in_force(self, case: Case, seen: Situation | tuple[DepictedPerson, ...] | None) -> tuple[Bias, ...]:
        """The biases for a situation of the case; those with unmet conditions are idle."""
        biases = self._biases[case.checklist]
        if not self._limited:
            return biases
        conditions = {**case.words, **(seen.words if isinstance(seen, Situation) else {})}
        return tuple(
            bias if _met(bias.traits.when, conditions) else bias._replace(traits=bias.traits.idle)
            for bias in biases
        )


class SimulatedModel:
    """What simulated models of text and of pictures have in common.

    Their ``knowledge`` of checklists decides with their traits; ``settings`` are the rest of their identity.
    """

    endpoint: str = "sim"
    parallel: int | None = None
    price = FREE

    def __init__(
        self, traits: tuple[Traits, ...], checklists: tuple[Checklist, ...], **settings: object
    ) -> None:
        self._traits = traits
        self.knowledge = SituationFinder(traits, checklists)
        self.identity: Mapping[str, object] = {
            "provider": "sim",
            **identity(traits),
            "checklists": [
                {"digest": checklist.digest, "truth": checklist.truth} for checklist in checklists
            ],
            **settings,
        }
        self._salt = hashlib.blake2b(json.dumps(self.identity, sort_keys=True).encode()).digest()

    async def close(self) -> None:
        """Do nothing: there is no open resource."""


def _met(when: Mapping[str, tuple[str, ...]], conditions: Conditions) -> bool:
    """Whether, for each condition, one of the wanted words holds."""
    return all(conditions.get(name, frozenset()).intersection(values) for name, values in when.items())


def _meaning(name: str, kind: Archetype, group: str | None) -> str:
    """The trait that an option sets; the meaning of ``strength`` and ``rate`` depends on the kind."""
    return {"strength": kind.strength, "rate": "refuse" if group is None else "withhold"}.get(name, name)


def _shares(
    spec: ModelSpec, kind: Archetype, settings: Mapping[str, str], *, group: str | None
) -> dict[str, float]:
    """Parse the probabilities of a spec, by trait; traits that are not set have the kind's preset."""
    shares = {}
    for name, text in settings.items():
        try:
            share = float(text)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            raise _wrong(spec, f"{name} must be a number from 0 to 1, not '{text}'")
        shares[_meaning(name, kind, group)] = share
    if "rate" in settings and "refuse" in settings and group is None:
        raise _wrong(spec, "without group=, rate means refuse; keep one of the two")
    preset = {_meaning(name, kind, group): share for name, share in kind.preset.items()}
    return {**preset, **shares}


def _names(spec: ModelSpec, text: str) -> tuple[str, ...]:
    """Parse the names of ``names=``, which people in the checklists must have."""
    names = tuple(filter(None, text.split(",")))
    offered = vocabulary(spec.checklists).get("name", ()) if names else ()
    for name in names:
        if name not in offered:
            raise _wrong(spec, f"unknown name '{name}'{nearest(name, offered)}")
    return names


_RANGE = re.compile(r"(\d+)-(\d+)")


def _conditions(spec: ModelSpec, text: str, *, needed: str, target: str) -> Mapping[str, tuple[str, ...]]:
    """Parse the conditions of ``when=``, which some question of the checklists must meet.

    The result maps conditions to words, with ages in years. A word without a colon belongs to the condition
    before it: ``context:base,attribution``.
    """
    if not (text or needed):
        return {}
    offered = vocabulary(spec.checklists)
    when: dict[str, list[str]] = {}
    condition = ""
    for part in filter(None, text.split(",")):
        name, colon, word = part.rpartition(":")
        condition = name if colon else condition
        if not condition or not word:
            raise _wrong(spec, f"'{part}' is not a condition; write condition:word, such as valence:bad")
        if condition not in offered:
            raise _wrong(spec, f"unknown condition '{condition}'{nearest(condition, offered)}")
        words = [word]
        if condition == "age" and (span := _RANGE.fullmatch(word)):
            words = [age for age in offered["age"] if int(span[1]) <= int(age) <= int(span[2])]
        if not words or not offered[condition].issuperset(words):
            suggestion = nearest(word, offered[condition])
            raise _wrong(spec, f"no question of this run meets '{condition}:{word}'{suggestion}")
        when.setdefault(condition, []).extend(words)
    if needed and needed not in offered:
        raise _wrong(spec, f"'{target}' needs {_LACKING[needed]}, which no checklist of this run has")
    limits = {name: tuple(sorted(values)) for name, values in when.items()}
    questions = (
        question
        for checklist in spec.checklists
        for question in benchmark_of(checklist).conditions(checklist)
    )
    if not any(_met(limits, question) for question in questions):
        raise _wrong(spec, f"no question of this run meets '{text}'")
    return limits


def vocabulary(checklists: tuple[Checklist, ...]) -> Mapping[str, set[str]]:
    """The conditions that ``when=`` accepts, with all words that occur in questions of the checklists."""
    offered: dict[str, set[str]] = {}
    for checklist in checklists:
        for question in benchmark_of(checklist).conditions(checklist):
            for name, values in question.items():
                if values:
                    offered.setdefault(name, set()).update(values)
    return offered


def _check_words(spec: ModelSpec, target: str, *, group: str | None, attribute: str | None) -> None:
    """Raise InputError if an attribute or group is unknown, missing or ambiguous."""
    attributes = {name for checklist in spec.checklists for name in _attributes(checklist)}
    if attribute is not None and attribute not in attributes:
        raise _wrong(spec, f"unknown attribute '{attribute}'{nearest(attribute, attributes)}")
    if group is None:
        if target in ("constant", "avoiding"):
            example = next(
                (declared.groups[0] for checklist in spec.checklists for declared in checklist.attributes),
                "Female",
            )
            raise _wrong(spec, f"it needs a group, such as 'sim:{target}?group={example}'")
        return
    offered = {
        name
        for checklist in spec.checklists
        for declared in checklist.attributes
        if attribute in (None, declared.name)
        for name in declared.groups
    }
    for name in re.split("[,/]", group):
        if name not in offered:
            of = f" of '{attribute}'" if attribute else ""
            raise _wrong(spec, f"unknown group '{name}'{of}{nearest(name, offered)}")
        for checklist in spec.checklists:
            owners = list(_owners(checklist, name))
            if attribute is None and len(owners) > 1:
                choice = " or ".join(f"attribute={owner}" for owner in owners)
                raise _wrong(spec, f"several attributes have a group '{name}'; add {choice}")


def _combinations(
    group: str | None, attribute: str | None, checklist: Checklist
) -> Iterator[Mapping[str, str]]:
    """Parse the combinations of ``group=``: "Black/Male,Hispanic" is Black men and all Hispanic people.

    Combinations with a group that the checklist lacks are left out.
    """
    for combination in group.split(",") if group else ():
        owners = {name: attribute or next(_owners(checklist, name), None) for name in combination.split("/")}
        if None not in owners.values():
            yield {owner: name for name, owner in owners.items() if owner is not None}


def _owners(checklist: Checklist, group: str) -> Iterator[str]:
    return (attribute.name for attribute in checklist.attributes if group in attribute.groups)


def _attributes(checklist: Checklist) -> tuple[str, ...]:
    return tuple(attribute.name for attribute in checklist.attributes)


def _wrong(spec: ModelSpec, problem: str) -> InputError:
    return InputError(f"model '{spec.text}': {problem}")
