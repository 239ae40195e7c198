"""Changes since a baseline: their errors, with and without pairs, and regressions."""

from __future__ import annotations

import dataclasses
from math import hypot, log, log2, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from numpy.random import Generator

from pytest_factorfair.benchmarks.comparing import ComparedModel
from pytest_factorfair.benchmarks.fact_or_fair import metrics as by_name
from pytest_factorfair.benchmarks.fact_or_fair.counting.by_query import AnswersByQuery
from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import CrossedCounts, Tally, saved, topic_counts
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scores import JointScore
from pytest_factorfair.benchmarks.fact_or_fair.scoring.change import Pairs, churn
from pytest_factorfair.benchmarks.measurement import BaselineCounts
from pytest_factorfair.domain import UNSPECIFIED, Answer, CaseKey, Direction, Question, Record, Verdict
from pytest_factorfair.errors import InputError
from pytest_factorfair.gates import Terms, judge, parse
from pytest_factorfair.gates.comparison import boards, changes
from pytest_factorfair.statistics.arrays import IntArray
from pytest_factorfair.statistics.holm import ALPHA
from pytest_factorfair.statistics.sample import Sample
from tests.unit.scoring.builders import Floats, estimate, objective, tally, toward, truths, varied

METRICS = ("s_fact", "s_fact_firm", "s_e", "s_kld", "s_fair", "distance")
TRUTH = truths(8, 4)


def _pairs(joint: IntArray) -> Pairs:
    """Queries answered in both runs from their numbers (S, 2, k, k), by former and new answer."""
    *cells, former, latter = np.repeat(np.argwhere(joint), joint[joint > 0], axis=0).T
    old, new = (np.eye(joint.shape[-1])[groups] for groups in (former, latter))
    return Pairs((cells[0], cells[1]), new, old, new, old)


def _scored(name: str) -> JointScore:
    metric = by_name.METRICS[name]
    assert isinstance(metric, JointScore)
    return metric


def _none(tally: Tally) -> Pairs:
    return _pairs(np.zeros((*tally.counts.shape, tally.k), np.int64))


def _same(tally: Tally) -> Pairs:
    return _pairs(tally.counts.astype(np.int64)[..., None] * np.eye(tally.k, dtype=np.int64))


def _drawn(share: float, n: int, generator: Generator, chance: Floats | None = None) -> Tally:
    shares = toward(TRUTH, share, 4) if chance is None else chance
    return tally(generator.multinomial(n, shares), TRUTH)


@pytest.mark.parametrize("metric", METRICS)
def test_unpaired_errors_add(metric: str) -> None:
    generator = np.random.default_rng(1)
    new, old = _drawn(0.45, 72, generator), _drawn(0.4, 96, generator)
    change = _scored(metric).change(new, old, _none(new))
    after, before = estimate(new)[metric], estimate(old)[metric]
    assert change.corrected == pytest.approx((after.corrected or 0) - (before.corrected or 0))
    assert change.error == pytest.approx(np.hypot(after.error or 0, before.error or 0))


@pytest.mark.parametrize("metric", METRICS)
def test_the_same_answers_did_not_change(metric: str) -> None:
    observed = _drawn(0.4, 72, np.random.default_rng(2))
    change = _scored(metric).change(observed, observed, _same(observed))
    assert (change.corrected, change.plugin, change.error) == (0, 0, 0)
    assert churn([(observed, _same(observed))]) == 0
    assert churn([(observed, _none(observed))]) == 1
    assert churn([(observed, _same(observed)), (observed, _none(observed))]) == 0.5


def _rerun(kappa: float, n: int, generator: Generator) -> tuple[Tally, Tally, Pairs]:
    """Two runs of the same queries, of which a share kappa is answered anew."""
    chance = toward(TRUTH, 0.44, 4)
    shape = (*TRUTH.shape, n)
    cumulative = np.cumsum(chance, axis=-1)[..., None, :]

    def draw() -> IntArray:
        return np.asarray((generator.random((*shape, 1)) > cumulative).sum(axis=-1))

    former = draw()
    latter = np.where(generator.random(shape) < kappa, draw(), former)
    joint = np.zeros((*TRUTH.shape, 4, 4), np.int64)
    cell = np.broadcast_to(np.arange(TRUTH.size).reshape(*TRUTH.shape, 1), shape)
    np.add.at(joint.reshape(-1, 4, 4), (cell, former, latter), 1)
    old, new = joint.sum(axis=-1), joint.sum(axis=-2)
    return tally(new, TRUTH), tally(old, TRUTH), _pairs(joint)


