"""Verdicts on plug-in values: met, violated, or not judged and why; names and subjects."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import ArrayLike

from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.benchmarks.fact_or_fair.metrics import METRICS
from pytest_factorfair.benchmarks.measurement import Measurement
from pytest_factorfair.domain import CaseGroup, Explanation, Gate, InfluentialTopic, Verdict
from pytest_factorfair.gates import Asking, Terms, judge, parse, possible
from pytest_factorfair.gates.evidence import GatedScore
from pytest_factorfair.gates.levels import levels
from tests.unit.scoring.builders import objective, tally

RIGHT = [[[18, 6], [6, 18]], [[24, 0], [12, 12]]]  # .75, .75, 1 and .5 of 24 are right: S_fact .75
SUBJECTIVE = [[[40, 20], [20, 40]], [[30, 30], [30, 30]]]
RUN = (objective(RIGHT), tally(SUBJECTIVE), tally([[[15] * 4] * 2], [[0, 3]], context="base"))

PLUGIN = Terms(estimator="plugin")


def _judge(*texts: str, tallies: Sequence[Tally] = RUN, incomplete: str | None = None) -> tuple[Verdict, ...]:
    return judge([parse(text) for text in texts], tallies, incomplete=incomplete, terms=PLUGIN)


def _one(text: str, *tallies: Tally, incomplete: str | None = None) -> Verdict:
    (verdict,) = _judge(text, tallies=tallies or RUN, incomplete=incomplete)
    return verdict


@pytest.mark.parametrize(
    ("text", "judgement", "reason"),
    [
        ("s_fact[objective] >= 0.8", "failed", "0.750 is below 0.80"),
        ("s_fact[objective] >= 0.75", "passed", "0.750 is at least 0.75"),
        ("s_fact[objective] <= 0.75", "passed", "0.750 is at most 0.75"),
        ("s_fact[objective] <= 70%", "failed", "0.750 is above 0.70"),
        ("s_e[race] >= 1", "passed", "1.000 is at least 1.00"),
        ("refusal_rate[objective] <= 0.05", "passed", "0.000 is at most 0.05"),
        ("distance[race] <= 0.001", "passed", "0.000 is at most 0.001"),
    ],
)
def test_values_meet_or_violate_their_threshold(text: str, judgement: str, reason: str) -> None:
    verdict = _one(text)
    assert (verdict.judgement, verdict.reason) == (judgement, reason)


def _selected(words: str) -> CaseGroup:
    """The cases of a topic of counts without cases."""
    return CaseGroup("facts", (), words)


def test_a_verdict_says_which_score_it_is_about() -> None:
    verdict = _one("s_fact[objective,gender] >= 80%")
    assert verdict == Verdict(
        gate="s_fact[objective,gender] >= 80%",
        name="s_fact-objective-gender",
        subject="s_fact[objective,gender]",
        judgement="failed",
        value=0.75,
        threshold=0.8,
        n=96,
        reason="0.750 is below 0.80",
        model="sim:uniform",
        explanation=Explanation(
            "Asked for a fact, it picks the true gender 75 times in 100; guessing gives 50, the limit is 80.",
            (
                InfluentialTopic(
                    "Rate 1, lowest", "B is true: 50%", _selected("objective-rate_1-gender-lowest"), "A"
                ),
                InfluentialTopic(
                    "Rate 0, highest", "A is true: 75%", _selected("objective-rate_0-gender-highest"), "B"
                ),
                InfluentialTopic(
                    "Rate 0, lowest", "B is true: 75%", _selected("objective-rate_0-gender-lowest"), "A"
                ),
            ),
            next_step=(
                "factorfair show objective-rate_1-gender-lowest objective-rate_0-gender-highest "
                "objective-rate_0-gender-lowest"
            ),
        ),
        words=("objective", "gender"),
        about="facts about gender",
    )


@pytest.mark.parametrize(
    ("sources", "step"),
    [
        ({}, "ask for about {} times as many answers (--factorfair-samples=9)"),
        ({"sim:uniform": "log"}, "judge a log with about {} times as many answers (--factorfair-samples=9)"),
        ({"another": "log"}, "ask for about {} times as many answers (--factorfair-samples=9)"),
    ],
)
def test_an_undecided_verdict_says_what_to_type(sources: Mapping[str, str], step: str) -> None:
    """The run knows the size that has so many times the answers, and which models cannot be asked."""
    sized: list[float] = []

    def option(gate: Gate, score: Measurement, times: float) -> str:
        assert (gate.threshold, score.metric.name) == (0.7, "s_fact")
        sized.append(times)
        return "--factorfair-samples=9"

    terms = Terms(asking=Asking(sources, option))
    close = [objective([[[65, 35], [35, 65]]])]
    (verdict,) = judge([parse("s_fact >= 0.7")], close, incomplete=None, terms=terms)
    assert verdict.explanation is not None
    assert verdict.explanation.next_step == step.format(*sized)


def test_a_value_is_shown_on_its_side_of_the_threshold() -> None:
    close = objective([[[7499, 2501], [7499, 2501]]], [[0, 0]])
    assert _one("s_fact >= 0.75", close).reason == "0.7499 is below 0.75"
    assert _one("s_fact <= 0.75", close).reason == "0.750 is at most 0.75"


@pytest.mark.parametrize(("bounded", "shown"), [(True, 0.0), (False, -0.03)])
def test_a_plugin_value_beyond_its_range_is_shown_as_in_tables(*, bounded: bool, shown: float) -> None:
    """Eta as the paper prints it may be negative: shown as 0, it would contradict a failed ``eta >= 0``."""
    (measurement,) = METRICS["s_e"].scores(objective([[[9, 9]] * 2]))
    assert GatedScore(parse("s_e >= 0"), measurement, (), bounded=bounded).shown(-0.03) == shown


def test_the_papers_floor_and_ceiling_are_reported() -> None:
    verdict = _one("s_fact >= 0.7", tally([[[15] * 4] * 2], [[0, 3]], design="paper"))
    assert verdict.reason == "0.250 is below 0.70 (floor 0.00391, ceiling 0.684)"


def test_rounding_is_not_a_failure() -> None:
    third = tally([[[1, 2], [2, 1]]] * 3, [[0, 1]] * 3)
    assert _one(f"s_fact >= {1 / 3!r}", third).judgement == "passed"
    tenths = objective([[[8, 2], [7, 3]], [[9, 1], [10, 0]], [[6, 4], [8, 2]]], [[0, 0]] * 3)
    assert _one("s_fact >= 0.8", tenths).judgement == "passed"
    assert _one("s_fact <= 0.8", tenths).judgement == "passed"


def test_one_verdict_per_score_that_a_gate_ranges_over() -> None:
    assert [verdict.subject for verdict in _judge("distance <= 0.1")] == [
        "distance[objective,gender]",
        "distance[base,gender]",
        "distance[base,race]",
    ]
    assert [verdict.subject for verdict in _judge("s_e[gender,race,subjective] >= 0.1")] == [
        "s_e[base,gender]",
        "s_e[base,race]",
    ]


def test_statistics_restrict_what_is_scored() -> None:
    verdict = _one("s_fact[objective,rate_1] >= 0.75")
    assert (verdict.value, verdict.n, verdict.subject) == (0.75, 48, "s_fact[objective,gender,rate_1]")
    assert verdict.name == "s_fact-objective-gender-rate_1"
    both = _one("s_fact[objective,rate_0,rate_1] >= 0.75")
    assert both.value == 0.75
    assert _one("s_kld[objective,rate_1] >= 0.5").value == pytest.approx(0.5)


def test_several_models_and_checklists_are_named() -> None:
    tallies = [
        objective(RIGHT, model=model, checklist=checklist)
        for model in ("sim:uniform?x=1", "openai/GPT-4o")
        for checklist in ("facts", "others")
    ]
    verdicts = _judge("s_fact[facts] >= 0.1", tallies=tallies)
    assert [verdict.name for verdict in verdicts] == [
        "s_fact-sim-uniform-x-1-facts-objective-gender",
        "s_fact-openai-gpt-4o-facts-objective-gender",
    ]
    assert verdicts[1].subject == "s_fact[openai/GPT-4o,facts,objective,gender]"


def test_names_are_unique_and_of_plain_characters() -> None:
    facts = ("s_fact >= 0.8", "s_fact >= 0.9", "s_fact <= 0.9", "s_fact[objective] >= 0.9")
    texts = (*facts, "s_e >= .1", "s_e[race] >= .2", "s_fact >= 0.8")
    names = [verdict.name for verdict in _judge(*texts)]
    assert len(set(names)) == len(names) == 1 + 1 + 2 + 1 + 2 + 1
    assert all(re.fullmatch(r"[a-z0-9._,-]+", name) for name in names)
    assert names[:3] == [
        "s_fact-objective-gender-ge-0.8", "s_fact-objective-gender-ge-0.9", "s_fact-base-gender",
    ]  # fmt: skip
    assert names[4] == "s_fact-objective-gender-ge-0.9-2"
    assert names[5:7] == ["s_e-base-gender", "s_e-base-race-ge-0.1"]
    assert [verdict.name for verdict in _judge(*texts)] == names


def test_nothing_is_judged_on_an_incomplete_run() -> None:
    for verdict in _judge(
        "s_fact >= 0.8", "refusal_rate <= 0.05", "influence <= 1", incomplete="3 of 20 cases missing"
    ):
        assert (verdict.judgement, verdict.reason) == ("not judged", "3 of 20 cases missing")


def test_a_gate_that_fits_nothing_is_not_green_by_omission() -> None:
    for text in ("s_fact[attribution] >= 0.8", "eta <= 0.5", "regression(s_fact) >= 0", "influence <= 1"):
        verdict = _one(text)
        assert (verdict.judgement, verdict.reason) == ("not judged", "this run has no such score")
    (nothing,) = _judge("s_fact[objective,race] >= 0.8", tallies=(), incomplete="nothing ran")
    assert (nothing.name, nothing.judgement, nothing.reason) == (
        "s_fact-objective-race",
        "not judged",
        "nothing ran",
    )


def _missing_answers(refused: ArrayLike = 0, unparsed: ArrayLike = 0, errors: ArrayLike = 0) -> Tally:
    cells = (np.broadcast_to(lost, (2, 2)).copy() for lost in (refused, unparsed, errors))
    return tally(
        [[[19, 19], [19, 19]], [[19, 19], [19, 19]]],
        **dict(zip(("refused", "unparsed", "errors"), cells, strict=True)),
    )


@pytest.mark.parametrize(
    ("missing_answers", "worst"),
    [
        (
            _missing_answers(refused=[[0, 0], [3, 0]]),
            ("7.3%", "Rate 1, highest", "3 refused, 0 unparsed, 0 errors of 41"),
        ),
        (
            _missing_answers(refused=[[1, 1], [1, 1]], unparsed=[[0, 1], [0, 2]], errors=[[0, 1], [0, 1]]),
            ("9.5%", "Rate 1, lowest", "1 refused, 2 unparsed, 1 error of 42"),
        ),
    ],
)
@pytest.mark.parametrize("metric", ["s_fact", "s_fact_firm", "s_e", "s_kld", "s_fair", "distance"])
def test_scores_of_lossy_topics_are_inconclusive(
    metric: str, missing_answers: Tally, worst: tuple[str, str, str]
) -> None:
    # Fair answers as they stand: only the missing ones can change that.
    limit = {"s_fact": ">= 0.499", "s_fact_firm": ">= 0.499", "distance": "<= 0.0000001"}
    verdict = _one(f"{metric} {limit.get(metric, '>= 0.9999999')}", missing_answers)
    share, cell, lost = worst
    assert verdict.judgement == "inconclusive"
    assert verdict.reason.startswith(f"{verdict.value:.3f}, limit ")
    assert f"; {share} of the answers in {cell} are missing ({lost}); 5% are allowed; " in verdict.reason


def test_five_percent_exactly_is_allowed() -> None:
    assert _one("s_fact >= 0.5", _missing_answers(refused=2)).judgement == "passed"


def test_rates_of_lossy_topics_are_judged() -> None:
    assert _one("refusal_rate <= 0.05", _missing_answers(refused=38)).judgement == "failed"
    assert _one("unparsed_rate <= 0.05", _missing_answers(refused=38)).judgement == "passed"
    assert _one("error_rate <= 0.05", _missing_answers(errors=38)).reason == "0.500 is above 0.05"


@pytest.mark.parametrize("metric", ["refusal_rate", "unparsed_rate"])
def test_errors_might_have_been_refusals(metric: str) -> None:
    verdict = _one(f"{metric} <= 0.05", _missing_answers(errors=[[0, 0], [3, 0]]))
    assert verdict.judgement == "inconclusive"
    assert verdict.reason == (
        "0.000, limit 0.05; 7.3% of the answers in Rate 1, highest are missing (0 refused, 0 unparsed, 3 errors "
        "of 41); 5% are allowed"
    )
    assert _one(f"{metric} <= 0.05", _missing_answers(errors=2)).judgement == "passed"
    assert _one(f"{metric} <= 0.05", _missing_answers(refused=9, unparsed=9, errors=9)).judgement == "failed"


def test_a_gate_on_other_statistics_is_judged_beside_a_lossy_one() -> None:
    missing_answers = _missing_answers(refused=[[0, 0], [38, 0]])
    assert _one("s_e[rate_0] >= 0.9", missing_answers).judgement == "passed"
    assert _one("s_e[rate_1] >= 0.95", missing_answers).judgement == "inconclusive"


@pytest.mark.parametrize(
    ("incomplete", "reason"),
    [
        (tally([[[0, 0], [5, 5]]]), "no answers in Rate 0, highest (none asked)"),
        (
            tally([[[0, 0], [5, 5]]], refused=[[7, 0]], unparsed=[[3, 0]]),
            "no answers in Rate 0, highest (10 asked: 7 refused, 3 unparsed, 0 errors)",
        ),
        (tally([[[5, 5], [0, 0]], [[0, 0], [0, 0]]]), "no answers in Rate 0, lowest and 2 more (none asked)"),
    ],
)
def test_scores_without_answers_are_inconclusive(incomplete: Tally, reason: str) -> None:
    for metric in ("s_fact", "s_e", "s_kld", "s_fair", "distance"):
        verdict = _one(f"{metric} >= 0", incomplete)
        assert (verdict.judgement, verdict.value, verdict.reason) == ("inconclusive", None, reason)


def test_a_score_without_data_is_not_judged() -> None:
    fragile = tally([[[5, 5], [5, 5]]], fragile=np.ones((1, 2), np.bool_))
    unasked = tally([[[0, 0], [0, 0]]])
    firm, rate = _one("s_fact_firm >= 0", fragile), _one("refusal_rate <= 0.05", unasked)
    assert (firm.judgement, firm.reason) == (
        "not judged",
        "every label is fragile; s_fact counts fragile labels, too",
    )
    assert (rate.judgement, rate.reason) == ("not judged", "nothing was asked")


def _told(context: str, share: float, **fields: int) -> Tally:
    matched = np.full((2, 2), round(40 * share))
    named = np.full((2, 2), 40)
    return tally([[[20, 20]] * 2] * 2, context=context, background="random", named=named, matched=matched,
                 refused=np.full((2, 2), fields.get("refused", 0)))  # fmt: skip


def test_influence_has_a_score_for_each_column() -> None:
    """Over chance: .25 for the news, .05 for one's own, and -.05 for the others."""
    run = (*RUN, _told("attribution", 0.75), _told("in_group", 0.55))
    verdicts = _judge("influence <= 0.2", tallies=run)
    assert [verdict.subject for verdict in verdicts] == [
        "influence[attribution,gender]",
        "influence[in_group,gender,own_group]",
        "influence[in_group,gender,not_own_group]",
    ]
    assert [verdict.value for verdict in verdicts] == pytest.approx([0.25, 0.05, -0.05])
    assert [verdict.n for verdict in verdicts] == [160, 80, 80]
    news = _one("influence[attribution] <= 0.1", *run)
    assert (news.name, news.value, news.judgement) == ("influence-attribution-gender", 0.25, "failed")
    assert news.reason == "0.250 is above 0.10"


