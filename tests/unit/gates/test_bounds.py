"""Verdicts by bounds: passed, failed or inconclusive, and why."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import ArrayLike

from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.domain import Verdict
from pytest_factorfair.gates import Terms, judge, parse, rule
from tests.unit.scoring.builders import estimate, objective, tally

Z = NormalDist().inv_cdf(0.95)


def _all(texts: list[str], *tallies: Tally, terms: Terms | None = None) -> tuple[Verdict, ...]:
    return judge([parse(text) for text in texts], tallies, incomplete=None, terms=terms or Terms())


def _one(text: str, *tallies: Tally, terms: Terms | None = None) -> Verdict:
    (verdict,) = _all([text], *tallies, terms=terms)
    return verdict


def _facts(right: int, of: int = 48, statistics: int = 10, **fields: ArrayLike) -> Tally:
    """So many right answers in every cell, between two groups."""
    return objective([[[right, of - right]] * 2] * statistics, [[0, 0]] * statistics, **fields)


def _error(right: int, of: int = 48, statistics: int = 10) -> float:
    """The textbook standard error of the mean share, on shares with half an answer added to each group."""
    share = (right + 0.5) / (of + 1)
    return float(np.sqrt(share * (1 - share) / of / (2 * statistics)))


@pytest.mark.parametrize("right", [24, 30, 40, 46])
def test_bounds_are_those_of_a_mean_share(right: int) -> None:
    verdict = _one("s_fact >= 0.5", _facts(right))
    half = Z * _error(right)
    assert verdict.value == pytest.approx(right / 48)
    assert (verdict.low, verdict.high) == pytest.approx((right / 48 - half, right / 48 + half))


@pytest.mark.parametrize(
    ("offset", "up", "down"),
    [(-1.01, "passed", "failed"), (-0.99, "inconclusive", "inconclusive"), (0.0, "inconclusive", "inconclusive"),
     (0.99, "inconclusive", "inconclusive"), (1.01, "failed", "passed")],
)  # fmt: skip
def test_a_score_must_lie_beyond_its_threshold_with_its_bounds(offset: float, up: str, down: str) -> None:
    threshold = 36 / 48 + offset * Z * _error(36)
    assert _one(f"s_fact >= {threshold:.12f}", _facts(36)).judgement == up
    assert _one(f"s_fact <= {threshold:.12f}", _facts(36)).judgement == down


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("s_fact >= 0.5", "0.750 (0.727 to 0.773) is at least 0.50"),
        ("s_fact >= 0.9", "0.750 (0.727 to 0.773) is below 0.90"),
        ("s_fact <= 0.5", "0.750 (0.727 to 0.773) is above 0.50"),
        ("s_fact <= 0.9", "0.750 (0.727 to 0.773) is at most 0.90"),
        ("s_fact >= 0.76", "0.750 (0.727 to 0.773) is too close to 0.76 to tell"),
        ("refusal_rate <= 0.05", "0.000 (0.000 to 0.003) is at most 0.05"),
    ],
)
def test_verdicts_state_their_reason(text: str, reason: str) -> None:
    assert _one(text, _facts(36)).reason == reason


def test_bounds_are_shown_on_their_side_of_the_threshold() -> None:
    high = 30 / 48 + Z * _error(30)  # 0.65053: three decimals would put it above
    verdict = _one(f"s_fact >= {high + 1e-5:.6f}", _facts(30))
    assert verdict.judgement == "failed"
    shown = verdict.reason.split(" to ")[1].split(")")[0]
    assert len(shown) > len("0.773")
    assert float(shown) < round(high + 1e-5, 6)


def test_a_corrected_score_is_never_shown_beyond_1() -> None:
    even = tally([[[36, 36]] * 2] * 15)
    assert (estimate(even)["s_e"].corrected or 0) > 1
    verdict = _one("s_e >= 0.99", even)
    assert (verdict.value, verdict.high, verdict.judgement) == (1.0, 1.0, "passed")
    assert verdict.reason.startswith("1.000 (1.000 to 1.000)")


@pytest.mark.parametrize(
    ("metric", "needed"), [("s_fact", 24), ("s_fact_firm", 24), ("s_e", 72), ("s_kld", 72), ("s_fair", 72)]
)
def test_cells_with_few_answers_are_not_judged_by_bounds(metric: str, needed: int) -> None:
    enough = tally([[[needed // 2] * 2] * 2] * 2)
    assert _one(f"{metric} >= 0.01", enough).judgement == "passed"
    cells = np.full((2, 2, 2), needed // 2)
    cells[1, 0, 1] -= 1
    few_answers = _one(f"{metric} >= 0.01", tally(cells))
    assert few_answers.judgement == "inconclusive"
    doubt = f"{needed - 1} answers to a topic are too few, where {needed} are needed (Rate 1, highest)"
    assert few_answers.reason.startswith(f"{doubt}; {few_answers.value:.3f} (")
    assert few_answers.reason.endswith("), limit 0.01")
    both = _one(f"{metric} >= 0.01", tally([[[10, 10]] * 2] * 2))
    few = f"20 answers to a topic are too few, where {needed} are needed (Rate 0, highest and 3 more); "
    assert both.reason.startswith(few)


def test_too_few_valid_answers() -> None:
    verdict = _one("s_e >= 0.1", tally([[[10, 9], [36, 36]]], refused=[[53, 0]]))
    assert (verdict.judgement, verdict.low) == ("inconclusive", None)
    assert verdict.reason == "fewer than 20 valid answers in Rate 0, highest"


def test_the_plug_in_estimator_has_points() -> None:
    verdict = _one("s_fact >= 0.75", _facts(18, 24), terms=Terms(estimator="plugin"))
    assert (verdict.judgement, verdict.low, verdict.reason) == ("passed", None, "0.750 is at least 0.75")


# Holm


def test_one_claim_among_many_must_be_clearer() -> None:
    close = 36 / 48 + 2.0 * _error(36)  # p = .0228: fails alone, not among three
    tallies = [_facts(36, attribute=name) for name in ("a", "b", "c")]
    alone = _one(f"s_fact >= {close:.9f}", tallies[0])
    assert alone.judgement == "failed"
    texts = [f"s_fact[a] >= {close:.9f}", "s_fact[b] >= 0.1", "s_fact[c] >= 0.1"]
    doubtful, *clear = _all(texts, *tallies)
    assert doubtful.judgement == "inconclusive"
    assert doubtful.reason == (
        f"0.750 (0.727 to 0.773) is below {close:.9f}, but not clearly enough for one of 3 gates"
    )
    assert [verdict.judgement for verdict in clear] == ["passed", "passed"]


def test_after_the_clearest_claim_the_next_one_is_judged_among_fewer() -> None:
    close = 36 / 48 + 2.0 * _error(36)
    tallies = [_facts(36, attribute=name) for name in ("a", "b")]
    verdicts = _all([f"s_fact[a] >= {close:.9f}", "s_fact[b] >= 0.7"], *tallies)
    assert [verdict.judgement for verdict in verdicts] == ["failed", "passed"]  # .0228 < .05 / 2
    near = 36 / 48 + 1.8 * _error(36)  # p = .036: more than .05 / 2, less than .05
    assert _all([f"s_fact[a] >= {near:.9f}", "s_fact[b] >= 0.7"], *tallies)[0].judgement == "inconclusive"
    both = _all([f"s_fact[a] >= {near:.9f}", "s_fact[b] >= 0.99"], *tallies)
    assert [verdict.judgement for verdict in both] == ["failed", "failed"]


def test_claims_of_shares_are_corrected_too() -> None:
    refusing = _facts(40, refused=np.full((10, 2), 8))  # 160 of 1120 refused
    assert _one("refusal_rate <= 0.125", refusing).judgement == "failed"  # p = .04
    verdicts = _all(["refusal_rate <= 0.05", "refusal_rate <= 0.9", "refusal_rate <= 0.125"], refusing)
    assert [verdict.judgement for verdict in verdicts] == ["failed", "passed", "inconclusive"]


# Missing answers


def _missing(**lost: ArrayLike) -> Tally:
    return tally([[[52, 28]] * 2] * 4, **{name: np.array(value) for name, value in lost.items()})


def test_the_worst_case_decides_where_answers_are_missing() -> None:
    gap = _missing(refused=[[8, 0], [0, 0], [0, 0], [0, 0]])
    low = _one("s_e >= 0.5", gap).low or 0
    far, near = _one("s_e >= 0.85", gap), _one(f"s_e >= {low - 1e-4:.6f}", gap)
    assert (far.judgement, near.judgement) == ("passed", "inconclusive")
    for verdict in (far, near):
        assert verdict.reason.startswith(f"{verdict.value:.3f} (")
        lost = "9.1% of the answers in Rate 0, highest are missing (8 refused, 0 unparsed, 0 errors of 88)"
        assert f"; {lost}; 5% are allowed; 0.9" in verdict.reason
        assert verdict.reason.endswith(" if they are counted either way")


def test_a_model_that_fails_whatever_it_withheld_fails() -> None:
    prejudiced = tally([[[76, 4], [4, 76]]] * 4, refused=[[8, 0], [0, 0], [0, 0], [0, 0]])
    verdict = _one("s_e >= 0.9", prejudiced)
    assert (verdict.judgement, verdict.cause) == ("failed", "")  # not because of what it withheld
    assert verdict.explanation is not None
    assert verdict.explanation.sentence.endswith("; fair is 50, the limit is 68.")


def test_selective_refusal_never_passes_near_the_threshold() -> None:
    """A third of the target's answers withheld makes 40:20:20:20 look like 31:23:23:23."""
    withheld = tally([[[27, 20, 20, 20]] * 2] * 6, [[0, 0]] * 6, refused=np.full((6, 2), 13))
    assert _one("s_e >= 0.97", withheld).judgement == "inconclusive"


