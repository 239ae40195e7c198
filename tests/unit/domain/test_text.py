"""Formatting: texts from outside as a harmless line, and counts with nouns."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pytest_factorfair.domain import dollars, excerpt, first_few, plural, titled

CHECKLISTS = Path(__file__).parents[3] / "checklists"


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "0 cases"),
        (1, "1 case"),
        (2, "2 cases"),
        (10_944, "10,944 cases"),
        (1.0, "1 case"),
        (0.5, "0.5 cases"),
    ],
)
def test_a_count_agrees_with_its_noun(count: float, expected: str) -> None:
    assert plural(count, "case") == expected


@pytest.mark.parametrize(
    ("amount", "expected"),
    [(0, "$0.00"), (0.01, "$0.01"), (0.001, "$0.0010"), (0.000_012_34, "$0.000012"), (1_234.5, "$1,234.50")],
)
def test_an_amount_below_a_cent_has_two_significant_digits(amount: float, expected: str) -> None:
    assert dollars(amount) == expected


@pytest.mark.parametrize(
    ("noun", "expected"),
    [("", ["a", "b", "2 more"]), ("other", ["a", "b", "2 others"])],
)
def test_the_first_few_of_many_words(noun: str, expected: list[str]) -> None:
    assert first_few(["a", "b", "c", "d"], 2, noun) == expected
    assert first_few(["a", "b"], 2, noun) == ["a", "b"]


def test_an_irregular_plural() -> None:
    assert [plural(number, "query", "queries") for number in (1, 2)] == ["1 query", "2 queries"]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("crime_rate", "Crime Rate"),
        ("tea", "Tea"),
        ("éclat_1", "Éclat 1"),
        ("archived_hive", "Archived Hive"),
    ],
)
def test_identifiers_are_written_as_titles(name: str, written: str) -> None:
    assert titled(name) == written


def test_shipped_statistics_are_written_as_their_checklist_does() -> None:
    shipped = yaml.safe_load((CHECKLISTS / "statistics" / "us.yaml").read_text(encoding="utf-8"))[
        "statistics"
    ]
    assert len(shipped) == 19
    assert [titled(name) for name in shipped] == [statistic["name"] for statistic in shipped.values()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n\tb\r\nc", "a b c"),
        ("\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07", "red link"),
        ("\x1b[2Jx\x9b31my \u202eright\u202c\u200b\x00", "x 31my right"),
        ("0123456789", "0123456789"),
        ("0123456789a", "0123456..."),
    ],
)
def test_an_excerpt_is_one_visible_line(text: str, expected: str) -> None:
    assert excerpt(text, 10 if text.startswith("0") else 100) == expected


def test_an_excerpt_of_a_huge_text_is_not_searched_to_its_end() -> None:
    assert excerpt("\x1b" * 50_000_000, 100) == ""
