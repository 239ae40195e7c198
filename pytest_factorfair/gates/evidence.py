"""Judge a score by its bounds and its missing answers: passed, failed or inconclusive."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

from pytest_factorfair.benchmarks.measurement import (
    ALLOWED,
    LEAST_MASS,
    Cell,
    Measurement,
    TopicKey,
    checked_estimate,
)
from pytest_factorfair.benchmarks.metric import Metric
from pytest_factorfair.domain import Gate, Judgement, plural
from pytest_factorfair.gates.threshold import (
    UNLIMITED,
    BoundedScore,
    Extent,
    between,
    clipped,
    fail_limit,
    meets,
    one_of_many,
    relation,
    score_and_limit,
    undecided,
    violates,
)
from pytest_factorfair.statistics.bounds import quantile, wilson
from pytest_factorfair.statistics.estimate import Estimate
from pytest_factorfair.statistics.holm import ALPHA, chance_above, chance_below, surviving

NOTHING = Estimate(None, None, None, 0)
MISSING = Estimate(None, None, None, 0, "the baseline has no such score")


@dataclass(frozen=True, slots=True, eq=False)
class GatedScore:
    """One score that a gate covers; ``words`` distinguish it from the others.

    ``measurement`` is None if the run has no such score; ``unmatched`` is whether the baseline has none. A
    ``bounded`` score is judged by its bounds, any other by its value.
    """

    gate: Gate
    measurement: Measurement | None
    words: tuple[str, ...]
    bounded: bool
    unmatched: bool = False

    @property
    def estimate(self) -> Estimate:
        if self.unmatched:
            return MISSING
        return NOTHING if self.measurement is None else checked_estimate(self.measurement)

    @property
    def topic_keys(self) -> frozenset[TopicKey]:
        return frozenset() if self.measurement is None else self.measurement.topic_keys

    def bounds(self, alpha: float) -> BoundedScore | None:
        """The score with its bounds at this level, or its value if it has no bounds; None without a value."""
        estimate = self.estimate
        if not self.bounded:
            return (
                None
                if estimate.plugin is None
                else BoundedScore(estimate.plugin, estimate.plugin, estimate.plugin)
            )
        low, high = estimate.lower(alpha), estimate.upper(alpha)
        if estimate.corrected is None or low is None or high is None:
            return None
        return BoundedScore(estimate.corrected, low, high)

    def undecided(self, alpha: float) -> frozenset[TopicKey]:
        """The topics where further answers may decide the score at this level."""
        if self.measurement is None or self.gate.comparison == ">=":
            return self.topic_keys
        return self.measurement.undecided(self.gate.threshold, alpha)

    @property
    def driver(self) -> str:
        """The single share that determines the score, as the end of a sentence; empty if there is none."""
        driver = "" if self.measurement is None or self.unmatched else self.measurement.driver
        return f": {driver}" if driver else ""

    @property
    def extent(self) -> Extent:
        """The range of what is shown; a change, and a plug-in value, is shown as it is."""
        if self.gate.regression or self.measurement is None or not self.bounded:
            return UNLIMITED
        return self.measurement.metric.declared_range

    def shown(self, number: float) -> float:
        """A corrected score as reports show it: within its range, which an unbiased estimate may leave."""
        return clipped(number, self.extent)


LOST = "answers are missing"
"""The cause of failed rates of lost answers, and of scores that lost answers leave undecided."""

LITTLE_MASS = "the letters hold too little of the probability"
"""The cause of scores that are undecided because the model gives words other than letters a chance."""

TOO_CLOSE = "too close to the limit to tell"
"""The cause of verdicts that only more answers can decide."""

WRONG_SIDE = "on the wrong side of its limit"
"""The beginning of the cause of verdicts that would have failed if they were the only ones."""

Lack = Literal["", "answers", "queries", "clarity", "replies", "mass", "power"]
"""What an inconclusive score lacks: more answers, as many queries as bounds need, a failure that
survives Holm's correction, replies that went missing, probability of the letters, or the power to fail."""


class Finding(NamedTuple):
    """A judgement of one score, and why.

    ``bounds`` is None if there is no value to show. ``bounded`` is whether the bounds were judged; ``chance``
    is the p value of a failure; ``curable`` is whether more answers may decide it, and ``lack`` is what it
    needs. ``cannot_pass`` is whether too many answers are lost for it to pass, however many more are asked
    for. ``cause`` is that of the verdict. ``growth`` is the factor by which the queries of a topic must grow
    if bounds need more.
    """

    judgement: Judgement
    reason: str
    bounds: BoundedScore | None = None
    bounded: bool = False
    chance: float | None = None
    curable: bool = False
    lack: Lack = ""
    cause: str = ""
    cannot_pass: bool = False
    growth: Mapping[TopicKey, float] = MappingProxyType({})


