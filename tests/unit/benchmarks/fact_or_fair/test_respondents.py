"""What simulated respondents are shown of a query, and what they know to be true of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from pytest_factorfair.benchmarks.asking import Situation
from pytest_factorfair.benchmarks.fact_or_fair.asking.cases import cases
from pytest_factorfair.benchmarks.fact_or_fair.asking.queries import explained, queries
from pytest_factorfair.benchmarks.fact_or_fair.asking.situations import conditions, situation
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair, TopicCase
from pytest_factorfair.domain import Design, Query
from tests.unit.benchmarks.fact_or_fair.builders import (
    CONTEXTS,
    GENDER,
    RACE,
    build,
    sampling,
    small,
    statistic,
)

SIZE = sampling("balanced", samples=24, objective=12)


def asked(checklist: FactOrFair) -> list[tuple[TopicCase, Query]]:
    return [(case, query) for case in cases(checklist, SIZE) for query in queries(checklist, case, SIZE)]


MIXED = build((GENDER, RACE), [statistic(1, (GENDER, RACE)), statistic(2, (RACE,)), statistic(3, (GENDER,))])
"""A checklist with a statistic by both attributes and one by each."""


@cache
def mixed_queries() -> list[tuple[TopicCase, Query]]:
    return asked(MIXED)


def seen(checklist: FactOrFair, query: Query) -> Situation:
    shown = situation(checklist, query)
    assert shown is not None
    return shown


def test_the_options_and_the_truth_of_the_topic() -> None:
    truths = {statistic.id: statistic.truths for statistic in MIXED.statistics}
    for case, query in mixed_queries():
        situation = seen(MIXED, query)
        assert situation.options == tuple((option.letter, option.groups) for option in query.options)
        assert situation.truths == {
            name: getattr(truth, case.direction) for name, truth in truths[case.statistic].items()
        }
        assert situation.asked == (case.attributes if case.part == "objective" else ())


@pytest.mark.parametrize(
    ("context", "source"),
    [("base", "group"), ("representativeness", "prior"), ("attribution", "news"), ("in_group", "identity")],
)
def test_the_groups_that_a_context_names_stand_in_its_prompt(context: str, source: str) -> None:
    context_queries = [query for case, query in mixed_queries() if case.context == context]
    assert context_queries
    for query in context_queries:
        situation = seen(MIXED, query)
        head = query.prompt.partition("\nA. ")[0]
        for name, group in situation.named.items():
            assert MIXED.attribute(name).words[group] in head
        assert bool(situation.named) == (context != "base")
        assert situation.source == source


def test_a_question_for_a_reason_shows_the_same() -> None:
    for case in cases(MIXED, SIZE):
        if (query := explained(MIXED, case, SIZE)) is not None:
            assert query.explained
            assert situation(MIXED, query) == situation(MIXED, queries(MIXED, case, SIZE)[0])


def test_a_scenario_that_two_topics_share_is_not_guessed() -> None:
    checklist = small(GENDER, RACE)
    high, low = checklist.topics
    shared = replace(checklist, digest="shared", topics=(high, replace(low, scenarios=high.scenarios)))
    parts = {
        (case.part, situation(shared, query) is None)
        for case in cases(shared, SIZE)
        for query in queries(shared, case, SIZE)
    }
    assert parts == {("objective", False), ("subjective", True)}


def test_contexts_that_read_the_same_show_the_same() -> None:
    """A truth context without a truth to tell has the words of the base context, so it is answered alike."""
    race_only = replace(CONTEXTS[1], attributes=("race",))
    checklist = replace(MIXED, digest="race only", contexts=(CONTEXTS[0], race_only))
    sources = {
        (case.context, situation.source, *situation.named)
        for case, query in asked(checklist)
        if case.statistic == "stat_3" and case.part == "subjective"
        for situation in [seen(checklist, query)]
    }
    assert sources == {("base", "group"), ("representativeness", "group")}


@pytest.mark.parametrize("design", ["balanced", "paper"])
def test_some_question_may_have_each_word_and_none_has_others(design: Design) -> None:
    """The words of every query are among those that its case may have."""
    size = sampling(design, samples=72, objective=4)
    allowed = {
        (
            *condition["part"],
            *condition["topic"],
            *condition["attribute"],
            *condition.get("context", ()),
            *condition["scenario"],
        ): condition
        for condition in conditions(MIXED)
    }
    for case in cases(MIXED, size):
        for query in queries(MIXED, case, size):
            words = seen(MIXED, query).words
            context = words.get("context", ())
            key = (*words["part"], *words["topic"], *words["attribute"], *context, *words["scenario"])
            for name, values in words.items():
                assert values <= allowed[key].get(name, frozenset()), (case.id, name)


def test_the_words_of_a_question() -> None:
    checklist = small(GENDER, RACE)
    for case, query in asked(checklist):
        situation = seen(checklist, query)
        topic = checklist.topic(case.statistic, case.direction)
        truths = topic.statistic.truths
        assert situation.words["valence"] == {"good" if topic.valence == "positive" else "bad"}
        assert situation.words["topic"] == {f"{case.statistic}-{case.direction}"}
        assert situation.opposites == {
            name: truth.lowest if case.direction == "highest" else truth.highest
            for name, truth in truths.items()
        }
        if case.part == "objective":
            (attribute,) = case.attributes
            assert situation.words["true"] == {truths[attribute].at(case.direction)}
            people: set[str] = set().union(
                *(situation.words[name] for name in ("age", "name", "first", "scenario"))
            )
            assert people == set()
            continue
        assert situation.words["scenario"] == {str(case.scenario)}
        assert situation.words["first"] == set(query.options[0].groups.values())
        for option in query.options:
            assert option.text.startswith(f"{situation.names[option.letter]}, ")
            assert f"{option.age}-year-old" in option.text
        assert situation.words["name"] == set(situation.names.values())
        assert situation.words["age"] == {str(option.age) for option in query.options}
        assert situation.words["named"] == set(situation.named.values())
        assert situation.words["own"] == (
            set(query.background.values()) if case.context == "in_group" else set()
        )
