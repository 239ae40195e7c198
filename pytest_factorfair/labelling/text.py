"""What a comparison of detectors with people says on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_factorfair.domain import NO_FACE, plural
from pytest_factorfair.labelling.compare import accuracy
from pytest_factorfair.labelling.people import TIED, Opinion
from pytest_factorfair.labelling.sheet import UNCLEAR
from pytest_factorfair.scoring import Confusion


def agreement(opinions: Sequence[Opinion], faces: int, pictures: int) -> Iterator[str]:
    """What annotators agree on, and what became of the other faces."""
    annotators = plural(opinions[0].annotators, "annotator")
    yield f"{plural(faces, 'face')} in {plural(pictures, 'picture')}, {annotators}"
    for one in opinions:
        lost = (f"{one.count(label):,} {label}" for label in (UNCLEAR, TIED, NO_FACE) if one.count(label))
        unlabelled = [f"{one.count(None):,} not labelled"] if one.count(None) else []
        kappa = "not defined" if one.kappa is None else f"{one.kappa:.2f} on {plural(one.rated, 'face')}"
        told_of = ", ".join((f"a majority for a group on {one.told:,}", *lost, *unlabelled))
        yield f"{one.attribute.name}: {told_of}; Fleiss' kappa {kappa}"


def results(spec: str, tables: Sequence[Confusion]) -> Iterator[str]:
    """Accuracy and table of each attribute: rows are what people see, columns what is perceived."""
    yield ""
    for table in tables:
        found = accuracy(table)
        share = (
            f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f}) of {plural(found.n, 'face')}"
            if found
            else "no face with a majority"
        )
        yield f"{spec}: {table.attribute}: right on {share}"
        yield from _grid(table)
        if table.refusal:
            yield f"cannot correct shares: {table.refusal}"


def _grid(table: Confusion) -> Iterator[str]:
    labels = (*table.groups, "none")
    rows = [("people \\ detector", *labels)]
    rows += [(label, *map(str, row)) for label, row in zip(labels, table.counts.tolist(), strict=True)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for head, *cells in rows:
        numbers = "  ".join(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        yield f"  {head.ljust(widths[0])}  {numbers}"