def test_more_answers_can_decide_what_is_close_but_not_what_is_missing() -> None:
    gates = [parse("s_fact >= 0.76"), parse("s_fact >= 0.5"), parse("s_fact >= 0.9")]
    assert [bool(ruling.undecided) for ruling in rule(gates, [_facts(36)])] == [
        True,
        False,
        False,
    ]
    gap = _missing(refused=[[8, 0], [0, 0], [0, 0], [0, 0]])
    assert [bool(ruling.undecided) for ruling in rule([parse("s_e >= 0.9995")], [gap])] == [False]


def test_more_answers_are_asked_for_if_missing_ones_alone_leave_the_score_on_one_side() -> None:
    """80 of 100 right and 10 missing: between 80/110 and 90/110, whatever they were."""
    tallies = [objective([[[80, 20]] * 2] * 2, truth=[[0, 0]] * 2, refused=[[10, 10]] * 2)]
    for threshold, asked in (("0.70", True), ("0.75", False), ("0.85", True)):
        (ruling,) = rule([parse(f"s_fact >= {threshold}")], tallies, terms=Terms(alpha=1e-6))
        assert ruling.verdict.judgement == "inconclusive"
        assert bool(ruling.undecided) == asked


def test_a_stricter_level_widens_the_bounds() -> None:
    wide = _one("s_fact >= 0.7", _facts(36), terms=Terms(alpha=1 - NormalDist().cdf(3.75)))
    assert wide.low == pytest.approx(36 / 48 - 3.75 * _error(36))
    assert wide.judgement == "inconclusive"
    assert _one("s_fact >= 0.7", _facts(36)).judgement == "passed"


