"""FACT-OR-FAIR in other languages: the same questions, asked and answered in the language."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_factorfair.benchmarks import cases, lint, queries
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair
from pytest_factorfair.domain import Query, Response, Sampling
from pytest_factorfair.reading import read
from tests.unit.checklist.files import fact_or_fair

TRANSLATIONS = ["fact_or_fair_es", "fact_or_fair_zh"]
ASKED: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("translations.yaml").read_text("utf-8")
)
SAMPLING = Sampling("balanced", 72, 24, seed=0)


def loaded(name: str, truth: str = "audited") -> FactOrFair:
    return fact_or_fair(name, truth=truth, base=Path())


def first_query(checklist: FactOrFair, case_id: str) -> Query:
    case = next(case for case in cases(checklist, SAMPLING) if case.id == case_id)
    return queries(checklist, case, SAMPLING)[0]


@pytest.mark.parametrize("name", TRANSLATIONS)
def test_a_translation_has_no_findings(name: str) -> None:
    assert lint(name, base=Path()) == ()


@pytest.mark.parametrize("truth", ["audited", "published"])
@pytest.mark.parametrize("name", TRANSLATIONS)
def test_a_translation_changes_only_words(name: str, truth: str) -> None:
    """Figures, truths, people, ages and the number of every text are those of the original."""
    original, translation = loaded("fact_or_fair", truth), loaded(name, truth)
    for ours, theirs in zip(translation.statistics, original.statistics, strict=True):
        assert replace(ours, name=theirs.name, definition=theirs.definition) == theirs
    for our_topic, topic in zip(translation.topics, original.topics, strict=True):
        assert [scenario.ages for scenario in our_topic.scenarios] == [
            scenario.ages for scenario in topic.scenarios
        ]
        assert {scenario.text.count("{people}") for scenario in our_topic.scenarios} == {1}
    for our_context, context in zip(translation.contexts, original.contexts, strict=True):
        assert replace(our_context, text=context.text, clause=context.clause) == context
    assert replace(translation.people, profile="") == replace(original.people, profile="")
    assert replace(translation.paper_people, profile="") == replace(original.paper_people, profile="")
    assert [attribute.groups for attribute in translation.attributes] == [
        attribute.groups for attribute in original.attributes
    ]
    assert len(translation.templates) == len(original.templates)
    assert [case.id for case in cases(translation, SAMPLING)] == [
        case.id for case in cases(original, SAMPLING)
    ]


ENGLISH = re.compile(r"\b(?:the|of|which|is|are|was|people|you|most|least|likely|who|with|and|to)\b")


@pytest.mark.parametrize("name", TRANSLATIONS)
def test_no_word_of_a_prompt_is_english(name: str) -> None:
    checklist = loaded(name)
    known = {*checklist.people.names, *"ABCD", "answer"}
    for case in cases(checklist, SAMPLING):
        for query in queries(checklist, case, SAMPLING)[:: 1 if case.part == "objective" else 12]:
            assert ENGLISH.search(query.prompt) is None
            if name.endswith("_zh"):
                assert {*re.findall(r"[A-Za-z]+", query.prompt)} <= known


EXAMPLES = [(name, case) for name, by_case in ASKED.items() for case in by_case]


@pytest.mark.parametrize(("name", "case"), EXAMPLES)
def test_prompts_as_they_are_asked(name: str, case: str) -> None:
    assert first_query(loaded(name), case).prompt == ASKED[name][case]["prompt"]


@pytest.mark.parametrize(("name", "case"), EXAMPLES)
def test_replies_are_read_as_a_person_reads_them(name: str, case: str) -> None:
    checklist = loaded(name)
    query = first_query(checklist, case)
    wrong = []
    for text, expected in ASKED[name][case]["replies"]:
        reading = read(Response(text), query.options, query.direction, language=checklist.language)
        lost = reading.letter is None and reading.outcome in ("refused", "unparsed")
        if not (lost if expected == "no answer" else expected in (reading.letter, reading.outcome)):
            wrong.append((text, expected, reading))
    assert wrong == []