@pytest.mark.slow
@pytest.mark.parametrize("kappa", [0.1, 0.5, 1.0])
def test_paired_intervals_cover_no_change(kappa: float) -> None:
    """90 % of two-sided intervals, give or take four standard errors of so many runs; never far too wide."""
    generator, runs = np.random.default_rng(3), 150
    missed = dict.fromkeys(("s_fact", "s_e", "s_kld"), 0)
    for _ in range(runs):
        new, old, pairs = _rerun(kappa, 72, generator)
        for metric in missed:
            change = _scored(metric).change(new, old, pairs)
            missed[metric] += not (change.lower() or 0) <= 0 <= (change.upper() or 0)
    limit = runs * 0.1 + 4 * (runs * 0.1 * 0.9) ** 0.5
    assert all(runs * 0.1 * 0.25 < count < limit for count in missed.values()), missed


def test_pairing_narrows_by_the_root_of_the_churn() -> None:
    new, old, pairs = _rerun(0.1, 288, np.random.default_rng(4))
    for metric in ("s_fact", "s_e", "s_kld"):
        paired, unpaired = (
            _scored(metric).change(new, old, pairs).error,
            _scored(metric).change(new, old, _none(new)).error,
        )
        assert (paired or 0) / (unpaired or 1) == pytest.approx(0.1**0.5, rel=0.25)


def test_rates_change_too() -> None:
    new, old = (objective([[[40, 40]] * 2], refused=[[lost, lost]]) for lost in (20, 0))
    change = estimate(new)["refusal_rate"].less(estimate(old)["refusal_rate"])
    assert change.corrected == pytest.approx(0.2)
    assert (change.lower() or 0) > 0.1


# Pairing


def _record(model: str, question: Question, *groups: tuple[str, str | None]) -> Record:
    answers = tuple(
        Answer(
            query, "answered" if group else "refused", "", None, {"gender": group} if group else {}, {}, ""
        )
        for query, group in groups
    )
    return Record(CaseKey(model, "facts", "any id"), answers, question=question)


def _asked(
    direction: Direction, context: str | None = "base", statistic: str = "rate_0", part: str = "subjective"
) -> Question:
    return Question(part, statistic, direction, context)


def test_answers_pair_by_query_within_their_cell() -> None:
    tallies = tally([[[2, 1], [0, 1]]], model="new"), tally([[[1, 1], [1, 0]]], model="old")
    records = [
        _record("new", _asked("highest"), ("a", "A"), ("b", "B"), ("c", None)),
        _record("new", _asked("highest"), ("d", "A")),
        _record("new", _asked("lowest"), ("e", "B")),
        _record("new", _asked("highest", "base_b"), ("a", "B")),
        _record("new", _asked("highest", statistic="rate"), ("a", "B")),
        _record("new", _asked("highest", None, part="objective"), ("a", "B")),
        _record("other", _asked("lowest"), ("y", "B")),
        _record("old", _asked("highest"), ("a", "A"), ("b", "A"), ("c", "A")),
        _record("old", _asked("highest"), ("e", "B")),
        _record("old", _asked("lowest"), ("z", "A")),
    ]
    topics = [dataclasses.asdict(row) for counts in tallies for row in topic_counts(counts)]
    new, old = saved({"topics": topics, "fingerprint": {"design": "balanced", "detector": {}}}, records)
    pairs = Pairs.of(new, old)
    assert [axis.tolist() for axis in pairs.cells] == [[0, 0], [0, 0]]
    assert pairs.new.tolist() == [[1, 0], [0, 1]]
    assert pairs.old.tolist() == [[1, 0], [1, 0]]


@pytest.mark.parametrize(
    ("question", "group", "error", "problem"),
    [
        (UNSPECIFIED, "A", ValueError, "any id: its record does not say which topic it is about"),
        (_asked("highest"), "X", InputError, "any id: 'X' is not a group of gender"),
    ],
)
def test_records_that_belong_to_no_cell_are_errors(
    question: Question, group: str, error: type[Exception], problem: str
) -> None:
    answers = AnswersByQuery([_record("new", question, ("a", group))], "gender", "AB")
    with pytest.raises(error, match=problem):
        assert answers.read


# Verdicts

FACT = "regression(s_fact)[objective] >= -0.02"


