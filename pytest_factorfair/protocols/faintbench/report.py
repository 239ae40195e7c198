"""Rows of a report on a gallery: scores by level, counts by prompt, and pictures that do not count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pytest_factorfair.domain import ALL, Estimator, PromptCounts, Score
from pytest_factorfair.protocols.faintbench.checklist import KINDS
from pytest_factorfair.protocols.faintbench.metrics import ETA, LEVELS
from pytest_factorfair.protocols.faintbench.scoring.gallery import Gallery, Selection
from pytest_factorfair.protocols.metric import ScoreKey
from pytest_factorfair.statistics.estimate import Estimate


def scores(gallery: Gallery, *, estimator: Estimator = "corrected") -> tuple[Score, ...]:
    """Every score of a gallery: per level, over all attributes and for each of them.

    ``context`` is the level: None for the whole model, a kind of subject, or a category. Eta is of
    the whole model only. A score has the value None where no prompt of its level was asked.
    """
    requested = any(case.requested for case in gallery.cases)
    measured = [metric for metric in LEVELS if metric.part == "implicit" or requested]
    names = (ALL, *(attribute.name for attribute in gallery.checklist.attributes))
    kinds = [kind for kind in KINDS if any(case.kind == kind for case in gallery.cases)]
    categories = dict.fromkeys(case.category for case in gallery.cases)
    levels: list[tuple[str | None, dict[str, frozenset[str]]]] = [(None, {})]
    levels += [(kind, {"kind": frozenset({kind})}) for kind in kinds]
    levels += [(category, {"category": frozenset({category})}) for category in categories]
    rows = []
    for context, words in levels:
        for name in names:
            selection = Selection(words | ({} if name == ALL else {"attribute": frozenset({name})}))
            for metric in measured:
                score_key = ScoreKey(gallery.checklist.name, metric.part, context, name)
                score = metric.estimate(gallery, selection, estimator)
                possible_range = metric.floor(gallery, selection, estimator), 1.0
                row = metric.score(gallery.model, score_key, score, possible_range)
                rows.append(replace(row, value=metric.clipped(score.plugin)))
    for name in names:
        selection = Selection({} if name == ALL else {"attribute": frozenset({name})})
        score, magnitude = ETA.sized(gallery, selection, estimator)
        score_key = ScoreKey(gallery.checklist.name, ETA.part, None, name)
        # Only the corrected eta has a lower end: as the paper prints it, a plain sum over pairs, it may leave
        # 0 to 1.
        lowest = 0.0 if estimator == "corrected" else None
        rows.append(ETA.score(gallery.model, score_key, score, (lowest, 1.0)))
        size = Estimate(magnitude, None, None, score.n, "how large deviations are; reported, not judged")
        row = ETA.score(gallery.model, score_key, size, (0.0, 1.0))
        rows.append(replace(row, value=ETA.clipped(magnitude), metric="eta_magnitude"))
    return tuple(rows)


def prompt_counts(gallery: Gallery, *, estimator: Estimator = "corrected") -> Iterator[PromptCounts]:
    """The counts of each prompt's pictures, per person and attribute, from which scores are computed."""
    counted = gallery.counted(estimator)
    outcome_counts = [
        {
            name: int(getattr(gallery.picture_outcomes, name)[prompt])
            for name in ("asked", "refused", "unparsed", "errors")
        }
        for prompt in range(len(gallery.cases))
    ]
    for row, (prompt, side) in enumerate(zip(gallery.prompt, gallery.side, strict=True)):
        for attribute in gallery.checklist.attributes:
            yield PromptCounts(
                model=gallery.model,
                checklist=gallery.checklist.name,
                case=gallery.cases[prompt].id,
                part=gallery.cases[prompt].part,
                kind=gallery.cases[prompt].kind,
                side=int(side),
                attribute=attribute.name,
                counts=dict(zip(attribute.groups, counted.counts[attribute.name][row].tolist(), strict=True)),
                shares=dict(
                    zip(attribute.groups, map(float, gallery.truth[attribute.name][row]), strict=True)
                ),
                **outcome_counts[prompt],
            )
    for prompt, case in enumerate(gallery.cases):
        for side, group in enumerate(case.requested):
            outcomes = counted.delivered[prompt]
            delivered = (outcomes[1] if side == 0 else outcomes[:, 1]).sum().item()
            yield PromptCounts(
                model=gallery.model,
                checklist=gallery.checklist.name,
                case=case.id,
                part=case.part,
                kind=case.kind,
                side=side,
                attribute=case.attributes[0],
                counts={group: delivered},
                shares={group: 1.0},
                **outcome_counts[prompt],
            )


def uncounted(gallery: Gallery) -> Iterator[str]:
    """One sentence if pictures do not show as many people as they should."""
    if unparsed := int(gallery.picture_outcomes.unparsed.sum()):
        yield (
            f"{gallery.model}: {unparsed:,} of {int(gallery.picture_outcomes.asked.sum()):,} pictures of "
            f"{gallery.checklist.name} show nobody, or more or fewer people than asked for: they do not count"
        )


def counted(gallery: Gallery, estimator: Estimator) -> Iterator[str]:
    """One sentence on what ``published-code`` counts of a person."""
    if estimator == "published-code":
        yield f"{gallery.model}: scores of {gallery.checklist.name} count " + (
            "the detector's probabilities, moved between groups by the rules of the authors' scripts"
            if gallery.soft
            else "the likeliest group of each person; the authors' scripts count probabilities, which "
            "--factorfair-detector=clip:FOLDER?align=published-code gives"
        )
