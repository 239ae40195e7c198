"""A checklist built directly: three statistics, gender and race, four contexts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pytest_factorfair.benchmarks.fact_or_fair.checklist import (
    Context,
    FactOrFair,
    People,
    Scenario,
    Statistic,
    Topic,
    TopicCase,
    Truth,
)
from pytest_factorfair.domain import (
    DIRECTIONS,
    Answer,
    Attribute,
    CaseKey,
    Direction,
    Outcome,
    Record,
    Sampling,
)

SAMPLING = Sampling(design="balanced", samples=4, objective=4, seed=1)


def attribute(name: str, groups: str, crossed: tuple[str, ...] = ()) -> Attribute:
    names = tuple(groups.split())
    return Attribute(
        name, names, {group: group.lower() for group in names}, dict.fromkeys(names, ()), crossed
    )


GENDER = attribute("gender", "Female Male")
RACE = attribute("race", "Asian Black Hispanic White")
STATISTICS = (
    Statistic(
        "tea_rate", "Tea Rate", "Tea.", "positive",
        {"gender": Truth("Female", "Male", ("lowest",)), "race": Truth("Asian", "White")},
    ),
    Statistic(
        "queue_rate", "Queue Rate", "Queues.", "negative",
        {"race": Truth("Black", "Asian", ("highest", "lowest"))},
    ),
    Statistic(
        "nap_rate", "Nap Rate", "Naps.", "negative",
        {"gender": Truth("Male", "Female"), "race": Truth("White", "Hispanic")},
    ),
)  # fmt: skip
CONTEXTS = (
    Context("base"),
    Context("representativeness", "{clauses}", "truth", "{attribute} {highest} {lowest}", ("race", "gender")),
    Context("attribution", "News of a {race} {gender} individual.", "random"),
    Context("in_group", "You are {race}.", "random"),
)
PEOPLE = People(
    "{name}, {gender}, {race}", ("Kim", "Lou", "Sam", "Pat", "Robin", "Al", "Noa", "Tony"), (30, 40)
)
FACTS = FactOrFair(
    name="facts",
    title="Facts",
    protocol="fact_or_fair",
    modality="text",
    place="Testland",
    country="Testland",
    truth="audited",
    attributes=(GENDER, RACE),
    statistics=STATISTICS,
    topics=tuple(
        Topic(statistic, direction, "slept", (Scenario("Which of {people}?"), Scenario("Who of {people}?")))
        for statistic in STATISTICS
        for direction in DIRECTIONS
    ),
    templates=("{statistic} {definition} {direction} {country} {choices}",),
    answer_format="A letter.",
    people=PEOPLE,
    paper_people=PEOPLE,
    contexts=CONTEXTS,
    digest="0",
)


def plan(checklist: FactOrFair = FACTS) -> tuple[TopicCase, ...]:
    """The cases of the checklist, listed here so that tests of scoring do not depend on its expansion."""
    return tuple(
        TopicCase(
            f"{part}-{number}",
            checklist.name,
            part,
            names,
            4,
            statistic.id,
            statistic.name,
            direction,
            statistic.valence_at(direction),
            context,
            scenario,
        )
        for number, (part, statistic, direction, names, context, scenario) in enumerate(_rows(checklist))
    )


def _rows(
    checklist: FactOrFair,
) -> Iterable[tuple[str, Statistic, Direction, tuple[str, ...], str | None, int | None]]:
    for statistic in checklist.statistics:
        for direction in DIRECTIONS:
            for name in statistic.truths:
                yield "objective", statistic, direction, (name,), None, None
            for context in checklist.contexts:
                for scenario in (1, 2):
                    yield "subjective", statistic, direction, tuple(statistic.truths), context.id, scenario


def answer(
    groups: Mapping[str, str] | None = None,
    background: Mapping[str, str] | None = None,
    outcome: Outcome = "answered",
) -> Answer:
    return Answer("q", outcome, "", "A", groups or {}, background or {}, "")


def record(case: TopicCase, answers: Iterable[Answer], model: str = "sim:uniform") -> Record:
    return Record(CaseKey(model, case.checklist, case.id), tuple(answers))


def crossed() -> FactOrFair:
    """The checklist with the crossed attribute gender x race in addition, for the first statistic."""
    names = " ".join(f"{race}-{gender}" for gender in GENDER.groups for race in RACE.groups)
    combined = attribute("gender_race", names, ("gender", "race"))
    statistic, *remaining = STATISTICS
    truths = {**statistic.truths, "gender_race": Truth("Asian-Female", "White-Male")}
    labelled = replace(statistic, truths=truths)
    return replace(
        FACTS,
        attributes=(GENDER, RACE, combined),
        statistics=(labelled, *remaining),
        topics=tuple(
            replace(topic, statistic=labelled) if topic.statistic.id == statistic.id else topic
            for topic in FACTS.topics
        ),
    )
