"""A share of answers: counts by case, and the measurement of a score that is one share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pytest_factorfair.domain import LOST, Answer, Case, CaseGroup, CaseKey, Checklist, Record
from pytest_factorfair.protocols.measurement import Cell, Component, Former, Measurement, Place, ValueRange
from pytest_factorfair.protocols.metric import About, Metric
from pytest_factorfair.statistics.estimate import Estimate, error_of_share, share_of


class CaseCounts(NamedTuple):
    """What one case was answered: the groups named, and the numbers of queries asked and lost."""

    groups: Mapping[str, int]
    asked: int
    refused: int
    unparsed: int
    errors: int

    @classmethod
    def of(cls, answers: Sequence[Answer], attribute: str) -> CaseCounts:
        """Count the groups of an attribute that answers name."""
        outcomes = Counter(answer.outcome for answer in answers)
        groups = Counter(answer.groups[attribute] for answer in answers if attribute in answer.groups)
        return cls(groups, len(answers), *(outcomes[outcome] for outcome in LOST))

    @property
    def answered(self) -> int:
        return sum(self.groups.values())


@dataclass(frozen=True, slots=True, eq=False)
class GroupCounts:
    """How often one model's answers about a checklist name each group of an attribute, by case."""

    protocol: str
    model: str
    checklist: str
    part: str
    attribute: str
    cases: Mapping[str, CaseCounts]

    @classmethod
    def of(
        cls,
        records: Iterable[Record],
        checklist: Checklist,
        cases: Sequence[Case],
        *,
        models: Sequence[str],
        attribute: str,
    ) -> tuple[GroupCounts, ...]:
        """Count the answers to these cases, which are of one part, model by model."""
        answers = {record.case: record.answers for record in records}
        counted = []
        for model in models:
            keys = {case.id: CaseKey(model, checklist.name, case.id) for case in cases}
            by_case = {id_: CaseCounts.of(answers.get(key, ()), attribute) for id_, key in keys.items()}
            counted.append(cls(checklist.protocol, model, checklist.name, cases[0].part, attribute, by_case))
        return tuple(counted)

    @property
    def about(self) -> About:
        return About(self.checklist, self.part, None, self.attribute)

    @property
    def vocabulary(self) -> Mapping[str, frozenset[str]]:
        return {"model": frozenset({self.model}), "checklist": frozenset({self.checklist})}

    @property
    def total(self) -> CaseCounts:
        """The sum over all cases."""
        groups = Counter[str]()
        for counts in self.cases.values():
            groups.update(counts.groups)
        numbers = (counts[1:] for counts in self.cases.values())
        return CaseCounts(groups, *(sum(column) for column in zip(*numbers, strict=True)))


class Share(Measurement):
    """The share of a model's answers that name a group, with bounds that lost answers can move."""

    def __init__(self, metric: Metric, counts: GroupCounts, group: str) -> None:
        self.metric = metric
        self.model = counts.model
        self.words = (counts.checklist,)
        self.counts = counts
        self.group = group

    @property
    def subject(self) -> About:
        return self.counts.about

    @property
    def estimate(self) -> Estimate:
        total = self.counts.total
        if total.asked and not total.answered:
            return Estimate(None, None, None, 0, "no question was answered")
        return share_of(total.groups.get(self.group, 0), total.answered)

    @property
    def cells(self) -> tuple[Cell, ...]:
        return (Cell(self.counts.part, *self.counts.total[1:]),)

    def if_missing(self, *, bounded: bool) -> ValueRange | None:
        """Had every lost answer named another group, and had it named this one."""
        del bounded
        total = self.counts.total
        if not total.answered:
            return None
        named, lost = total.groups.get(self.group, 0), total.asked - total.answered
        return ValueRange(named / total.answered, named / total.asked, (named + lost) / total.asked)

    @property
    def possible_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def components(self) -> Sequence[Component]:
        """The share of each case that was asked."""
        components = []
        for case, counts in self.counts.cases.items():
            if counts.asked:
                share = counts.groups.get(self.group, 0) / max(counts.answered, 1)
                reply = max(counts.groups, key=lambda group: counts.groups[group], default="refused")
                lost = 1 - counts.answered / counts.asked
                cases = CaseGroup(self.counts.checklist, (case,), case)
                components.append(Component(case, share, f"{self.group} {share:.0%}", cases, reply, lost))
        return components

    @property
    def places(self) -> frozenset[Place]:
        """Every case."""
        return frozenset(Place(self.model, self.counts.checklist, (case,)) for case in self.counts.cases)

    def earlier(self, former: Former) -> Share | None:
        old = former.like(self.counts)
        return None if old is None else Share(self.metric, old, self.group)

    def asks(self, case: Case) -> int:
        """All cases share its answers."""
        same = case.checklist == self.counts.checklist and case.id in self.counts.cases
        return len(self.counts.cases) if same else 0

    def error_at(self, threshold: float, n: int, *, regression: bool) -> float | None:
        del regression
        return error_of_share(threshold, n)

    @property
    def place(self) -> tuple[str, ...]:
        return self.counts.part, self.counts.attribute

    @property
    def about(self) -> frozenset[Hashable]:
        return frozenset({(self.model, self.counts.about)})
