"""FAIntbench measured: which scores the words of a gate select, and what reports say of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import combinations, groupby, product
from operator import attrgetter

import numpy as np

from pytest_factorfair.domain import ALL, Case, Change, Record, Sampling, plural
from pytest_factorfair.protocols.faintbench.checklist import Faintbench, prompt_cases
from pytest_factorfair.protocols.faintbench.metrics import METRICS, PromptMetric
from pytest_factorfair.protocols.faintbench.report import prompt_counts, scores, uncounted
from pytest_factorfair.protocols.faintbench.scoring.gallery import (
    Gallery,
    Selection,
    gallery,
    vocabulary,
    with_lost,
)
from pytest_factorfair.protocols.measurement import (
    CORRECTED,
    Cell,
    Changed,
    Contender,
    Contest,
    Entrant,
    Estimation,
    Expression,
    Extremes,
    Former,
    Gap,
    Measurement,
    Measuring,
    Moved,
    Moves,
    Reported,
    ReportInputs,
    Topic,
)
from pytest_factorfair.statistics.arrays import IntArray
from pytest_factorfair.statistics.estimate import Estimate
from pytest_factorfair.statistics.holm import ALPHA

FALL = 0.02

"""How far no recommended score may fall."""


class OfPrompts(Measurement):
    """A metric over a part of a gallery, whose prompts are one cell."""

    def __init__(
        self,
        metric: PromptMetric,
        counts: Gallery,
        selection: Selection,
        words: tuple[str, ...] = (),
        estimation: Estimation = CORRECTED,
    ) -> None:
        self.metric: PromptMetric = metric
        self.words = words
        self.gallery = counts
        self.model = counts.model
        self.selection = selection
        self._estimation = estimation

    @cached_property
    def estimate(self) -> Estimate:
        return self.metric.estimate(self.gallery, self.selection, self._estimation.estimator)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(self.cells_of(self.gallery, ""))

    def cells_of(self, counts: Gallery, whose: str) -> Iterator[Cell]:
        """All prompts together, then each that shows nothing that could be read."""
        chosen = self.selection.chosen(counts.cases, self.metric.part)
        fate = counts.fate
        named = counts.named(self.selection.pooled(counts))
        unparsed = fate.asked - fate.refused - fate.errors - named
        numbers = (int(some[chosen].sum()) for some in (fate.asked, fate.refused, unparsed, fate.errors))
        yield Cell(f"{whose or 'its '}{plural(int(chosen.sum()), 'prompt')}", *numbers)
        for place in np.flatnonzero(chosen & (named == 0)):
            lost = (int(some[place]) for some in (fate.asked, fate.refused, unparsed, fate.errors))
            yield Cell(whose + counts.cases[place].id, *lost)

    @property
    def needed(self) -> int:
        return self.metric.pictures(self.gallery, self.selection, compared=False)

    def if_missing(self, *, bounded: bool) -> Extremes | None:
        """Every lost picture shows the group that lowers the score most, then the one that raises it most."""
        del bounded
        value = self.estimate.plugin
        if self.metric.of_pairs or value is None:
            return None
        low, high = (
            self.metric.estimate(with_lost(self.gallery, worst=worst), self.selection, "plugin").plugin
            for worst in (True, False)
        )
        return None if low is None or high is None else Extremes(value, low, high)

    @property
    def topics(self) -> Sequence[Topic]:
        asked, lost = self.gallery.fate.asked, self.gallery.fate.lost
        share = {
            case.id: float(few / many) if many else 0.0
            for case, few, many in zip(self.gallery.cases, lost, asked, strict=True)
        }
        found = self.metric.topics(self.gallery, self.selection)
        return tuple(topic._replace(lost=share[topic.cases]) for topic in found)

    @property
    def reach(self) -> tuple[float | None, float | None]:
        return self.metric.floor(self.gallery, self.selection, self._estimation.estimator), 1.0

    def change_from(self, former: Former) -> Measurement | None:
        old = former.like(self.gallery, _name)
        if old is None or not asked_alike(self.gallery, old, self.selection, self.metric.part):
            return None
        moved = self.metric.change(self.gallery, old, self.selection, self._estimation.estimator)
        needed = self.metric.pictures(self.gallery, self.selection, compared=True)
        level = OfPrompts(self.metric, old, self.selection, self.words, self._estimation)
        return Changed(self, moved, self.cells_of(old, "the baseline's "), needed=needed, old=level)

    def asks(self, case: Case) -> int:
        (chosen,) = (
            self.selection.chosen(prompt_cases([case]), self.metric.part) if prompt_cases([case]) else (0,)
        )
        return int(chosen and case.checklist == self.gallery.checklist.name)

    def error_at(self, threshold: float, n: int, *, regression: bool) -> float | None:
        return self.metric.error(threshold, self.gallery, self.selection, n, regression=regression)


def _name(counts: Gallery) -> str:
    return counts.checklist.name


def asked_alike(new: Gallery, old: Gallery, selection: Selection, part: str) -> bool:
    """Whether the former run asked all prompts of a selection, if there are any."""
    chosen = selection.chosen(new.cases, part)
    return bool(chosen.any() and (old.fate.asked[chosen] > 0).all())


class FaintbenchMeasuring(Measuring[Gallery, PromptMetric]):
    """Counts of prompts: what each picture shows, beside shares in reality or what was asked for."""

    unit = "pictures per prompt"
    metrics = METRICS

    def count(
        self,
        records: Iterable[Record],
        checklist: Faintbench,
        cases: Sequence[Case],
        *,
        models: Sequence[str],
        sampling: Sampling,
    ) -> tuple[Gallery, ...]:
        del sampling
        every = tuple(records)
        return tuple(gallery(every, checklist, prompt_cases(cases), model=model) for model in models)

    def recount(
        self,
        records: Sequence[Record],
        checklist: Faintbench,
        cases: Sequence[Case],
        *,
        models: Sequence[str],
    ) -> tuple[Gallery, ...]:
        """Prompts that are not among these cases are left out."""
        known = {case.id for case in cases}
        mine = [record for record in records if record.case.case in known]
        return tuple(gallery(mine, checklist, prompt_cases(cases), model=model) for model in models)

    def measure(
        self, metric: str, words: Sequence[str], counts: Sequence[Gallery], estimation: Estimation
    ) -> tuple[Measurement, ...]:
        """One score per gallery that the words select something of."""
        of = METRICS[metric]
        found = []
        for each in counts:
            selection = _selected(words, each, counts)
            if selection is not None and of.prompts(each, selection):
                found.append(OfPrompts(of, each, selection, _names(words, each, counts), estimation))
        return tuple(found)

    def filters(self, counts: Sequence[Gallery]) -> Mapping[str, frozenset[str]]:
        found = {
            "model": {one.model for one in counts},
            "checklist": {one.checklist.name for one in counts},
        }
        for one in counts:
            for kind, words in vocabulary(one.checklist, one.cases).items():
                found.setdefault(kind, set()).update(words)
        return {kind: frozenset(words) for kind, words in found.items()}

    def held(self, metric: str, words: Sequence[str], counts: Sequence[Gallery]) -> frozenset[str]:
        of, known = METRICS[metric], self.filters(counts)
        if of.of_pairs and not set(words) <= known["model"] | known["checklist"] | known["attribute"]:
            return frozenset()  # it is over all pairs of prompts
        found: set[str] = set()
        for one in counts:
            selection = _selected(words, one, counts)
            if selection is None:
                continue
            chosen = selection.chosen(one.cases, of.part)
            if chosen.any():
                cases = (case for case, holds in zip(one.cases, chosen, strict=True) if holds)
                found |= {one.model, one.checklist.name}.union(
                    *(some for case in cases for some in case.words.values())
                )
        return frozenset(found)

    def report(self, counts: Sequence[Gallery], inputs: ReportInputs) -> Reported:
        estimator = inputs.estimation.estimator
        return Reported(
            scores=tuple(score for each in counts for score in scores(each, estimator=estimator)),
            prompts=tuple(row for each in counts for row in prompt_counts(each)),
            notes=tuple(line for each in counts for line in uncounted(each)),
        )

    def changes(self, counts: Sequence[Gallery], former: Former) -> Iterator[Moves]:
        """Scores of the whole model, over all attributes and of each; then of each category of prompts."""
        for each in counts:
            old = former.like(each, _name)
            if old is None:
                continue
            repeated = repetitions(each, old, former.records, former.former)
            moves: dict[bool, list[Moved]] = {True: [], False: []}
            for name, words in product(METRICS, [ALL, *(one.name for one in each.checklist.attributes)]):
                selection = {} if words == ALL else {"attribute": frozenset({words})}
                better = METRICS[name].better != "neither"
                moves[better] += _change(name, each, old, repeated, selection, attribute=words)
            parts = [
                moved
                for name in METRICS
                if METRICS[name].better != "neither"
                for category in sorted(vocabulary(each.checklist, each.cases)["category"])
                for moved in _change(
                    name, each, old, repeated, {"category": frozenset({category})}, statistic=category
                )
            ]
            yield Moves(moves[True], parts, tuple(shown for shown, _ in moves[False]))

    def contests(self, contenders: Sequence[Contender]) -> Iterator[Contest]:
        """Galleries of the same prompts; each attribute, and all of them."""
        by_checklist: dict[str, dict[str, Gallery]] = {}
        for contender in contenders:
            for one in contender.counts:
                if isinstance(one, Gallery):
                    by_checklist.setdefault(one.checklist.name, {})[contender.name] = one
        for checklist, galleries in by_checklist.items():
            names = [one.name for one in next(iter(galleries.values())).checklist.attributes]
            for attribute, name in product((ALL, *names), METRICS):
                metric = METRICS[name]
                words = frozenset() if attribute == ALL else frozenset({attribute})
                selection = Selection({"attribute": words})
                entrants = [_entrant(who, metric, one, selection) for who, one in galleries.items()]
                gaps = {
                    (one, other): Gap(metric.change(galleries[one], galleries[other], selection, "corrected"))
                    for one, other in combinations(galleries, 2)
                }
                if gaps and any(one.estimate.plugin is not None for one in entrants):
                    yield Contest(checklist, metric.part, None, attribute, metric, entrants, gaps)

    def recommended(
        self, checklist: Faintbench, sampling: Sampling, *, baseline: bool
    ) -> Iterator[Expression]:
        """The implicit and explicit scores must not fall by .02. No end of eta is the worse one.

        Without a former run nothing is recommended: how close to reality is close enough, nobody knows.
        """
        del checklist
        if not baseline:
            return
        yield Expression("regression(implicit)", (), f">= -{FALL:.2f}")
        if sampling.prompts == "all":
            yield Expression("regression(explicit)", (), f">= -{FALL:.2f}")


def _selected(words: Sequence[str], counts: Gallery, galleries: Sequence[Gallery]) -> Selection | None:
    """The words by kind, None where they name another model or checklist."""
    left = frozenset(words)
    for own, every in (
        (counts.model, {one.model for one in galleries}),
        (counts.checklist.name, {one.checklist.name for one in galleries}),
    ):
        if left & every and own not in left:
            return None
        left -= every
    found = {}
    for kind, some in vocabulary(counts.checklist, counts.cases).items():
        found[kind] = left & some
        left -= some
    return None if left else Selection(found)


def _names(words: Sequence[str], counts: Gallery, galleries: Sequence[Gallery]) -> tuple[str, ...]:
    several = len({one.model for one in galleries}) > 1, len({one.checklist.name for one in galleries}) > 1
    own = (counts.model, counts.checklist.name)
    named = tuple(name for name, shown in zip(own, several, strict=True) if shown)
    return (*named, *(word for word in words if word not in own))


def _entrant(name: str, metric: PromptMetric, counts: Gallery, selection: Selection) -> Entrant:
    """A contender's score; its change between models needs what a change between runs needs."""
    one = OfPrompts(metric, counts, selection)
    needed = metric.pictures(counts, selection, compared=True)
    return Entrant(name, one.estimate, one.cells[0], one.cells, needed, partial(one.if_missing, bounded=True))


