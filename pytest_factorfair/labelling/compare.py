"""A detector held against the annotators' majority, on the same faces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pytest_factorfair.domain import NO_FACE, Detection, Face
from pytest_factorfair.labelling.people import Opinion
from pytest_factorfair.labelling.sheet import Box, Spot
from pytest_factorfair.scoring import Confusion
from pytest_factorfair.scoring.bounds import quantile, wilson

OVERLAP = 0.3
"""Boxes that share this much of what they cover together are of the same face."""

ALPHA = 0.025


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The share of ``n`` faces with a majority for a group in which the detector perceives that group.

    A face that the detector does not find, or finds no group in, is not right. ``low`` and ``high`` are
    Wilson's 95 % interval.
    """

    value: float
    low: float
    high: float
    n: int


def confusion(opinion: Opinion, spots: Sequence[Spot], detections: Sequence[Detection]) -> Confusion:
    """The table of one attribute: of faces that people agree on, how often each group is perceived.

    ``detections`` are those of the spots' pictures, in their order. Its last row are faces that people
    see none in, its last column those the detector finds no group in; unclear and tied ones are left out.
    """
    groups = opinion.attribute.groups
    rows = {**{group: place for place, group in enumerate(groups)}, NO_FACE: len(groups)}
    counts = np.zeros((len(rows), len(rows)), np.int64)
    for seen, spot, detection in zip(opinion.seen, spots, detections, strict=True):
        if seen in rows:
            face = match(spot, detection)
            perceived = face.groups.get(opinion.attribute.name) if face else None
            counts[rows[seen], rows.get(perceived or NO_FACE, len(groups))] += 1
    return Confusion(opinion.attribute.name, groups, counts)


def match(spot: Spot, detection: Detection) -> Face | None:
    """The face a detector found there: the one that overlaps the box most, or the largest without a box."""
    if spot.box is None:
        return max(detection.faces, key=lambda face: face.box[2] * face.box[3], default=None)
    box = spot.box
    best = max(detection.faces, key=lambda face: overlap(box, face.box), default=None)
    return best if best is not None and overlap(box, best.box) >= OVERLAP else None


def overlap(one: Box, other: Box) -> float:
    """The area two boxes share, over the area they cover together."""
    sides = (
        max(0.0, min(one[axis] + one[axis + 2], other[axis] + other[axis + 2]) - max(one[axis], other[axis]))
        for axis in (0, 1)
    )
    shared = np.prod(list(sides))
    return float(shared / (one[2] * one[3] + other[2] * other[3] - shared))


def accuracy(table: Confusion) -> Accuracy | None:
    """How often the detector is right about faces of a group; None without a face."""
    k = len(table.groups)
    n, right = int(table.counts[:k].sum()), int(np.trace(table.counts[:k, :k]))
    if not n:
        return None
    z = quantile(ALPHA)
    return Accuracy(right / n, wilson(right / n, n, z=-z), wilson(right / n, n, z=z), n)
