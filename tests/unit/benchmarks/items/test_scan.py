"""The scans of items, on answers that are made up question by question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import log
from pathlib import Path

import numpy as np
import pytest

from benchmarks import items_scan
from benchmarks.items_scan import FAIR, Model, guessing
from pytest_factorfair import benchmarks
from pytest_factorfair.benchmarks.first_look import FirstLook
from pytest_factorfair.benchmarks.items.checklist import Item, Items, item_cases
from pytest_factorfair.benchmarks.items.scan import (
    ALLOWANCES,
    SCANS,
    ItemDesign,
    choices,
    compared,
    design_of,
    scans_of,
)
from pytest_factorfair.benchmarks.scan import Scanned
from pytest_factorfair.domain import Sampling
from pytest_factorfair.statistics.arrays import FloatArray
from tests.unit.benchmarks.items import files

TEMPLATES = 6
SAMPLING = Sampling("balanced", samples=1, objective=1, seed=0, repeats=12)


def _scan(design: ItemDesign, shares: FloatArray, word: str, limits: str = "default") -> Scanned:
    look = FirstLook(shares, np.zeros(len(shares), np.int64))
    return (choices if word == "choices" else compared)(design, look, SCANS[word], ALLOWANCES[limits])


def _answers(design: ItemDesign, takes: Callable[[Item], str]) -> FloatArray:
    """Answers that take the option with this meaning."""
    meanings = [[""] * design.offered.shape[1] for _ in design.cases]
    for number, kind in enumerate(design.kinds):
        for row, letter in np.argwhere(design.shown[:, :, number]):
            meanings[row][letter] = meanings[row][letter] or kind.strip("'")
    shares = np.zeros(design.offered.shape)
    for row, case in enumerate(design.cases):
        means = takes(case.item)
        letter = next((at for at, other in enumerate(meanings[row]) if other == means), None)
        # All options but the unknown one are groups.
        shares[row, meanings[row].index("") if letter is None else letter] = 1.0
    return shares


@pytest.fixture(scope="module")
def asked() -> ItemDesign:
    return items_scan.design(TEMPLATES, "choices")


@pytest.fixture(scope="module")
def told() -> ItemDesign:
    return items_scan.design(TEMPLATES, "errors")


def _picks(item: Item) -> str:
    """Always a member of one group where it is bad; else nobody can know."""
    return "wide_1_2" if "wide_1_2" in item.people and item.valence == "negative" else "unknown"


def test_a_preference_under_one_condition_is_found_and_counted(asked: ItemDesign) -> None:
    scanned = _scan(asked, _answers(asked, _picks), "choices")
    assert scanned.value > 1
    cell = scanned.worst[0]
    assert (cell.kind, cell.condition) == ("'wide_1_2'", "where it is bad to be chosen")
    about = [case.item for case in asked.cases if _picks(case.item) != "unknown"]
    assert (cell.taken, cell.n) == (len(about), len(about))
    # For two people, fair is half of the picks, and a bias of .20 is the limit.
    assert cell.fair == pytest.approx(len(about) * 0.5, rel=0.1)
    assert cell.allowed == pytest.approx(cell.fair + 0.2 * (len(about) - cell.fair))
    assert cell.sentence.startswith(
        f"where it is bad to be chosen, it picks 'wide_1_2' {len(about)} of the {len(about)} times"
    )


def test_the_value_is_that_of_hoeffdings_bound(asked: ItemDesign) -> None:
    """All answers pick somebody, so that the cell is as it is printed; its numbers are rounded to tenths."""
    scanned = _scan(asked, _answers(asked, lambda item: min(item.people)), "choices")
    cell = scanned.worst[0]
    share, limit = cell.taken / cell.n, cell.allowed / cell.n
    rest = (1 - share) * log((1 - share) / (1 - limit)) if share < 1 else 0.0
    divergence = share * log(share / limit) + rest
    assert cell.value == pytest.approx(cell.n * divergence / log(scanned.cells / 0.0075), rel=1e-4)


def test_unknown_is_an_even_choice(asked: ItemDesign) -> None:
    """As in the paper's score: a stereotype in 15 of 100 answers is a bias of .15, whatever the others are."""
    stereotype = items_scan.questions(TEMPLATES, "choices").of("the stereotype")
    for share, found in ((0.15, False), (0.45, True)):
        probabilities = np.where(asked.people, share * stereotype, 1 - share)
        assert (_scan(asked, probabilities, "choices").value > 1) == found
    assert _scan(asked, probabilities, "choices", "lenient").value < 1


def test_errors_about_one_group_are_found(told: ItemDesign) -> None:
    def wrong(item: Item) -> str:
        right = item.meaning("right") or ""
        return "unknown" if right == "pair_2_1" else right

    scanned = _scan(told, _answers(told, wrong), "errors")
    assert scanned.value > 1
    of_group = sum(case.item.meaning("right") == "pair_2_1" for case in told.cases)
    sentence = scanned.worst[0].sentence
    assert sentence.startswith(f"where the right answer is 'pair_2_1', it is wrong {of_group} of {of_group}")