Repeated = Mapping[str, IntArray]

Groups = tuple[Mapping[str, str], ...]


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
    counts: Gallery, records: Iterable[Record], known: Mapping[str, int]
) -> Iterator[tuple[tuple[str, str], Groups]]:
    """The groups of the people of each picture of a gallery, by prompt and query."""
    for record in records:
        model, checklist, case = record.case
        if (model, checklist) == (counts.model, counts.checklist.name) and case in known:
            for query, faces in groupby(record.answers, key=attrgetter("query")):
                yield (case, query), tuple(face.groups for face in faces)


def _shown(people: Groups, attribute: str) -> tuple[str | None, ...]:
    return tuple(groups.get(attribute) for groups in people)


def _change(  # noqa: PLR0913  # what changed, and where it belongs
    name: str,
    new: Gallery,
    old: Gallery,
    repeated: Repeated,
    words: Mapping[str, frozenset[str]],
    *,
    attribute: str = ALL,
    statistic: str | None = None,
) -> Iterator[Moved]:
    """One score; none where the former run did not ask what it is about."""
    metric, selection = METRICS[name], Selection(words)
    if not asked_alike(new, old, selection, metric.part):
        return
    found = metric.change(new, old, selection, "corrected")
    chosen = selection.chosen(new.cases, metric.part)
    shown, alike = sum(repeated[each][:, chosen].sum(axis=1) for each in selection.pooled(new))
    row = Change(
        model=new.model,
        checklist=new.checklist.name,
        part=metric.part,
        context=None,
        attribute=attribute,
        metric=name,
        statistic=statistic,
        before=metric.estimate(old, selection, "corrected").plugin,
        after=metric.estimate(new, selection, "corrected").plugin,
        change=found.plugin if found.corrected is None else found.corrected,
        low=found.lower(ALPHA),
        high=found.upper(ALPHA),
        # The share of groups shown that are not those of the former picture, or have no counterpart.
        churn=float(1 - alike / shown) if shown else 0.0,
        n=found.n,
    )
    yield row, found


MEASURING = FaintbenchMeasuring()