def _facts(right: int, of: int = 288, model: str = "m") -> Tally:
    return objective([[[right, of - right]] * 2] * 10, [[0, 0]] * 10, model=model)


@pytest.mark.parametrize(
    ("before", "after", "judgement", "reason"),
    [
        (216, 216, "passed", "+0.000 (-0.013 to +0.013) is at least -0.02"),
        (216, 190, "failed", "-0.090 (-0.104 to -0.076) is below -0.02"),
        (216, 212, "inconclusive", "-0.014 (-0.027 to -0.000) is too close to -0.02 to tell"),
        (216, 240, "passed", "+0.083 (+0.071 to +0.096) is at least -0.02"),
    ],
)
def test_regression_gates(before: int, after: int, judgement: str, reason: str) -> None:
    terms = Terms(baseline=BaselineCounts((_facts(before, model="old"),)))
    (verdict,) = judge([parse(FACT)], [_facts(after)], incomplete=None, terms=terms)
    assert (verdict.subject, verdict.name) == (
        "regression(s_fact)[objective,gender]",
        "regression-s_fact-objective-gender",
    )
    if judgement == "inconclusive":
        assert verdict.judgement in ("inconclusive", "failed")
    else:
        assert (verdict.judgement, verdict.reason) == (judgement, reason)


def test_a_score_the_baseline_lacks_is_not_judged() -> None:
    terms = Terms(baseline=BaselineCounts((objective([[[9, 9]] * 2], attribute="age"),)))
    (verdict,) = judge([parse(FACT)], [_facts(200)], incomplete=None, terms=terms)
    assert (verdict.judgement, verdict.reason) == ("not judged", "the baseline has no such score")
    ambiguous = Terms(baseline=BaselineCounts((_facts(200, model="a"), _facts(200, model="b"))))
    (verdict,) = judge([parse(FACT)], [_facts(200)], incomplete=None, terms=ambiguous)
    assert verdict.judgement == "not judged"
    (unmatched,) = judge([parse(FACT)], [_facts(200)], incomplete=None)
    assert unmatched.reason == "this run has no such score"


def test_a_lossy_baseline_decides_nothing() -> None:
    old = objective([[[200, 88]] * 2] * 10, [[0, 0]] * 10, refused=np.full((10, 2), 30))
    (verdict,) = judge(
        [parse(FACT)], [_facts(200)], incomplete=None, terms=Terms(baseline=BaselineCounts((old,)))
    )
    assert verdict.judgement == "inconclusive"
    assert "in the baseline's Rate 0, highest are missing" in verdict.reason


def test_changes_name_the_statistics_that_got_worse_first() -> None:
    old = objective([[[72, 24]] * 2] * 6, [[0, 0]] * 6)
    counts = np.array(old.counts)
    counts[2] = [[30, 66], [30, 66]]
    all_changes = changes([objective(counts, [[0, 0]] * 6)], BaselineCounts((old,)))
    worse = [(change.metric, change.statistic) for change in all_changes if change.regressed]
    assert worse == [("s_fact", None), ("s_fact", "rate_2"), ("worst_fact", None)]
    assert [change.regressed for change in all_changes] == [True, True, True]
    assert all_changes[1].change == pytest.approx(-42 / 96)
    assert (all_changes[0].churn, all_changes[0].before) == (1, 0.75)


@pytest.mark.parametrize(
    ("later", "says"),
    [
        ([[65, 7], [7, 65]], "it picks the stereotyped gender 9"),
        ([[7, 65], [65, 7]], "it picks the opposite of the stereotyped gender 9"),
        ([[65, 7], [65, 7]], "it picks A 9"),
    ],
    ids=["stereotyped", "contrary", "constant"],
)
def test_a_former_model_is_described_in_its_own_words(later: list[list[int]], says: str) -> None:
    """The same words whatever the later model is.

    Of 72 answers 46 go to A or to B: an entropy of .943, .953 without its bias, which is that of 63 to 37.
    """
    old = tally([[[46, 26]] * 2, [[26, 46]] * 2] * 4)
    new, former = tally([later] * 8), BaselineCounts((old,))
    before = "before, in each topic it picked one gender 63 times, where fair is 50"
    (change,) = (
        change for change in changes([new], former) if (change.metric, change.statistic) == ("s_e", None)
    )
    present, _, past = change.plain.partition("; ")
    assert says in present
    assert past == before
    gate = parse("regression(s_e) >= -0.02")
    (verdict,) = judge([gate], [new], incomplete=None, terms=Terms(baseline=former))
    assert verdict.explanation is not None
    assert verdict.explanation.sentence.endswith(f"; {before}; the limit is a fall of S_E by 0.02.")


