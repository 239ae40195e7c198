"""The contact sheets of a run: a case's pictures with the labels read off them, to audit a detector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

from pytest_factorfair.benchmarks import benchmarks_of
from pytest_factorfair.domain import NO_FACE, Answer, Case, ContactSheet, Record, Summary, plural
from pytest_factorfair.reports.responses import PICTURES


class ContactSheets(NamedTuple):
    """Contact sheets, and by key what the page shows of their pictures: a small JPEG, or why it has none."""

    sheets: tuple[ContactSheet, ...] = ()
    thumbnails: Mapping[str, bytes | str] = MappingProxyType({})


UNSURE = 0.6
HIGHEST = 0.99
FACES = 3


@dataclass(frozen=True, slots=True)
class Caption:
    """A line below a picture; ``tone`` is its style: plain, unsure, none or failed."""

    text: str
    tone: str = "plain"


@dataclass(frozen=True, slots=True)
class Tile:
    """A picture's place on the sheet; ``key`` is empty where there is nothing to show."""

    number: int
    key: str
    captions: tuple[Caption, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """The text of a sheet and the keys of its pictures."""

    heading: str
    lines: tuple[str, ...]
    tiles: tuple[Tile, ...]


def sheet(summary: Summary, record: Record, case: Case) -> Sheet:
    """The sheet of a case.

    Its lines say ``20 pictures: 18 faces, 1 no face, 1 refused`` and, for each attribute, ``gender,
    perceived: Male 14 · Female 5; true: Male``.
    """
    tiles = tuple(_tiles(record.answers))
    outcomes = Counter(
        NO_FACE if answer.reason == NO_FACE else answer.reported_outcome for answer in record.answers
    )
    faces = outcomes.pop("answered", 0)
    counts = ", ".join([plural(faces, "face"), *(f"{n:,} {outcome}" for outcome, n in outcomes.items())])
    truncation = f" (the first {PICTURES} are shown)" if len(tiles) > PICTURES else ""
    lines = [
        " · ".join((*case.path, record.case.model)),
        f"{plural(len(tiles), 'picture')}{truncation}: {counts}",
    ]
    truths = {
        attribute: group
        for benchmark in benchmarks_of(summary.scores)
        for attribute, group in benchmark.true_groups(summary, record, case).items()
    }
    for name in case.attributes:
        group_counts = Counter(answer.groups[name] for answer in record.answers if name in answer.groups)
        perceived = (
            " · ".join(f"{group} {count:,}" for group, count in group_counts.most_common()) or "nobody"
        )
        true = f"; true: {truths[name]}" if name in truths else ""
        lines.append(f"{name}, perceived: {perceived}{true}")
    return Sheet(case.title, tuple(lines), tiles[:PICTURES])


def _tiles(answers: Iterable[Answer]) -> Iterator[Tile]:
    """A tile per picture, with a caption for each of its first faces."""
    for number, (_, group) in enumerate(groupby(answers, key=lambda answer: answer.query), 1):
        faces = list(group)
        shown = faces[0].key if faces[0].outcome in ("answered", "unparsed") else ""
        captions = [
            _caption(answer, f"{position}: " if len(faces) > 1 else "")
            for position, answer in enumerate(faces[:FACES], 1)
        ]
        if len(faces) > FACES:
            captions.append(Caption(f"and {plural(len(faces) - FACES, 'more face')}"))
        yield Tile(number, shown, tuple(captions))


def _caption(answer: Answer, before: str) -> Caption:
    """The perceived groups with the detector's confidence, ``>.99`` where it would be rounded to 1."""
    if answer.outcome != "answered":
        tone = "none" if answer.outcome == "unparsed" else "failed"
        return Caption(before + (answer.reason or answer.outcome), tone)
    read = []
    for name, group in answer.groups.items():
        share = answer.confidence.get(name)
        if share is None:
            read.append(group)
        else:
            read.append(f"{group} {'>.99' if share > HIGHEST else f'{share:.2f}'.removeprefix('0')}")
    unsure = any(share < UNSURE for share in answer.confidence.values())
    return Caption(before + " · ".join(read), "unsure" if unsure else "plain")
