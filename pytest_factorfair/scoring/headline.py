"""A model in three numbers (Fact-or-Fair, Table 2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from pytest_factorfair.domain import Headline, Score


def headline(scores: Iterable[Score]) -> tuple[Headline, ...]:
    """For each model and checklist, a headline per attribute and last the mean over all of them.

    S_fair is averaged over contexts. A number is None where one that it needs is missing.
    """
    found: dict[tuple[str, str], dict[str, list[Score]]] = {}
    for score in scores:
        attributes = found.setdefault((score.model, score.checklist), {})
        attributes.setdefault(score.attribute, []).append(score)
    return tuple(line for key, attributes in found.items() for line in _lines(key, attributes))


def _lines(key: tuple[str, str], attributes: dict[str, list[Score]]) -> tuple[Headline, ...]:
    pairs = {attribute: (_fact(scores), _fair(scores)) for attribute, scores in attributes.items()}
    facts, fairs = zip(*pairs.values(), strict=True)
    rows = [*pairs.items(), (None, (_mean(facts), _mean(fairs)))]
    return tuple(Headline(*key, name, fact, fair, _mean((fact, fair))) for name, (fact, fair) in rows)


def _fact(scores: Sequence[Score]) -> float | None:
    return _mean([score.value for score in scores if (score.part, score.metric) == ("objective", "s_fact")])


def _fair(scores: Sequence[Score]) -> float | None:
    return _mean([score.value for score in scores if (score.part, score.metric) == ("subjective", "s_fair")])


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean, None where a value is missing or there is none: never a mean over fewer."""
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None
