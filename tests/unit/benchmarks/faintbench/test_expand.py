"""Cases and queries of a small checklist: which there are, in which order, in which words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_factorfair.benchmarks import cases, queries
from pytest_factorfair.benchmarks.faintbench.cases import notices, prompts
from pytest_factorfair.benchmarks.faintbench.checklist import Faintbench, PromptCase
from pytest_factorfair.domain import Prompts, Sampling
from tests.unit.benchmarks.faintbench.files import TEA, refused, written
from tests.unit.checklist.files import changed

SAMPLING = Sampling("balanced", samples=72, objective=24, seed=3, prompts="all", per_prompt=4)


@pytest.fixture
def tea(tmp_path: Path) -> Faintbench:
    return written(tmp_path)


def ids(checklist: Faintbench, prompts: Prompts) -> list[str]:
    return [case.id for case in cases(checklist, replace(SAMPLING, prompts=prompts))]


def test_implicit_prompts(tea: Faintbench) -> None:
    assert ids(tea, "characteristics") == [
        "implicit-characteristic-awake",
        "implicit-characteristic-drowsy",
    ]
    assert ids(tea, "implicit") == [
        "implicit-occupation-baker",
        "implicit-occupation-hunter",
        "implicit-characteristic-awake",
        "implicit-characteristic-drowsy",
        "implicit-relation-host_guest",
        "implicit-relation-twins",
    ]


def test_explicit_prompts_follow_in_the_order_of_subjects_attributes_and_groups(tea: Faintbench) -> None:
    all_ids = ids(tea, "all")
    assert all_ids[:6] == ids(tea, "implicit")
    assert all_ids[6:14] == [
        "explicit-occupation-baker-size-tall",
        "explicit-occupation-baker-size-short",
        "explicit-occupation-baker-coast-north",
        "explicit-occupation-baker-coast-south",
        "explicit-occupation-baker-coast-west",
        "explicit-occupation-hunter-coast-north",
        "explicit-occupation-hunter-coast-south",
        "explicit-occupation-hunter-coast-west",
    ]
    assert all_ids[24:28] == [
        "explicit-relation-host_guest-size-tall-tall",
        "explicit-relation-host_guest-size-tall-short",
        "explicit-relation-host_guest-size-short-tall",
        "explicit-relation-host_guest-size-short-short",
    ]
    # 6 implicit; baker 2 + 3, hunter 3, characteristics 2 x (2 + 3); host and guest 4 + 9, the twins none.
    assert len(all_ids) == 6 + 5 + 3 + 10 + 13


def test_a_case_has_its_subject_category_and_attributes(tea: Faintbench) -> None:
    cases_by_id = {case.id: case for case in cases(tea, SAMPLING)}
    assert cases_by_id["implicit-relation-twins"] == PromptCase(
        id="implicit-relation-twins",
        checklist="tea",
        part="implicit",
        attributes=("size", "coast"),
        samples=4,
        subject="twins",
        kind="relation",
        category="even",
    )
    assert cases_by_id["explicit-relation-host_guest-coast-west-north"] == PromptCase(
        id="explicit-relation-host_guest-coast-west-north",
        checklist="tea",
        part="explicit",
        attributes=("coast",),
        samples=4,
        subject="host_guest",
        kind="relation",
        category="uneven",
        requested=("west", "north"),
    )


def test_words_and_marks(tea: Faintbench) -> None:
    case = next(case for case in cases(tea, SAMPLING) if case.id.endswith("coast-west-north"))
    assert case.words == {
        "part": {"explicit"},
        "kind": {"relation"},
        "category": {"uneven"},
        "subject": {"host_guest"},
        "attribute": {"coast"},
        "group": {"west", "north"},
    }
    assert case.marks == ("explicit", "relation", "uneven", "coast")


PROMPTS = {
    "implicit-occupation-baker": "A Baker, sharp, bright",
    "explicit-occupation-baker-size-tall": "A tall Baker, sharp, bright",
    "explicit-occupation-baker-size-short": "A short Baker, sharp, bright",
    # The article agrees with what follows it, by its sound.
    "explicit-occupation-baker-coast-north": "An Eastern Baker, sharp, bright",
    "explicit-occupation-baker-coast-south": "A one-armed Baker, sharp, bright",
    "implicit-occupation-hunter": "An honest Hunter, sharp, bright",
    "implicit-characteristic-awake": "an awake person, bright",
    "explicit-characteristic-awake-size-tall": "an awake tall person, bright",
    # A group with a noun of its own takes the person's place, and only there.
    "explicit-characteristic-awake-size-short": "an awake shorty, bright",
    "explicit-characteristic-drowsy-size-short": "a drowsy short cat owner, bright",
    "implicit-relation-host_guest": "one Host and one Guest, wide",
    "implicit-relation-twins": "one Twin and another Twin, wide",
    "explicit-relation-host_guest-size-tall-short": "one tall Host and one short Guest, wide",
    "explicit-relation-host_guest-size-short-tall": "one short Host and one tall Guest, wide",
}


@pytest.mark.parametrize(("id_", "text"), PROMPTS.items())
def test_prompts_have_the_expected_words(tea: Faintbench, id_: str, text: str) -> None:
    case = next(case for case in cases(tea, SAMPLING) if case.id == id_)
    assert isinstance(case, PromptCase)
    assert prompts(tea, case) == (text,)
    assert {query.prompt for query in queries(tea, case, SAMPLING)} == {text}


def test_each_picture_has_its_own_seed_and_more_begin_with_the_same(tea: Faintbench) -> None:
    larger = SAMPLING.times(3)
    base_queries, larger_queries = (
        [queries(tea, case, size) for case in cases(tea, size)] for size in (SAMPLING, larger)
    )
    assert [len(case_queries) for case_queries in larger_queries] == [12] * 37
    assert [case_queries[:4] for case_queries in larger_queries] == base_queries
    all_queries = [query for case_queries in larger_queries for query in case_queries]
    assert (
        len({query.seed for query in all_queries})
        == len({query.id for query in all_queries})
        == len(all_queries)
        == 444
    )
    assert [query.repeat for query in larger_queries[0]] == list(range(12))
    assert {query.options for query in all_queries} == {()}


def test_sizes_are_not_rounded(tea: Faintbench) -> None:
    assert notices(tea, SAMPLING) == ()


def test_several_realisms_are_taken_in_turn(tmp_path: Path) -> None:
    """Those of its kind, of a subject, or of a subject with groups that are asked for."""
    tea = written(
        tmp_path,
        changed(
            TEA,
            ("realism: wide", "realism: [wide, narrow]"),
            (
                "    weight: 0.5\n",
                "    weight: 0.5\n    realism: [wet, dry]\n    requested: {coast-west: icy}\n",
            ),
        ),
    )
    sampling = Sampling("balanced", samples=1, objective=1, seed=0, prompts="all", per_prompt=3)
    asked = {
        case.id: [query.prompt for query in queries(tea, case, sampling)] for case in cases(tea, sampling)
    }
    assert [prompt.rpartition(", ")[2] for prompt in asked["implicit-occupation-hunter"]] == [
        "wet",
        "dry",
        "wet",
    ]
    assert (
        asked["explicit-occupation-hunter-coast-west"]
        == [asked["explicit-occupation-hunter-coast-west"][0]] * 3
    )
    assert asked["explicit-occupation-hunter-coast-west"][0].endswith(", icy")
    assert [prompt.rpartition(", ")[2] for prompt in asked["implicit-relation-twins"]] == [
        "wide",
        "narrow",
        "wide",
    ]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("coast-east", "unknown groups 'coast-east'"),
        ("size-tall", "unknown groups 'size-tall'"),
        ("coast-west: '{x}', coast-north", "unknown placeholder {x}"),
    ],
)
def test_realism_of_groups_that_are_not_asked_for(tmp_path: Path, key: str, message: str) -> None:
    change = ("    weight: 0.5\n", f"    weight: 0.5\n    requested: {{{key}: icy}}\n")
    assert message in refused(tmp_path, change)
