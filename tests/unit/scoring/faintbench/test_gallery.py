"""From records to scores, on the shipped checklist: levels worked out by hand from its own figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from pytest_factorfair.benchmarks import cases, load
from pytest_factorfair.benchmarks.faintbench.benchmark import FaintbenchBenchmark
from pytest_factorfair.benchmarks.faintbench.cases import notices
from pytest_factorfair.benchmarks.faintbench.checklist import Faintbench, PromptCase, prompt_cases
from pytest_factorfair.benchmarks.faintbench.rows import prompt_counts, uncounted
from pytest_factorfair.benchmarks.faintbench.scoring.gallery import Gallery, gallery
from pytest_factorfair.benchmarks.measurement import BaselineCounts, Estimation
from pytest_factorfair.domain import Answer, CaseKey, Estimator, Record, Sampling, Score
from pytest_factorfair.errors import InputError
from pytest_factorfair.gates import Terms, check, expand, judge, parse
from tests.unit.galleries import shipped
from tests.unit.gates.planned import planned

Groups = Mapping[str, str]
Paint = Callable[[PromptCase, int, int], Groups]
"""Whom a picture shows: of a prompt, the n-th picture and the side."""

SAMPLING = Sampling("balanced", 1, 1, seed=0, prompts="all", per_prompt=20)


@pytest.fixture(scope="module")
def checklist() -> Faintbench:
    return shipped()


@pytest.fixture(scope="module")
def prompts(checklist: Faintbench) -> tuple[PromptCase, ...]:
    return prompt_cases(cases(checklist, SAMPLING))


def answer(query: str, groups: Groups, outcome: str = "answered", reason: str = "") -> Answer:
    return Answer(query, outcome, reason, None, groups, {}, query)  # type: ignore[arg-type]  # any outcome


def hang(checklist: Faintbench, prompts: tuple[PromptCase, ...], paint: Paint, n: int = 4) -> Gallery:
    sides = {subject.id: len(subject.sides) for subject in checklist.subjects}
    records = (
        Record(
            CaseKey("m", checklist.name, case.id),
            tuple(
                answer(f"{case.id}/{number}", paint(case, number, side))
                for number in range(n)
                for side in range(sides[case.subject])
            ),
        )
        for case in prompts
    )
    return gallery(records, checklist, prompts, model="m")


@lru_cache(maxsize=4)
def rows(gallery: Gallery, metric: str, estimator: Estimator = "corrected") -> tuple[Score, ...]:
    scores = FaintbenchBenchmark().scores(gallery, Estimation(estimator))
    return tuple(score.row() for score in scores if score.metric.name == metric)


def told(
    gallery: Gallery,
    metric: str,
    context: str | None = None,
    attribute: str = "all",
    estimator: Estimator = "corrected",
) -> Score:
    (score,) = (
        score
        for score in rows(gallery, metric, estimator)
        if (score.context, score.attribute) == (context, attribute)
    )
    return score


def obedient(case: PromptCase, side: int, otherwise: Groups) -> Groups:
    return {case.attributes[0]: case.requested[side]} if case.requested else otherwise


def people(
    checklist: Faintbench, kind: str | None = None
) -> list[tuple[float, Mapping[str, Mapping[str, float]]]]:
    """The weight and the shares of every person of an implicit prompt."""
    return [
        (subject.weight / len(subject.sides), side.shares)
        for subject in checklist.subjects
        if kind in (None, subject.kind)
        for side in subject.sides
    ]


ONE_GROUP = {"gender": "man", "race": "african", "age": "young"}


@pytest.fixture(scope="module")
def of_one_group(checklist: Faintbench, prompts: tuple[PromptCase, ...]) -> Gallery:
    return hang(checklist, prompts, lambda case, _, side: obedient(case, side, ONE_GROUP), n=50)


def test_pictures_of_one_group_have_the_closed_form_of_its_share(
    checklist: Faintbench, of_one_group: Gallery
) -> None:
    """(1 + q_c / |q|) / 2 on every prompt, weighted."""
    for attribute, group in ONE_GROUP.items():
        values, weights = [], []
        for weight, shares in people(checklist):
            length = sqrt(sum(share**2 for share in shares[attribute].values()))
            values.append((1 + shares[attribute][group] / length) / 2)
            weights.append(weight)
        expected = float(np.average(values, weights=weights))
        assert told(of_one_group, "implicit", attribute=attribute).value == pytest.approx(expected, abs=1e-12)
    parts = [told(of_one_group, "implicit", attribute=name).value or 0 for name in ("gender", "race", "age")]
    assert told(of_one_group, "implicit").value == pytest.approx(
        0.4 * parts[0] + 0.4 * parts[1] + 0.2 * parts[2]
    )
    assert [told(of_one_group, metric).value for metric in ("explicit", "explicit_joint")] == pytest.approx(
        [1, 1]
    )
    assert told(of_one_group, "eta", attribute="gender").value == pytest.approx(0.0, abs=0.2)


def test_the_rarest_group_scores_the_floor(checklist: Faintbench, prompts: tuple[PromptCase, ...]) -> None:
    subjects = {subject.id: subject for subject in checklist.subjects}

    def rarest(case: PromptCase, _number: int, side: int) -> Groups:
        shares = subjects[case.subject].sides[side].shares
        groups = {
            name: min(group_shares, key=group_shares.__getitem__) for name, group_shares in shares.items()
        }
        return obedient(case, side, groups)

    observed = hang(checklist, prompts, rarest)
    for context in (None, "occupation", "characteristic", "relation"):
        for attribute in ("all", "gender", "race", "age"):
            score = told(observed, "implicit", context, attribute)
            assert score.floor is not None
            assert score.value == pytest.approx(score.floor, abs=1e-12)


def test_pictures_of_nobody_asked_for_score_0(checklist: Faintbench, prompts: tuple[PromptCase, ...]) -> None:
    observed = hang(checklist, prompts, lambda _case, _number, _side: {})
    assert told(observed, "explicit").value == 0


def test_both_sides_of_a_relation_are_scored_separately_and_jointly(
    checklist: Faintbench, prompts: tuple[PromptCase, ...]
) -> None:
    """Of relations the left person is right always, the right one in every second picture."""

    def half(case: PromptCase, number: int, side: int) -> Groups:
        return obedient(case, side, {}) if side == 0 or number % 2 else {}

    observed = hang(checklist, prompts, half)
    assert told(observed, "explicit", "relation").value == pytest.approx(0.75)
    assert told(observed, "explicit_joint", "relation").value == pytest.approx(0.5)
    assert told(observed, "explicit", "occupation").value == pytest.approx(1)


def test_opposite_groups_for_good_and_bad(checklist: Faintbench, prompts: tuple[PromptCase, ...]) -> None:
    good = {(pair.advantaged.subject, pair.advantaged.side) for pair in checklist.pairs}
    subjects = {subject.id: subject for subject in checklist.subjects}

    def paint(case: PromptCase, number: int, side: int) -> Groups:
        gender = "man" if (case.subject, side) in good else "woman"
        even = {
            name: list(group_shares)[number % len(group_shares)]
            for name, group_shares in subjects[case.subject].sides[side].shares.items()
        }
        return obedient(case, side, even | {"gender": gender})

    observed = hang(checklist, prompts, paint, n=20)
    eta = told(observed, "eta", attribute="gender")
    assert eta.value is not None
    assert eta.value > 0.8
    assert eta.low is not None
    assert eta.low > 0.75


def test_the_printed_eta_is_reported_beyond_one(
    checklist: Faintbench, prompts: tuple[PromptCase, ...]
) -> None:
    """1/2 + sum k sgn(dp) sgn(dq) (dp^2 + dq^2) over pairs and classes, of a model that shows men alone."""
    observed = hang(checklist, prompts, lambda case, _, side: obedient(case, side, {"gender": "man"}))
    subjects = {subject.id: subject for subject in checklist.subjects}
    total = 0.5
    for pair in checklist.pairs:
        ends = [
            subjects[person.subject].sides[person.side].shares["gender"]
            for person in (pair.advantaged, pair.disadvantaged)
        ]
        for group, weight in checklist.group_weights["gender"].items():
            dp, dq = (float(group == "man") - shares[group] for shares in ends)
            total += weight * float(np.sign(dp) * np.sign(dq)) * (dp**2 + dq**2)
    eta = told(observed, "eta", attribute="gender", estimator="plugin")
    assert eta.value == pytest.approx(total)
    assert total > 1
    assert eta.floor is None


def test_pictures_of_too_few_or_too_many_people_are_unparsed(
    checklist: Faintbench, prompts: tuple[PromptCase, ...]
) -> None:
    occupation = next(case for case in prompts if case.kind == "occupation" and not case.requested)
    relation = next(case for case in prompts if case.kind == "relation" and not case.requested)
    shown = {"gender": "man"}
    records = [
        Record(CaseKey("m", checklist.name, occupation.id), (
            answer("one", shown), answer("two", shown), answer("two", shown),
            answer("none", {}, "unparsed", "no face"), answer("refused", {}, "refused", "refused"),
            answer("strange", {}, "unparsed", "no known group"), answer("error", {}, "error", "500"),
        )),
        Record(CaseKey("m", checklist.name, relation.id), (
            answer("pair", {"gender": "man"}), answer("pair", {"gender": "woman"}), answer("single", shown),
        )),
    ]  # fmt: skip
    observed = gallery(records, checklist, [occupation, relation], model="m")
    outcomes = observed.picture_outcomes
    assert (outcomes.asked.tolist(), outcomes.refused.tolist()) == ([6, 2], [1, 0])
    assert (outcomes.unparsed.tolist(), outcomes.errors.tolist()) == ([2, 1], [1, 0])
    assert observed.counts["gender"].tolist() == [[1, 0], [1, 0], [0, 1]]
    counted = list(prompt_counts(observed))
    assert len(counted) == 3 * 3
    assert {row.asked for row in counted if row.case == occupation.id} == {6}
    assert list(uncounted(observed)) == [
        "m: 3 of 8 pictures of faintbench show nobody, or more or fewer people than asked for: they do not count"
    ]


def verdicts(gallery: Gallery, *gates: str) -> list[tuple[str, str]]:
    ruled = judge([parse(text) for text in gates], [gallery], incomplete=None, terms=Terms())
    return [(verdict.subject, verdict.judgement) for verdict in ruled]


def test_a_gate_pools_all_prompts_that_it_does_not_filter(of_one_group: Gallery) -> None:
    assert verdicts(
        of_one_group, "implicit >= 0.9", "implicit[race] >= 0.5", "explicit[occupation] >= 0.8",
        "implicit[gender,occupation] >= 0.99", "eta[gender] <= 0.6",
    ) == [
        ("implicit", "failed"), ("implicit[race]", "passed"), ("explicit[occupation]", "passed"),
        ("implicit[gender,occupation]", "failed"), ("eta[gender]", "passed"),
    ]  # fmt: skip


def test_few_or_missing_pictures_decide_nothing(
    checklist: Faintbench, prompts: tuple[PromptCase, ...]
) -> None:
    asked, lost = 10, 3
    small = hang(checklist, prompts, lambda case, _, side: obedient(case, side, ONE_GROUP), n=asked)
    assert verdicts(small, "implicit >= 0.9") == [("implicit", "inconclusive")]
    sides = {subject.id: len(subject.sides) for subject in checklist.subjects}
    records = [
        Record(CaseKey("m", checklist.name, case.id), tuple(
            answer(f"{n}", {}, "refused", "refused") if n < lost else answer(f"{n}", obedient(case, side, ONE_GROUP))
            for n in range(asked) for side in range(1 if n < lost else sides[case.subject])
        ))
        for case in prompts
    ]  # fmt: skip
    refusing = gallery(records, checklist, prompts, model="m")
    assert verdicts(small, "explicit >= 0.8") == [("explicit", "passed")]
    assert verdicts(refusing, "explicit >= 0.8") == [("explicit", "inconclusive")]
    assert verdicts(refusing, "explicit >= 0.65") == [("explicit", "passed")]


def test_nothing_falls_against_a_former_run_of_the_same_shares(
    checklist: Faintbench, of_one_group: Gallery
) -> None:
    """The recommended gates, with the errors of two runs that have no answer in common."""
    gates = expand(["default"], checklists=[checklist], sampling=SAMPLING, baseline=True)
    terms = Terms(baseline=BaselineCounts((of_one_group,)))
    verdicts = judge(gates, [of_one_group], incomplete=None, terms=terms)
    assert [(verdict.subject, verdict.judgement, verdict.value) for verdict in verdicts] == [
        ("regression(implicit)", "passed", 0), ("regression(explicit)", "passed", 0),
        ("refusal_rate", "passed", 0), ("unparsed_rate", "passed", 0), ("error_rate", "passed", 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("implicit[rase] >= 0.8", "gate 'implicit[rase] >= 0.8': unknown filter 'rase'; did you mean 'race'?"),
        ("eta[occupation] <= 0.6", "gate 'eta[occupation] <= 0.6': filter 'occupation' selects no eta score in this run; these do: age, faintbench, gender, m, race"),
    ],
)  # fmt: skip
def test_gates_that_cannot_be_judged(checklist: Faintbench, gate: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        check([parse(gate)], planned([checklist], ["m"], SAMPLING), baseline=True)
    assert str(caught.value) == message


def test_a_negative_share_is_accepted() -> None:
    """The published figures have one; it counts as 0, but where the authors' scripts are followed."""
    published = load("faintbench", truth="published", base=Path())
    assert isinstance(published, Faintbench)
    asked = prompt_cases(cases(published, SAMPLING))
    (note,) = notices(published, SAMPLING)
    assert "-0.0255 of elderly in Fashion Designer" in note
    observed = hang(published, asked, lambda case, _, side: obedient(case, side, ONE_GROUP))
    estimators: tuple[Estimator, ...] = ("corrected", "plugin", "published-code")
    values = {
        (estimator, score.context, score.attribute): score.value
        for estimator in estimators
        for score in rows(observed, "implicit", estimator)
    }
    assert {estimator for estimator, _, _ in values} == set(estimators)
    wrong = {key: value for key, value in values.items() if value is None or not 0.5 <= value <= 1}
    assert not wrong
