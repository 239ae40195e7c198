"""Why a score must not be believed as it stands: the answers it would rest on are missing, or too few."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_factorfair.protocols.measurement import Cell, Metric

# Of the answers of any cell, the largest share that may be missing: refusing where it matters
# makes a model look fairer than it is.
ALLOWED = 0.05


def empty(cells: Sequence[Cell]) -> str | None:
    """Which cells have no answers at all, None if all have some."""
    found = [cell for cell in cells if cell.asked == cell.lost]
    if not found:
        return None
    asked = f"{found[0].asked} asked: {found[0]}" if found[0].asked else "none asked"
    return f"no answers in {found[0].name}{_more(found)} ({asked})"


def thin(metric: str, cells: Sequence[Cell], needed: int) -> str | None:
    """Which cells were asked too little for bounds on the metric, None if none was."""
    found = [cell for cell in cells if cell.asked < needed]
    if not found:
        return None
    return f"{found[0].asked} asked in {found[0].name}{_more(found)}; {metric} needs {needed}"


def lossy(metric: Metric, cells: Sequence[Cell]) -> str | None:
    """Where more answers are missing than may be, None if nowhere.

    For the rate of refused or of unparsed answers only errors are missing: they might have been either.
    """
    if metric.counts_losses:
        cells = [cell._replace(refused=0, unparsed=0) for cell in cells]
    worst = max(cells, key=lambda cell: cell.share)
    if worst.share <= ALLOWED or metric.missing == "all counted":
        return None
    return (
        f"{worst.share:.1%} of the answers in {worst.name} are missing ({worst} of {worst.asked}); "
        f"{ALLOWED:.0%} are allowed"
    )


def _more(cells: list[Cell]) -> str:
    return f" and {len(cells) - 1} more" if len(cells) > 1 else ""