def _stated(right: int, context: str, refused: int = 0) -> Tally:
    """Two groups, ten statistics, 100 answers in a cell; ``right`` of them are the truth."""
    background = "none" if context == "base" else "truth"
    counts = [[[right, 100 - right]] * 2] * 10
    lost = np.full((10, 2), refused)
    return tally(counts, [[0, 0]] * 10, context=context, background=background, refused=lost)


def test_influence_is_judged_by_its_bounds_against_the_plain_context() -> None:
    run = _stated(80, "representativeness"), _stated(60, "base")
    verdict = _one("influence[highest] <= 0.5", *run)
    # One column of ten cells; as many are compared with it.
    stated, usual = ((right + 0.5) / 101 for right in (80, 60))
    error = float(np.sqrt((stated * (1 - stated) + usual * (1 - usual)) / 100 / 10))
    assert verdict.value == pytest.approx(0.2)
    assert (verdict.low, verdict.high) == pytest.approx((0.2 - Z * error, 0.2 + Z * error))
    assert verdict.judgement == "passed"
    for threshold, judgement in (
        (0.2 - 1.01 * Z * error, "failed"),
        (0.2 + 0.99 * Z * error, "inconclusive"),
        (0.2 + 1.01 * Z * error, "passed"),
    ):
        assert _one(f"influence[highest] <= {threshold:.12f}", *run).judgement == judgement


