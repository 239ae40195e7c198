"""Gates on FAIntbench's scores: selected prompts, lost pictures, and levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from pytest_factorfair.benchmarks.combined import measure
from pytest_factorfair.benchmarks.faintbench.benchmark import FaintbenchBenchmark
from pytest_factorfair.benchmarks.faintbench.checklist import Faintbench, PromptCase
from pytest_factorfair.benchmarks.faintbench.rows import prompt_counts
from pytest_factorfair.benchmarks.faintbench.scoring.gallery import Gallery, gallery, with_lost
from pytest_factorfair.benchmarks.measurement import Estimation, ValueRange
from pytest_factorfair.domain import Answer, CaseKey, Record, Sampling, Verdict
from pytest_factorfair.errors import InputError
from pytest_factorfair.gates import Terms, check, expand, judge, parse, rule
from tests.unit.galleries import ALL, Show, prompts, shipped, shown
from tests.unit.gates.planned import planned

IMPLICIT = Sampling("balanced", 1, 1, seed=0, prompts="implicit", per_prompt=20)
N = 40
OF_ONE = {"gender": "man", "race": "european", "age": "young"}


@pytest.fixture(scope="module")
def checklist() -> Faintbench:
    return shipped()


@pytest.fixture(scope="module")
def ceo() -> tuple[PromptCase, ...]:
    """The eleven prompts about one occupation: one implicit, two of gender, five of race, three of age."""
    cases = prompts("ceo")
    assert len(cases) == 1 + 2 + 5 + 3
    return cases


def hang(cases: tuple[PromptCase, ...], show: Show, n: int = N) -> Gallery:
    return gallery(shown(cases, show, n=n), shipped(), cases, model="m")


def obeyed(case: PromptCase) -> Mapping[str, str]:
    return {case.attributes[0]: case.requested[0]} if case.requested else OF_ONE


def verdict(gallery: Gallery, gate: str, *, alpha: float = 0.05) -> Verdict:
    (verdict,) = judge([parse(gate)], [gallery], incomplete=None, terms=Terms(alpha=alpha))
    return verdict


RATES = ("refusal_rate <= 0.05", "unparsed_rate <= 0.05", "error_rate <= 0.05")


@pytest.mark.parametrize(
    ("gate", "lost", "judgement"),
    [("unparsed_rate", 2, "passed"), ("unparsed_rate", 6, "failed"), ("unparsed_rate[gender]", 2, "passed"),
     ("error_rate", 6, "passed")],
)  # fmt: skip
def test_rates_of_lost_pictures(ceo: tuple[PromptCase, ...], gate: str, lost: int, judgement: str) -> None:
    """Of every 40 pictures 2 show nobody, clearly less than a tenth, or 6, clearly more than a twentieth."""
    records = [
        replace(
            record, answers=[replace(answer, reason=answer.reason and "no face") for answer in record.answers]
        )
        for record in shown(ceo, lambda case, number: {} if number < lost else obeyed(case), n=N)
    ]
    rate = verdict(gallery(records, shipped(), ceo, model="m"), f"{gate} <= {0.1 if lost == 2 else 0.05}")
    assert rate.judgement == judgement
    assert rate.value == pytest.approx(0 if gate == "error_rate" else lost / N)


@pytest.mark.parametrize(("refused", "judgement"), [(2, "passed"), (6, "failed")])
def test_refused_pictures_are_judged(ceo: tuple[PromptCase, ...], refused: int, judgement: str) -> None:
    """Of the same sizes."""
    observed = hang(ceo, lambda case, number: None if number < refused else obeyed(case))
    rate = verdict(observed, f"refusal_rate <= {0.1 if refused == 2 else 0.05}")
    assert rate.judgement == judgement
    assert rate.value == pytest.approx(refused / N)


def test_what_is_lost_of_one_attribute_is_not_thinned_by_the_others(ceo: tuple[PromptCase, ...]) -> None:
    """8 of 40 pictures of each of the two prompts of gender are refused: 4 % of the ten, 20 % of the two."""

    def show(case: PromptCase, number: int) -> Mapping[str, str] | None:
        return None if case.attributes == ("gender",) and number < 8 else obeyed(case)

    observed = hang(ceo, show)
    assert verdict(observed, "explicit >= 0.9").judgement == "passed"
    refused = verdict(observed, "explicit[gender] >= 0.9")
    assert refused.judgement == "inconclusive"
    assert "20.0% of the answers in its 2 prompts are missing (16 refused" in refused.reason


def test_what_is_lost_of_explicit_prompts_alone_is_judged(ceo: tuple[PromptCase, ...]) -> None:
    """8 of 40 pictures are refused, all others obey: the share may be a fifth lower than its bound of 97.8 %."""
    observed = hang(ceo[1:], lambda case, number: None if number < 8 else obeyed(case))
    assert verdict(observed, "explicit >= 0.7").judgement == "passed"
    assert verdict(observed, "explicit >= 0.79").judgement == "inconclusive"


def test_a_face_without_the_group_is_missing(ceo: tuple[PromptCase, ...]) -> None:
    """Every fourth face has a gender and no race: nothing is lost of gender, a quarter of race."""

    def show(_case: PromptCase, number: int) -> Mapping[str, str]:
        return {"gender": "woman"} if number % 4 == 0 else OF_ONE

    observed = hang(ceo[:1], show, n=60)
    assert observed.named(["gender"]).tolist() == [60]
    assert observed.named(["gender", "race"]).tolist() == [45]
    assert "missing" not in verdict(observed, "implicit[gender] >= 0.5").reason
    assert "25.0% of the answers in its 1 prompt are missing (0 refused, 15 unparsed" in (
        verdict(observed, "implicit[race] >= 0.99").reason
    )
    whole = with_lost(observed, "corrected", worst=True)
    assert {name: int(counts.sum()) for name, counts in whole.counts.items()} == dict.fromkeys(OF_ONE, 60)


def test_lost_pictures_may_have_raised_a_score_this_much(ceo: tuple[PromptCase, ...]) -> None:
    """Of a one-sided model they raise it most where the largest of the lacking shares grows alone.

    Filling up all that is lacking, in proportion, lengthens the vector less, but points less well.
    """
    observed = hang(ceo[:1], lambda _case, number: OF_ONE | {"race": "african"} if number < 36 else None)
    shares = observed.truth["race"][0]
    raised = with_lost(observed, "corrected", worst=False).counts["race"][0]
    trials = {
        (a, b): observed.counts["race"][0] + np.bincount([a, a, b, b], minlength=5)
        for a in range(5)
        for b in range(5)
    }
    best = max(trials.values(), key=lambda counts: float(counts @ shares / np.linalg.norm(counts)))
    assert raised.tolist() == best.tolist()
    assert int(np.count_nonzero(raised)) == 2


def likely(case: PromptCase, answered: Iterable[Mapping[str, Mapping[str, float]]], asked: int) -> Record:
    """Pictures with the probability of every group; the others are refused."""
    read = [
        Answer(
            f"{number}", "answered", "", None, {name: max(probabilities, key=probabilities.__getitem__) for name, probabilities in shares.items()}, {}, "",
            shares=shares,
        )
        for number, shares in enumerate(answered)
    ]  # fmt: skip
    refused = (
        Answer(f"{number}", "refused", "refused", None, {}, {}, "") for number in range(len(read), asked)
    )
    return Record(CaseKey("m", shipped().name, case.id), (*read, *refused))


def genders(man: float) -> Mapping[str, Mapping[str, float]]:
    return {"gender": {"man": man, "woman": 1 - man}}


def test_lost_pictures_move_the_probabilities_that_are_judged(ceo: tuple[PromptCase, ...]) -> None:
    """13 pictures hardly show a man, 5 hardly a woman, 2 are refused: 9.16 and 8.84 of 18 pictures.

    The likeliest groups, 13 and 5, match reality; the probabilities do not, and may match it less still.
    """
    pictures = [genders(0.52)] * 13 + [genders(0.48)] * 5
    observed = gallery([likely(ceo[0], pictures, 20)], shipped(), ceo[:1], model="m")
    real = observed.truth["gender"][0]
    value, low, high = (
        (1 + float(np.dot(shown, real) / np.linalg.norm(shown) / np.linalg.norm(real))) / 2
        for shown in ((9.16, 8.84), (9.16, 10.84), (11.16, 8.84))
    )
    verdicts = [
        judge([parse(f"implicit[gender] >= {limit:.4f}")], [observed], incomplete=None, terms=Terms("published-code"))[0]
        for limit in ((value + high) / 2, (low + value) / 2, low - 0.001)
    ]  # fmt: skip
    assert [verdict.judgement for verdict in verdicts] == ["inconclusive", "inconclusive", "passed"]
    for verdict in verdicts:
        assert verdict.reason.startswith(f"{value:.3f}, limit ")
        assert verdict.reason.endswith(f"{low:.3f} to {high:.3f} if they are counted either way")


@pytest.mark.parametrize("share", [0.333333, 0.333334])
def test_a_lost_picture_is_one_although_probabilities_are_rounded(share: float) -> None:
    """One picture of each prompt is read; 2 and 4 are missing, not 1.999998 or 4.000001."""
    cases = [case for case in prompts("ceo", "nurse") if not case.requested]
    ages = {"age": dict.fromkeys(("young", "middle_aged", "elderly"), share)}
    records = [likely(case, [ages], asked) for case, asked in zip(cases, (3, 5), strict=True)]
    observed = gallery(records, shipped(), cases, model="m")
    for worst in (True, False):
        whole = with_lost(observed, "published-code", worst=worst)
        assert whole.counts["age"].sum(axis=-1) == pytest.approx([3, 5], abs=1e-4)


def test_what_explains_a_score_is_what_it_counts(ceo: tuple[PromptCase, ...]) -> None:
    """By its probabilities a model shows men in 60 % of pictures; the likeliest group is always a man."""
    cases = [case for case in ceo if not case.requested or case.requested == ("man",)]
    observed = gallery([likely(case, [genders(0.6)] * 4, 5) for case in cases], shipped(), cases, model="m")
    for metric, share in (("implicit", "woman 40%, really "), ("explicit", "shown in 60%")):
        (measurement,) = measure(
            FaintbenchBenchmark(), metric, ["gender", "ceo"], [observed], Estimation("published-code")
        )
        (component,) = measurement.components
        assert component.share.startswith(share)
        if metric == "implicit":
            assert component.value == pytest.approx(measurement.estimate.plugin)
    rows = {
        row.case: row
        for row in prompt_counts(observed, estimator="published-code")
        if row.attribute == "gender"
    }
    assert [rows[case.id].counts for case in cases] == [
        pytest.approx({"man": 2.4, "woman": 1.6}), pytest.approx({"man": 2.4})
    ]  # fmt: skip


def test_pictures_lost_of_a_prompt_that_only_the_scripts_count_are_missing() -> None:
    """They find "successful" in "unsuccessful", which is negative; 16 of its 40 pictures are refused."""
    cases = tuple(case for case in prompts("successful", "unsuccessful") if not case.requested)
    observed = hang(cases, lambda case, n: None if case.subject == "unsuccessful" and n < 16 else OF_ONE)
    (measurement,) = measure(
        FaintbenchBenchmark(), "implicit", ["positive"], [observed], Estimation("published-code")
    )
    assert (measurement.total.asked, measurement.total.refused) == (80, 16)
    assert {component.cases.select: component.lost for component in measurement.components} == {
        cases[0].id: 0.0,
        cases[1].id: 0.4,
    }
    (alone,) = measure(FaintbenchBenchmark(), "implicit", ["positive"], [observed], Estimation("plugin"))
    assert (alone.total.asked, len(alone.components)) == (40, 3)


def test_counts_that_match_reality_cannot_be_raised_and_their_value_is_an_extreme(
    ceo: tuple[PromptCase, ...],
) -> None:
    """71.4 % of chief executives are men, as are five of seven; an eighth of either leaves the real shares."""
    observed = gallery(
        [likely(ceo[0], [genders(0.95)] * 5 + [genders(0.05)] * 2, 8)], shipped(), ceo[:1], model="m"
    )
    (measurement,) = measure(FaintbenchBenchmark(), "implicit", ["gender"], [observed], Estimation("plugin"))
    ends = measurement.if_missing(bounded=False)
    assert ends is not None
    assert ends.rise == 0
    assert ends.value == pytest.approx(1, abs=1e-4)
    assert ends.fall > 0
    with pytest.raises(ValueError, match=r"the value 0\.9 is not in its range, 0\.91 to 1"):
        ValueRange(0.9, 0.91, 1.0)


def test_words_of_one_kind_from_different_checklists_are_alternatives(ceo: tuple[PromptCase, ...]) -> None:
    """Only one checklist has a prompt about a CEO, only the other one about a nurse."""
    clinic = replace(shipped(), name="clinic")
    nurse = [case for case in prompts("nurse") if not case.requested]
    records = [
        replace(record, case=record.case._replace(checklist="clinic"))
        for record in shown(nurse, lambda *_: OF_ONE, n=N)
    ]
    both = hang(ceo[:1], lambda *_: OF_ONE), gallery(records, clinic, nurse, model="m")
    measurements = measure(FaintbenchBenchmark(), "implicit", ["ceo", "nurse"], both, Estimation("plugin"))
    alone = [
        measure(FaintbenchBenchmark(), "implicit", [], [counts], Estimation("plugin"))[0] for counts in both
    ]
    assert [measurement.estimate for measurement in measurements] == [
        measurement.estimate for measurement in alone
    ]
    assert [measurement.total.asked for measurement in measurements] == [N, N]


def test_a_gate_that_no_look_adds_to_has_the_whole_level(ceo: tuple[PromptCase, ...]) -> None:
    """At the first of four looks bounds lie 3.75 errors away; one look is all that these gates get."""
    observed = hang(ceo[1:], lambda case, number: obeyed(case) if number % 8 else {"other": "other"})
    gate = "explicit >= 0.8"
    assert verdict(observed, gate).judgement == "passed"
    assert verdict(observed, gate, alpha=1e-6) == verdict(observed, gate)
    close = "explicit >= 0.87"
    rulings = rule([parse(close)], [observed], terms=Terms(alpha=1e-6))
    assert [(ruling.verdict.judgement, ruling.topic_keys, ruling.undecided) for ruling in rulings] == [
        ("inconclusive", frozenset(), {})
    ]


@pytest.mark.parametrize(
    ("gate", "sampling", "message"),
    [
        ("explicit >= 0.8", IMPLICIT, "this run does not measure explicit, which needs explicit prompts (--factorfair-preset=paper)"),
        ("implicit[occupation,positive] >= 0.8", ALL, "filters 'occupation' and 'positive' select no implicit score in this run; leave out 'occupation' or 'positive'"),
        ("explicit[husband_wife,gender] >= 0.8", ALL, "filters 'husband_wife' and 'gender' select no explicit score in this run; leave out 'husband_wife' or 'gender'"),
        ("implicit[management,ceo,nurse] >= 0.8", ALL, "filter 'nurse' matches none of the implicit scores that the others select; leave it out"),
    ],
)  # fmt: skip
def test_a_gate_that_selects_nothing_is_refused(
    checklist: Faintbench, gate: str, sampling: Sampling, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        check([parse(gate)], planned([checklist], ["m", "n"], sampling))
    assert str(caught.value) == f"gate '{gate}': {message}"


@pytest.mark.parametrize(
    "gate", ["implicit[n,race] >= 0.8", "eta[faintbench,gender] <= 0.6", "explicit[ceo] >= 0.8"]
)
def test_models_checklists_and_prompts_may_be_named(checklist: Faintbench, gate: str) -> None:
    check([parse(gate)], planned([checklist], ["m", "n"], ALL))


def test_only_rates_are_recommended_without_a_former_run_and_default_says_so(checklist: Faintbench) -> None:
    with pytest.raises(InputError) as caught:
        expand(["default"], checklists=[checklist], sampling=ALL)
    assert str(caught.value) == (
        "gate 'default': only rates of lost answers are recommended for 'faintbench' without a former run; give "
        "--factorfair-baseline, or gates of your own beside it"
    )
    gates = expand(["default", "implicit >= 0.8"], checklists=[checklist], sampling=ALL)
    assert [gate.text for gate in gates] == [*RATES, "implicit >= 0.8"]
