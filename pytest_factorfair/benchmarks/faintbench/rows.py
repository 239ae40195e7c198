"""The rows of FAIntbench in report.json: counts by prompt; and notes on pictures that do not count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_factorfair.benchmarks.faintbench.scoring.gallery import Gallery
from pytest_factorfair.domain import Estimator, ReportRows


@dataclass(frozen=True, slots=True)
class PromptCounts:
    """The counts of a person in a prompt's pictures, by group, and the numbers of missing answers.

    ``kind`` is what the prompt is about, ``side`` is the person, from 0, left to right. For an implicit
    prompt, ``shares`` are the demographic ones. For an explicit prompt, the only group is the requested one,
    and its count the number of pictures that show it. If the estimator adds up probabilities, ``counts`` are
    their sums.
    """

    model: str
    checklist: str
    case: str
    part: str
    kind: str
    side: int
    attribute: str
    counts: Mapping[str, int | float]
    shares: Mapping[str, float]
    asked: int
    refused: int
    unparsed: int
    errors: int


def _by_group(prompt: PromptCounts) -> Iterator[Mapping[str, object]]:
    """A line per group, with its share in reality."""
    for group, count in prompt.counts.items():
        yield {
            **{name: getattr(prompt, name) for name in PROMPT},
            "group": group,
            "count": count,
            "share_in_reality": prompt.shares.get(group),
            **{name: getattr(prompt, name) for name in ("asked", "refused", "unparsed", "errors")},
        }


PROMPT = ("model", "checklist", "case", "side", "attribute")

PROMPTS = ReportRows("prompts", PromptCounts, PROMPT, _by_group)


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
