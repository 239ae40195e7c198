"""What changed since a baseline, as a table: regressions first."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_factorfair.domain import Change, plural
from pytest_factorfair.reports.table import Row, Table, as_lines, number, percent, span
from pytest_factorfair.reports.tables.fact_or_fair import SHOWN

HEADINGS = ("before", "after", "change", "bounds", "churn")


def compared(changes: Sequence[Change]) -> str:
    """One line: how much got worse."""
    worse = [change for change in changes if change.regressed]
    scores = sum(change.statistic is None for change in worse)
    statistics = sum(change.statistic is not None and change.metric in SHOWN for change in worse)
    if not worse:
        return "Compared with the baseline: nothing regressed"
    categories = len(worse) - scores - statistics
    counts = (
        (scores, "score", ""),
        (statistics, "statistic", ""),
        (categories, "category of prompts", "categories of prompts"),
    )
    told = [plural(*count) for count in counts if count[0]]
    return f"Compared with the baseline: {' and '.join(told)} regressed"


def changes_table(changes: Sequence[Change]) -> Table:
    """Rows in the order given, those that regressed marked."""
    several = [name for name in ("model", "checklist") if len({getattr(one, name) for one in changes}) > 1]
    rows = tuple(
        Row(_label(change, [getattr(change, name) for name in several]), _cells(change)) for change in changes
    )
    return Table("since the baseline", HEADINGS, rows)


def changes_text(changes: Sequence[Change]) -> str:
    """The line and the table as plain text, for a terminal."""
    return "\n".join(
        [compared(changes), *(line.text for line in as_lines(changes_table(changes), titles=False))]
    )


def _label(change: Change, whose: Sequence[str]) -> str:
    own = [change.context or change.part] if change.metric in SHOWN else []
    place = [*whose, *own, change.attribute]
    place += [change.statistic] if change.statistic else []
    sign = "REGRESSED " if change.regressed else ""
    return f"{sign}{SHOWN.get(change.metric, change.metric)} {' '.join(place)}"


def _cells(change: Change) -> tuple[str, ...]:
    return (
        number(change.before),
        number(change.after),
        number(change.change, sign="+"),
        span(change.low, change.high, sign="+"),
        percent(change.churn),
    )
