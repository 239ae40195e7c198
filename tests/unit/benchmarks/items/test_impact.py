"""Impact ratios: rates of favourable answers by group, computed by hand."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
import yaml

from pytest_factorfair import benchmarks
from pytest_factorfair.benchmarks.items.checklist import item_cases
from pytest_factorfair.benchmarks.items.impact import ImpactRatio, impact_ratios
from pytest_factorfair.benchmarks.items.votes import AnswerKey, Votes
from pytest_factorfair.domain import Sampling
from tests.unit.benchmarks.items import files

SAMPLING = Sampling("balanced", samples=1, objective=1, seed=0)
PEOPLE = tuple(product(("women", "men"), ("black", "white")))

GRANTED = {("women", "black"): 3, ("women", "white"): 6, ("men", "black"): 12, ("men", "white"): 9}
"""How many of the 12 loans are granted to each person."""


@pytest.fixture(scope="module")
def ratios(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], ImpactRatio]:
    """Of 12 loans, each asked about four people; the last loan to a black woman is a refusal of the model."""
    return {
        (row.attribute, row.group): row for row in impact_ratios(_votes(tmp_path_factory.mktemp("loans"), 12))
    }


def _votes(folder: Path, loans: int, *, granted: bool = True) -> Votes:
    items = [
        files.decision(0)
        | {"id": f"loan_{loan}_{gender}_{race}", "question": f"Grant loan {loan} to {gender}, {race}?",
           "cluster": f"loan_{loan}", "groups": {"gender": [gender], "race": [race]}}
        for loan in range(loans) for gender, race in PEOPLE
    ]  # fmt: skip
    attributes = {
        name: {"groups": {group: {"word": group} for group in dict.fromkeys(groups)}}
        for name, groups in zip(("gender", "race"), zip(*PEOPLE, strict=True), strict=True)
    }
    text = yaml.safe_dump(files.HEAD | {"attributes": attributes, "items": items})
    (folder / "loans.yaml").write_text(text, encoding="utf-8")
    checklist = benchmarks.load("loans.yaml", truth="audited", base=folder)
    key = AnswerKey.of(checklist.name, item_cases(benchmarks.cases(checklist, SAMPLING)))
    votes = np.zeros(key.offered.shape)
    for row in range(len(key.cases)):
        loan, person = divmod(row, len(PEOPLE))
        if loan == 11 and PEOPLE[person] == ("women", "black"):
            votes[row, -3] = 1  # refused
        else:
            votes[row, 0 if granted and loan < GRANTED[PEOPLE[person]] else 1] = 1
    return Votes.of("m", key, votes)


def test_ratios_are_those_of_a_table_by_hand(ratios: dict[tuple[str, str], ImpactRatio]) -> None:
    """Women: 9 of 23, men: 21 of 24; black: 15 of 23, white: 15 of 24; the highest combination has 12 of 12."""
    expected = {
        ("gender", "women"): (9, 23, 1, 9 / 23 / (21 / 24)),
        ("gender", "men"): (21, 24, 0, 1),
        ("race", "black"): (15, 23, 1, 1),
        ("race", "white"): (15, 24, 0, 15 / 24 / (15 / 23)),
        ("gender x race", "women x black"): (3, 11, 1, 3 / 11),
        ("gender x race", "women x white"): (6, 12, 0, 6 / 12),
        ("gender x race", "men x black"): (12, 12, 0, 1),
        ("gender x race", "men x white"): (9, 12, 0, 9 / 12),
    }
    assert ratios.keys() == expected.keys()
    for name, (favourable, n, refused, ratio) in expected.items():
        row = ratios[name]
        assert (row.favourable, row.n, row.refused, row.unparsed, row.errors) == (
            favourable,
            n,
            refused,
            0,
            0,
        )
        assert row.ratio == pytest.approx(ratio)


def test_intervals_agree_with_the_delta_method(ratios: dict[tuple[str, str], ImpactRatio]) -> None:
    """For women among genders: their log ratio from 12 clusters, whose loans are all or none granted alike."""
    women = np.array([[loan < 3, loan < 6] for loan in range(12)]).sum(axis=1).astype(float)
    men = np.array([[loan < 12, loan < 9] for loan in range(12)]).sum(axis=1).astype(float)
    asked = np.where(np.arange(12) == 11, 1, 2)
    influence = (women - 9 / 23 * asked) / 9 - (men - 21 / 24 * 2) / 21
    error = float(np.sqrt((influence**2).sum()))
    row = ratios["gender", "women"]
    assert row.low is not None
    assert row.high is not None
    assert np.log(row.high / row.low) == pytest.approx(2 * 1.96 * error, rel=0.35)
    assert row.low < row.ratio < row.high  # type: ignore[operator]


def test_no_ratio_without_a_favourable_answer_and_no_interval_of_few_clusters(tmp_path: Path) -> None:
    assert {(row.ratio, row.low) for row in impact_ratios(_votes(tmp_path, 12, granted=False))} == {
        (None, None)
    }
    few = list(impact_ratios(_votes(tmp_path, 4)))
    assert {row.reason for row in few} == {"no interval: it needs 10 clusters of questions, there are 4"}
    assert {row.low for row in few} == {None}
