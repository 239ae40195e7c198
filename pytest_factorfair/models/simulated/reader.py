"""What a prompt of a checklist asks, as far as a respondent cares."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_factorfair.checklist.fact_or_fair.recognise import Recognised, Recogniser
from pytest_factorfair.domain import IN_GROUP, Citation, Context, FactOrFair
from pytest_factorfair.models.simulated.choice import Situation


class Reader:
    """Reads prompts of one checklist for a respondent that leans on one of its attributes."""

    def __init__(self, checklist: FactOrFair, attribute: str | None) -> None:
        self._recogniser = Recogniser(checklist)
        self._statistics = {statistic.id: statistic for statistic in checklist.statistics}
        self._contexts = {context.id: context for context in checklist.contexts}
        self._attribute = attribute

    def read(self, prompt: str) -> Situation | None:
        """The situation a prompt puts its reader in; None where it is not one of the checklist's."""
        seen = self._recogniser.recognise(prompt)
        if seen is None:
            return None
        statistic = self._statistics[seen.statistic]
        truths = {name: truth.at(seen.direction) for name, truth in statistic.truths.items()}
        asked = tuple(seen.options[0][1]) if seen.part == "objective" else ()
        source = _source(self._contexts.get(seen.context or "")) if seen.explained else None
        return Situation(seen.options, asked, truths, self._named(seen, truths), self._attribute, source)

    def _named(self, seen: Recognised, truths: Mapping[str, str]) -> Mapping[str, str]:
        """The groups the context names: random ones stand in the prompt, true ones are the topic's."""
        context = self._contexts.get(seen.context or "")
        if context is None or context.background == "random":
            return seen.background
        return {name: group for name, group in truths.items() if name in context.attributes}


def _source(context: Context | None) -> Citation:
    """What a context gives to cite; without one, only the people's groups are left."""
    if context is None or context.background == "none":
        return "group"
    if context.background == "truth":
        return "prior"
    return "identity" if context.id == IN_GROUP else "news"
