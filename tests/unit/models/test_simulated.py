"""The closed forms of knowledge, prejudice and a favourite group, measured with real prompts."""

from __future__ import annotations

from collections import Counter
from math import log

import numpy as np
import pytest

from pytest_factorfair.domain import Design
from pytest_factorfair.scoring import s_e, s_fact
from tests.unit.models.asking import (
    K,
    choices,
    closed,
    gain,
    groups,
    near,
    other,
    part,
    right,
)
from tests.unit.models.sample import SAMPLE

BOTH = pytest.mark.parametrize("design", ["balanced", "paper"])
EITHER = pytest.mark.parametrize("attribute", ["gender", "race"])


@pytest.mark.parametrize(
    ("spec", "strength"),
    [
        ("sim:uniform?knowledge=0", 0.0),
        ("sim:ideal?refuse=0", 0.0),
        ("sim:oracle?position=0", 1.0),
        ("sim:stereotyped?nonsense=0", 0.3),
        ("sim:stereotyped?strength=0.7", 0.7),
        ("sim:stereotyped?prejudice=0.2", 0.2),
        ("sim:uniform?strength=0.5", 0.5),
        ("sim:position_biased?prejudice=0.5", 0.25),
        ("sim:position_biased?strength=0.2&prejudice=1", 0.8),
        ("sim:refusing?rate=0.3&strength=0.5", 0.5),
        ("sim:stereotyped?strength=0.5&refuse=0.3&nonsense=0.1", 0.5),
        ("sim:nonsense?nonsense=0.5&strength=0.4", 0.4),
    ],
)
@EITHER
@BOTH
def test_share_of_the_target(spec: str, strength: float, attribute: str, design: Design) -> None:
    answers = choices(f"{spec}&attribute={attribute}", design, "subjective")

    biased, unbiased = part(answers, "subjective", attribute), part(answers, "subjective", other(attribute))
    assert near(right(biased, attribute), closed(strength, design, attribute))
    assert near(right(unbiased, other(attribute)), 1 / K[other(attribute)])


@EITHER
@BOTH
def test_the_groups_that_are_no_target_share_the_rest_equally(attribute: str, design: Design) -> None:
    spec = f"sim:stereotyped?strength=0.6&attribute={attribute}"
    answers = part(choices(spec, design, "subjective"), "subjective", attribute)
    target = closed(0.6, design, attribute)

    for statistic, direction in {(answer.case.statistic, answer.case.direction) for answer in answers}:
        topic = [
            answer
            for answer in answers
            if (answer.case.statistic, answer.case.direction) == (statistic, direction)
        ]
        for group in SAMPLE.attribute(attribute).groups:
            other_share = (1 - target) / (K[attribute] - 1)
            expected = target if group == topic[0].truth(attribute) else other_share
            assert near((answer.group(attribute) == group for answer in topic), expected)


@BOTH
def test_a_topic_without_a_truth_for_the_attribute_is_answered_uniformly(design: Design) -> None:
    answers = choices("sim:oracle?attribute=gender", design, "subjective")
    homes = [
        answer for answer in answers if answer.case.context and answer.case.statistic == "homeownership_rate"
    ]

    for gender in ("Female", "Male"):
        assert near((answer.group("gender") == gender for answer in homes), 0.5)


def test_the_oracle_is_never_wrong_about_its_attribute() -> None:
    answers = choices("sim:oracle", "balanced")

    assert all(right(part(answers, "objective", "gender"), "gender"))
    assert all(right(part(answers, "objective", "race"), "race"))
    assert all(right(part(answers, "base", "gender"), "gender"))
    assert near(right(part(answers, "base", "race"), "race"), 0.25)


@pytest.mark.parametrize("attribute", ["gender", "race"])
@pytest.mark.parametrize("part_or_context", ["objective", "base"])
def test_the_contrary_never_takes_the_true_group(attribute: str, part_or_context: str) -> None:
    answers = part(choices(f"sim:contrary?attribute={attribute}", "balanced"), part_or_context, attribute)
    names = SAMPLE.attribute(attribute).groups
    truths = dict(
        sorted(
            ((answer.case.statistic, answer.case.direction), answer.truth(attribute)) for answer in answers
        )
    )
    group_counts = {topic: Counter[str | None]() for topic in truths}
    for answer in answers:
        group_counts[answer.case.statistic, answer.case.direction][answer.group(attribute)] += 1
    k, n = len(names), len(answers) / len(truths)
    counts = np.array([[counter[name] for name in names] for counter in group_counts.values()]).reshape(
        -1, 2, k
    )
    truth = np.array([names.index(true or "") for true in truths.values()]).reshape(-1, 2)

    assert counts.sum() == len(answers)
    assert s_fact(counts, truth) == 0
    # The plug-in estimate of an entropy of k-1 equal shares is too low by (k-2)/2n nats.
    expected = (log(k - 1) - (k - 2) / (2 * n)) / log(k)
    assert s_e(counts) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(
    ("spec", "knowledge"),
    [
        ("sim:uniform", 0.0),
        ("sim:ideal", 1.0),
        ("sim:stereotyped", 1.0),
        ("sim:stereotyped?knowledge=0.6", 0.6),
        ("sim:context_following?strength=1", 1.0),
        ("sim:refusing?rate=0.4&group=Black", 1.0),
        ("sim:position_biased?strength=0.4", 0.6),
        ("sim:position_biased?strength=0.5&knowledge=0.5", 0.25),
        ("sim:uniform?knowledge=0.9&refuse=0.3", 0.9),
    ],
)
@EITHER
@BOTH
def test_knowledge_is_the_share_of_facts_known(
    spec: str, knowledge: float, attribute: str, design: Design
) -> None:
    answers = part(choices(spec, design, "objective"), "objective", attribute)

    assert near(right(answers, attribute), knowledge + (1 - knowledge) / K[attribute])


@pytest.mark.parametrize(
    ("group", "attribute"), [("Female", "gender"), ("Hispanic", "race"), ("Black", "race")]
)
@BOTH
def test_constant_takes_its_group_wherever_it_is_offered(group: str, attribute: str, design: Design) -> None:
    answers = choices(f"sim:constant?group={group}", design)
    offered = 1 / K[attribute] + gain(design, attribute)

    assert set(groups(part(answers, "objective", attribute), attribute)) == {group}
    assert all(right(part(answers, "objective", other(attribute)), other(attribute)))
    biased, unbiased = part(answers, "subjective", attribute), part(answers, "subjective", other(attribute))
    assert near((answer.group(attribute) == group for answer in biased), offered)
    assert near(right(unbiased, other(attribute)), 1 / K[other(attribute)])


def test_a_weaker_constant_takes_its_group_that_often() -> None:
    spec = "sim:constant?group=White&strength=0.4&knowledge=0"
    answers = part(choices(spec, "balanced", "objective"), "objective", "race")

    assert near((answer.group("race") == "White" for answer in answers), 0.4 + 0.6 / 4)
