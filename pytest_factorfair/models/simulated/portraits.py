"""Who stands in a FACT-OR-FAIR portrait: anyone of all groups, chosen as a simulated respondent does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_factorfair import checklist as checklists
from pytest_factorfair.checklist.fact_or_fair.lineup import everyone
from pytest_factorfair.domain import FactOrFair, Sampling, TopicCase, topic_cases
from pytest_factorfair.models.simulated import options
from pytest_factorfair.models.simulated.choice import Chance, Situation, choose
from pytest_factorfair.models.simulated.kinds import Traits

_ONE = Sampling("balanced", samples=1, objective=1, seed=0, images=1).of("image")


@dataclass(frozen=True, slots=True)
class Portrait:
    """What a prompt shows: a person of any combination of groups."""

    situation: Situation

    @property
    def attribute(self) -> str | None:
        return self.situation.attribute

    def people(self, traits: Traits, chance: Chance) -> tuple[Mapping[str, str], ...]:
        """The groups of the one person."""
        chosen = choose(self.situation, traits, chance()).letter
        return (dict(self.situation.options)[chosen],)


def portraits(checklist: FactOrFair, traits: Traits) -> Iterator[tuple[str, Portrait]]:
    """The portrait of each prompt of the checklist."""
    leaning = options.leaning(traits, checklist)
    offered = tuple((json.dumps(groups), groups) for groups in everyone(checklist).values())
    statistics = {statistic.id: statistic for statistic in checklist.statistics}
    for case in topic_cases(checklists.cases(checklist, _ONE)):
        truths = statistics[case.statistic].truths
        true = {name: truth.at(case.direction) for name, truth in truths.items()}
        for query in checklists.queries(checklist, case, _ONE):
            yield query.prompt, Portrait(Situation(offered, _asked(case), true, {}, leaning))


def _asked(case: TopicCase) -> tuple[str, ...]:
    return case.attributes if case.part == "objective" else ()