def examine(score: GatedScore, alpha: float) -> Finding:
    """Judge one score alone, by its bounds at this level or, where it has none, by its value."""
    measurement = score.measurement
    if measurement is None:
        return Finding("not judged", "this run has no such score")
    metric = measurement.metric
    if metric.level and (result := score.bounds(alpha)) is not None:
        return _tested(score, result)
    part = part_of_level(measurement.cells, measurement.needed_at) if score.gate.regression else 1.0
    alpha *= part
    pooled = metric.missing == "bounded" and score.estimate.among is not None
    if not (metric.counts_losses or pooled) and (unanswered := empty(measurement.cells)) is not None:
        judgement: Judgement = "not judged" if score.estimate.n == 0 else "inconclusive"
        lost = surely_lost(metric, measurement.cells, alpha)
        return Finding(judgement, unanswered, lack="replies", cause=LOST, cannot_pass=lost)
    bounds = score.bounds(alpha)
    if bounds is None:
        has_value = score.bounded and score.estimate.plugin is not None
        reason = score.estimate.reason or f"none of the answers counts towards {metric.name}"
        return Finding("inconclusive" if has_value else "not judged", reason)
    needed = measurement.needed_at(alpha)
    if score.bounded and (shortage := too_few(measurement.cells, needed)) is not None:
        cause, where = shortage
        reason = f"{cause} {where}; {score_and_limit(score.gate, bounds, extent=score.extent)}"
        growth = {
            key: _growth(cell, needed)
            for cell in _undersampled(measurement.cells, needed)
            for key in cell.topic_keys
        }
        hopeless = _cannot_pass(score, measurement, bounds, alpha)
        finding = Finding("inconclusive", reason, bounds, curable=not hopeless, lack="queries", cause=cause)
        return finding._replace(growth=growth, cannot_pass=hopeless)
    missing = too_many_missing(metric, measurement.cells)
    finding = _decided(score, bounds) if missing is None else _at_worst(score, measurement, bounds, missing)
    if missing is not None and finding.judgement == "inconclusive":
        hopeless = _cannot_pass(score, measurement, bounds, alpha)
        finding = finding._replace(curable=finding.curable and not hopeless, cannot_pass=hopeless)
        if too_little_mass(metric, measurement.cells) is not None:
            finding = finding._replace(lack="mass", cause=LITTLE_MASS)
        else:
            finding = finding._replace(lack="replies", cause=LOST)
    elif finding.judgement == "failed" and metric.counts_losses:
        finding = finding._replace(cause=LOST)
    return finding if finding.chance is None else finding._replace(chance=finding.chance / part)


def corrected(
    findings: Sequence[Finding], scores: Sequence[GatedScore], levels: Sequence[float]
) -> tuple[Finding, ...]:
    """The findings after Holm's correction: failures that do not survive become inconclusive.

    Each was judged at its own level, so its p value is divided by that level before they are compared. Tests
    with a level of their own leave the others the rest of the error rate.
    """
    tests = {score.measurement.metric for score in scores if score.measurement is not None}
    rest = 1.0 - sum(metric.level for metric in tests) / ALPHA
    family = sum(finding.bounded for finding in findings)
    chances = [
        None if finding.chance is None else finding.chance / level
        for finding, level in zip(findings, levels, strict=True)
    ]
    significant = surviving(chances, of=family, alpha=rest)
    return tuple(
        finding if holds or finding.chance is None else unclear(finding, score, family)
        for finding, holds, score in zip(findings, significant, scores, strict=True)
    )


def unclear(failure: Finding, score: GatedScore, family: int) -> Finding:
    """A failure that is not significant among so many gates."""
    if failure.bounds is None:
        return failure
    return failure._replace(
        judgement="inconclusive",
        reason=one_of_many(score.gate, failure.bounds, family, extent=score.extent) + score.driver,
        curable=True,
        lack="clarity",
        cause=f"{WRONG_SIDE}, but among {family} gates that can be chance",
    )