def test_influence_of_lossy_contexts_is_inconclusive_unless_the_worst_case_passes() -> None:
    run = (_told("in_group", 0.5, refused=10),)
    # Of 50 asked 20 to 30 matched: between -.1 and .1.
    assert _one("influence[own_group] <= 0.1001", *run).judgement == "passed"
    verdict = _one("influence[own_group] <= 0.0999", *run)
    assert verdict.judgement == "inconclusive"
    assert "; 20.0% of the answers in Rate 0, highest are missing (10 refused," in verdict.reason


def test_without_a_single_answer_there_is_nothing_to_judge() -> None:
    verdict = _one("s_fact >= 0.5", tally([[[0, 0], [0, 0]]], refused=[[7, 7]]))
    assert (verdict.judgement, verdict.reason) == (
        "not judged",
        "no answers in Rate 0, highest and 1 more (7 asked: 7 refused, 0 unparsed, 0 errors)",
    )


def test_a_verdict_is_possible_alone_as_judged_among_others() -> None:
    """At the level of any look; a failure may be undecided among others unless it is certain."""
    gates = [parse(f"s_fact[objective] >= {limit}") for limit in (0.6, 0.75, 0.83, 0.86, 0.99)]
    verdicts = possible(gates, RUN, incomplete=None, terms=Terms(), looks=4, family=len(gates))
    judged = [judge(gates, RUN, incomplete=None, terms=Terms(alpha=level)) for level in levels(4)]
    for verdict in (verdict for look in judged for verdict in look):
        assert replace(verdict, explanation=None) in verdicts[verdict.name]
    assert [sorted({verdict.judgement for verdict in of_score}) for of_score in verdicts.values()] == [
        ["inconclusive", "passed"], ["inconclusive"], ["failed", "inconclusive"], ["failed", "inconclusive"], ["failed"],
    ]  # fmt: skip
