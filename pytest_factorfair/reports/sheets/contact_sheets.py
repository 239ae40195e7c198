"""The contact sheets of a run, written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair import process
from pytest_factorfair.domain import Case, ContactSheet, Record, Summary
from pytest_factorfair.models import slug
from pytest_factorfair.reports.sheets.sheet import Sheet, sheet

if TYPE_CHECKING:
    from pytest_factorfair.reports.sheets.canvas import Canvas

FOLDER = "pictures"

Fetch = Callable[[str], bytes]
"""From an answer's key to the encoded picture; raises a FactorfairError where there is none."""


def contact_sheets(
    summary: Summary, cases: Iterable[Case], folder: str, *, picture: Fetch
) -> tuple[ContactSheet, ...]:
    """Write a sheet per record of an image checklist: ``<folder>/pictures/<model>/<case>.jpg``.

    Pictures are fetched and decoded one by one; one that is gone or broken is a tile that says so.

    Raises:
        OSError: a sheet cannot be written.
    """
    from pytest_factorfair.reports.sheets.canvas import Canvas  # Pillow, an extra

    canvas = Canvas(picture)
    asked = {(case.checklist, case.id): case for case in cases}
    several = len({checklist for checklist, _ in asked}) > 1
    return tuple(
        _written(
            canvas, sheet(summary, record, asked[record.case[1:]]), record, Path(folder), several=several
        )
        for record in summary.cases
        if record.case[1:] in asked
    )


def _written(canvas: Canvas, drawn: Sheet, record: Record, folder: Path, *, several: bool) -> ContactSheet:
    model, checklist, case = record.case
    name = f"{checklist}-{case}.jpg" if several else f"{case}.jpg"
    file = Path(FOLDER) / (slug(model).strip(".") or "model") / name
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    with process.draft(path) as draft:
        canvas.save(drawn, draft)
        draft.replace(path)
    pictures = len({answer.query for answer in record.answers})
    return ContactSheet(model, checklist, case, file.as_posix(), pictures, len(drawn.tiles))
