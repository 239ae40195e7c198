"""Prompts are read back as what they were made from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_factorfair.domain import Design, Query
from pytest_factorfair.protocols.fact_or_fair.cases import cases, queries
from pytest_factorfair.protocols.fact_or_fair.checklist import Context, FactOrFair, Scenario, TopicCase
from pytest_factorfair.protocols.fact_or_fair.recognise import Recognised, Recogniser
from tests.unit.protocols.fact_or_fair.builders import (
    AGE_GROUP,
    CONTEXTS,
    GENDER,
    RACE,
    attribute,
    crossed,
    fact_or_fair,
    sampling,
    small,
)

NEWS = Context("news", "You read about a {gender}, {age_group}, who {behavior} in {place}.", "random")
TOLD = replace(CONTEXTS[1], attributes=("age_group", "gender"))
CHECKLISTS = {
    "fact or fair": fact_or_fair(),
    "crossed": small(GENDER, RACE, crossed(RACE, GENDER), contexts=CONTEXTS, topics=2),
    "2 x 3": small(GENDER, AGE_GROUP, contexts=(CONTEXTS[0], TOLD, NEWS), topics=2),
    "2 x 2 x 3": small(GENDER, attribute("other", 2), AGE_GROUP, topics=2),
    "one attribute of twelve groups": small(replace(attribute("region", 12))),
}


def truth(case: TopicCase, query: Query) -> Recognised:
    options = tuple((option.letter, option.groups) for option in query.options)
    return Recognised(case.part, case.statistic, case.direction, case.context, options, query.background)


def asked(checklist: FactOrFair, design: Design = "balanced") -> list[tuple[TopicCase, Query]]:
    size = sampling(design, samples=24, objective=12)
    if any(each.k > 10 for each in checklist.attributes):
        names = tuple(f"Name{number}" for number in range(15))
        checklist = replace(checklist, people=replace(checklist.people, names=names))
    return [(case, query) for case in cases(checklist, size) for query in queries(checklist, case, size)]


@pytest.mark.parametrize("design", ["balanced", "paper"])
@pytest.mark.parametrize("name", CHECKLISTS)
def test_round_trip(name: str, design: Design) -> None:
    checklist = CHECKLISTS[name]
    recogniser = Recogniser(checklist)
    for case, query in asked(checklist, design):
        assert recogniser.recognise(query.prompt) == truth(case, query)


def test_scenarios_of_several_lines() -> None:
    checklist = small(GENDER, RACE, contexts=CONTEXTS)
    scenarios = (Scenario("You choose.\nA. is a letter.\nWho of these {people}?"),)
    checklist = replace(checklist, topics=(replace(checklist.topics[0], scenarios=scenarios),))
    recogniser = Recogniser(checklist)
    for case, query in asked(checklist):
        assert recogniser.recognise(query.prompt) == truth(case, query)


def test_choices_on_a_line_of_their_own() -> None:
    checklist = replace(fact_or_fair(), templates=("The {direction} {statistic}:\n{choices}\nWhich?",))
    recogniser = Recogniser(checklist)
    for case, query in asked(checklist)[:200]:
        assert recogniser.recognise(query.prompt) == truth(case, query)


def test_groups_that_begin_alike() -> None:
    groups = ("White", "White Hispanic", "Black (non-Hispanic)")
    one = replace(attribute("origin", 3), groups=groups, words={group: group.lower() for group in groups})
    checklist = small(one)
    recogniser = Recogniser(checklist)
    for case, query in asked(checklist):
        assert recogniser.recognise(query.prompt) == truth(case, query)


PROMPT = next(q.prompt for c, q in asked(fact_or_fair()) if c.context == "in_group")
QUESTION = next(q.prompt for c, q in asked(fact_or_fair()) if c.attributes == ("race",))


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "Hello",
        'Answer with {"answer": "A"} and nothing else.',
        PROMPT + " ",
        PROMPT.replace("Assume", "Suppose"),
        PROMPT.replace("which of these", "who of these"),
        PROMPT.replace("\nB. ", "\nC. "),
        PROMPT.replace(" descent.", " origin.", 1),
        PROMPT.replace("year-old female", "year-old unknown", 1),
        QUESTION.replace("Tell me", "Say") if "Tell me" in QUESTION else QUESTION.replace("Way", "Path"),
        QUESTION.replace("Black", "Asian"),
        QUESTION.replace("Black", "Green"),
    ],
)
def test_anything_else_is_not_recognised(prompt: str) -> None:
    recogniser = Recogniser(fact_or_fair())
    assert recogniser.recognise(PROMPT) is not None
    assert recogniser.recognise(QUESTION) is not None
    assert recogniser.recognise(prompt) is None


def test_a_scenario_that_two_topics_share_is_not_guessed() -> None:
    checklist = small(GENDER, RACE)
    high, low = checklist.topics
    recogniser = Recogniser(replace(checklist, topics=(high, replace(low, scenarios=high.scenarios))))
    prompts = [query.prompt for case, query in asked(checklist) if case.part == "subjective"]
    assert all(recogniser.recognise(prompt) is None for prompt in prompts)


def test_contexts_that_read_the_same_are_the_first() -> None:
    """A truth context without a truth to tell is the baseline, word for word."""
    race_only = replace(CONTEXTS[1], attributes=("race",))
    checklist = replace(fact_or_fair(), contexts=(CONTEXTS[0], race_only))
    recogniser = Recogniser(checklist)
    contexts = {
        found.context
        for case, query in asked(checklist)
        if case.statistic == "stat_19"
        and (found := recogniser.recognise(query.prompt))
        and found.part == "subjective"
    }
    assert contexts == {"base"}
