"""A table that is too wide for the terminal has shorter labels, or loses its last columns and says so."""

from __future__ import annotations

import pytest

from pytest_factorfair.drawing.table import Row, Table, fitting


@pytest.mark.parametrize(
    ("width", "headings", "legends"),
    [
        (23, ("S_E", "S_KLD", "strength"), ()),
        (22, ("S_E", "S_KLD"), ("column 'strength' is left out here; the page has it",)),
        (12, ("S_E",), ("columns 'S_KLD', 'strength' are left out here; the page has them",)),
    ],
)
def test_columns_that_do_not_fit_are_left_out_with_a_note(
    width: int, headings: tuple[str, ...], legends: tuple[str, ...]
) -> None:
    table = Table("race", ("S_E", "S_KLD", "strength"), (Row("base", ("1.0", "0.9", "0.2")),))
    fitted = fitting(table, width)
    assert (fitted.table.headings, fitted.legends) == (headings, legends)
    assert [len(row.cells) for row in fitted.table.rows] == [len(headings)]


def test_long_labels_are_shortened_in_the_middle() -> None:
    name = "hosted_vllm/some-organisation/a-model-with-a-long-name-instruct"
    rows = tuple(Row(f"{name} {attribute}", ("1.000 ±.010", "0 of 9")) for attribute in ("gender", "race"))
    fitted = fitting(Table("scores", ("S_fact", "no answer"), rows), 60)
    assert (fitted.table.headings, fitted.legends) == (("S_fact", "no answer"), ())
    assert [row.label for row in fitted.table.rows] == [
        "hosted_vllm/some-or…me-instruct gender",
        "hosted_vllm/some-or…name-instruct race",
    ]
    alike = (Row(f"{name}-1{name}", ("1.0", "2")), Row(f"{name}-2{name}", ("1.0", "2")))
    assert fitting(
        Table("scores", ("S_fact", "no answer"), alike), 60
    ).legends  # told apart by no short label
