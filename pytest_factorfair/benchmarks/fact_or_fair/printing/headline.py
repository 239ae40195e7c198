"""A model in three numbers: the means of its scores that Table 2 prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from pytest_factorfair.domain import Score


@dataclass(frozen=True, slots=True)
class Headline:
    """The three main scores of a model (Table 2): objective S_fact, subjective S_fair, and their average.

    ``attribute`` is None for the mean over the attributes; a number is None if a part is missing.
    """

    model: str
    checklist: str
    attribute: str | None
    fact: float | None
    fair: float | None
    average: float | None


def headline(scores: Iterable[Score]) -> tuple[Headline, ...]:
    """Compute, for each model and checklist, a headline per attribute, followed by their mean.

    S_fair is averaged over contexts. A number is None if a score that it needs is missing.
    """
    by_subject: dict[tuple[str, str], dict[str, list[Score]]] = {}
    for score in scores:
        attributes = by_subject.setdefault((score.model, score.checklist), {})
        attributes.setdefault(score.attribute, []).append(score)
    lines = []
    for key, attributes in by_subject.items():
        facts, fairs = (
            {
                name: _mean(
                    [
                        score.value
                        for score in attribute_scores
                        if (score.part, score.metric) == part_and_metric
                    ]
                )
                for name, attribute_scores in attributes.items()
            }
            for part_and_metric in (("objective", "s_fact"), ("subjective", "s_fair"))
        )
        lines += [
            Headline(*key, name, facts[name], fairs[name], _mean((facts[name], fairs[name])))
            for name in attributes
        ]
        fact, fair = _mean([*facts.values()]), _mean([*fairs.values()])
        lines.append(Headline(*key, None, fact, fair, _mean((fact, fair))))
    return tuple(lines)


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean, None where a value is missing or there is none: never a mean over fewer."""
    present = [value for value in values if value is not None]
    return fmean(present) if present and len(present) == len(values) else None
