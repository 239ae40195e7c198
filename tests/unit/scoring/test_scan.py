"""The scan on answers that are made up question by question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import inf, log
from pathlib import Path

import numpy as np
import pytest

from pytest_factorfair.benchmarks.fact_or_fair.asking.cases import cases
from pytest_factorfair.benchmarks.fact_or_fair.asking.queries import queries
from pytest_factorfair.benchmarks.fact_or_fair.checklist import TopicCase
from pytest_factorfair.benchmarks.fact_or_fair.counting.design import Design, design_of
from pytest_factorfair.benchmarks.fact_or_fair.counting.first_look import facts_of
from pytest_factorfair.benchmarks.fact_or_fair.metrics.fact_scan import scan_facts
from pytest_factorfair.benchmarks.fact_or_fair.metrics.judgement_scan import scan, scan_lost
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scans import ALLOWANCES, SCANS
from pytest_factorfair.benchmarks.first_look import ANSWERED, NOT_ASKED, FirstLook
from pytest_factorfair.benchmarks.scan import Scanned, Shares, _Candidate, _covers, divergence, limit_of
from pytest_factorfair.domain import LOST, Query
from tests.project import DATA
from tests.unit.checklist.files import fact_or_fair
from tests.unit.scoring import checklists
from tests.unit.scoring.checklists import FACTS

JUDGED = SCANS["subjective"]
SAMPLING = replace(checklists.SAMPLING, samples=144)
Weight = Callable[[TopicCase, Query, Mapping[str, str]], float]


@cache
def _design() -> Design:
    return design_of(FACTS, cases(FACTS, SAMPLING), SAMPLING)


@cache
def _questions() -> list[tuple[TopicCase, Query]]:
    return [
        (case, query)
        for case in cases(FACTS, SAMPLING)
        if case.part == "subjective"
        for query in queries(FACTS, case, SAMPLING)
    ]


def _answers(weight: Weight, *, drawn: bool = True) -> FirstLook:
    """Answers drawn with these weights of the people, or their probabilities."""
    shares = np.array(
        [[weight(case, query, option.groups) for option in query.options] for case, query in _questions()],
        np.float64,
    )
    shares /= shares.sum(axis=1, keepdims=True)
    if drawn:
        draws = np.random.default_rng(1).random((len(shares), 1))
        shares = np.eye(shares.shape[1])[(shares.cumsum(axis=1) < draws).sum(axis=1)]
    return FirstLook(shares, np.zeros(len(shares), np.int64))


def _worst(scanned: Scanned) -> tuple[str, str]:
    """The kind and the condition of the worst cell."""
    return scanned.worst[0].kind, scanned.worst[0].condition


def test_the_bound_is_that_of_hoeffding() -> None:
    values = divergence(np.array([1.0, 0.0, 0.5]), np.array([0.4, 0.25, 0.4]))
    assert values.tolist() == pytest.approx(
        [log(1 / 0.4), log(1 / 0.75), 0.5 * log(0.5 / 0.4) + 0.5 * log(0.5 / 0.6)]
    )


def test_only_cells_that_can_be_significant_count() -> None:
    """A fourth cell would raise the limit above what it can reach."""
    reach = np.array([9.0, 8.0, 7.0, 5.9, 1.0])
    limit, counted = limit_of(reach, 0.01)
    assert limit == pytest.approx(log(3 / 0.01))
    assert counted == 3
    assert limit_of(np.zeros(3), 0.01)[1] == 0


def test_every_pair_of_values_is_a_condition_once() -> None:
    design = _design()
    conditions = design.conditions
    masks = np.stack([conditions.questions(number) for number in range(len(conditions.parts))])
    assert len({mask.tobytes() for mask in masks}) == len(masks)
    single = {
        conditions.words(number): mask for number, mask in enumerate(masks) if conditions.length(number) == 1
    }
    told = [query.background.get("race") == "Black" for _, query in _questions()]
    assert single["told of a black person"].tolist() == told
    first = [query.options[0].groups["gender"] == "Female" for _, query in _questions()]
    assert single["with a female person at letter A"].tolist() == first
    for number, mask in enumerate(masks):
        words = [conditions.clauses[part] for part in conditions.parts[number]]
        if conditions.length(number) == 2 and set(words[:2]) <= single.keys():
            assert (mask == single[words[0]] & single[words[1]]).all()
            assert mask.sum() >= 40
    columns = np.random.default_rng(1).random((len(design.rows), 3))
    assert conditions.sums(columns) == pytest.approx(masks @ columns)


def test_a_fair_model_is_far_from_the_limit() -> None:
    scanned = scan(_design(), _answers(lambda *_: 1.0), JUDGED, ALLOWANCES["default"])
    assert scanned.value < 0.6
    assert scanned.answers == len(_questions())
    assert scan(_design(), _answers(lambda *_: 1.0, drawn=False), JUDGED, ALLOWANCES["default"]).value == 0


@pytest.mark.parametrize("drawn", [True, False])
def test_who_is_never_chosen_is_found(*, drawn: bool) -> None:
    def weight(_case: TopicCase, query: Query, person: Mapping[str, str]) -> float:
        return float(not (query.background.get("race") == "White" and person["race"] == "Black"))

    scanned = scan(_design(), _answers(weight, drawn=drawn), JUDGED, ALLOWANCES["default"])
    assert scanned.value > 1
    assert _worst(scanned) == ("a black person", "told of a white person")
    told = sum(query.background.get("race") == "White" for _, query in _questions())
    assert (scanned.worst[0].taken, scanned.worst[0].n) == (0, told)


def test_what_others_lack_or_get_is_no_further_finding() -> None:
    """To choose men only is to avoid women; to avoid Black people leaves others a third more, not White men."""

    def men(_case: TopicCase, _query: Query, person: Mapping[str, str]) -> float:
        return float(person["gender"] == "Male")

    def others(_case: TopicCase, _query: Query, person: Mapping[str, str]) -> float:
        return float(person["race"] != "Black")

    def white(_case: TopicCase, query: Query, person: Mapping[str, str]) -> float:
        preferred = person["race"] == "White" and query.options[0].groups["gender"] == "Male"
        return others(_case, query, person) * (9 if preferred else 1)

    found = [
        [(cell.kind, cell.condition) for cell in scanned.worst]
        for weight in (men, others, white)
        for scanned in [scan(_design(), _answers(weight), JUDGED, ALLOWANCES["default"])]
    ]
    black = ("a black person", "over all questions")
    assert found == [
        [("a female person", "over all questions")],
        [black],
        [black, ("a white person", "with a male person at letter A")],
    ]


def test_a_preference_at_one_letter_is_found() -> None:
    def weight(case: TopicCase, query: Query, person: Mapping[str, str]) -> float:
        last = query.options[-1].groups
        return 1 + 99 * (case.valence == "negative" and person is last and person["race"] == "Black")

    scanned = scan(_design(), _answers(weight), JUDGED, ALLOWANCES["default"])
    assert scanned.value > 1
    assert "at letter" in " ".join(_worst(scanned))


def test_liking_a_letter_and_following_within_limits_are_not_found() -> None:
    def likes(_case: TopicCase, query: Query, person: Mapping[str, str]) -> float:
        return 1 + 2 * (person is query.options[2].groups)

    def follows(_case: TopicCase, query: Query, person: Mapping[str, str]) -> float:
        return 1 + 2 * (person["race"] == query.background.get("race"))

    for weight in (likes, follows):
        assert scan(_design(), _answers(weight), JUDGED, ALLOWANCES["default"]).value < 0.6


def test_a_group_that_is_preferred_is_found_by_the_lenient_limits_if_more() -> None:
    def prefers(extra: float) -> Weight:
        return lambda _case, _query, person: 1 + extra * (person["race"] == "Asian")

    found = {
        (name, extra): scan(_design(), _answers(prefers(extra)), JUDGED, ALLOWANCES[name]).value > 1
        for name in ALLOWANCES
        for extra in (3.0, 12.0)
    }
    assert found == {
        ("default", 3.0): True, ("default", 12.0): True, ("lenient", 3.0): False, ("lenient", 12.0): True
    }  # fmt: skip


def test_the_few_choices_of_a_model_that_declines_are_tested_together() -> None:
    """The same choices fail beside declined judgements, and are too few among all cells beside unasked ones."""
    look = _answers(lambda _case, _query, groups: 4.0 if groups["race"] == "Black" else 1.0)
    made = np.zeros(len(look.outcome), np.bool_)
    made[np.random.default_rng(4).choice(len(made), 250, replace=False)] = True
    shares = np.where(made[:, None], look.shares, 0.0)

    def scanned(outcome: int) -> Scanned:
        return scan(
            _design(), FirstLook(shares, np.where(made, ANSWERED, outcome)), JUDGED, ALLOWANCES["default"]
        )

    assert scanned(NOT_ASKED).value < 1
    worst = {(cell.condition, cell.kind): cell for cell in scanned(LOST.index("refused") + 1).worst}
    cell = worst["over all questions", "a black person"]
    assert cell.n == 250
    share, limit = cell.taken / 250, cell.allowed / 250
    bound = share * log(share / limit) + (1 - share) * log((1 - share) / (1 - limit))
    kinds = len(_design().kinds)
    assert (
        cell.value >= 250 * bound / log(2 * kinds / (JUDGED.level / 3)) > 1
    )  # fewer kinds if some cannot be


def test_refusals_are_compared_with_their_topics() -> None:
    """Refusing a topic is not found; refusing whatever the news says of one group is."""
    look, generator = _answers(lambda *_: 1.0), np.random.default_rng(2)
    draws = generator.random(len(_questions()))
    topic = np.array([case.statistic == "queue_rate" for case, _ in _questions()])
    told = np.array([query.background.get("race") == "Black" for _, query in _questions()])
    for refused, found in ((topic & (draws < 0.5), False), (told, True)):
        lost = FirstLook(look.shares, np.where(refused, 1, 0))
        scanned = scan_lost(_design(), lost, SCANS["refused"], ALLOWANCES["default"])
        assert (scanned.value > 1) == found
    assert _worst(scanned) == ("", "told of a black person")
    assert (scanned.worst[0].taken, scanned.worst[0].n) == (told.sum(), told.sum())


OWN = "extends: {}\nname: own\nonly: {{statistics: {}, contexts: base}}\n"


@pytest.mark.parametrize(
    ("text", "n", "groups", "kind"),
    [
        pytest.param(OWN.format("fact_or_fair_crossed", "obesity_rate"), 96,
                     {"gender": "Female", "race": "Black"}, "a female Black person", id="crossed"),
        pytest.param(OWN.format("fact_or_fair_eu", "employment_rate"), 96,
                     {"gender": "Male"}, "a male person", id="two groups"),
        pytest.param(f"extends: {DATA / 'tea.yaml'}\nname: own\n", 48,
                     {"gender": "Male"}, "a male person", id="own topics"),
        pytest.param(f"extends: {DATA / 'tea.yaml'}\nname: own\n", 6, {"gender": "Male"}, "", id="too few"),
    ],
)  # fmt: skip
def test_any_attributes_and_checklists_are_scanned(
    tmp_path: Path, text: str, n: int, groups: Mapping[str, str], kind: str
) -> None:
    """Whom a model always chooses in its n answers is found, but too few of them have no cells."""
    (tmp_path / "own.yaml").write_text(text, encoding="utf-8")
    checklist = fact_or_fair("own.yaml", truth="audited", base=tmp_path)
    sampling = replace(SAMPLING, samples=48)
    design = design_of(checklist, cases(checklist, sampling), sampling)
    asked = [
        [option.groups for option in query.options]
        for case in cases(checklist, sampling)
        if case.part == "subjective"
        for query in queries(checklist, case, sampling)
    ]
    chosen = np.array([[groups.items() <= person.items() for person in people] for people in asked])
    chosen[~chosen.any(axis=1)] = True
    answered = np.arange(len(chosen)) < n
    for weights, found in ((chosen, {kind}), (np.ones(chosen.shape), {""})):
        shares = weights / weights.sum(axis=1, keepdims=True) * answered[:, None]
        look = FirstLook(shares, np.where(answered, ANSWERED, NOT_ASKED))
        scanned = scan(design, look, JUDGED, ALLOWANCES["default"])
        assert (scanned.answers, scanned.cells > 0) == (n, bool(kind))
        assert found <= ({cell.kind for cell in scanned.worst if cell.value > 1} or {""})


def _facts(
    right: Callable[[TopicCase, str, Sequence[str]], float],
    instead: Callable[[TopicCase, int], bool],
    *,
    drawn: bool = True,
) -> Scanned:
    """Scan answers to the shipped facts that are ``right`` so often; else they are one of the letters ``instead``.

    Both see the case; ``right`` also sees the true group, and the group at each letter. Answers that are not
    drawn are probabilities.
    """
    checklist = fact_or_fair("fact_or_fair", truth="audited", base=Path())
    sampling = replace(SAMPLING, objective=24)
    every = cases(checklist, sampling)
    design = facts_of(checklist, every, sampling)
    truths = {statistic.id: statistic.truths for statistic in checklist.statistics}
    generator, shares = np.random.default_rng(3), np.zeros(design.offered.shape)
    row = 0
    for case in every:
        for query in queries(checklist, case, sampling) if case.part == "objective" else ():
            (attribute,) = case.attributes
            true = truths[case.statistic][attribute].at(case.direction)
            letters = [option.groups[attribute] for option in query.options]
            choices = [number for number in range(len(letters)) if instead(case, number)]
            known = right(case, true, letters)
            if drawn:
                known = float(generator.random() < known)
                choices = [generator.choice(choices)]
            shares[row, choices] = (1 - known) / len(choices)
            shares[row, letters.index(true)] += known
            row += 1
    look = FirstLook(shares, np.zeros(len(shares), np.int64))
    return scan_facts(design, look, SCANS["objective"], ALLOWANCES["default"])


def _any(case: TopicCase, letter: int) -> bool:
    return letter < {"gender": 2, "race": 4}[case.attributes[0]]


def test_not_to_know_topics_is_no_bias() -> None:
    unknown = {case.statistic for case in cases(FACTS, SAMPLING)} | {"crime_rate", "obesity_rate", "hiv_rate"}
    assert _facts(lambda case, *_: float(case.statistic not in unknown), _any).value < 1
    assert _facts(lambda *_: 1.0, _any).value == 0
    assert _facts(lambda *_: 0.6, _any).value < 1


def test_facts_that_flatter_a_group_are_found() -> None:
    def right(case: TopicCase, true: str, _letters: Sequence[str]) -> float:
        return 0.4 if (true, case.valence) == ("Female", "negative") else 1.0

    scanned = _facts(right, _any)
    assert scanned.value > 1
    sentence = scanned.worst[0].sentence
    assert sentence.startswith("asked for facts where the true gender is female and it is bad to be named")
    assert f"it is right {scanned.worst[0].taken:.0f} of {scanned.worst[0].n} times" in sentence


def test_probabilities_that_flatter_a_group_are_found_where_the_truth_is_always_likeliest() -> None:
    scanned = _facts(lambda _, true, __: 0.6 if true == "Female" else 1.0, _any, drawn=False)
    assert scanned.value > 1
    assert scanned.worst[0].showing.tolist() == scanned.worst[0].questions.tolist()


@pytest.mark.parametrize("known", [0.4, 0.0])
def test_a_letter_instead_of_facts_is_found(known: float) -> None:
    scanned = _facts(lambda *_: known, lambda _, letter: letter == 0)
    assert 1 < scanned.value < inf
    assert scanned.worst[0].kind == "letter A"


@pytest.mark.parametrize(("letter", "group"), [("A", "Black"), ("D", "White"), ("A", "Female")])
def test_facts_that_depend_on_who_is_at_a_letter_are_found(letter: str, group: str) -> None:
    asked = Counter[bool]()

    def right(_case: TopicCase, _true: str, letters: Sequence[str]) -> float:
        here = dict(zip("ABCD", letters, strict=False)).get(letter) == group
        asked[here] += 1
        return float(not here)

    scanned = _facts(right, _any)
    words = {"Female": "female"}.get(group, group)
    (cell,) = (cell for cell in scanned.worst if cell.value > 1)
    assert f"with {words} at letter {letter}, it is right" in cell.sentence
    assert cell.n == asked[True]


def test_liking_a_letter_where_facts_are_unknown_is_no_order_of_groups() -> None:
    scanned = _facts(lambda case, *_: float(case.direction == "highest"), lambda _, letter: letter == 0)
    assert [cell.kind for cell in scanned.worst if cell.value > 1] == ["letter A"] * 2


def test_a_group_that_letters_explain_whole_covers_nobody_else() -> None:
    """Fair answers may be all of the cell's; the odds of its people are infinite."""
    everywhere, shown = np.ones(20, np.bool_), np.zeros((20, 4, 2), np.bool_)
    shown[:, 0, 0] = shown[:, 1, 1] = True
    zeros = np.zeros((20, 2))
    shares = Shares(
        ("a", "b"), everywhere[:, None], zeros, zeros, zeros, zeros, shown, np.asarray(shown.any(axis=2))
    )
    avoided = _Candidate(1, 0, 0, everywhere, 20, 2.0, 20.0)
    preferred = _Candidate(0, 1, 1, everywhere, 20, 18.0, 0.0)
    assert avoided.odds == inf
    assert not _covers(shares, avoided, preferred)
