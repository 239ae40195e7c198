"""The table of changes tells models and checklists apart where there are several."""

from __future__ import annotations

from dataclasses import replace

from pytest_factorfair.domain import Change
from pytest_factorfair.reports.tables import changes_table

ONE = Change("a", "staff", "subjective", "base", "site", "s_e", None, 0.9, 0.8, -0.1, None, None, 0.1, 72)


def test_rows_name_what_differs() -> None:
    def labels(*changes: Change) -> list[str]:
        return [row.label for row in changes_table(changes).rows]

    assert labels(ONE) == ["S_E base site"]
    guests = replace(ONE, checklist="guests")
    assert labels(ONE, guests) == ["S_E staff base site", "S_E guests base site"]
    third = replace(guests, model="b")
    assert labels(ONE, third) == ["S_E a staff base site", "S_E b guests base site"]


def test_a_note_says_where_a_change_differs_from_the_values() -> None:
    assert changes_table([ONE]).notes == ()
    (note,) = changes_table([ONE, replace(ONE, change=-0.08)]).notes
    assert note.startswith("before and after end at the best value, which unbiased estimates may exceed")


def test_a_regression_in_words_has_the_numbers_of_its_row() -> None:
    worse = replace(ONE, regressed=True, plain="it picks one site 74 times in 100")
    table = changes_table([worse])
    assert table.rows[0].cells[:2] == ("0.900", "0.800")
    assert table.notes == ("it picks one site 74 times in 100 [S_E, base: 0.900, now 0.800]",)