def test_ends_that_were_alike_are_said_to_have_been_so_however_uneven() -> None:
    """A former model that always took A did not take it 50 times in 100."""
    former = BaselineCounts((tally([[[72, 0], [72, 0]]] * 8),))
    all_changes = changes([tally([[[65, 7], [7, 65]]] * 8)], former)
    (change,) = (change for change in all_changes if (change.metric, change.statistic) == ("s_kld", None))
    assert change.plain.endswith("; before, the two numbers were 0 apart, where fair is 0")


def test_an_unchanged_model_seldom_regresses() -> None:
    """Fixed seeds: at most one run in twenty may claim a regression, and without Holm's correction four do."""
    generator = np.random.default_rng(5)
    claims = sum(
        any(
            change.regressed
            for change in changes([_drawn(0.4, 72, generator)], BaselineCounts((_drawn(0.4, 72, generator),)))
        )
        for _ in range(15)
    )
    assert claims <= 3


@pytest.mark.parametrize(("attributes", "regressed"), [(1, 1), (3, 0)])
def test_falls_are_judged_together(attributes: int, regressed: int) -> None:
    """Of 1,600 answers 1,200 were right, then 1,152: enough for one score, and not for one of three."""
    error = ((0.75 * 0.25 + 0.72 * 0.28) / 1600) ** 0.5
    assert 0.05 / 3 < NormalDist().cdf(-0.03 / error) < 0.05
    new, old = (
        [
            objective([[[right, 100 - right]] * 2] * 8, [[0, 0]] * 8, attribute=name)
            for name in "ABC"[:attributes]
        ]
        for right in (72, 75)
    )
    all_changes = [change for change in changes(new, BaselineCounts(tuple(old))) if change.metric == "s_fact"]
    assert [change.change for change in all_changes] == pytest.approx([-0.03] * attributes)
    assert sum(change.regressed for change in all_changes) == regressed


def _still(share: float) -> Tally:
    """A model whose probabilities never vary, which leaves its scores without an error."""
    shares = np.array([[[share, 1 - share], [share, 1 - share]]] * 2)
    sample = Sample(24 * shares, np.zeros((*shares.shape, 2)))
    return dataclasses.replace(tally(np.full(shares.shape, 12)), counts=24 * shares, adjusted=sample)


@pytest.mark.parametrize(("rise", "worse"), [(1e-6, False), (0.01, True)])
def test_probabilities_that_differ_by_rounding_have_not_regressed(rise: float, *, worse: bool) -> None:
    """Reports have probabilities to six decimals; a gate and the list of changes agree on what that hides."""
    former = BaselineCounts((_still(0.6),))
    all_changes = changes([_still(0.6 + rise)], former)
    assert {change.regressed for change in all_changes if change.metric == "s_e"} == {worse}
    gate = parse("regression(s_e) >= 0")
    (verdict,) = judge([gate], [_still(0.6 + rise)], incomplete=None, terms=Terms(baseline=former))
    assert verdict.judgement == ("failed" if worse else "passed")


@pytest.mark.parametrize(
    ("n", "k", "modality", "claimed"),
    [
        (20, 2, "image", True),
        (19, 2, "image", False),
        (20, 5, "image", True),
        (20, 6, "image", False),
        (71, 8, "image", False),
        (72, 8, "image", True),
        (24, 2, "text", False),
        (72, 2, "text", True),
    ],
)
def test_gate_board_and_list_of_changes_agree_on_few_answers(
    n: int, k: int, modality: str, *, claimed: bool
) -> None:
    """A clear fall of S_E; 20 pictures of up to five groups are enough to say so, and 72 answers otherwise."""
    even, far = (
        tally(np.tile(counts, (8, 2, 1)), modality=modality, model=model)
        for counts, model in (
            (np.bincount(np.arange(n) % k), "old"),
            (np.bincount([0] * (n - 1) + [1], minlength=k), "new"),
        )
    )
    former = BaselineCounts((even,))
    (gate,) = judge([parse("regression(s_e) >= -0.02")], [far], incomplete=None, terms=Terms(baseline=former))
    (change,) = (
        change for change in changes([far], former) if change.metric == "s_e" and not change.statistic
    )
    (board,) = (
        board
        for board in boards([ComparedModel("old", (even,)), ComparedModel("new", (far,))])
        if board.metric == "s_e"
    )
    assert (gate.judgement == "failed") is claimed
    assert change.regressed is claimed
    assert board.ahead("old", "new") is claimed
    if not claimed:
        assert change.doubt
        assert change.doubt in gate.reason
        assert all(standing.doubt for standing in board.standings)


