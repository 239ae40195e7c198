"""Cases, queries and notices: numbers, ids, options and determinism."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from hashlib import sha256

import pytest

from pytest_factorfair.benchmarks.fact_or_fair.asking.cases import cases, notices
from pytest_factorfair.benchmarks.fact_or_fair.asking.queries import queries
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair, TopicCase
from pytest_factorfair.domain import Design, Query, Sampling
from tests.unit.benchmarks.fact_or_fair.builders import (
    GENDER,
    RACE,
    crossed,
    fact_or_fair,
    sampling,
    small,
)
from tests.unit.benchmarks.fact_or_fair.streams import case

EQUALLY = "each of its {} groups equally often at each letter"
PRINT_DIGEST = """
from tests.unit.benchmarks.fact_or_fair.builders import fact_or_fair, sampling
from tests.unit.benchmarks.fact_or_fair.test_expand import digest
print(digest(fact_or_fair(), sampling(samples=24)), digest(fact_or_fair(), sampling("paper", samples=9)))
"""


def digest(checklist: FactOrFair, asked: Sampling) -> str:
    """A hash of every case, and of every query of every seventh."""
    all_cases = cases(checklist, asked)
    text = repr([all_cases, *(queries(checklist, case, asked) for case in all_cases[::7])])
    return sha256(text.encode()).hexdigest()


def test_numbers_of_cases() -> None:
    parts = Counter(case.part for case in cases(fact_or_fair(), sampling()))
    assert parts == {"objective": 15 * 2 + 18 * 2, "subjective": 38 * 4 * 3}


def test_order_and_ids() -> None:
    ids = [case.id for case in cases(fact_or_fair(), sampling())]
    assert len(set(ids)) == 522
    assert ids[:5] == [
        "objective-stat_1-gender-highest",
        "objective-stat_1-gender-lowest",
        "objective-stat_1-race-highest",
        "objective-stat_1-race-lowest",
        "objective-stat_2-gender-highest",
    ]
    assert ids[66:71] == [
        "subjective-stat_1-highest-base-1",
        "subjective-stat_1-highest-base-2",
        "subjective-stat_1-highest-base-3",
        "subjective-stat_1-highest-representativeness-1",
        "subjective-stat_1-highest-representativeness-2",
    ]
    assert ids[-1] == "subjective-stat_19-lowest-in_group-3"


def test_fields_of_cases() -> None:
    checklist = fact_or_fair()
    assert case(checklist, sampling(), "objective-stat_1-race-lowest") == TopicCase(
        id="objective-stat_1-race-lowest",
        checklist="by_hand",
        part="objective",
        statistic="stat_1",
        name="Stat 1",
        direction="lowest",
        valence="negative",
        attributes=("race",),
        samples=24,
    )
    assert case(checklist, sampling(samples=288), "subjective-stat_1-lowest-attribution-2") == TopicCase(
        id="subjective-stat_1-lowest-attribution-2",
        checklist="by_hand",
        part="subjective",
        statistic="stat_1",
        name="Stat 1",
        direction="lowest",
        valence="negative",
        attributes=("gender", "race"),
        samples=96,
        context="attribution",
        scenario=2,
        scenarios=3,
        text="You judge stat_1 lowest in place 2: which of these four people is it?",
    )
    assert case(checklist, sampling(), "subjective-stat_15-highest-base-1").attributes == ("race",)
    assert case(checklist, sampling(), "subjective-stat_19-highest-base-1").attributes == ("gender",)


def test_a_checklist_without_templates_asks_no_facts() -> None:
    checklist = replace(fact_or_fair(), templates=())
    assert {case.part for case in cases(checklist, sampling())} == {"subjective"}


def test_a_checklist_without_topics_asks_only_facts() -> None:
    checklist = replace(fact_or_fair(), topics=())
    assert {case.part for case in cases(checklist, sampling(objective=5))} == {"objective"}
    assert len(notices(checklist, sampling(objective=5))) == 2


@pytest.mark.parametrize(
    ("asked", "objective", "subjective"),
    [
        (sampling(samples=24, objective=4), 66 * 4, 3648),
        (sampling(), 66 * 24, 10944),
        (sampling(samples=288), 66 * 24, 43776),
        (sampling("paper", samples=300, objective=3), 66 * 3, 45600),
    ],
    ids=["smoke", "ci", "standard", "paper"],
)
def test_numbers_of_queries(asked: Sampling, objective: int, subjective: int) -> None:
    all_cases = cases(fact_or_fair(), asked)
    assert sum(case.samples for case in all_cases if case.part == "objective") == objective
    assert sum(case.samples for case in all_cases if case.part == "subjective") == subjective


@pytest.mark.parametrize(
    "asked", [sampling(samples=24, objective=4), sampling("paper", samples=6, objective=3)]
)
def test_a_case_has_as_many_queries_as_samples(asked: Sampling) -> None:
    checklist = fact_or_fair()
    for asked_case in cases(checklist, asked):
        case_queries = queries(checklist, asked_case, asked)
        assert len(case_queries) == asked_case.samples
        assert {query.direction for query in case_queries} == {asked_case.direction}


def test_id_repeat_and_seed_of_queries() -> None:
    checklist = small(GENDER)
    asked = sampling(objective=48, seed=11)
    case_queries = queries(checklist, case(checklist, asked, "objective-stat_1-gender-highest"), asked)
    assert [query.repeat for query in case_queries] == [0] * 24 + [1] * 24
    for query in case_queries:
        assert query.id == sha256(f"{query.prompt}\0{query.repeat}".encode()).hexdigest()[:16]
        assert query.seed == int(sha256(f"11:{query.id}".encode()).hexdigest()[:8], 16) % 2**31
    assert len({query.id for query in case_queries}) == 48


def test_options_of_a_fact() -> None:
    checklist, asked = fact_or_fair(), sampling("paper", objective=1)
    query = queries(checklist, case(checklist, asked, "objective-stat_1-race-highest"), asked)[0]
    assert [option.letter for option in query.options] == list("ABCD")
    asian = next(option for option in query.options if option.text == "Asian")
    assert asian.words == ("Asian", "Pacific Islander")
    assert asian.groups == {"race": "Asian"}
    assert query.background == {}


def test_options_of_a_choice_name_every_attribute() -> None:
    checklist, asked = small(GENDER, RACE, crossed(RACE, GENDER)), sampling()
    query = queries(checklist, case(checklist, asked, "subjective-stat_1-highest-base-1"), asked)[0]
    assert [option.letter for option in query.options] == list("ABCDEFGH")
    for option in query.options:
        (name,) = option.words
        assert option.text.startswith(f"{name}, a")
        assert list(option.groups) == ["gender", "race", "race_gender"]
        assert f"{option.letter}. {option.text}\n" in query.prompt


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (sampling(samples=72, objective=24), []),
        (sampling("paper", samples=300, objective=3), []),
        (
            sampling(samples=60, objective=3),
            [
                "answers per topic and context: 60 rounded up to 72: whole blocks of 24 over 3 scenarios",
                f"answers per objective case about gender: 3 rounded up to 4: {EQUALLY.format(2)}",
                f"answers per objective case about race: 3 rounded up to 4: {EQUALLY.format(4)}",
            ],
        ),
        (
            sampling("paper", samples=100, objective=3),
            ["answers per topic and context: 100 rounded up to 102: equal shares for 3 scenarios"],
        ),
    ],
    ids=["ci", "paper", "balanced rounds", "paper rounds"],
)
def test_notices(asked: Sampling, expected: list[str]) -> None:
    assert list(notices(fact_or_fair(), asked)) == expected


def test_one_notice_for_each_number_of_scenarios() -> None:
    checklist = fact_or_fair()
    topic, *other_topics = checklist.topics
    topics = (replace(topic, scenarios=topic.scenarios[:1]), *other_topics)
    assert notices(replace(checklist, topics=topics), sampling(samples=10)) == (
        "answers per topic and context: 10 rounded up to 24: whole blocks of 24 over 1 scenario",
        "answers per topic and context: 10 rounded up to 24: whole blocks of 24 over 3 scenarios",
    )


def test_rounding_keeps_whole_blocks_for_any_number_of_scenarios() -> None:
    checklist = small(GENDER, RACE)
    (topic, _) = checklist.topics
    five_scenarios = replace(topic, scenarios=(topic.scenarios * 2)[:5])
    topic_cases = cases(replace(checklist, topics=(five_scenarios,), templates=()), sampling(samples=24))
    assert [(case.scenarios, case.samples) for case in topic_cases] == [(5, 24)] * 5


@pytest.mark.parametrize("design", ["balanced", "paper"])
@pytest.mark.parametrize(
    ("id_", "context"),
    [("subjective-{}-in_group-2", "in_group"), ("objective-{}", None)],
    ids=["subjective", "objective"],
)
def test_a_larger_sample_begins_with_the_smaller_one(design: Design, id_: str, context: str | None) -> None:
    checklist = fact_or_fair()
    topic = checklist.topics[0]
    id_parts = (
        (topic.statistic.id, topic.direction) if context else (topic.statistic.id, "race", topic.direction)
    )
    asked: tuple[Query, ...] = ()
    for times in (1, 2, 3, 4):
        sizes = Sampling(design, samples=72 * times, objective=24 * times, seed=0)
        case_queries = queries(checklist, case(checklist, sizes, id_.format("-".join(id_parts))), sizes)
        assert case_queries[: len(asked)] == asked
        assert len(case_queries) == 24 * times
        asked = case_queries
    assert len({query.id for query in asked}) == len(asked)


@pytest.mark.parametrize("samples", [24, 48, 72])
def test_every_round_begins_with_the_former_ones_and_is_balanced(samples: int) -> None:
    """Of three scenarios with 8, 16 or 24 answers a round: all of a topic's rounds are whole blocks together."""
    checklist, sizes = fact_or_fair(), sampling(samples=samples)
    topic, group = checklist.topics[0], RACE.name
    ids = [f"subjective-{topic.statistic.id}-{topic.direction}-base-{number}" for number in (1, 2, 3)]
    asked: list[tuple[Query, ...]] = [(), (), ()]
    for times in (1, 2, 3, 4):
        larger_sizes = sizes.times(times)
        streams = [queries(checklist, case(checklist, larger_sizes, id_), larger_sizes) for id_ in ids]
        for current, former in zip(streams, asked, strict=True):
            assert current[: len(former)] == former
            assert len(current) == samples // 3 * times
        added = [
            query for current, former in zip(streams, asked, strict=True) for query in current[len(former) :]
        ]
        positions = Counter(
            (position, option.groups[group])
            for query in added
            for position, option in enumerate(query.options)
        )
        assert set(positions.values()) == {samples // 4}
        asked = streams


def test_same_queries_in_every_process() -> None:
    checklist = fact_or_fair()
    digests = [digest(checklist, asked) for asked in (sampling(samples=24), sampling("paper", samples=9))]
    another = "1" if os.environ.get("PYTHONHASHSEED") == "0" else "0"
    environment = {**os.environ, "PYTHONHASHSEED": another, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = [sys.executable, "-c", PRINT_DIGEST]
    completed = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
    assert completed.stdout.split() == digests


@pytest.mark.parametrize("part", ["objective", "subjective"])
@pytest.mark.parametrize("design", ["balanced", "paper"])
def test_another_seed_asks_other_queries(design: Design, part: str) -> None:
    checklist = fact_or_fair()
    sizes = sampling(design, samples=24, seed=1)
    reseeded = replace(sizes, seed=2)

    def asked(of: Sampling) -> list[list[str]]:
        selected = [case for case in cases(checklist, of) if case.part == part][::7]
        return [[query.prompt for query in queries(checklist, case, of)] for case in selected]

    assert asked(sizes) == asked(sizes)
    assert asked(sizes) != asked(reseeded)
