"""The estimator published-code on the authors' own averages of SDXL: what their scripts print for them.

``faintbench_sdxl.csv`` holds the shares of ``eval/eta/average_sdxl.json`` at commit 7c29a6f of
github.com/Astarojth/FAIntbench-v1, in that file's order, which decides whom a pair finds. The expected figures are
the output of ``eval/eta/eta.py`` and ``eval/implicit/implicit.py`` at commit 8b24866 for that file, with the weights
of pairs of commit 7c29a6f. The averages add up to 1 within 4e-6 only; shares do exactly.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from pytest_factorfair.benchmarks import cases
from pytest_factorfair.benchmarks.faintbench.checklist import Part, prompt_cases
from pytest_factorfair.benchmarks.faintbench.metrics import ETA, EXPLICIT, IMPLICIT
from pytest_factorfair.benchmarks.faintbench.scoring.gallery import Gallery, Selection, gallery
from pytest_factorfair.domain import ALL, Estimator, Sampling
from tests.unit.galleries import shipped

AVERAGES = Path(__file__).parents[3] / "data" / "faintbench_sdxl.csv"
SAMPLING = Sampling("balanced", 1, 1, seed=0, prompts="all", per_prompt=20)
ETAS = {"gender": 0.5974658, "race": 0.6400275, "age": 0.5481047, ALL: 0.5951994}


@cache
def sdxl() -> Gallery:
    """The 190 implicit prompts of the file, each as one picture that shows the average shares."""
    checklist = shipped("published")
    asked = {case.subject: case for case in prompt_cases(cases(checklist, SAMPLING)) if not case.requested}
    with AVERAGES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    prompts = [asked[subject] for subject, _ in groupby(row["subject"] for row in rows)]
    empty = gallery((), checklist, prompts, model="SDXL")
    counts = {
        attribute.name: np.array([[float(row[group]) for group in attribute.groups] for row in rows])
        for attribute in checklist.attributes
    }
    return replace(empty, counts=counts)


def selection(attribute: str, **words: str) -> Selection:
    named = {} if attribute == ALL else {"attribute": frozenset({attribute})}
    return Selection(named | {kind: frozenset({word}) for kind, word in words.items()})


def implicit(estimator: Estimator, attribute: str, **words: str) -> float | None:
    return IMPLICIT.estimate(sdxl(), selection(attribute, **words), estimator).plugin


@pytest.mark.parametrize("attribute", ETAS)
def test_eta_is_what_the_scripts_print(attribute: str) -> None:
    eta = ETA.estimate(sdxl(), selection(attribute), "published-code").plugin
    assert eta == pytest.approx(ETAS[attribute], abs=1e-6)


def test_where_both_words_of_a_pair_were_last_the_pair_compares_the_bad_word_with_itself() -> None:
    """Pair 7 ("successful") finds "unsuccessful" too; in the authors' file "successful" happens to come last."""
    observed = sdxl()
    order = sorted(
        range(len(observed.cases)), key=lambda number: observed.cases[number].subject == "unsuccessful"
    )
    rows = [row for number in order for row in np.flatnonzero(observed.prompt == number)]
    last = replace(
        observed,
        cases=tuple(observed.cases[number] for number in order),
        prompt=np.array([order.index(observed.prompt[row]) for row in rows]),
        side=observed.side[rows],
        counts={name: counts[rows] for name, counts in observed.counts.items()},
        truth={name: truth[rows] for name, truth in observed.truth.items()},
    )
    eta = {name: ETA.estimate(last, selection(name), "published-code").plugin for name in ETAS if name != ALL}
    assert eta == pytest.approx({"gender": 0.5974658, "race": 0.6406381, "age": 0.5481047}, abs=1e-6)


def test_the_implicit_score_of_every_prompt_once_is_the_formula_s() -> None:
    """The scripts count some prompts twice and some nowhere; counted once, and with their one negative share:"""
    observed = sdxl()
    uncounted: Mapping[Part, Mapping[str, Mapping[str, int]]] = {"implicit": {}, "explicit": {}}
    once = replace(observed, checklist=replace(observed.checklist, counted=uncounted))
    score = IMPLICIT.estimate(once, selection(ALL), "published-code").plugin
    assert score == pytest.approx(0.8870797, abs=5e-7)
    assert implicit("plugin", ALL) == pytest.approx(score, abs=4e-6)


@pytest.mark.parametrize(
    ("words", "scores"),
    [
        ({}, {ALL: 0.8866860, "gender": 0.9411399, "race": 0.8437176, "age": 0.8637147}),
        ({"kind": "characteristic"}, {ALL: 0.8832826, "gender": 0.8801751, "race": 0.8488985, "age": 0.9582654}),
        ({"kind": "occupation"}, {ALL: 0.8815308, "gender": 0.9501487, "race": 0.8343801, "age": 0.8385964}),
        ({"kind": "relation"}, {ALL: 0.9109399, "gender": 0.9641810, "race": 0.8765552, "age": 0.8732269}),
    ],
    ids=["model", "characteristic", "occupation", "relation"],
)  # fmt: skip
def test_implicit_levels_are_what_the_scripts_print(words: dict[str, str], scores: dict[str, float]) -> None:
    recomputed = {name: implicit("published-code", name, **words) for name in scores}
    assert recomputed == pytest.approx(scores, abs=5e-7)


def weight(part: Part, category: str) -> float:
    """The sum of the weights of a category's prompts over their number per subject."""
    checklist = shipped("published")
    empty = gallery((), checklist, prompt_cases(cases(checklist, SAMPLING)), model="m")
    times = selection(ALL, category=category).times(empty, part, "published-code")
    weights = {subject.id: subject.weight for subject in checklist.subjects}
    total = sum(count * weights[case.subject] for count, case in zip(times, empty.cases, strict=True))
    return float(total / (10 if part == "explicit" else 1))


def test_bad_words_that_contain_good_ones_count_among_these() -> None:
    assert (weight("implicit", "positive"), weight("implicit", "negative")) == (39, 32)
    assert (weight("explicit", "positive"), weight("explicit", "negative")) == (53, 32)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({}, "the pictures with one partner"),
        ({"kind": "relation"}, "the pictures with one partner"),
        ({"category": "protection"}, "the pictures with one partner"),
        ({"kind": "occupation", "attribute": "race"}, "by the last word of an occupation"),
    ],
)
def test_explicit_scores_that_the_scripts_do_not_define_are_missing(
    words: dict[str, str], reason: str
) -> None:
    checklist = shipped("published")
    empty = gallery((), checklist, prompt_cases(cases(checklist, SAMPLING)), model="m")
    estimate = EXPLICIT.estimate(empty, selection(words.pop("attribute", ALL), **words), "published-code")
    assert estimate.plugin is None
    assert reason in estimate.reason
