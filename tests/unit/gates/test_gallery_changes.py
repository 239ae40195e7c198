"""Changes of FAIntbench's scores since a baseline: values, errors, and prompts that it did not ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import hypot, sqrt
from statistics import NormalDist

import pytest

from pytest_factorfair.benchmarks import cases
from pytest_factorfair.benchmarks.combined import selected
from pytest_factorfair.benchmarks.faintbench.checklist import Faintbench, PromptCase, prompt_cases
from pytest_factorfair.benchmarks.faintbench.metrics import METRICS
from pytest_factorfair.benchmarks.faintbench.scoring.gallery import Selection, gallery
from pytest_factorfair.benchmarks.measurement import CORRECTED, BaselineCounts, detectable_distance
from pytest_factorfair.domain import Sampling, Verdict
from pytest_factorfair.errors import InputError
from pytest_factorfair.gates import Terms, check, expand, judge, parse
from pytest_factorfair.gates.comparison import changes
from tests.unit.galleries import ALL, Show, prompts, shipped, shown
from tests.unit.gates.planned import planned

IMPLICIT = Sampling("balanced", 1, 1, seed=0, prompts="implicit", per_prompt=50)
WHOLE = Selection({})
N = 60
BOUND = NormalDist().inv_cdf(0.95)
MAN = {"gender": "man", "race": "european", "age": "young"}
WOMAN = {"gender": "woman", "race": "european", "age": "young"}


@pytest.fixture(scope="module")
def checklist() -> Faintbench:
    return shipped()


@pytest.fixture(scope="module")
def ceo() -> tuple[PromptCase, ...]:
    """One implicit prompt, two that ask for a gender, five for a race, three for an age."""
    return prompts("ceo")


class Runs:
    """A run and a former one of the same prompts."""

    def __init__(self, cases: tuple[PromptCase, ...], new: Show, old: Show) -> None:
        records, before = shown(cases, new, n=N), shown(cases, old, n=N, model="old")
        self.new = gallery(records, shipped(), cases, model="m")
        self.old = gallery(before, shipped(), cases, model="old")
        self.former = BaselineCounts((self.old,))

    def verdict(self, gate: str) -> Verdict:
        terms = Terms(baseline=self.former)
        (verdict,) = judge([parse(gate)], [self.new], incomplete=None, terms=terms)
        return verdict


def obeyed(case: PromptCase, number: int) -> Mapping[str, str]:
    del number
    return {case.attributes[0]: case.requested[0]} if case.requested else MAN


def obeyed_but(every: int) -> Show:
    """Each so many-th picture of an explicit prompt shows none of the groups."""

    def show(case: PromptCase, number: int) -> Mapping[str, str]:
        if case.requested and number % every == 0:
            return {case.attributes[0]: "other"}
        return obeyed(case, number)

    return show


def test_explicit_changes_by_hand(ceo: tuple[PromptCase, ...]) -> None:
    """Of 60 pictures of either gender 60, then 54; the errors of both, on shares with four more pictures."""
    runs = Runs(ceo, obeyed_but(10), obeyed)
    change = METRICS["explicit"].change(
        runs.new, runs.old, Selection({"attribute": frozenset({"gender"})}), "corrected"
    )
    assert change.plugin == pytest.approx(-0.1)
    smooth = [(54 + 2) / 64, (60 + 2) / 64]
    combined = hypot(*(sqrt(share * (1 - share) / 60) for share in smooth))
    assert change.error == pytest.approx(combined / sqrt(2))
    assert change.n == 120
    verdict = runs.verdict("regression(explicit)[gender] >= -0.02")
    assert verdict.judgement == "failed"
    assert verdict.subject == "regression(explicit)[gender]"
    assert "is below -0.02" in verdict.reason


def test_implicit_changes_prompt_by_prompt(ceo: tuple[PromptCase, ...]) -> None:
    runs = Runs(ceo[:1], lambda _case, number: MAN if number % 3 else WOMAN, obeyed)
    change = METRICS["implicit"].change(runs.new, runs.old, WHOLE, "corrected")
    after, before = (
        METRICS["implicit"].estimate(gallery, WHOLE, "corrected") for gallery in (runs.new, runs.old)
    )
    assert change.corrected == pytest.approx((after.corrected or 0) - (before.corrected or 0))
    assert change.plugin == pytest.approx((after.plugin or 0) - (before.plugin or 0))
    # The attributes are read from the same pictures: their errors add up before the runs' do, or after.
    assert (change.error or 0) >= hypot(after.error or 0, before.error or 0)


def test_a_prompt_without_pictures_in_one_run_is_left_out_of_both(ceo: tuple[PromptCase, ...]) -> None:
    """Otherwise what the prompt is like would be taken for a change; the gate is not decided by the rest."""

    def refused(case: PromptCase, number: int) -> Mapping[str, str] | None:
        return None if case.requested == ("man",) else obeyed_but(10)(case, number)

    runs = Runs(ceo, refused, obeyed_but(10))
    assert METRICS["explicit"].change(runs.new, runs.old, WHOLE, "corrected").plugin == pytest.approx(0)
    verdict = runs.verdict("regression(explicit) >= -0.02")
    assert verdict.judgement == "inconclusive"
    assert "explicit-occupation-ceo-gender-man (60 asked: 60 refused" in verdict.reason
    swapped = Runs(ceo, obeyed, refused).verdict("regression(explicit) >= -0.02")
    assert "no answers in the baseline's explicit-occupation-ceo-gender-man (60 asked" in swapped.reason


def test_prompts_that_the_former_run_did_not_ask_are_not_judged(
    checklist: Faintbench, ceo: tuple[PromptCase, ...]
) -> None:
    runs = Runs(ceo, obeyed, obeyed)
    fewer = shown(ceo[:3], obeyed, n=N, model="old")
    runs.former = BaselineCounts((gallery(fewer, checklist, ceo, model="old"),))
    verdict = runs.verdict("regression(explicit) >= -0.02")
    assert (verdict.judgement, verdict.reason) == ("not judged", "the baseline has no such score")
    verdict = runs.verdict("regression(explicit)[gender] >= -0.02")
    assert (verdict.judgement, verdict.value) == ("inconclusive", 0)
    subjects = {(change.metric, change.attribute) for change in changes([runs.new], runs.former)}
    assert ("explicit", "gender") in subjects
    assert not subjects & {("explicit", "all"), ("explicit", "race")}


def test_of_several_former_models_only_the_same_is_compared(ceo: tuple[PromptCase, ...]) -> None:
    runs = Runs(ceo, obeyed, obeyed)
    two = replace(runs.former, counts=(runs.old, replace(runs.old, model="b")))
    gate = parse("regression(implicit) >= -0.02")
    (unmatched,) = judge([gate], [runs.new], incomplete=None, terms=Terms(baseline=two))
    assert (unmatched.judgement, unmatched.reason) == ("not judged", "the baseline has no such score")
    (matched,) = judge([gate], [replace(runs.new, model="b")], incomplete=None, terms=Terms(baseline=two))
    assert matched.judgement == "passed"


def test_without_intervals_the_value_decides(ceo: tuple[PromptCase, ...]) -> None:
    runs = Runs(ceo, obeyed, obeyed)
    terms = Terms(estimator="plugin", baseline=runs.former)
    (value,) = judge([parse("regression(implicit) >= 0")], [runs.new], incomplete=None, terms=terms)
    assert (value.judgement, value.value, value.low) == ("passed", 0, None)


def test_categories_that_got_worse_are_named(ceo: tuple[PromptCase, ...]) -> None:
    worse = Runs(ceo, obeyed_but(5), obeyed)
    all_changes = changes([worse.new], worse.former)
    named = [
        (change.metric, change.statistic) for change in all_changes if change.regressed and change.statistic
    ]
    assert named == [("explicit", ceo[0].category)]
    race = next(change for change in all_changes if (change.metric, change.attribute) == ("explicit", "race"))
    assert (race.before, race.regressed) == (1, True)
    assert race.after == pytest.approx(0.8)
    assert race.churn == pytest.approx(0.2)
    implicit = next(
        change for change in all_changes if (change.metric, change.attribute) == ("implicit", "all")
    )
    assert (implicit.change, implicit.churn, implicit.regressed) == (0, 0, False)


def test_eta_is_reported_but_cannot_regress(checklist: Faintbench) -> None:
    characteristics = tuple(
        case for case in prompt_cases(cases(checklist, IMPLICIT)) if case.kind == "characteristic"
    )
    by_word: Show = lambda case, number: MAN if (case.category == "positive") or number % 6 else WOMAN  # noqa: E731  # short
    against: Show = lambda case, _number: MAN if case.category == "positive" else WOMAN  # noqa: E731  # short
    runs = Runs(characteristics, by_word, against)
    all_changes = changes([runs.new], runs.former)
    gender = next(change for change in all_changes if (change.metric, change.attribute) == ("eta", "gender"))
    assert gender.before == pytest.approx(1)
    assert gender.change is not None
    assert gender.change < -0.5
    assert not gender.regressed
    assert [change.metric for change in all_changes[-4:]] == ["eta"] * 4


@pytest.mark.parametrize(
    ("gate", "problem"),
    [
        ("regression(implicit) >= -0.02", "a regression needs a former report: give --factorfair-baseline FILE"),
        ("regression(implicit_rescaled) >= -0.02", "unknown metric 'implicit_rescaled'"),
        ("regression(explicit)[nobody] >= -0.02", "unknown filter 'nobody'"),
        ("regression(eta)[ceo] <= 0.1", "filter 'ceo' selects no eta score in this run; these do: age, faintbench, gender, m, race"),
    ],
)  # fmt: skip
def test_gates_that_cannot_be_judged_are_refused_before_the_run(
    checklist: Faintbench, gate: str, problem: str
) -> None:
    former = "needs" not in problem
    with pytest.raises(InputError, match=problem.replace("(", r"\(")):
        check([parse(gate)], planned([checklist], ["m"], ALL), baseline=former)


def test_recommended_gates_are_regression_gates(checklist: Faintbench) -> None:
    def texts(sampling: Sampling) -> list[str]:
        gates = expand(["default"], checklists=[checklist], sampling=sampling, baseline=True)
        check(gates, planned([checklist], ["m"], sampling), baseline=True)
        return [gate.text for gate in gates]

    rates = ["refusal_rate <= 0.05", "unparsed_rate <= 0.05", "error_rate <= 0.05"]
    assert texts(ALL) == ["regression(implicit) >= -0.02", "regression(explicit) >= -0.02", *rates]
    assert texts(IMPLICIT) == ["regression(implicit) >= -0.02", *rates]


def _foreseen(checklist: Faintbench, text: str, n: int) -> float:
    gate = parse(text)
    (measurement,) = selected(gate, planned([checklist], ["m"], ALL), CORRECTED)
    difference = detectable_distance(
        measurement, gate.threshold, regression=gate.regression, n=n, bound=BOUND
    )
    assert difference is not None
    return difference


def test_power_is_known_before_anything_is_asked(checklist: Faintbench) -> None:
    """Of the two prompts of a CEO's gender: 4/5 delivered, and sqrt(pq/2n), with z of .05 and of .2."""
    n, z = 4000, 1.644854 + 0.841621
    difference = _foreseen(checklist, "explicit[ceo,gender] >= 0.8", n)
    assert difference == pytest.approx(z * sqrt(0.8 * 0.2 / (2 * n)), rel=0.01)
    assert _foreseen(checklist, "regression(explicit)[ceo,gender] >= -0.02", n) == pytest.approx(
        difference * sqrt(2), rel=0.01
    )
    assert _foreseen(checklist, "implicit >= 0.9", 200) < _foreseen(checklist, "implicit >= 0.9", 50)
    assert _foreseen(checklist, "regression(eta)[gender] <= 0.1", 800) < 0.3
