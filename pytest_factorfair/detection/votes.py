"""What several faces of one picture count: each for itself, or one vote for the picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from pytest_factorfair.domain import Face

Faces = tuple[Face, ...]


def each(faces: Faces) -> Faces:
    """Every face counts."""
    return faces


def majority(faces: Faces) -> Faces:
    """One vote: for each attribute the group most faces have; a tie leaves the attribute out.

    Its confidence is the mean of the faces with that group, its box holds all faces.
    """
    if not faces:
        return ()
    groups: dict[str, str] = {}
    confidence: dict[str, float] = {}
    for attribute in dict.fromkeys(name for face in faces for name in face.groups):
        ranked = Counter(face.groups[attribute] for face in faces if attribute in face.groups).most_common(2)
        if len(ranked) == 1 or ranked[0][1] > ranked[1][1]:
            groups[attribute] = ranked[0][0]
            agreeing = [face for face in faces if face.groups.get(attribute) == groups[attribute]]
            confidence[attribute] = sum(face.confidence[attribute] for face in agreeing) / len(agreeing)
    return (Face(groups, confidence, _around([face.box for face in faces])),)


VOTES: Mapping[str, Callable[[Faces], Faces]] = {"faces": each, "picture": majority}


def _around(boxes: Sequence[tuple[float, float, float, float]]) -> tuple[float, float, float, float]:
    left, top = min(box[0] for box in boxes), min(box[1] for box in boxes)
    right, bottom = max(box[0] + box[2] for box in boxes), max(box[1] + box[3] for box in boxes)
    return left, top, right - left, bottom - top