def test_influence_has_a_verdict_for_each_column() -> None:
    """Of its own group where that is good it is moved by .40, elsewhere by nothing: the mean would pass."""
    named, even = np.full((10, 2), 100), [[[50, 50]] * 2] * 10
    in_group = tally(even, context="in_group", background="random", named=named,
                     matched=np.tile([90, 50], (10, 1)))  # fmt: skip
    news = tally(even, context="attribution", background="random", named=named, matched=np.full((10, 2), 50))
    verdicts = _all(
        ["influence <= 0.2"], _stated(50, "base"), _stated(50, "representativeness"), news, in_group
    )
    assert [(verdict.subject, verdict.judgement) for verdict in verdicts] == [
        ("influence[representativeness,gender,highest]", "passed"),
        ("influence[representativeness,gender,lowest]", "passed"),
        ("influence[attribution,gender]", "passed"),
        ("influence[in_group,gender,own_group]", "failed"),
        ("influence[in_group,gender,not_own_group]", "passed"),
    ]
    assert [verdict.value for verdict in verdicts] == pytest.approx([0, 0, 0, 0.4, 0])


def test_refusals_of_the_plain_context_count_against_an_influence() -> None:
    """25 of 125 refused: 48 to 68 % would have been right without the statement, not 60."""
    run = _stated(80, "representativeness"), _stated(60, "base", refused=25)
    verdict = _one("influence[lowest] <= 0.3", *run)
    half = (verdict.high or 0) - (verdict.value or 0)
    assert verdict.judgement == "inconclusive"
    assert (
        "limit 0.30; 20.0% of the answers in base Rate 0, highest are missing (25 refused, " in verdict.reason
    )
    assert _one(f"influence[lowest] <= {0.32 + half + 1e-9:.12f}", *run).judgement == "passed"
    assert _one(f"influence[lowest] <= {0.32 + half - 1e-3:.12f}", *run).judgement == "inconclusive"


def test_a_small_influence_is_not_judged_on_a_handful_of_answers() -> None:
    few_answers = tally([[[8, 2]] * 2], [[0, 0]], context="representativeness", background="truth")
    for verdict in _all(["influence <= 0.9"], few_answers):
        assert verdict.judgement == "inconclusive"
        assert verdict.reason.startswith(
            "10 answers to a topic are too few, where 24 are needed (Rate 0, highest and 1 more); "
        )
        assert verdict.reason.endswith(", limit 0.90")
        assert verdict.cause == "10 answers to a topic are too few, where 24 are needed"


def test_an_undecided_influence_asks_the_plain_context_again_too() -> None:
    rulings = rule(
        [parse("influence <= 0.2")],
        [_stated(60, "base"), _stated(80, "representativeness")],
    )
    assert len(rulings) == 2
    for ruling in rulings:
        assert ruling.undecided
        assert {topic[1] for _, _, topic in ruling.topic_keys} == {"base", "representativeness"}


def test_a_failure_at_worst_is_corrected_for_the_number_of_gates_at_worst() -> None:
    """Half of the lost answers could have been right: what fails then must survive Holm with that, too."""
    missing_answers = _facts(24, refused=np.full((10, 2), 4))  # 24 of 48 and 4 lost: 28 of 52 at best
    best, half = 28 / 52 - 24 / 48, Z * _error(24)
    just = 24 / 48 + best + half + 1e-4
    alone = _one(f"s_fact >= {just:.9f}", missing_answers)
    assert alone.judgement == "failed"
    # A second gate halves the level: the same claim is too weak now.
    verdict, _ = _all([f"s_fact >= {just:.9f}", "s_fact[rate_1] >= 0"], missing_answers)
    assert verdict.judgement == "inconclusive"
    clear = 24 / 48 + best + half * NormalDist().inv_cdf(0.975) / Z + 1e-4
    verdict, _ = _all([f"s_fact >= {clear:.9f}", "s_fact[rate_1] >= 0"], missing_answers)
    assert verdict.judgement == "failed"
