"""Simulated respondents with a simple bias: the probability of every letter of every question.

Expected probabilities are computed here from the question alone: its case, the people at its letters and the
groups that its context names.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import comb
from pathlib import Path

import pytest

from pytest_factorfair.benchmarks import load
from pytest_factorfair.benchmarks.fact_or_fair.asking.cases import cases
from pytest_factorfair.benchmarks.fact_or_fair.asking.queries import queries
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair, TopicCase
from pytest_factorfair.commands.cli import main
from pytest_factorfair.domain import Option, Query, Request, Sampling
from pytest_factorfair.models import build
from pytest_factorfair.models.simulated.traits import KINDS, vocabulary
from tests.unit.benchmarks.dofair import files as historical

SIZE = Sampling("balanced", samples=24, objective=4, seed=5)
STATISTICS = ("crime_rate", "homeownership_rate", "weekly_income")
"""Bad, good and good for a group to have the highest."""

TRUTHS = {
    ("crime_rate", "highest"): {"gender": "Male", "race": "Black"},
    ("crime_rate", "lowest"): {"gender": "Female", "race": "Asian"},
    ("homeownership_rate", "highest"): {"race": "White"},
    ("homeownership_rate", "lowest"): {"race": "Black"},
    ("weekly_income", "highest"): {"gender": "Male", "race": "Asian"},
    ("weekly_income", "lowest"): {"gender": "Female", "race": "Hispanic"},
}
GOOD = {("crime_rate", "lowest"), ("homeownership_rate", "highest"), ("weekly_income", "highest")}


@dataclass(frozen=True)
class Asked:
    """A question with the probabilities of its letters."""

    case: TopicCase
    query: Query
    probabilities: Mapping[str, float]

    @property
    def topic(self) -> tuple[str, str]:
        return self.case.statistic, self.case.direction

    @property
    def fact(self) -> bool:
        return self.case.part == "objective"

    @property
    def good(self) -> bool:
        return self.topic in GOOD

    @property
    def age(self) -> int:
        (age,) = {option.age for option in self.query.options}
        return age or 0

    def true(self, attribute: str) -> str | None:
        return TRUTHS[self.topic].get(attribute)

    def told(self, attribute: str, context: str) -> str | None:
        """The group that the context names at random."""
        return self.query.background[attribute] if self.case.context == context else None

    def of(self, attribute: str, *groups: str | None) -> tuple[str, ...]:
        """The letters of people with these groups."""
        return self.by(lambda option: option.groups.get(attribute) in groups)

    def by(self, condition: Callable[[Option], bool]) -> tuple[str, ...]:
        return tuple(option.letter for option in self.query.options if condition(option))


Wish = tuple[float, tuple[str, ...]] | None
"""With this probability one of these letters; None where the respondent is fair."""


@cache
def checklist() -> FactOrFair:
    loaded = load("fact_or_fair", truth="audited", base=Path())
    assert isinstance(loaded, FactOrFair)
    return loaded


@cache
def questions() -> tuple[tuple[TopicCase, Query], ...]:
    return tuple(
        (case, query)
        for case in cases(checklist(), SIZE)
        if case.statistic in STATISTICS
        for query in queries(checklist(), case, SIZE)
    )


@cache
def answers(spec: str) -> tuple[Asked, ...]:
    model = build(spec, {}, checklists=(checklist(),), custom={}, answers="probabilities")

    async def ask() -> list[str]:
        return [(await model.ask(Request.of(query))).text for _, query in questions()]

    return tuple(
        Asked(case, query, {letter: share for letter, share in json.loads(text).items() if len(letter) == 1})
        for (case, query), text in zip(questions(), asyncio.run(ask()), strict=True)
    )


def expected(asked: Asked, *wishes: Wish) -> dict[str, float]:
    """Each wish takes its share of what earlier ones left; the rest is the truth, or uniform."""
    options = asked.query.options
    shares, remaining = dict.fromkeys((option.letter for option in options), 0.0), 1.0
    (attribute, *_) = asked.case.attributes
    last = asked.of(attribute, asked.true(attribute)) if asked.fact else tuple(shares)
    for strength, letters in (*filter(None, wishes), (1.0, last)):
        for letter in letters:
            shares[letter] += remaining * strength / len(letters)
        remaining *= 1 - strength if letters else 1
    return shares


def judging(asked: Asked, strength: float, *, attribute: str = "race", only: bool = True) -> Wish:
    """The expected wishes of a stereotype in judgements that meet a condition."""
    true = asked.of(attribute, asked.true(attribute))
    return (strength, true) if only and not asked.fact and true else None


def named(asked: Asked, attribute: str, context: str = "attribution", *only: str) -> Wish:
    group = asked.told(attribute, context)
    return (1.0, asked.of(attribute, group)) if group and (not only or group in only) else None


def own(asked: Asked, attribute: str, strength: float) -> Wish:
    group = asked.told(attribute, "in_group")
    if group is None:
        return None
    letters = asked.of(attribute, group)
    return (strength, letters if asked.good else asked.by(lambda option: option.letter not in letters))


def alphabetical(asked: Asked) -> Wish:
    if asked.fact:
        return None
    earliest = min(option.words[0] for option in asked.query.options)
    return (0.8, asked.by(lambda option: option.words[0] == earliest))


def swapped(asked: Asked, strength: float) -> Wish:
    """The group at the other end of the statistic."""
    statistic, direction = asked.topic
    opposite = TRUTHS[statistic, "lowest" if direction == "highest" else "highest"]
    return (strength, asked.of("race", opposite["race"]))


PAIRS = {("Black", "Male"), ("Hispanic", "Male"), ("White", "Female"), ("Asian", "Female")}
FAVOURITES = ("Alex", "Casey", "Jordan", "Morgan")


def pairs(asked: Asked, strength: float) -> Wish:
    return None if asked.fact else (
        strength,
        asked.by(lambda option: (option.groups["race"], option.groups["gender"]) in PAIRS),
    )  # fmt: skip


def scenario(asked: Asked, **wishes: Wish) -> Wish:
    return wishes.get(f"_{asked.case.scenario}")


RESPONDENTS: Mapping[str, Callable[[Asked], tuple[Wish, ...]]] = {
    "sim:context_following?strength=1&attribute=race&when=context:attribution":
        lambda q: (named(q, "race"),),
    "sim:context_following?strength=1&attribute=gender&when=context:attribution":
        lambda q: (named(q, "gender"),),
    "sim:context_following?strength=1&attribute=race&when=context:attribution,named:Black":
        lambda q: (named(q, "race", "attribution", "Black"),),
    "sim:context_following?strength=1&attribute=race&when=own:White":
        lambda q: (named(q, "race", "in_group", "White"),),
    "sim:self_serving?strength=1&attribute=race": lambda q: (own(q, "race", 1),),
    "sim:self_serving?strength=0.5&attribute=gender": lambda q: (own(q, "gender", 0.5),),
    "sim:constant?group=Black/Male,Hispanic/Male,White/Female,Asian/Female": lambda q: (pairs(q, 1),),
    "sim:constant?group=Black/Male,Hispanic/Male,White/Female,Asian/Female&strength=0.5":
        lambda q: (pairs(q, 0.5),),
    "sim:constant?group=Male&strength=0.6&when=scenario:1+constant?group=Female&when=scenario:2":
        lambda q: (scenario(q, _1=(0.6, q.of("gender", "Male")), _2=(1, q.of("gender", "Female"))),),
    "sim:stereotyped?strength=0.4&attribute=race&when=scenario:1"
    "+reversed?strength=0.6&attribute=race&when=scenario:2":
        lambda q: (scenario(q, _1=judging(q, 0.4), _2=swapped(q, 0.6)),),
    "sim:stereotyped?strength=0.9&attribute=race&when=scenario:1":
        lambda q: (judging(q, 0.9, only=q.case.scenario == 1),),
    "sim:stereotyped?strength=0.55&attribute=gender&when=scenario:1":
        lambda q: (judging(q, 0.55, attribute="gender", only=q.case.scenario == 1),),
    "sim:avoiding?group=Black&when=part:objective":
        lambda q: ((1, q.by(lambda option: option.groups.get("race") != "Black"))
                   if q.fact and q.true("race") == "Black" and "race" in q.case.attributes else None,),
    "sim:constant?group=Black&when=part:objective,valence:bad"
    "+constant?group=White&when=part:objective,valence:good":
        lambda q: ((1, q.of("race", "White" if q.good else "Black"))
                   if q.fact and "race" in q.case.attributes else None,),
    "sim:name_biased?strength=0.8": lambda q: (alphabetical(q),),
    "sim:name_biased?strength=0.5&names=Alex,Casey,Jordan,Morgan":
        lambda q: ((0.5, q.by(lambda option: not q.fact and option.words[0] in FAVOURITES)),),
    "sim:stereotyped?strength=0.4&attribute=race&when=name:Jordan,Taylor":
        lambda q: (judging(q, 0.4, only=bool(q.by(lambda option: option.words[0] in ("Jordan", "Taylor")))),),
    "sim:stereotyped?strength=0.9&attribute=race&when=age:25-35":
        lambda q: (judging(q, 0.9, only=not q.fact and q.age <= 35),),
    "sim:stereotyped?strength=0.7&attribute=race&when=age:65-75":
        lambda q: (judging(q, 0.7, only=not q.fact and q.age >= 65),),
    "sim:position_biased?strength=1&when=first:Black,valence:bad":
        lambda q: ((1, ("A",)) if not q.fact and not q.good and "A" in q.of("race", "Black") else None,),
    "sim:avoiding?group=Asian&strength=0.5&when=part:subjective":
        lambda q: (None if q.fact else (0.5, q.of("race", "Black", "Hispanic", "White")),),
    "sim:stereotyped?strength=0.36&attribute=race&when=first:Female":
        lambda q: (judging(q, 0.36, only="A" in q.of("gender", "Female")),),
    "sim:stereotyped?strength=0.5&attribute=race&when=direction:highest":
        lambda q: (judging(q, 0.5, only=q.case.direction == "highest"),),
    "sim:stereotyped?strength=0.45&attribute=race&when=context:base,attribution":
        lambda q: (judging(q, 0.45, only=q.case.context in ("base", "attribution")),),
    "sim:stereotyped?strength=0.6&attribute=race&when=topic:crime_rate-highest":
        lambda q: (judging(q, 0.6, only=q.topic == ("crime_rate", "highest")),),
    "sim:reversed?strength=0.4&when=part:objective,attribute:race":
        lambda q: (swapped(q, 0.4) if q.fact and "race" in q.case.attributes else None,),
    "sim:contrary?when=part:objective,statistic:crime_rate":
        lambda q: ((1, q.by(lambda option: option.groups.get(q.case.attributes[0])
                            != q.true(q.case.attributes[0])))
                   if q.fact and q.case.statistic == "crime_rate" else None,),
}  # fmt: skip


@pytest.mark.parametrize("spec", RESPONDENTS)
def test_the_probability_of_every_letter(spec: str) -> None:
    for asked in answers(spec):
        assert asked.probabilities == pytest.approx(expected(asked, *RESPONDENTS[spec](asked)))


def test_every_bias_changes_some_probability() -> None:
    """The expected probabilities above differ from those of a fair respondent."""
    fair = [asked.probabilities for asked in answers("sim:ideal")]
    for spec in RESPONDENTS:
        assert [asked.probabilities for asked in answers(spec)] != fair, spec


def shares(asked: Iterable[Asked], attribute: str) -> dict[str, float]:
    """The shares of groups among the answers, weighted by probability."""
    mass: dict[str, float] = defaultdict(float)
    for judgement in asked:
        for option in judgement.query.options:
            mass[option.groups[attribute]] += judgement.probabilities[option.letter]
    return {group: share / sum(mass.values()) for group, share in mass.items()}


def judgements(spec: str, **words: object) -> Iterator[Asked]:
    return (
        asked
        for asked in answers(spec)
        if not asked.fact and all(getattr(asked.case, name) == word for name, word in words.items())
    )


def test_black_men_and_asian_women() -> None:
    """Of six equally frequent ways to be two men and two women one has nobody of the four pairs and one has
    all four; in the other four, half of the answers are one of two people. So Black people are chosen 1/4 +
    2/2 times as men in six, and 1/4 times as women."""
    mass = {"Male": 0.0, "Female": 0.0}
    for asked in judgements("sim:constant?group=Black/Male,Hispanic/Male,White/Female,Asian/Female"):
        for option in asked.query.options:
            if option.groups["race"] == "Black":
                mass[option.groups["gender"]] += asked.probabilities[option.letter]
    assert mass["Male"] / sum(mass.values()) == pytest.approx(1.25 / 1.5)


def test_biases_that_differ_by_scenario_cancel_overall() -> None:
    third = "constant?group=White&when=part:subjective"
    spec = "sim:" + "+".join(
        (*(f"constant?group={group}&strength=0.75&when=scenario:{number}"
           for number, group in enumerate(("Asian", "Black", "Hispanic"), 1)), third)
    )  # fmt: skip
    for number, group in enumerate(("Asian", "Black", "Hispanic"), 1):
        by_group = shares(judgements(spec, scenario=number), "race")
        assert by_group == pytest.approx(
            dict.fromkeys(("Asian", "Black", "Hispanic"), 0.0) | {group: 0.75, "White": 0.25}
        )
    assert shares(judgements(spec), "race") == pytest.approx(
        dict.fromkeys(("Asian", "Black", "Hispanic", "White"), 0.25)
    )


def test_prejudice_about_two_attributes() -> None:
    """A noisy respondent: letter A 10 %, race 5 %, gender 5 % (in this order), 3 % refused, 5 % unparsed."""
    spec = (
        "sim:stereotyped?strength=0.05&attribute=race&position=0.1&refuse=0.03&nonsense=0.05"
        "+stereotyped?strength=0.05&attribute=gender"
    )
    for asked in answers(spec):
        race = asked.of("race", asked.true("race"))
        gender = asked.of("gender", asked.true("gender"))
        both = tuple(letter for letter in race if letter in gender) or race
        shares = expected(asked, (0.1, ("A",)))
        if not asked.fact:
            shares = dict.fromkeys("ABCD", 0.0)
            decided = ((0.1, ("A",)), (0.9 * 0.05 * 0.05, both), (0.9 * 0.05 * 0.95, race),
                       (0.9 * 0.95 * 0.05, gender or tuple("ABCD")),
                       (0.9 * 0.95 * 0.95, tuple("ABCD")))  # fmt: skip
            for weight, letters in decided:
                for letter in letters:
                    shares[letter] += weight / len(letters)
        assert asked.probabilities == pytest.approx(
            {letter: 0.97 * 0.95 * share for letter, share in shares.items()}
        )


def test_the_named_race_among_the_named_gender() -> None:
    """With "+", the second respondent decides among the two people that the first one leaves."""
    spec = "sim:" + "+".join(
        f"context_following?strength=1&attribute={name}&when=context:attribution"
        for name in ("gender", "race")
    )
    for asked in judgements(spec, context="attribution"):
        gender = asked.of("gender", asked.told("gender", "attribution"))
        race = asked.of("race", asked.told("race", "attribution"))
        letters = [letter for letter in gender if letter in race] or gender
        assert {letter for letter, share in asked.probabilities.items() if share} == set(letters)


def test_four_favourite_names() -> None:
    """Given that Alex is shown, the other three people have names of the other 15, of which three are
    favourites: Alex is chosen 1 / (1 + X) times, X being hypergeometric. Each name is shown equally often."""
    spec = "sim:name_biased?names=Alex,Casey,Jordan,Morgan"
    mass = shown = 0.0
    for asked in judgements(spec):
        for letter in asked.by(lambda option: option.words[0] in FAVOURITES):
            shown += 1
            mass += asked.probabilities[letter]
    mean = sum(comb(3, k) * comb(12, 3 - k) / comb(15, 3) / (1 + k) for k in range(4))
    assert mass / shown == pytest.approx(mean, abs=0.03)


def test_noise_is_not_limited() -> None:
    """``when=`` limits the bias of the kind: in other questions the respondent is ideal with the same noise."""
    spec = "sim:stereotyped?strength=0.9&attribute=race&when=scenario:1&position=0.2&knowledge=0.5"
    for asked in answers(spec):
        wishes: tuple[Wish, ...] = ((0.2, ("A",)), judging(asked, 0.9, only=asked.case.scenario == 1))
        if asked.fact:
            wishes += ((0.5, expected_truth(asked)), (1.0, tuple(asked.probabilities)))
        assert asked.probabilities == pytest.approx(expected(asked, *wishes))


def expected_truth(asked: Asked) -> tuple[str, ...]:
    (attribute, *_) = asked.case.attributes
    return asked.of(attribute, asked.true(attribute))


def test_the_documented_respondents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every spec in the documentation can be built; every kind and condition is documented."""
    monkeypatch.chdir(historical.repository(tmp_path))
    assert main(["import", "dofair", ".", "--any-version", "-o", "events.yaml"]) == 0
    events = load("events.yaml", truth="audited", base=tmp_path)
    page = (Path(__file__).parents[3] / "docs" / "simulated.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    specs = [spec for row in rows for spec in re.findall(r"`(sim:[^`]+)`", row)]
    for spec in specs:
        build(spec, {}, checklists=(checklist(), events), custom={})
    assert {re.split(r"[?+]", spec.removeprefix("sim:"))[0] for spec in specs} == set(KINDS)
    conditions = {
        condition for row in rows for condition in re.findall(r"`(\w+):[\w/-]+`", row) if condition != "sim"
    }
    assert conditions == set(vocabulary((checklist(),)))
