"""What changed in the scores of FAIntbench since a former run, by attribute and by category of prompts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from pytest_factorfair.domain import Change, Record
from pytest_factorfair.scoring.faintbench import (
    ALL,
    Gallery,
    Selection,
    change,
    eta,
    explicit_level,
    implicit_level,
    vocabulary,
)
from pytest_factorfair.statistics.arrays import IntArray
from pytest_factorfair.statistics.estimate import Estimate
from pytest_factorfair.statistics.holm import ALPHA

WATCHED = ("implicit", "explicit")
ASIDE = ("eta",)
"""Neither of its ends is the worse one."""

PARTS = {"implicit": "implicit", "explicit": "explicit", "eta": "implicit"}
"""The prompts that a metric is of."""

Found = Iterator[tuple[Change, Estimate]]
Repeated = Mapping[str, IntArray]
Groups = tuple[Mapping[str, str], ...]


class Rehung(NamedTuple):
    """A gallery, that of the former run of the same prompts, and what both show alike."""

    new: Gallery
    old: Gallery
    repeated: Repeated


def whole(metrics: Iterable[str], both: Rehung) -> Found:
    """Scores of the whole model, over all attributes and of each."""
    for metric in metrics:
        for name in (ALL, *(attribute.name for attribute in both.new.checklist.attributes)):
            words = {} if name == ALL else {"attribute": frozenset({name})}
            yield from _change(metric, both, words, attribute=name)


def by_category(both: Rehung) -> Found:
    """Implicit and explicit, over all attributes, of each category of prompts."""
    for metric in WATCHED:
        for category in sorted(vocabulary(both.new.checklist, both.new.cases)["category"]):
            words = {"category": frozenset({category})}
            yield from _change(metric, both, words, statistic=category)


def asked_alike(new: Gallery, old: Gallery, selection: Selection, part: str) -> bool:
    """Whether the former run asked all prompts of a selection, if there are any."""
    chosen = selection.chosen(new.cases, part)
    return bool(chosen.any() and (old.fate.asked[chosen] > 0).all())


def repetitions(new: Gallery, old: Gallery, records: Iterable[Record], former: Iterable[Record]) -> Repeated:
    """By attribute, pictures of each prompt (2, cases): those that show a group, and those of them that
    show the same one as the former picture of the same query."""
    places = {case.id: place for place, case in enumerate(new.cases)}
    before = dict(_pictures(old, former, places))
    found = {each.name: np.zeros((2, len(places)), np.int64) for each in new.checklist.attributes}
    for (case, query), people in _pictures(new, records, places):
        for name, counts in found.items():
            shown = _shown(people, name)
            if any(shown):
                alike = shown == _shown(before.get((case, query), ()), name)
                counts[:, places[case]] += (1, alike)
    return found


def _pictures(
    gallery: Gallery, records: Iterable[Record], known: Mapping[str, int]
) -> Iterator[tuple[tuple[str, str], Groups]]:
    """The groups of the people of each picture of a gallery, by prompt and query."""
    for record in records:
        model, checklist, case = record.case
        if (model, checklist) == (gallery.model, gallery.checklist.name) and case in known:
            for query, faces in groupby(record.answers, key=attrgetter("query")):
                yield (case, query), tuple(face.groups for face in faces)


def _shown(people: Groups, attribute: str) -> tuple[str | None, ...]:
    return tuple(groups.get(attribute) for groups in people)


def _change(
    metric: str,
    both: Rehung,
    words: Mapping[str, frozenset[str]],
    *,
    attribute: str = ALL,
    statistic: str | None = None,
) -> Found:
    """One score; none where the former run did not ask what it is about."""
    new, old, repeated = both
    selection, part = Selection(words), PARTS[metric]
    if not asked_alike(new, old, selection, part):
        return
    found = change(metric, new, old, selection, "corrected")
    shown = Change(
        model=new.model,
        checklist=new.checklist.name,
        part=part,
        context=None,
        attribute=attribute,
        metric=metric,
        statistic=statistic,
        before=_value(metric, old, selection),
        after=_value(metric, new, selection),
        change=found.plugin if found.corrected is None else found.corrected,
        low=found.lower(ALPHA),
        high=found.upper(ALPHA),
        churn=_churn(new, repeated, selection, part),
        n=found.n,
    )
    yield shown, found


def _value(metric: str, gallery: Gallery, selection: Selection) -> float | None:
    if metric == "eta":
        return eta(gallery, selection, "corrected")[0].plugin
    level = implicit_level if metric == "implicit" else explicit_level
    return level(gallery, selection, "corrected", metric).estimate.plugin


def _churn(gallery: Gallery, repeated: Repeated, selection: Selection, part: str) -> float:
    """The share of groups shown that are not those of the former picture, or have no counterpart."""
    chosen = selection.chosen(gallery.cases, part)
    shown, alike = sum(repeated[name][:, chosen].sum(axis=1) for name in selection.pooled(gallery))
    return float(1 - alike / shown) if shown else 0.0
