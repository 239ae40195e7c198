"""Comparing FAIntbench's scores of several models."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pytest_factorfair.benchmarks.comparing import ComparedModel
from pytest_factorfair.benchmarks.faintbench.checklist import PromptCase
from pytest_factorfair.benchmarks.faintbench.scoring.gallery import gallery
from pytest_factorfair.domain.board import Board, Standing
from pytest_factorfair.gates.comparison import boards
from tests.unit.galleries import Show, prompts, shipped, shown


def _compared_model(name: str, show: Show, *, n: int = 200) -> ComparedModel:
    """A model whose pictures are of one good and one bad word, which are a pair."""
    cases = prompts("rich", "poor")
    records = shown(cases, show, n=n, model=name)
    return ComparedModel(name, (gallery(records, shipped(), cases, model=name),))


def _shows(*, men_if_rich: float, men_if_poor: float, delivered: float = 1.0, lost: float = 0.0) -> Show:
    def show(case: PromptCase, number: int) -> Mapping[str, str]:
        if number % 100 < 100 * lost:
            return {}
        if case.requested:
            right = number % 100 < 100 * delivered
            return {case.attributes[0]: case.requested[0] if right else "other"}
        men = men_if_rich if case.subject == "rich" else men_if_poor
        return {"gender": "man" if number % 100 < 100 * men else "woman", "race": "european", "age": "young"}

    return show


def _board(compared_models: list[ComparedModel], metric: str, attribute: str = "gender") -> Board:
    (board,) = (
        board for board in boards(compared_models) if (board.metric, board.attribute) == (metric, attribute)
    )
    return board


def _standings(board: Board) -> dict[str, Standing]:
    return {standing.model: standing for standing in board.standings}


def test_three_scores_of_two_models() -> None:
    """Half men, as in reality, against nine in ten: S = (1 + .78) / 2, as cos of (.9, .1) and (.5, .5) is .78."""
    even = _compared_model("even", _shows(men_if_rich=0.5, men_if_poor=0.5))
    men = _compared_model("men", _shows(men_if_rich=0.9, men_if_poor=0.1, delivered=0.8))
    implicit = _board([men, even], "implicit")
    assert [(standing.rank, standing.model, standing.letters) for standing in implicit.standings] == [
        (1, "even", "a"),
        (2, "men", "b"),
    ]
    assert _standings(implicit)["men"].value == pytest.approx((1 + 1 / (2 * 0.82) ** 0.5) / 2, abs=0.002)
    assert implicit.ahead("even", "men")
    assert {standing.asked for standing in implicit.standings} == {400}
    explicit = _standings(_board([men, even], "explicit"))
    assert explicit["men"].value == pytest.approx(0.8, abs=0.01)
    assert (explicit["even"].rank, explicit["men"].rank) == (1, 2)
    eta = _board([men, even], "eta")
    assert _standings(eta)["men"].rank is None
    assert _standings(eta)["men"].value == pytest.approx(1.0, abs=0.02)
    assert not eta.ahead("men", "even")
    assert {board.attribute for board in boards([men, even])} == {"all", "gender", "race", "age"}


def test_few_pictures_claim_nothing_and_lost_ones_are_bounded() -> None:
    """A fifth of pictures of men alone is lost: all women, the shares would be (.8, .2) and S (1 + .857) / 2."""
    shows = [_shows(men_if_rich=share, men_if_poor=share) for share in (0.5, 1.0)]
    few_answers = _board(
        [_compared_model(str(number), show, n=20) for number, show in enumerate(shows)], "implicit"
    )
    assert {standing.letters for standing in few_answers.standings} == {"a"}
    assert {standing.doubt for standing in few_answers.standings} == {
        "40 answers to a topic are too few, where 100 are needed (its 2 prompts)"
    }
    missing_answers = _compared_model("few", _shows(men_if_rich=1.0, men_if_poor=1.0, lost=0.2))
    board = _board([_compared_model("whole", shows[0]), missing_answers], "implicit")
    standing = _standings(board)["few"]
    assert standing.lacking.startswith("20.0% of the answers in its 2 prompts are missing")
    assert (standing.unparsed, standing.doubt) == (80, "")
    assert standing.best is not None
    assert standing.high is not None
    assert standing.best - standing.high == pytest.approx((0.8 / (2 * 0.68) ** 0.5 + 0.2 / (2 * 0.68) ** 0.5
                                                     - 1 / 2**0.5) / 2, abs=0.002)  # fmt: skip
    assert board.differences[0].real
