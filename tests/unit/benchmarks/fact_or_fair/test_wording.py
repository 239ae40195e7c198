"""Placeholders, pools and contexts that cannot be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.checklist.files import (
    CHECKLIST,
    STATISTICS,
    changed,
    loaded,
    refusal,
    refused_checklist,
    write,
)

TEMPLATE = "tea.yaml:10: objective.templates[0]"
SCENARIO = "tea.yaml:30: topics.tea_rate.highest.scenarios[0]"
ASKING = "  - '{statistic} is {definition}. Who has the {direction} one in {country}? {choices}.'\n"

TEXTS = [
    (
        "{direction}",
        "{directoin}",
        f"{TEMPLATE}: unknown placeholder {{directoin}}; did you mean 'direction'?",
    ),
    ("{direction}", "", f"{TEMPLATE}: lacks the placeholder {{direction}}"),
    (
        "{direction}",
        "{ direction }",
        f"{TEMPLATE}: unknown placeholder {{ direction }}; did you mean 'direction'?",
    ),
    ("{direction}", "{ {direction}", f"{TEMPLATE}: has a brace that belongs to no placeholder"),
    ("{name}, a", "a", "tea.yaml:12: subjective.profile: lacks the placeholder {name}"),
    (" from the {coast} coast", "", "tea.yaml:12: subjective.profile: lacks the placeholder {coast}"),
    ("{age}-", "{agee}-", "tea.yaml:12: subjective.profile: unknown placeholder {agee}; did you mean 'age'?"),
    ("{highest}, the", "x, the", "tea.yaml:19: contexts.told.clause: lacks the placeholder {highest}"),
    (
        "{attribute} with",
        "{place} with",
        (
            "tea.yaml:19: contexts.told.clause: unknown placeholder {place}; known: attribute, highest, "
            "lowest, statistic"
        ),
    ),
    (
        "'In {place}, {clauses}.'",
        "'In {place}.'",
        "tea.yaml:21: contexts.told.text: lacks the placeholder {clauses}",
    ),
    (
        "{place}, {clauses}",
        "{size} {clauses}",
        (
            "tea.yaml:21: contexts.told.text: unknown placeholder {size}; known: behavior, clauses, "
            "country, place, statistic"
        ),
    ),
    (
        "{size} person who",
        "person who",
        "tea.yaml:24: contexts.news.text: names no attribute: {size}, {coast}",
    ),
    (
        "heard of",
        "heard {name} of",
        (
            "tea.yaml:24: contexts.news.text: unknown placeholder {name}; known: behavior, coast, "
            "country, place, size, statistic"
        ),
    ),
    ("drank tea", "drank {tea}", "tea.yaml:28: topics.tea_rate.highest.behavior: unknown placeholder {tea}"),
    (
        "drank tea",
        "''",
        "tea.yaml:28: topics.tea_rate.highest.behavior: missing; the context 'news' quotes it",
    ),
    (
        "      behavior: drank tea\n",
        "",
        "tea.yaml:27: topics.tea_rate.highest.behavior: missing; the context 'news' quotes it",
    ),
    (
        "You make tea. Which of these {people}",
        "You make tea. Which",
        f"{SCENARIO}: lacks the placeholder {{people}}",
    ),
    ("You make tea.", "{people} make tea.", f"{SCENARIO}: has {{people}} more than once"),
    ("You make tea.", "{name} makes tea.", f"{SCENARIO}: unknown placeholder {{name}}; known: people"),
    (
        ", Flo]",
        "]",
        "tea.yaml:13: subjective.names: a query shows 6 people, so at least 6 names are needed, not 5",
    ),
    (
        ASKING,
        ASKING * 2,
        (
            "tea.yaml:9: objective.templates: lists {statistic} is {definition}. Who has the {direction} [...] "
            "twice"
        ),
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), TEXTS)
def test_invalid_texts_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert refused_checklist(tmp_path, (old, new)) == message


CONTEXTS = [
    (
        "  base: {}",
        "  base: {clause: x}",
        "16: contexts.base.clause: has no effect without 'background: truth'",
    ),
    (
        "  base: {}",
        "  base: {attributes: [size]}",
        "16: contexts.base.attributes: has no effect without 'background: truth'",
    ),
    (
        "  base: {}",
        "  base: {text: 'You are {size}.'}",
        "16: contexts.base.text: unknown placeholder {size}; known: behavior, country, place, statistic",
    ),
    (
        "    attributes: [size, coast]\n",
        "",
        "17: contexts.told.attributes: missing; list the attributes that get a clause",
    ),
    (
        "[size, coast]",
        "[size, cost]",
        "20: contexts.told.attributes[1]: unknown attribute 'cost'; did you mean 'coast'?",
    ),
    (
        "  fall_rate:",
        "  falls_rate:",
        "36: topics.falls_rate: unknown statistic 'falls_rate'; did you mean 'fall_rate'?",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), CONTEXTS)
def test_invalid_contexts_and_topics_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert refused_checklist(tmp_path, (old, new)) == f"tea.yaml:{message}"


def test_topics_about_unknown_statistics_only(tmp_path: Path) -> None:
    message = refused_checklist(tmp_path, ("  fall_rate:", "  falls:"), ("  tea_rate:", "  milk:"))
    assert (
        message
        == "tea.yaml:26: topics.milk: unknown statistic 'milk'; known: fall_rate, tea_rate (and 1 more)"
    )


def test_answer_format_has_no_placeholders(tmp_path: Path) -> None:
    write(tmp_path, checklist=changed(CHECKLIST, ('{"answer": "A"}', '{answer} or {"answer": "A"}')))
    assert loaded(tmp_path).answer_format == 'Reply with {answer} or {"answer": "A"}'


def test_crossed_attribute_of_eight_groups_needs_eight_names(tmp_path: Path) -> None:
    eight = changed(
        STATISTICS,
        ("waivers:", "      East: {word: eastern}\n  both: {crossed: [size, coast]}\nwaivers:"),
        ("South: 1, West: 2}", "South: 1, West: 2, East: 2}"),
        ("      kind: count", "      kind: count\n      figures: {Tall: 1, Short: 2}"),
        (
            "  fall_rate:",
            (
                "    both:\n      kind: rate\n      truths: {audited: {highest: Tall East, lowest: Short "
                "East}}\n  fall_rate:"
            ),
        ),
    )
    write(tmp_path, statistics=eight)
    names = "tea.yaml:13: subjective.names: a query shows 8 people, so at least 8 names are needed, not 6"
    assert refusal(tmp_path) == names


def test_more_people_than_letters(tmp_path: Path) -> None:
    """2, 3, 5 and 7 groups have the least common multiple 210."""
    five = "{groups: {" + ", ".join(f"f{n}: {{word: five {n}}}" for n in range(5)) + "}}"
    seven = "{groups: {" + ", ".join(f"s{n}: {{word: seven {n}}}" for n in range(7)) + "}}"
    write(
        tmp_path,
        checklist=changed(CHECKLIST, ("{coast} coast", "{coast} coast, {five} and {seven}")),
        statistics=changed(STATISTICS, ("waivers:", f"  five: {five}\n  seven: {seven}\nwaivers:")),
    )
    assert refusal(tmp_path) == (
        "facts.yaml:4: attributes: groups of these sizes need 210 people in a query; an answer has "
        "one of 26 letters"
    )


@pytest.mark.parametrize("ages", ["[51, 60]", "[31, 49]", "[60, 40]"])
def test_ages_without_people_are_refused(tmp_path: Path, ages: str) -> None:
    low, high = ages.strip("[]").split(", ")
    assert refused_checklist(tmp_path, ("ages: [40, 60]", f"ages: {ages}")) == (
        f"tea.yaml:32: topics.tea_rate.highest.scenarios[1].ages: no age of the pool lies from {low} "
        f"to {high}: 30, 50"
    )


def test_ages_include_their_bounds(tmp_path: Path) -> None:
    write(tmp_path, checklist=changed(CHECKLIST, ("ages: [40, 60]", "ages: [50, 50]")))
    assert loaded(tmp_path).topic("tea_rate", "highest").scenarios[1].ages == (50, 50)


def test_contexts_and_topics_need_people(tmp_path: Path) -> None:
    start, end = CHECKLIST.index("subjective:"), CHECKLIST.index("contexts:")
    write(tmp_path, checklist=CHECKLIST[:start] + CHECKLIST[end:])
    assert refusal(tmp_path) == "tea.yaml:11: contexts: has no effect without 'subjective' (and 1 more)"


def test_people_need_contexts_and_topics(tmp_path: Path) -> None:
    write(tmp_path, checklist=CHECKLIST[: CHECKLIST.index("contexts:")])
    assert refusal(tmp_path) == "tea.yaml:1: contexts: missing; 'subjective' needs at least one (and 1 more)"


def test_context_that_names_an_attribute_the_people_lack(tmp_path: Path) -> None:
    """What a context names, the people must show: {coast} in the news, and no coast in the profile."""
    start, end = CHECKLIST.index("  tea_rate:"), CHECKLIST.index("  fall_rate:")
    write(
        tmp_path,
        checklist=changed(
            CHECKLIST[:start] + CHECKLIST[end:],
            (" from the {coast} coast", ""),
            ("{size} person who", "{coast} person who"),
        ),
    )
    assert refusal(tmp_path) == "tea.yaml:12: subjective.profile: lacks the placeholder {coast}"


PEOPLE = [
    f"        - {{text: {name}, name: {name}, age: 30, groups: {{size: {size}, coast: {coast}}}}}"
    for name, size, coast in (
        ("Ash", "Tall", "North"), ("Bo", "Short", "South"), ("Cy", "Tall", "West"),
        ("Di", "Short", "North"), ("Eli", "Tall", "South"), ("Flo", "Short", "West"),
    )
]  # fmt: skip
CHOICES = "topics.tea_rate.highest.scenarios[0].choices"


def quoting(people: list[str]) -> tuple[str, str]:
    """The change of the first scenario to one that shows these people."""
    scenario = "- 'You make tea. Which of these {people} is most likely to want some?'"
    return scenario, "\n".join(
        ["- text: Who of the six is most likely to want tea?", "        choices:", *people]
    )


@pytest.mark.parametrize(
    ("people", "message"),
    [
        ([PEOPLE[0].replace("North", "Noth"), *PEOPLE[1:]], f"{CHOICES}[0].groups.coast: unknown group 'Noth'; did you mean 'North'?"),
        ([PEOPLE[0].replace("size: Tall, ", ""), *PEOPLE[1:]], f"{CHOICES}[0].groups: the group of size is missing"),
        ([PEOPLE[0].replace("{size", "{hat: Tall, size"), *PEOPLE[1:]], f"{CHOICES}[0].groups.hat: unknown attribute 'hat'; known: coast, size"),
        (PEOPLE[1:], f"{CHOICES}: has 5 people; a query shows 6"),
    ],
)  # fmt: skip
def test_people_of_a_quoted_question(tmp_path: Path, people: list[str], message: str) -> None:
    assert refused_checklist(tmp_path, quoting(people)).split(": ", 1)[1] == message


def test_a_quoted_question_needs_no_placeholder(tmp_path: Path) -> None:
    write(tmp_path, checklist=changed(CHECKLIST, quoting(PEOPLE)))
    assert len(loaded(tmp_path).topics[0].scenarios[0].choices) == 6
