"""Compare people's labels with a detector: its errors face by face, or the scores of a benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pytest_factorfair.domain import NO_FACE, Detection, Face, Score, plural
from pytest_factorfair.labelling.people import MajorityLabels
from pytest_factorfair.labelling.sheet import Box, Spot
from pytest_factorfair.statistics.bounds import BEYOND, quantile, wilson
from pytest_factorfair.statistics.confusion import Confusion

OVERLAP = 0.3
"""The intersection over union from which two boxes belong to the same face."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """A detector's accuracy: the share of ``n`` faces with a majority group that it assigns to this group.

    A face that the detector misses or assigns to no group counts as wrong. ``low`` and ``high`` are Wilson's
    95 % interval.
    """

    value: float
    low: float
    high: float
    n: int


def confusion(
    majority_labels: MajorityLabels, spots: Sequence[Spot], detections: Sequence[Detection]
) -> Confusion:
    """The confusion matrix of an attribute: people's majorities in rows, the detector's groups in columns.

    ``detections`` are those of the spots' pictures, in order. The last row is for spots at which people see
    no face, the last column for those at which the detector finds no group; unclear and tied faces are left
    out.
    """
    groups = majority_labels.attribute.groups
    rows = {**{group: row for row, group in enumerate(groups)}, NO_FACE: len(groups)}
    counts = np.zeros((len(rows), len(rows)), np.int64)
    for label, spot, detection in zip(majority_labels.majorities, spots, detections, strict=True):
        if label in rows:
            face = match(spot, detection)
            perceived = face.groups.get(majority_labels.attribute.name) if face else None
            counts[rows[label], rows.get(perceived or NO_FACE, len(groups))] += 1
    return Confusion(majority_labels.attribute.name, groups, counts)


def match(spot: Spot, detection: Detection) -> Face | None:
    """The detected face at a spot: the one that overlaps the spot's box most or, without a box, the largest.

    None if no face overlaps enough, or if several are equally large.
    """
    if spot.box is None:
        ranked = sorted(detection.faces, key=_area)
        clear = len(ranked) == 1 or (len(ranked) > 1 and _area(ranked[-1]) > _area(ranked[-2]))
        return ranked[-1] if clear else None
    box = spot.box
    best = max(detection.faces, key=lambda face: overlap(box, face.box), default=None)
    return best if best is not None and overlap(box, best.box) >= OVERLAP else None


def _area(face: Face) -> float:
    return face.box[2] * face.box[3]


def overlap(box: Box, other_box: Box) -> float:
    """The intersection of two boxes over their union."""
    width, height = (
        max(
            0.0,
            min(box[axis] + box[axis + 2], other_box[axis] + other_box[axis + 2])
            - max(box[axis], other_box[axis]),
        )
        for axis in (0, 1)
    )
    shared = width * height
    return shared / (box[2] * box[3] + other_box[2] * other_box[3] - shared)


def accuracy(table: Confusion) -> Accuracy | None:
    """The accuracy of a detector, from its confusion matrix; None without faces."""
    k = len(table.groups)
    n, right = int(table.counts[:k].sum()), int(np.trace(table.counts[:k, :k]))
    if not n:
        return None
    z = quantile(BEYOND)
    return Accuracy(right / n, wilson(right / n, n, z=-z), wilson(right / n, n, z=z), n)


def errors_text(spec: str, tables: Sequence[Confusion]) -> Iterator[str]:
    """Lines that report a detector's accuracy and its confusion matrix, with people's labels in rows."""
    yield ""
    for table in tables:
        estimate = accuracy(table)
        yield f"{spec}: {table.attribute}: " + (
            f"accuracy {estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f}) "
            f"on {plural(estimate.n, 'face')}"
            if estimate
            else "no face with a majority"
        )
        labels = (*table.groups, "none")
        rows = zip(labels, table.counts.tolist(), strict=True)
        cells = [("people \\ detector", *labels), *((label, *map(str, row)) for label, row in rows)]
        yield from _columns(cells, numbers=">")
        if table.refusal:
            yield f"cannot correct shares: {table.refusal}"


@dataclass(frozen=True, slots=True)
class ScorePair:
    """A score computed from people's labels and from the detector's; None if it cannot be computed.

    ``labelled`` and ``read`` are the numbers of answers on which they are based.
    """

    part: str
    attribute: str
    metric: str
    context: str | None
    people: float | None
    automatic: float | None
    labelled: int
    read: int

    @property
    def difference(self) -> float | None:
        """The score from people's labels minus the automatic one; None if either is missing."""
        return None if self.people is None or self.automatic is None else self.people - self.automatic


def side_by_side(people: Iterable[Score], automatic: Iterable[Score]) -> tuple[ScorePair, ...]:
    """Pair the scores that have a value from at least one source, in the order of the automatic ones."""
    by_people, by_detector = (
        {(score.part, score.attribute, score.metric, score.context): score for score in scores}
        for scores in (people, automatic)
    )
    rows = []
    for key in {**by_detector, **by_people}:
        person, machine = by_people.get(key), by_detector.get(key)
        row = ScorePair(
            *key,
            people=person.value if person else None,
            automatic=machine.value if machine else None,
            labelled=person.n if person else 0,
            read=machine.n if machine else 0,
        )
        if (row.people, row.automatic) != (None, None):
            rows.append(row)
    return tuple(rows)


def mean_differences(rows: Sequence[ScorePair]) -> Mapping[str, tuple[float, int]]:
    """For each metric, the mean absolute difference and the number of scores that have both values."""
    differences: dict[str, list[float]] = {}
    for row in rows:
        if row.difference is not None:
            differences.setdefault(row.metric, []).append(abs(row.difference))
    return {metric: (sum(values) / len(values), len(values)) for metric, values in differences.items()}


def scores_text(model: str, rows: Sequence[ScorePair]) -> Iterator[str]:
    """Lines that report a model's scores from both sources, and their mean absolute differences."""
    yield ""
    yield f"{model}: scores from people's and from the detector's labels of the same pictures; (n) answers"
    cells = [("part", "attribute", "metric", "context", "people", "automatic", "difference")]
    for row in rows:
        pair = (row.people, row.labelled), (row.automatic, row.read)
        people, automatic = (f"{'-' if value is None else f'{value:.3f}'} ({n:,})" for value, n in pair)
        difference = "" if row.difference is None else f"{row.difference:+.3f}"
        cells.append((row.part, row.attribute, row.metric, row.context or "", people, automatic, difference))
    yield from _columns(cells)
    for metric, (mean, count) in mean_differences(rows).items():
        yield f"{model}: {metric}: mean absolute difference {mean:.3f} over {plural(count, 'score')}"
    if single := sum(row.difference is None for row in rows):
        yield f"{model}: {plural(single, 'score')} with only one of the two values, left out of the means"


def _columns(cells: Sequence[Sequence[str]], numbers: Literal["<", ">"] = "<") -> Iterator[str]:
    """Align cells in columns; the first column is left-aligned."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for head, *values in cells:
        padded = (f"{cell:{numbers}{width}}" for cell, width in zip(values, widths[1:], strict=True))
        yield f"  {head:<{widths[0]}}  {'  '.join(padded)}".rstrip()
