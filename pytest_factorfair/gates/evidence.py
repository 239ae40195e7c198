"""What a score says about its threshold: kept, broken, or neither for sure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pytest_factorfair.domain import Judgement
from pytest_factorfair.gates import wording
from pytest_factorfair.gates.doubt import empty, lossy, thin
from pytest_factorfair.gates.judged import Judged
from pytest_factorfair.gates.span import Span, broken, kept, to_beat
from pytest_factorfair.scoring.metrics import IMPUTED, LOSSES
from pytest_factorfair.statistics.holm import chance_above, chance_below, surviving


class Finding(NamedTuple):
    """A judgement of one score, and why.

    ``span`` is None where there is nothing to show. ``bounded`` tells a score that was judged by its
    bounds, ``chance`` is the p value of its claim to have failed; ``curable`` is one that more
    answers may decide.
    """

    judgement: Judgement
    reason: str
    span: Span | None = None
    bounded: bool = False
    chance: float | None = None
    curable: bool = False


def examine(score: Judged, alpha: float) -> Finding:
    """Judge one score alone, by its bounds at this level or, where it has none, by its value."""
    if score.basis is None:
        return Finding("not judged", "this run has no such score")
    rate = score.gate.metric in LOSSES
    pooled = score.gate.metric in IMPUTED and score.estimate.among is not None
    if not (rate or pooled) and (hollow := empty(score.cells)) is not None:
        return Finding("not judged" if score.estimate.n == 0 else "inconclusive", hollow)
    span = _span(score, alpha)
    if span is None:
        known = score.bounded and score.estimate.plugin is not None
        told = score.estimate.reason if known or score.gate.regression else ""
        reason = told or "there is nothing to compute it from"
        return Finding("inconclusive" if known else "not judged", reason)
    if score.bounded and (few := thin(score.gate.metric, score.cells, score.needed)) is not None:
        return Finding("inconclusive", few, span)
    missing = lossy(score.gate.metric, score.cells)
    if missing is None:
        return _decided(score, span)
    return _rate(score, span, missing) if rate else _at_worst(score, span, missing)


def corrected(
    findings: Sequence[Finding], scores: Sequence[Judged], levels: Sequence[float]
) -> tuple[Finding, ...]:
    """The findings after Holm's correction: a claim to have failed that does not survive is none.

    Each has been judged at its own level, and is held against the others in units of it.
    """
    family = sum(finding.bounded for finding in findings)
    chances = [
        None if finding.chance is None else finding.chance / level
        for finding, level in zip(findings, levels, strict=True)
    ]
    held = surviving(chances, of=family, alpha=1.0)
    return tuple(
        finding
        if holds or finding.chance is None or finding.span is None
        else finding._replace(
            judgement="inconclusive",
            reason=wording.one_of_many(score.gate, finding.span, family) + score.largest,
            curable=True,
        )
        for finding, holds, score in zip(findings, held, scores, strict=True)
    )


def _span(score: Judged, alpha: float) -> Span | None:
    found = score.estimate
    if not score.bounded:
        return None if found.plugin is None else Span(found.plugin, found.plugin, found.plugin)
    low, high = found.lower(alpha), found.upper(alpha)
    return (
        None if found.corrected is None or low is None or high is None else Span(found.corrected, low, high)
    )


def _decided(score: Judged, span: Span, *, widened: float = 0.0) -> Finding:
    """By the span, whose far end missing answers may have moved by so much."""
    gate = score.gate
    if kept(gate, span):
        return Finding("passed", wording.relation(gate, span, score.reach), span, score.bounded)
    largest = score.largest
    if not broken(gate, span):
        reason = wording.undecided(gate, span) + largest
        return Finding("inconclusive", reason, span, score.bounded, curable=True)
    chance = _chance(score, widened) if score.bounded else None
    reason = wording.relation(gate, span, score.reach) + largest
    return Finding("failed", reason, span, score.bounded, chance)


def _chance(score: Judged, widened: float) -> float:
    """The p value of the claim that the score, this much nearer to its threshold, is on the wrong side."""
    threshold = to_beat(score.gate)
    if score.gate.comparison == ">=":
        return chance_below(score.estimate, threshold - widened)
    return chance_above(score.estimate, threshold + widened)


def _rate(score: Judged, span: Span, missing: str) -> Finding:
    """A rate of refusals may fail although some might be missing, but must not pass."""
    found = _decided(score, span)
    return found if found.judgement == "failed" else Finding("inconclusive", missing, span, score.bounded)


def _at_worst(score: Judged, span: Span, missing: str) -> Finding:
    """Judged as though the missing answers had all gone one way, then the other; both must agree."""
    if score.bounded and score.gate.metric in IMPUTED:  # its span is that of the worst case
        found = _decided(score, span)
        undecided = found.judgement == "inconclusive"
        return found._replace(reason=f"{found.reason}; {missing}") if undecided else found
    worst = _worst(score, span)
    if worst is None:
        return Finding("inconclusive", missing, span, score.bounded)
    far = worst.high - span.high if score.gate.comparison == ">=" else span.low - worst.low
    found = _decided(score, worst, widened=far)
    told = f"{missing}; {wording.between(score.gate, worst)} if they are counted either way"
    return found._replace(reason=told, span=span, curable=False)


def _worst(score: Judged, span: Span) -> Span | None:
    """The span widened by what the missing answers could do to the value; None where that is unknown."""
    ends = score.basis.ends(score.gate, score.estimate, bounded=score.bounded) if score.basis else None
    if ends is None:
        return None
    return Span(span.value, span.low - (ends.value - ends.low), span.high + (ends.high - ends.value))
