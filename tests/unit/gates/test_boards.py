"""Boards of compared models: ranks, letters and real differences."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

from pytest_factorfair.benchmarks.comparing import ComparedModel
from pytest_factorfair.benchmarks.fact_or_fair.counting.by_query import AnswersByQuery
from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.domain import Answer, CaseKey, Question, Record
from pytest_factorfair.domain.board import Board
from pytest_factorfair.gates.comparison import boards
from tests.unit.scoring.builders import objective, tally, toward, truths, varied

TRUTH = truths(8, 4)


def _compared_model(name: str, *tallies: Tally) -> ComparedModel:
    counts = tuple(dataclasses.replace(tally, model=name) for tally in tallies)
    return ComparedModel(name, counts)


def _facts(name: str, right: int, **fields: object) -> ComparedModel:
    """So many right answers of 288 in each of 20 cells."""
    return _compared_model(name, objective([[[right, 288 - right]] * 2] * 10, [[0, 0]] * 10, **fields))


def _board(compared_models: Sequence[ComparedModel], metric: str) -> Board:
    (board,) = (board for board in boards(compared_models) if board.metric == metric)
    return board


def _letters(board: Board) -> dict[str, str]:
    return {standing.model: standing.letters for standing in board.standings}


def test_a_difference_is_real_among_all_of_its_score() -> None:
    """216 and 211 of 288 in 20 cells: z = 5/288 / sqrt((.1875 + .1959) / 5760) = 2.13, p = .033.

    Beside a third that differs from both, Holm holds it last, against .05; beside one that is like
    the second, the smallest of three p values would have to be below .0167.
    """
    far = _board([_facts("a", 216), _facts("b", 211), _facts("c", 100)], "s_fact")
    assert _letters(far) == {"a": "a", "b": "b", "c": "c"}
    near = _board([_facts("a", 216), _facts("b", 211), _facts("c", 211)], "s_fact")
    assert _letters(near) == {"a": "a", "b": "a", "c": "a"}
    alone = _board([_facts("a", 216), _facts("b", 211)], "s_fact")
    assert _letters(alone) == {"a": "a", "b": "b"}
    (difference,) = alone.differences
    half = 1.959964 * np.sqrt((0.75 * 0.25 + (211 / 288) * (77 / 288)) / 5760)
    assert difference.value == pytest.approx(5 / 288)
    assert (difference.low, difference.high) == pytest.approx((5 / 288 - half, 5 / 288 + half), abs=1e-4)


def test_ranks_follow_the_shown_values_and_ties_share_a_rank() -> None:
    board = _board([_facts("worst", 100), _facts("best", 216), _facts("second", 216)], "s_fact")
    assert [(standing.rank, standing.model) for standing in board.standings] == [
        (1, "best"),
        (1, "second"),
        (3, "worst"),
    ]
    reordered = _board([_facts("second", 216), _facts("best", 216)], "s_fact")
    assert [standing.model for standing in reordered.standings] == ["best", "second"]
    assert (board.ahead("best", "worst"), board.ahead("worst", "best")) == (True, False)
    assert board.standings[0].asked == 20 * 288
    turned, straight = board.between("best", "worst"), board.between("worst", "best")
    assert turned is not None
    assert straight is not None
    assert (turned.value, turned.low) == (-(straight.value or 0), -(straight.high or 0))
    assert board.between("best", "nobody") is None


def test_a_smaller_distance_ranks_first() -> None:
    shares = toward(TRUTH, 0.7, 4)
    mixed = shares.copy()
    mixed[::2] = toward(TRUTH, 0.25, 4)[::2]  # topics with unlike shares lie below the curve
    on, below = (tally(np.round(profile * 400).astype(int), TRUTH) for profile in (shares, mixed))
    board = _board([_compared_model("below", below), _compared_model("on", on)], "distance")
    assert board.better == "lower"
    assert [standing.model for standing in board.standings] == ["on", "below"]
    assert board.ahead("on", "below")


def test_values_beyond_the_best_possible_one_tie_with_it() -> None:
    """Equal shares in all topics lie on the curve, where the distance is 0; corrected for chance they lie beyond.

    Their intervals, .003 wide at most, are so far apart that the difference would be real.
    """
    shares = (("a", 0.7, 4000), ("b", 0.55, 96))
    compared_scores = [
        _compared_model(name, tally(np.round(toward(TRUTH, share, 4) * n).astype(int), TRUTH))
        for name, share, n in shares
    ]
    mixed = toward(TRUTH, 0.7, 4)
    mixed[::2] = toward(TRUTH, 0.5, 4)[::2]
    board = _board(
        [*compared_scores, _compared_model("c", tally(np.round(mixed * 400).astype(int), TRUTH))], "distance"
    )
    a, b, c = board.standings
    assert [(standing.rank, standing.model, f"{standing.value:.3f}") for standing in (a, b)] == [
        (1, "a", "-0.000"),
        (1, "b", "-0.008"),
    ]
    assert b.high is not None
    assert a.low is not None
    assert b.high < a.low
    assert (a.letters, b.letters, c.letters, c.rank) == ("a", "a", "b", 3)
    assert board.ahead("a", "c")
    assert board.ahead("b", "c")


def test_nothing_is_claimed_where_a_gate_would_be_inconclusive() -> None:
    tallies = objective([[[20, 0]] * 2], [[0, 0]]), objective([[[0, 20]] * 2], [[0, 0]])
    board = _board([_compared_model("a", tallies[0]), _compared_model("b", tallies[1])], "s_fact")
    assert _letters(board) == {"a": "a", "b": "a"}
    assert {standing.doubt for standing in board.standings} == {
        "20 answers to a topic are too few, where 24 are needed (Rate 0, highest and 1 more)"
    }


def test_missing_answers_are_counted_at_their_worst_and_best() -> None:
    """Of 318 asked in each cell, 30 are refused: 210 right of 288 are 210 to 240 of 318, .660 to .755.

    The .021 by which 216 of 288 are ahead is z = 2.5, but the missing answers may close it; what 190 are
    behind they may not (220 of 318 are .692, at most .706 with the interval), and 100 are far away.
    """
    refused = np.full((10, 2), 30)
    board = _board(
        [_facts("whole", 216), _facts("near", 210, refused=refused), _facts("behind", 190, refused=refused),
         _facts("far", 100)],
        "s_fact",
    )  # fmt: skip
    assert _letters(board) == {"whole": "a", "near": "ab", "behind": "b", "far": "c"}
    certainty = {
        (difference.first, difference.second): difference.certainty for difference in board.differences
    }
    assert certainty["whole", "near"] == certainty["near", "behind"] == "missing"
    assert certainty["whole", "behind"] == certainty["near", "far"] == certainty["behind", "far"] == "real"
    whole, near, *_ = board.standings
    assert (near.asked, near.refused, near.missing, near.doubt) == (6360, 600, 600, "")
    assert near.lacking.startswith("9.4% of the answers in Rate 0, highest are missing (30 refused")
    half = 1.959964 * np.sqrt(210 / 288 * 78 / 288 / 5760)
    assert (near.low, near.high) == pytest.approx((210 / 288 - half, 210 / 288 + half), abs=1e-4)
    assert (near.worst, near.best) == pytest.approx((210 / 318 - half, 240 / 318 + half), abs=1e-4)
    assert (whole.lacking, whole.worst, whole.best) == ("", None, None)


def test_a_score_without_answers_has_neither_rank_nor_letters() -> None:
    incomplete = np.array([[[216, 72]] * 2] * 10)
    incomplete[3] = 0
    board = _board([_facts("a", 216), _compared_model("b", objective(incomplete, [[0, 0]] * 10))], "s_fact")
    last = board.standings[-1]
    assert (last.model, last.rank, last.value, last.letters) == ("b", None, None, "")
    assert last.doubt.startswith("no answers in Rate 3, highest")
    assert not board.differences[0].real


def test_only_statistics_that_all_were_asked_count() -> None:
    """The second was asked about the first two topics alone, and there the first was always right."""
    counts = np.array([[[288, 0]] * 2] * 2 + [[[0, 288]] * 2] * 8)
    short = objective([[[288, 0]] * 2] * 2, [[0, 0]] * 2)
    board = _board(
        [_compared_model("a", objective(counts, [[0, 0]] * 10)), _compared_model("b", short)], "s_fact"
    )
    assert {(standing.value, standing.asked) for standing in board.standings} == {(1.0, 4 * 288)}


def _by_query(right: Sequence[bool]) -> AnswersByQuery:
    """One objective cell, the same questions for every model."""
    answers = tuple(
        Answer(str(number), "answered", "", None, {"gender": "A" if correct else "B"}, {}, "")
        for number, correct in enumerate(right)
    )
    question = Question("objective", "rate_0", "highest", None)
    key = CaseKey("a model", "facts", "objective-rate_0-gender-highest")
    return AnswersByQuery([Record(key, answers, question=question)], "gender", "AB")


def test_answers_to_the_same_question_are_paired() -> None:
    """Both are right where questions are easy: 100 questions, of which one model got 6 more."""
    easy = [True] * 60 + [False] * 40
    better = [True] * 66 + [False] * 34
    counts = {
        name: [[[sum(right), 100 - sum(right)], [50, 50]]] for name, right in (("a", easy), ("b", better))
    }
    unpaired = [_compared_model(name, objective(counts[name], [[0, 0]])) for name in "ab"]
    paired = [
        _compared_model(name, objective(counts[name], [[0, 0]], answers=_by_query(right)))
        for name, right in (("a", easy), ("b", better))
    ]
    for compared_models, share in ((unpaired, 0.0), (paired, 0.5)):
        (difference,) = _board(compared_models, "s_fact").differences
        assert difference.value == pytest.approx(-0.03)
        assert difference.paired == share
    width = [(difference.high or 0) - (difference.low or 0) for compared_models in (unpaired, paired)
             for difference in _board(compared_models, "s_fact").differences]  # fmt: skip
    assert width[1] < 0.8 * width[0]


def _named(name: str, matched: int) -> ComparedModel:
    """So many of 72 answers in each of 4 cells name the group that the news names."""
    cells = np.full((2, 2), 72), np.full((2, 2), matched)
    news = tally(np.full((2, 2, 2), 36), named=cells[0], matched=cells[1], background="random")
    return _compared_model(name, dataclasses.replace(news, context="attribution"))


def test_influences_are_compared_context_by_context() -> None:
    """48 of 72 and 36 in 4 cells: smoothed, the errors add to .0405, z = 4.1; 41 and 36 are z = 1.7 apart."""
    board = _board([_named("a", 48), _named("b", 36)], "influence")
    assert (board.context, _letters(board)) == ("attribution", {"b": "a", "a": "b"})
    near = _board([_named("a", 41), _named("b", 36)], "influence")
    assert _letters(near) == {"b": "a", "a": "a"}
    (difference,) = near.differences
    assert difference.value == pytest.approx(5 / 72)
    shares = [(matched + 0.5) / 73 for matched in (41, 36)]
    half = 1.959964 * np.sqrt(sum(share * (1 - share) / (4 * 72) for share in shares))
    assert (difference.low, difference.high) == pytest.approx((5 / 72 - half, 5 / 72 + half), abs=1e-4)
    assert difference.paired == 0
    assert {standing.asked for standing in near.standings} == {4 * 72}


def _by_group_named(name: str, *picked: int, refused: int = 0) -> ComparedModel:
    """For each group that the news names, this many of 72 answers in each of 4 cells pick the first group."""
    counts = [[[[count, 72 - count] for count in picked]] * 2] * 2
    missing = np.full((2, 2, 2), refused)
    return _compared_model(name, varied("named", counts, missing, context="attribution", background="random"))


def test_evenness_within_a_condition_is_compared_in_every_context_that_has_it() -> None:
    """60 of 72 is an entropy of .650, .656 without its bias; over all, both models pick each group equally.

    36 of 72 and 10 refused may have been 46 of 82, .989; with 400 refused 436 of 472, .389.
    """
    fair, follower = _by_group_named("fair", 36, 36), _by_group_named("follower", 60, 12)
    board = _board([fair, follower], "s_e_within_named")
    assert (board.context, _letters(board)) == ("attribution", {"fair": "a", "follower": "b"})
    assert [standing.value for standing in board.standings] == pytest.approx([1, 0.66], abs=0.01)
    assert _letters(_board([fair, follower], "s_e")) == {"fair": "a", "follower": "a"}
    silent = _by_group_named("silent", 36, 36, refused=10)
    board = _board([silent, follower], "s_e_within_named")
    assert board.ahead("silent", "follower")
    silent = _by_group_named("silent", 36, 36, refused=400)
    board = _board([silent, follower], "s_e_within_named")
    assert _letters(board) == {"silent": "a", "follower": "a"}
    assert {(standing.lacking, standing.doubt) for standing in board.standings} == {("", "")}


def test_a_score_of_a_single_model_has_no_board() -> None:
    assert boards([_facts("a", 216), _compared_model("b", tally([[[200, 88]] * 2]))]) == ()


# Error rates


def _drawn(shares: Sequence[float], generator: np.random.Generator) -> list[ComparedModel]:
    return [
        _compared_model(f"m{number}", tally(generator.multinomial(72, toward(TRUTH, share, 4)), TRUTH))
        for number, share in enumerate(shares)
    ]


@pytest.mark.slow
def test_equal_models_have_no_real_differences() -> None:
    """Of 40 comparisons of four like models 5 % may claim something; give or take four standard errors."""
    generator = np.random.default_rng(7)
    claims = dict.fromkeys(("s_e", "s_kld", "s_fair", "distance"), 0)
    for _ in range(40):
        for board in boards(_drawn([0.44] * 4, generator)):
            if board.metric in claims:
                claims[board.metric] += any(difference.real for difference in board.differences)
    assert max(claims.values()) <= 40 * 0.05 + 4 * (40 * 0.05 * 0.95) ** 0.5, claims


@pytest.mark.slow
def test_known_differences_are_found() -> None:
    """Two pairs of alike models, .30 and .55 of the answers on the target: always told apart, and no others."""
    generator = np.random.default_rng(8)
    wrong = 0
    for _ in range(12):
        board = _board(_drawn([0.55, 0.30, 0.55, 0.30], generator), "s_e")
        real = {(difference.first, difference.second) for difference in board.differences if difference.real}
        assert real >= {("m0", "m1"), ("m0", "m3"), ("m1", "m2"), ("m2", "m3")}
        assert board.ahead("m1", "m0")
        wrong += len(real) > 4
    assert wrong <= 12 * 0.05 + 4 * (12 * 0.05 * 0.95) ** 0.5
