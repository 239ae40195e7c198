"""Compare models on the scores they share, and a run with a former one: which differences are real."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from pytest_factorfair.benchmarks import comparing
from pytest_factorfair.benchmarks.combined import by_benchmark
from pytest_factorfair.benchmarks.comparing import (
    ComparedModel,
    ComparedScore,
    ModelComparison,
    model_comparisons,
)
from pytest_factorfair.benchmarks.measurement import BaselineCounts, Cell, Counts, Moved
from pytest_factorfair.benchmarks.metric import Metric
from pytest_factorfair.domain import Change
from pytest_factorfair.domain.board import Board, Certainty, Difference, Standing
from pytest_factorfair.errors import attributed
from pytest_factorfair.gates.evidence import IF_FEW, part_of_level, too_many_missing, unfounded
from pytest_factorfair.gates.explanation import changed_in_words
from pytest_factorfair.gates.threshold import ROUNDING_OF_CHANGES
from pytest_factorfair.statistics.bounds import BEYOND
from pytest_factorfair.statistics.holm import ALPHA, chance_above, chance_below, letters, surviving

DIGITS = 3
"""Decimals shown; values that round to the same number share a rank."""


def boards(compared_models: Sequence[ComparedModel], *, alpha: float = ALPHA) -> tuple[Board, ...]:
    """A board for every score that at least two models have, by checklist and attribute.

    Scores are bias-corrected, whatever the reports' estimator. A difference is real if it is significant at
    level alpha over all pairs of its board (two-sided, Holm), or at half that level if answers are few; if
    too many answers are missing, it must be significant for all values that they allow. Nothing is claimed
    about a score on which a gate would be inconclusive because answers are missing.
    """
    by_attribute: dict[tuple[str, str], list[Board]] = {}
    all_counts = tuple(counts for model in compared_models for counts in model.counts)
    for benchmark, _ in by_benchmark(all_counts):
        of_benchmark = [
            replace(
                model, counts=tuple(counts for counts in model.counts if counts.benchmark == benchmark.name)
            )
            for model in compared_models
        ]
        for comparison in model_comparisons(benchmark, of_benchmark):
            key = comparison.score_key
            by_attribute.setdefault((key.checklist, key.attribute), []).append(_board(comparison, alpha))
    return tuple(chain.from_iterable(by_attribute.values()))


class _BoardEntry(NamedTuple):
    """A model's score on a board, and the reasons against comparing it.

    ``lacking`` says where too many answers are missing; these can lower the value by ``fall`` or raise it by
    ``rise``. ``beyond`` is how far an unbiased value lies beyond the best possible one; no claim may rest on
    it.
    """

    compared_score: ComparedScore
    lacking: str
    fall: float
    rise: float
    doubt: str
    part_of_level: float
    beyond: float

    @classmethod
    def of(cls, compared_score: ComparedScore, metric: Metric, alpha: float) -> _BoardEntry:
        lacking = _lacking(metric, compared_score.cells)
        doubt = unfounded(
            metric, compared_score.estimate, compared_score.cells, compared_score.needed_at(IF_FEW * alpha)
        )
        part = part_of_level(compared_score.cells, compared_score.needed_at)
        value = compared_score.estimate.shown
        beyond = 0.0 if value is None else metric.beyond(value)
        ends = compared_score.if_missing() if lacking and not doubt else None
        if ends is None:
            return cls(compared_score, "", 0.0, 0.0, doubt or lacking, part, beyond)
        return cls(compared_score, lacking, ends.fall, ends.rise, doubt, part, beyond)

    @property
    def value(self) -> float | None:
        return self.compared_score.estimate.shown


def _lacking(metric: Metric, cells: Sequence[Cell]) -> str:
    """Where too many answers are missing; empty if the bounds hold for all that these may have been."""
    return "" if metric.missing == "bounded" else too_many_missing(metric, cells) or ""


def _board(comparison: ModelComparison, alpha: float) -> Board:
    metric = comparison.metric
    entries = {
        compared_score.name: _BoardEntry.of(compared_score, metric, alpha)
        for compared_score in comparison.compared_scores
    }
    part = min((entry.part_of_level for entry in entries.values() if not entry.doubt), default=1.0)
    chances: list[float | None] = []
    for pair, gap in comparison.gaps.items():
        # The two-sided p value, with the difference moved towards 0 as far as missing answers allow, and
        # without what lies beyond the best value.
        entry, rival = (entries[name] for name in pair)
        comparable = gap.estimate.corrected is not None and not (entry.doubt or rival.doubt)
        slack_below, slack_above = entry.rise + rival.fall, entry.fall + rival.rise
        if metric.better == "higher":
            slack_below, slack_above = slack_below + rival.beyond, slack_above + entry.beyond
        else:
            slack_below, slack_above = slack_below + entry.beyond, slack_above + rival.beyond
        sides = chance_below(gap.estimate, -slack_below), chance_above(gap.estimate, slack_above)
        chances.append(min(1.0, 2 * min(sides)) if comparable else None)
    significant = surviving(chances, of=len(chances), alpha=part * alpha)
    differences = []
    for (pair, (estimate, paired)), chance, real in zip(
        comparison.gaps.items(), chances, significant, strict=True
    ):
        low, high = estimate.lower(BEYOND), estimate.upper(BEYOND)
        moved = any(entries[name].lacking for name in pair)
        apart = low is not None and high is not None and (low > 0 or high < 0)
        certainty: Certainty = (
            "unclaimed" if chance is None else "real" if real else "missing" if moved and apart else "noise"
        )
        differences.append(Difference(*pair, estimate.shown, low, high, certainty, paired))
    standings = _standings(metric, list(entries.values()), differences)
    return Board(
        *comparison.score_key, metric.name, metric.better, standings, tuple(differences), part * alpha
    )


def _standings(
    metric: Metric, entries: Sequence[_BoardEntry], differences: Sequence[Difference]
) -> tuple[Standing, ...]:
    """The standings of a board: best first, ties by name, models without a value last."""
    sign = -1 if metric.better == "higher" else 1

    def sort_key(entry: _BoardEntry) -> tuple[bool, float, str]:
        value = metric.clipped(entry.value)
        merit = 0.0 if value is None else sign * value + metric.beyond(value)
        return value is None, round(merit, DIGITS), entry.compared_score.name

    order = sorted(entries, key=sort_key)
    valued = [entry for entry in order if entry.value is not None]
    named = letters(
        [entry.compared_score.name for entry in valued],
        [(difference.first, difference.second) for difference in differences if difference.real],
    )
    shown = [sort_key(entry)[1] for entry in valued]
    standings = []
    for number, entry in enumerate(order):
        name, estimate, total = (
            entry.compared_score.name,
            entry.compared_score.estimate,
            entry.compared_score.total,
        )
        low, high = estimate.lower(BEYOND), estimate.upper(BEYOND)
        moved = entry.lacking and low is not None and high is not None
        standings.append(
            Standing(
                model=name,
                rank=shown.index(shown[number]) + 1
                if number < len(shown) and metric.better != "neither"
                else None,
                value=metric.clipped(entry.value),
                low=metric.clipped(low),
                high=metric.clipped(high),
                letters=named.get(name, ""),
                asked=total.asked,
                refused=total.refused,
                unparsed=total.unparsed,
                errors=total.errors,
                lacking=entry.lacking,
                worst=metric.clipped(low - entry.fall) if moved and low is not None else None,
                best=metric.clipped(high + entry.rise) if moved and high is not None else None,
                doubt=entry.doubt,
            )
        )
    return tuple(standings)


def changes(
    counts: Sequence[Counts], baseline: BaselineCounts, *, alpha: float = ALPHA
) -> tuple[Change, ...]:
    """The changes of all scores since the baseline, and of the parts of scores that regressed.

    A regression is a change with bounds on the worse side of 0 after Holm's correction, which is applied to
    scores, their parts and further scores separately; if answers are few, with bounds of half the level.
    Nothing is claimed about a change on which a regression gate would be inconclusive. A test regressed if it
    fails where the former run was within its limits. Regressions come first, metrics without a better end
    last.
    """
    all_moves = []
    for benchmark, benchmark_counts in by_benchmark(counts):
        with attributed(f"the changes of benchmark '{benchmark_counts[0].benchmark}'"):
            all_moves.append(comparing.changes(benchmark, benchmark_counts, baseline))
    moved = [(move, move[1].metric.better == "neither") for moves in all_moves for move in moves.scores]
    scores = _judged([move for move, apart in moved if not apart], alpha)
    parts = _judged([move for moves in all_moves for move in moves.parts], alpha)
    aside = (change for (change, _), apart in moved if apart)
    worse = (change for change in parts if change.regressed)
    further = _judged([move for moves in all_moves for move in moves.further], alpha)
    tests = (change for moves in all_moves for change in moves.tests)
    return (*sorted((*scores, *worse, *further, *tests), key=lambda change: not change.regressed), *aside)


def _judged(moves: Sequence[Moved], alpha: float) -> Iterator[Change]:
    chances: list[float | None] = []
    doubts = []
    for _, moved in moves:
        metric, estimate, cells = moved.metric, moved.estimate, moved.cells
        doubts.append(
            unfounded(metric, estimate, cells, moved.needed_at(IF_FEW * alpha)) or _lacking(metric, cells)
        )
        sign = -1 if metric.better == "lower" else 1
        fell = estimate.corrected is not None and sign * estimate.corrected < -ROUNDING_OF_CHANGES
        if doubts[-1] or not fell:
            chances.append(None)
            continue
        chance = chance_below if sign > 0 else chance_above
        part = part_of_level(cells, moved.needed_at)
        chances.append(chance(estimate, -sign * ROUNDING_OF_CHANGES) / part)
    significant = surviving(chances, of=len(moves), alpha=alpha)
    for (change, moved), worse, doubt in zip(moves, significant, doubts, strict=True):
        whole = worse and change.statistic is None and moved.metric.past
        plain = changed_in_words(*moved.sides) if whole else ""
        yield replace(change, regressed=worse, doubt=doubt, plain=plain)
