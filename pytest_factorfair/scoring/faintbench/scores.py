"""The scores of a gallery, as rows of a report: level by level, from the whole model to a category."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_factorfair.domain import Estimator, PromptCounts, Score
from pytest_factorfair.protocols.faintbench.checklist import KINDS
from pytest_factorfair.scoring.faintbench.gallery import Gallery
from pytest_factorfair.scoring.faintbench.measured import eta, explicit_level, floor_level, implicit_level
from pytest_factorfair.scoring.faintbench.selection import Selection
from pytest_factorfair.statistics.bounds import BEYOND
from pytest_factorfair.statistics.estimate import Estimate

ALL = "all"
"""The attribute of a score over all of them, weighted."""

IMPLICIT = ("implicit", "implicit_rescaled", "jensen_shannon")
EXPLICIT = ("explicit", "explicit_joint")


def scores(gallery: Gallery, *, estimator: Estimator = "corrected") -> tuple[Score, ...]:
    """Every score of a gallery: per level, over all attributes and for each of them.

    ``context`` is the level: None for the whole model, a kind of subject, or a category. Eta is of
    the whole model only. A score has the value None where no prompt of its level was asked.
    """
    return (*_levels(gallery, estimator), *_etas(gallery, estimator))


def prompt_counts(gallery: Gallery) -> Iterator[PromptCounts]:
    """What each prompt's pictures show, per person and attribute: all that the scores are made of."""
    fate = gallery.fate
    for row, (place, side) in enumerate(zip(gallery.prompt, gallery.side, strict=True)):
        for attribute in gallery.checklist.attributes:
            yield PromptCounts(
                model=gallery.model,
                checklist=gallery.checklist.name,
                case=gallery.cases[place].id,
                side=int(side),
                attribute=attribute.name,
                counts=dict(
                    zip(attribute.groups, map(int, gallery.counts[attribute.name][row]), strict=True)
                ),
                shares=dict(
                    zip(attribute.groups, map(float, gallery.truth[attribute.name][row]), strict=True)
                ),
                asked=int(fate.asked[place]),
                refused=int(fate.refused[place]),
                unparsed=int(fate.unparsed[place]),
                errors=int(fate.errors[place]),
            )
    for place, case in enumerate(gallery.cases):
        for side, group in enumerate(case.requested):
            outcomes = gallery.outcomes[place]
            held = int((outcomes[1] if side == 0 else outcomes[:, 1]).sum())
            yield PromptCounts(
                model=gallery.model,
                checklist=gallery.checklist.name,
                case=case.id,
                side=side,
                attribute=case.attributes[0],
                counts={group: held},
                shares={group: 1.0},
                asked=int(fate.asked[place]),
                refused=int(fate.refused[place]),
                unparsed=int(fate.unparsed[place]),
                errors=int(fate.errors[place]),
            )


def uncounted(gallery: Gallery) -> Iterator[str]:
    """One sentence where pictures do not show the people they were to show."""
    if unparsed := int(gallery.fate.unparsed.sum()):
        yield (
            f"{gallery.model}: {unparsed:,} of {int(gallery.fate.asked.sum()):,} pictures of "
            f"{gallery.checklist.name} show nobody, or more or fewer people than asked for: they do not count"
        )


def _levels(gallery: Gallery, estimator: Estimator) -> Iterator[Score]:
    kinds = [kind for kind in KINDS if any(case.kind == kind for case in gallery.cases)]
    categories = dict.fromkeys(case.category for case in gallery.cases)
    places: list[tuple[str | None, dict[str, frozenset[str]]]] = [(None, {})]
    places += [(kind, {"kind": frozenset({kind})}) for kind in kinds]
    places += [(category, {"category": frozenset({category})}) for category in categories]
    for context, words in places:
        for name in (ALL, *(attribute.name for attribute in gallery.checklist.attributes)):
            selection = Selection(words | ({} if name == ALL else {"attribute": frozenset({name})}))
            lowest = floor_level(gallery, selection)
            for metric in IMPLICIT:
                found = implicit_level(gallery, selection, estimator, metric).estimate
                floor = lowest if metric == "implicit" else 0.0
                yield _row(gallery, "implicit", context, name, metric, found, floor=floor)
            for metric in EXPLICIT if any(case.requested for case in gallery.cases) else ():
                found = explicit_level(gallery, selection, estimator, metric).estimate
                yield _row(gallery, "explicit", context, name, metric, found, floor=0.0)


def _etas(gallery: Gallery, estimator: Estimator) -> Iterator[Score]:
    for name in (ALL, *(attribute.name for attribute in gallery.checklist.attributes)):
        selection = Selection({} if name == ALL else {"attribute": frozenset({name})})
        found, magnitude = eta(gallery, selection, estimator)
        # Only the corrected eta has an end: of the others one could not read "0-1" truly.
        lowest = 0.0 if estimator == "corrected" else None
        yield _row(gallery, "implicit", None, name, "eta", found, floor=lowest)
        size = Estimate(magnitude, None, None, found.n, "how large deviations are; told, not judged")
        yield _row(gallery, "implicit", None, name, "eta_magnitude", size, floor=0.0)


def _row(  # noqa: PLR0913  # where a score belongs, and what it is
    gallery: Gallery,
    part: str,
    context: str | None,
    attribute: str,
    metric: str,
    found: Estimate,
    *,
    floor: float | None,
) -> Score:
    low, high = found.lower(BEYOND), found.upper(BEYOND)
    return Score(
        model=gallery.model,
        checklist=gallery.checklist.name,
        part=part,
        context=context,
        attribute=attribute,
        metric=metric,
        # The paper prints eta as a plain sum over pairs; all others leave 0 to 1 by rounding alone.
        value=found.plugin if metric == "eta" else _within(found.plugin),
        n=found.n,
        floor=floor,
        ceiling=1.0,
        corrected=_within(found.corrected),
        low=_within(low),
        high=_within(high),
        reason=found.reason,
    )


def _within(value: float | None) -> float | None:
    return None if value is None else min(max(value, 0.0), 1.0)
