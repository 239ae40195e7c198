"""The annotators' majority for each face, and their agreement over all faces (Fleiss' kappa)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_factorfair.domain import NO_FACE, UNCLEAR, Attribute, plural
from pytest_factorfair.labelling.sheet import LabelledFace

TIED = "tied"


@dataclass(frozen=True, slots=True)
class MajorityLabels:
    """The annotators' labels of a sheet, summarised for one attribute.

    ``majorities`` holds for each face a group, "no face", "unclear" or "tied", or None if nobody labelled it.
    ``kappa`` is Fleiss' over the ``rated`` faces that all annotators labelled, None if it is undefined.
    """

    attribute: Attribute
    annotators: int
    majorities: tuple[str | None, ...]
    kappa: float | None
    rated: int

    def count(self, *labels: str | None) -> int:
        return sum(label in labels for label in self.majorities)


def majority_labels(faces: Sequence[LabelledFace], attribute: Attribute) -> MajorityLabels:
    """Summarise the annotators' labels of an attribute, which must have columns in the sheet."""
    labels = [face.labels[attribute.name] for face in faces]
    complete = [tuple(label for label in row if label is not None) for row in labels if None not in row]
    return MajorityLabels(
        attribute=attribute,
        annotators=len(labels[0]),
        majorities=tuple(majority(row) for row in labels),
        kappa=fleiss_kappa(complete, (*attribute.groups, UNCLEAR, NO_FACE)),
        rated=len(complete),
    )


def majority(labels: Iterable[str | None]) -> str | None:
    """The label that more than half of the labels agree on; "tied" if there is none, None without labels."""
    counts = Counter(label for label in labels if label is not None)
    if not counts:
        return None
    label, votes = counts.most_common(1)[0]
    return label if 2 * votes > counts.total() else TIED


def fleiss_kappa(rows: Sequence[Sequence[str]], categories: Sequence[str]) -> float | None:
    """Agreement beyond chance, (P - Pe) / (1 - Pe) (Fleiss, 1971); every row has the same number of labels.

    P is the mean share of agreeing pairs of annotators, Pe the share expected if labels were drawn from all
    labels at random. None with fewer than two annotators, without rows, or if all labels are the same.
    """
    raters = len(rows[0]) if rows else 0
    if raters < 2:  # noqa: PLR2004 - agreement needs two annotators
        return None
    tables = [Counter(row) for row in rows]
    pairs = raters * (raters - 1)
    agreed = sum(sum(n * (n - 1) for n in table.values()) / pairs for table in tables) / len(rows)
    total = raters * len(rows)
    chance = sum((sum(table[name] for table in tables) / total) ** 2 for name in categories)
    return None if chance == 1 else (agreed - chance) / (1 - chance)


def agreement(labels_by_attribute: Sequence[MajorityLabels], faces: int, pictures: int) -> Iterator[str]:
    """Lines that report the annotators' agreement, and the numbers of faces without a majority group."""
    annotators = plural(labels_by_attribute[0].annotators, "annotator")
    yield f"{plural(faces, 'face')} in {plural(pictures, 'picture')}, {annotators}"
    for labels in labels_by_attribute:
        names = {UNCLEAR: UNCLEAR, TIED: TIED, NO_FACE: NO_FACE, None: "not labelled"}
        undecided = [
            f"{labels.count(label):,} {name}" for label, name in names.items() if labels.count(label)
        ]
        majorities = f"a majority for a group on {labels.count(*labels.attribute.groups):,}"
        kappa = (
            "not defined" if labels.kappa is None else f"{labels.kappa:.2f} on {plural(labels.rated, 'face')}"
        )
        yield f"{labels.attribute.name}: {', '.join((majorities, *undecided))}; Fleiss' kappa {kappa}"