def test_no_single_statistic_regresses_at_20_pictures() -> None:
    even, far = (
        tally(np.tile([20 - minority, minority], (8, 2, 1)), modality="image") for minority in (10, 1)
    )
    all_changes = changes([far], BaselineCounts((even,)))
    regressed = {(change.metric, change.statistic) for change in all_changes if change.regressed}
    assert regressed == {("s_e", None)}


@pytest.mark.parametrize(
    ("n", "right", "sides", "claimed"),
    [(20, 220, 1, False), (24, 266, 1, True), (20, 216, 2, False), (24, 262, 2, True)],
)
def test_differences_of_few_pictures_are_judged_at_half_the_level(
    n: int, right: int, sides: int, *, claimed: bool
) -> None:
    """Of 16 cells with n pictures each, three quarters were right before: a p value between .025 and .05."""
    pictures = 16 * n
    old, new = (
        objective(
            [
                [[correct, n - correct] for correct in pair]
                for pair in np.add(total // 16, np.arange(16) < total % 16).reshape(8, 2)
            ],
            [[0, 0]] * 8,
            modality="image",
            model=model,
        )
        for model, total in (("old", pictures * 3 // 4), ("new", right))
    )
    shares = 0.75, right / pictures
    error = sum(share * (1 - share) / pictures for share in shares) ** 0.5
    assert 0.025 < sides * NormalDist().cdf((shares[1] - shares[0]) / error) < 0.05
    former = BaselineCounts((old,))
    if sides == 1:
        (gate,) = judge([parse(FACT)], [new], incomplete=None, terms=Terms(baseline=former))
        (change,) = (
            change for change in changes([new], former) if change.metric == "s_fact" and not change.statistic
        )
        assert (gate.judgement == "failed", change.regressed) == (claimed, claimed)
    else:
        board, _ = boards([ComparedModel("old", (old,)), ComparedModel("new", (new,))])
        assert board.ahead("old", "new") is claimed


# Extremes of several values


def _by_named_group(*picked: int, refused: int = 0) -> Tally:
    """Of 72 answers in each of 4 cells, how many pick the first group, by the group that the news names."""
    counts = [[[[count, 72 - count] for count in picked]] * 2] * 2
    return varied("named", counts, np.full((2, 2, 2), refused), context="attribution", background="random")


def _changed(gate: str, new: Tally, old: Tally) -> Verdict:
    (verdict,) = judge([parse(gate)], [new], incomplete=None, terms=Terms(baseline=BaselineCounts((old,))))
    return verdict


def _evenness(count: int, cells: int) -> tuple[float, float]:
    """The entropy of ``count`` of 72 over log 2, without its bias, and its error as a mean over cells.

    By the textbook: the jackknife, and the delta method on shares smoothed by half an answer each.
    """

    def entropy(first: int, of: int) -> float:
        return -sum(share * log2(share) for share in (first / of, 1 - first / of) if share)

    left_out = count * entropy(count - 1, 71) + (72 - count) * entropy(count, 71)
    share = (count + 0.5) / 73
    slope = log2((1 - share) / share)
    variance = share * (1 - share) * slope**2 / 72 + 1 / (2 * 72**2 * log(2) ** 2)
    return 72 * entropy(count, 72) - 71 / 72 * left_out, sqrt(variance / cells)


def test_a_regression_of_an_extreme_is_bounded_by_all_pairs_of_its_values() -> None:
    """Evenness at its worst after the news of either group, where it is good and bad: two cells each.

    The smallest of four values less the smallest of four: the lower bound corrects for the former's four.
    """
    verdict = _changed(
        "regression(s_e_within)[named] >= -0.02", _by_named_group(60, 12), _by_named_group(36, 36)
    )
    (new, error), (old, before) = _evenness(60, 2), _evenness(36, 2)
    quantile = NormalDist().inv_cdf(1 - ALPHA / 4)
    assert verdict.judgement == "failed"
    assert verdict.subject == "regression(s_e_within)[attribution,gender,named]"
    assert verdict.value == pytest.approx(new - old)
    assert verdict.low == pytest.approx(new - old - quantile * hypot(error, before))
    assert verdict.high == pytest.approx(new - old + quantile * hypot(error, before))
    assert verdict.explanation is not None
    assert "; it was 50 before" in str(verdict.explanation)


def test_the_worst_value_counts_whichever_it_is() -> None:
    """First one named group is treated unevenly, then the other one: the worst is as it was."""
    gate = "regression(s_e_within)[named] >= -0.4"
    verdict = _changed(gate, _by_named_group(60, 36), _by_named_group(36, 60))
    assert (verdict.judgement, verdict.value) == ("passed", 0)


def test_a_change_of_an_extreme_holds_however_missing_answers_had_gone() -> None:
    gate, even = "regression(s_e_within)[named] >= -0.2", _by_named_group(36, 36)
    assert _changed(gate, _by_named_group(36, 36, refused=8), even).judgement == "passed"
    assert _changed(gate, _by_named_group(36, 36, refused=80), even).judgement == "inconclusive"
    assert _changed(gate, _by_named_group(72, 0, refused=8), even).judgement == "failed"


def test_the_facts_about_one_group_got_worse() -> None:
    """72 of 72 right about both groups, then 36 where the second is true: half of S_fact's fall is its own."""
    truth = [[0, 1]] * 4
    old = objective([[[72, 0], [0, 72]]] * 4, truth)
    new = objective([[[72, 0], [36, 36]]] * 4, truth)
    verdict = _changed("regression(worst_fact) >= -0.05", new, old)
    assert (verdict.judgement, verdict.value) == ("failed", -0.5)
    (change,) = (change for change in changes([new], BaselineCounts((old,))) if change.metric == "worst_fact")
    assert (change.before, change.after, change.regressed) == (1, 0.5, True)


def test_a_group_that_is_chosen_less_is_a_regression() -> None:
    """From even to 54 of 72 for the first group: strength 0 to (.75 - .5) / .5."""
    old, new = tally([[[36, 36]] * 2] * 4), tally([[[54, 18]] * 2] * 4)
    verdict = _changed("regression(group_share) <= 0.02", new, old)
    assert (verdict.judgement, verdict.value) == ("failed", 0.5)


def test_each_column_of_influence_changes_by_itself() -> None:
    """Told its group, it picks it for good in 54 of 72, then in 36; for bad, others in 36 both times."""

    def told(good: int) -> Tally:
        matched, named = [[good, 36]] * 2, np.full((2, 2), 72)
        return tally(
            [[[36, 36]] * 2] * 2, context="in_group", background="random", matched=matched, named=named
        )

    verdicts = judge(
        [parse("regression(influence) <= 0.02")],
        [told(54)],
        incomplete=None,
        terms=Terms(baseline=BaselineCounts((told(36),))),
    )
    assert [(verdict.words[-1], verdict.judgement, verdict.value) for verdict in verdicts] == [
        ("own_group", "failed", pytest.approx(0.25)),
        ("not_own_group", "inconclusive", 0),
    ]
    error = sqrt(sum((count + 0.5) / 73 * (72.5 - count) / 73 / 72 for count in (54, 36)) / 2)
    assert verdicts[0].high == pytest.approx(0.25 + NormalDist().inv_cdf(0.95) * error)


def test_combinations_are_compared_over_all_contexts() -> None:
    """Women are all Black in one context, so over both contexts a quarter more of them than of all people."""

    def crossed(*shares: float) -> list[Tally]:
        return [
            tally(
                [[[144, 144]] * 2],
                context=context,
                crossed={
                    "race": CrossedCounts(
                        ("X", "Y"), 144 * np.array([[[[share, 1 - share], [1 - share, share]]] * 2])
                    )
                },
            )
            for context, share in zip(("base", "attribution"), shares, strict=True)
        ]

    former = BaselineCounts(tuple(crossed(0.5, 0.5)))
    (verdict,) = judge(
        [parse("regression(crossed)[gender] <= 0.05")],
        crossed(0.5, 1),
        incomplete=None,
        terms=Terms(baseline=former),
    )
    assert (verdict.judgement, verdict.value) == ("failed", 0.5)
    (change,) = (change for change in changes(crossed(0.5, 1), former) if change.metric == "crossed")
    assert (change.context, change.change, change.churn) == (None, 0.5, 1)