def _decided(score: GatedScore, bounds: BoundedScore, *, widened: float = 0.0) -> Finding:
    """Judge a score by its bounds; ``widened`` is how far missing answers moved the farther bound."""
    gate = score.gate
    if meets(gate, bounds):
        return Finding("passed", _relation(score, bounds), bounds, score.bounded)
    if not violates(gate, bounds):
        reason = undecided(gate, bounds, extent=score.extent) + score.driver
        return Finding(
            "inconclusive", reason, bounds, score.bounded, curable=True, lack="answers", cause=TOO_CLOSE
        )
    chance = None
    if score.bounded:  # the p value of the claim that a score this much nearer is on the wrong side
        above, limit = gate.comparison == "<=", fail_limit(gate)
        estimate = score.estimate
        chance = chance_above(estimate, limit + widened) if above else chance_below(estimate, limit - widened)
    reason = _relation(score, bounds) + score.driver
    return Finding("failed", reason, bounds, score.bounded, chance)


def _tested(score: GatedScore, result: BoundedScore) -> Finding:
    """Judge a test by its result. It passes only if it would have noticed what it tests for."""
    finding, blind = _decided(score, result), score.estimate.reason
    if finding.judgement != "passed" or not blind:
        return finding
    reason = _undecided_score(score, result, blind)
    return finding._replace(judgement="inconclusive", reason=reason, lack="power", cause=blind)


def _at_worst(score: GatedScore, measurement: Measurement, bounds: BoundedScore, missing: str) -> Finding:
    """Judge as if all missing answers had gone one way, then the other: both must agree.

    A rate of refusals may fail although some might be missing, but must not pass.
    """
    counts_losses = measurement.metric.counts_losses
    if counts_losses and (failed := _decided(score, bounds)).judgement == "failed":
        return failed
    if score.bounded and measurement.metric.missing == "bounded":  # its bounds are those of the worst case
        finding = _decided(score, bounds)
        if finding.judgement != "inconclusive":
            return finding
        return finding._replace(reason=f"{finding.reason}; {missing}")
    ends = None if score.gate.regression or counts_losses else measurement.if_missing(bounded=score.bounded)
    if ends is None:
        return Finding("inconclusive", _undecided_score(score, bounds, missing), bounds, score.bounded)
    worst = BoundedScore(bounds.value, bounds.low - ends.fall, bounds.high + ends.rise)
    far = worst.high - bounds.high if score.gate.comparison == ">=" else bounds.low - worst.low
    finding = _decided(score, worst, widened=far)
    relation_text = between(score.gate, worst, extent=score.extent)
    reason = _undecided_score(score, bounds, f"{missing}; {relation_text} if they are counted either way")
    # More answers may decide it if the missing ones alone leave it on one side.
    centre = BoundedScore(bounds.value, bounds.value - ends.fall, bounds.value + ends.rise)
    curable = finding.curable and _decided(score, centre).judgement != "inconclusive"
    return finding._replace(reason=reason, bounds=bounds, curable=curable)


def _cannot_pass(score: GatedScore, measurement: Measurement, bounds: BoundedScore, alpha: float) -> bool:
    """Whether the lost answers alone keep a score from passing: at its better bound they are still too many.

    Then no number of further answers lets it pass, if as many of them are lost.
    """
    metric = measurement.metric
    in_bounds = metric.missing == "bounded"  # its bounds are those of the worst case
    if not surely_lost(metric, measurement.cells, alpha) or (in_bounds and score.gate.regression):
        return False
    compared = score.gate.regression or metric.counts_losses
    ends = None if compared else measurement.if_missing(bounded=score.bounded)
    if ends is None:
        return True
    above = score.gate.comparison == "<="
    at_best = bounds.low + ends.rise if above else bounds.high - ends.fall
    if in_bounds:
        at_best += ends.fall if above else -ends.rise
    return not meets(score.gate, BoundedScore(at_best, at_best, at_best))


def _undecided_score(score: GatedScore, bounds: BoundedScore, doubt: str) -> str:
    """The score and its limit, followed by what leaves it in doubt."""
    return f"{score_and_limit(score.gate, bounds, extent=score.extent)}; {doubt}"


def _relation(score: GatedScore, bounds: BoundedScore) -> str:
    possible_range = (None, None) if score.measurement is None else score.measurement.possible_range
    return relation(score.gate, bounds, possible_range, extent=score.extent)


# Fewest answers of a cell for which bounds keep their error rates, even if answers hardly vary.
FEWEST = 24

# The part of the level at which a difference between two scores is judged where answers are few, because
# their bounds are a little too narrow (``benchmarks.differences``).
IF_FEW = 0.5


def part_of_level(cells: Sequence[Cell], needed_at: Callable[[float], int]) -> float:
    """The part of a level at which a difference is judged: ``IF_FEW`` if there are enough answers only so."""
    enough = [too_few(cells, needed_at(level)) is None for level in (ALPHA, IF_FEW * ALPHA)]
    return IF_FEW if enough == [False, True] else 1.0


