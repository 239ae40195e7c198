"""How many people the pictures show: what a reader of their scores must know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pytest_factorfair.domain import NO_FACE, Checklist, Record


def people_seen(records: Iterable[Record], checklist: Checklist, *, models: Sequence[str]) -> Iterator[str]:
    """One sentence for each model with pictures of nobody, or of several people, who all count."""
    mine = [record for record in records if record.case.checklist == checklist.name]
    for model in models:
        asked = [record for record in mine if record.case.model == model]
        pictures = Counter((record.case, answer.query) for record in asked for answer in record.answers)
        nobody = sum(answer.reason == NO_FACE for record in asked for answer in record.answers)
        several = sum(count > 1 for count in pictures.values())
        told = [
            f"{count:,} of {len(pictures):,} pictures {what}"
            for count, what in ((nobody, f"show {NO_FACE}"), (several, "show several, each of which counts"))
            if count
        ]
        if told:
            yield f"{model}: {'; '.join(told)}"