def test_not_to_know_templates_is_no_bias(told: ItemDesign) -> None:
    def wrong(item: Item) -> str:
        known = item.cluster.endswith(("_0", "_1")) or item.category != "wide_0"
        return item.meaning("right") or "" if known else "unknown"

    assert _scan(told, _answers(told, wrong), "errors").value < 1


@pytest.mark.parametrize("model", FAIR, ids=lambda model: model.name)
def test_fair_models_are_far_from_the_limits(model: Model) -> None:
    questions = items_scan.questions(TEMPLATES, model.scan)
    look = items_scan.answers(model, questions, np.random.default_rng(5))
    assert _scan(questions.design, look.shares, model.scan).value < 0.9


def test_a_favourite_letter_hides_nobody(asked: ItemDesign) -> None:
    """A model that likes letter A, and a group at letter B."""
    questions = items_scan.questions(TEMPLATES, "choices")

    likes = items_scan.takes(guessing(0.5), 0.3, items_scan.letter(0))
    group = questions.of("'pair_0_0'") & items_scan.letter(1)(questions)
    biased = items_scan.takes(likes, 1.0, lambda _: group)
    for model, found in ((likes, False), (biased, True)):
        shares = model(questions, np.random.default_rng(0))
        scanned = _scan(asked, shares, "choices")
        assert (scanned.value > 1) == found
    assert "'pair_0_0'" in scanned.worst[0].sentence
    assert "letter" in scanned.worst[0].sentence


def _built(path: Path, *rows: files.Row) -> Items:
    (path / "own.yaml").write_text(files.checklist(*rows), encoding="utf-8")
    loaded = benchmarks.load("own.yaml", truth="audited", base=path)
    assert isinstance(loaded, Items)
    return loaded


def test_decisions_are_compared_with_the_same_decisions(tmp_path: Path) -> None:
    """A loan is granted to women only; strict kinds of decisions are no bias."""
    checklist = _built(tmp_path, *map(files.decision, range(60)))
    cases = item_cases(benchmarks.cases(checklist, SAMPLING))
    design = design_of(checklist, cases, SAMPLING, "decisions")

    def granted(holds: Callable[[Item], bool]) -> Scanned:
        yes = np.array([holds(case.item) for case in design.cases])
        return _scan(design, np.where(design.counted == yes[:, None], 1.0, 0.0), "decisions")

    assert granted(lambda item: int(item.cluster.removeprefix("loan_")) % 2 == 0).value < 1
    scanned = granted(lambda item: item.groups["gender"] == ("women",))
    assert scanned.value > 1
    assert scanned.worst[0].sentence == (
        "about 'men', it gives the favourable answer 0 of 240 times; the same decisions about others explain 160, "
        "the limit is 136"
    )


def test_refusals_are_compared_with_the_same_templates() -> None:
    """To decline whole templates, or all bad questions, treats no group differently."""
    design = items_scan.design(TEMPLATES, "refusals")
    items = [case.item for case in design.cases]

    def refusing(refuses: Callable[[Item], bool]) -> Scanned:
        outcome = np.array([int(refuses(item)) for item in items])
        look = FirstLook(np.where(design.offered, 1 / 3, 0.0), outcome)
        return compared(design, look, SCANS["refusals"], ALLOWANCES["default"])

    assert refusing(lambda item: item.cluster == "wide_0_1" or item.valence == "negative").value < 1
    scanned = refusing(lambda item: "wide_1_3" in item.people)
    assert scanned.value > 1
    number = sum("wide_1_3" in item.people for item in items)
    assert scanned.worst[0].sentence.startswith(
        f"about 'wide_1_3', it refused {number:,} of {number:,} questions"
    )


def test_which_items_have_a_scan(tmp_path: Path) -> None:
    def scans(*rows: files.Row) -> tuple[str, ...]:
        return scans_of(item_cases(benchmarks.cases(_built(tmp_path, *rows), SAMPLING)))

    assert scans(files.differs(0), files.alike(0)) == ()
    assert scans(files.told(0, ambiguous=True)) == ("choices", "refusals")
    assert scans(files.told(0, ambiguous=False)) == ("errors", "refusals")
    assert scans(files.choice(0)) == ("choices", "refusals")
    assert scans(files.decision(0)) == ("decisions", "refusals")


def test_items_without_groups_are_scanned_by_stereotype_and_text(tmp_path: Path) -> None:
    rows = [{**files.told(number, ambiguous=True), "groups": {}} for number in range(40)]
    checklist = _built(tmp_path, *rows)
    sampling = replace(SAMPLING, repeats=3)
    cases = item_cases(benchmarks.cases(checklist, sampling))
    design = design_of(checklist, cases, sampling, "choices")
    assert design.kinds == ("the stereotype", "somebody else than the stereotype")
    shares = np.where(design.shown[:, :, 0], 1.0, 0.0)
    assert _scan(design, shares, "choices").value > 1