def enough(gate: Gate, score: Measurement, alpha: float, *, drawn: bool) -> int:
    """The number of answers per topic or prompt from which bounds at this level can decide a gate.

    If answers are not ``drawn`` but probabilities, each may be as precise as several.
    """
    if gate.regression:
        return score.enough(IF_FEW * alpha, compared=True)
    needed = score.enough(alpha, limit=gate.threshold if gate.comparison == "<=" else None)
    return needed if drawn else min(needed, FEWEST)


def unfounded(metric: Metric, estimate: Estimate, cells: Sequence[Cell], needed: int) -> str:
    """Why a score cannot be compared with another: too little was asked or answered; empty if it can."""
    unanswered = None if metric.counts_losses else empty(cells)
    return unanswered or estimate.reason or " ".join(too_few(cells, needed) or ())


def empty(cells: Sequence[Cell]) -> str | None:
    """Names the cells without any answer; None if all have some."""
    empty_cells = [cell for cell in cells if cell.asked == cell.lost]
    if not empty_cells:
        return None
    asked = f"{empty_cells[0].asked} asked: {empty_cells[0]}" if empty_cells[0].asked else "none asked"
    return f"no answers in {empty_cells[0].name}{_more(empty_cells)} ({asked})"


class Shortage(NamedTuple):
    """Too few queries: a clause about the smallest cell, and where that is, in brackets."""

    clause: str
    where: str


def too_few(cells: Sequence[Cell], needed: int) -> Shortage | None:
    """Where too few queries were asked for bounds; None if all cells have enough."""
    undersampled = _undersampled(cells, needed)
    if not undersampled:
        return None
    asked = f"{plural(undersampled[0].asked, 'answer')} to a topic"
    if undersampled[0].worth > 1 and undersampled[0].asked >= FEWEST:
        asked += f", as precise as {int(undersampled[0].asked * undersampled[0].worth)} that are drawn,"
    are = "is" if undersampled[0].asked == 1 else "are"
    clause = f"{asked} {are} too few, where {needed} are needed"
    return Shortage(clause, f"({undersampled[0].name}{_more(undersampled)})")


def _undersampled(cells: Sequence[Cell], needed: int) -> list[Cell]:
    """The cells with fewer queries than needed."""
    return [cell for cell in cells if _growth(cell, needed) > 1]


def _growth(cell: Cell, needed: int) -> float:
    """The queries that a cell needs, divided by those it has.

    An answer that varies less than a sampled one counts for several, but at least ``FEWEST`` are needed.
    """
    return max(needed / cell.worth, min(needed, FEWEST)) / max(cell.asked, 1)


def too_little_mass(metric: Metric, cells: Sequence[Cell]) -> str | None:
    """Where the letters hold too little of the probability; None if nowhere."""
    vague = min(cells, key=lambda cell: cell.mass)
    if vague.mass >= LEAST_MASS or metric.missing == "all counted":
        return None
    held = f"the letters hold {vague.mass:.0%} of the probability in {vague.name}"
    return f"{held}; {LEAST_MASS:.0%} are needed"


def too_many_missing(metric: Metric, cells: Sequence[Cell]) -> str | None:
    """Where too many answers are missing, or too much of their probability; None if nowhere.

    For rates of refused or unparsed answers only errors count as missing: they could have been either.
    """
    if held := too_little_mass(metric, cells):
        return held
    worst = max(_missing(metric, cells), key=lambda cell: cell.share)
    if worst.share <= ALLOWED or metric.missing == "all counted":
        return None
    return (
        f"{worst.share:.1%} of the answers in {worst.name} are missing ({worst} of {worst.asked}); "
        f"{ALLOWED:.0%} are allowed"
    )


def surely_lost(metric: Metric, cells: Sequence[Cell], alpha: float) -> bool:
    """Whether a cell loses more answers than are allowed, and not by chance at this level."""
    if metric.missing == "all counted":
        return False
    z = -quantile(alpha)
    return any(
        cell.lost and wilson(cell.share, cell.asked, z=z) > ALLOWED for cell in _missing(metric, cells)
    )


def _missing(metric: Metric, cells: Sequence[Cell]) -> list[Cell]:
    """The cells with the answers that a metric misses: rates count refused and unparsed ones."""
    if metric.counts_losses:
        return [cell._replace(refused=0, unparsed=0) for cell in cells]
    return list(cells)


def _more(cells: list[Cell]) -> str:
    return f" and {len(cells) - 1} more" if len(cells) > 1 else ""
