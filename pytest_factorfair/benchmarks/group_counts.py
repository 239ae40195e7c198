"""Count answers that name groups, and measure the share of one: for benchmarks of users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pytest_factorfair.benchmarks.measurement import BaselineCounts, Cell, Component, TopicKey
from pytest_factorfair.benchmarks.metric import Metric, ScoreKey
from pytest_factorfair.benchmarks.share import ShareScore, TopicShare
from pytest_factorfair.domain import LOST, Answer, Case, CaseGroup, CaseKey, Checklist, Record
from pytest_factorfair.statistics.estimate import error_of_mean


class CaseCounts(NamedTuple):
    """The answers to one case: the groups named, and the numbers of queries asked and lost."""

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

    benchmark: str
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
        for model in models if cases else ():
            keys = {case.id: CaseKey(model, checklist.name, case.id) for case in cases}
            by_case = {id_: CaseCounts.of(answers.get(key, ()), attribute) for id_, key in keys.items()}
            counted.append(cls(checklist.protocol, model, checklist.name, cases[0].part, attribute, by_case))
        return tuple(counted)

    @property
    def comparison_key(self) -> ScoreKey:
        return ScoreKey(self.checklist, self.part, None, self.attribute)

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


class Share(ShareScore):
    """The share of a model's answers that name a group, with bounds that lost answers can move."""

    def __init__(self, metric: Metric, counts: GroupCounts, group: str) -> None:
        self.metric = metric
        self.model = counts.model
        self.words = (counts.checklist,)
        self.counts = counts
        self.group = group

    @property
    def score_key(self) -> ScoreKey:
        return self.counts.comparison_key

    @property
    def counted(self) -> str:
        return self.group

    @cached_property
    def topics(self) -> Sequence[TopicShare]:
        """The share of each case; any lost answer might have named the group."""
        return [
            TopicShare(
                case,
                CaseGroup(self.counts.checklist, (case,), case),
                counts.groups.get(self.group, 0),
                counts.answered,
                counts.asked - counts.answered,
                1 - counts.answered / counts.asked if counts.asked else 0.0,
            )
            for case, counts in self.counts.cases.items()
        ]

    @property
    def cells(self) -> tuple[Cell, ...]:
        cases = (TopicKey(self.model, self.counts.checklist, (case,)) for case in self.counts.cases)
        return (Cell(self.counts.part, *self.counts.total[1:], topic_keys=frozenset(cases)),)

    @property
    def components(self) -> Sequence[Component]:
        """The share of each case that was asked."""
        components = []
        for topic, counts in zip(self.topics, self.counts.cases.values(), strict=True):
            if counts.asked:
                share = topic.counted / max(topic.n, 1)
                reply = max(counts.groups, key=lambda group: counts.groups[group], default="refused")
                text = f"{self.group} {share:.0%}"
                components.append(Component(topic.name, share, text, topic.cases, reply, topic.lost))
        return components

    def earlier(self, baseline: BaselineCounts) -> Share | None:
        old = baseline.like(self.counts)
        return None if old is None else Share(self.metric, old, self.group)

    def sharing_cases(self, case: Case) -> int:
        """The number of all cases, which share its answers."""
        counted = case.checklist == self.counts.checklist and case.id in self.counts.cases
        return len(self.counts.cases) if counted else 0

    def error_at(self, threshold: float, n: int, *, regression: bool) -> float | None:
        del regression
        return error_of_mean(threshold, n)

    @property
    def plan_labels(self) -> tuple[str, ...]:
        return self.counts.part, self.counts.attribute

    @property
    def covers(self) -> frozenset[Hashable]:
        return frozenset({(self.model, self.counts.comparison_key)})
