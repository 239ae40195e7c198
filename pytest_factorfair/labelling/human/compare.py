"""Scores from people beside the automatic ones, place by place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_factorfair.domain import Score, plural


@dataclass(frozen=True, slots=True)
class Row:
    """One score from people and by the detector; a value is None where there was nothing to compute it from.

    ``labelled`` and ``read`` are the numbers of answers behind them.
    """

    part: str
    attribute: str
    metric: str
    context: str | None
    people: float | None
    automatic: float | None
    labelled: int
    read: int

    @property
    def difference(self) -> float | None:
        """People's less the automatic one."""
        return None if self.people is None or self.automatic is None else self.people - self.automatic


def side_by_side(people: Iterable[Score], automatic: Iterable[Score]) -> tuple[Row, ...]:
    """Every score that either gives a value of, in the order of the automatic ones."""
    by_people, by_detector = ({_place(one): one for one in scores} for scores in (people, automatic))
    rows = (
        _row(place, by_people.get(place), by_detector.get(place)) for place in {**by_detector, **by_people}
    )
    return tuple(row for row in rows if (row.people, row.automatic) != (None, None))


def mean_differences(rows: Sequence[Row]) -> Mapping[str, tuple[float, int]]:
    """By metric, the mean absolute difference and of how many scores; of those that both have."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if row.difference is not None:
            found.setdefault(row.metric, []).append(abs(row.difference))
    return {metric: (sum(each) / len(each), len(each)) for metric, each in found.items()}


def text(model: str, rows: Sequence[Row], *, decimals: int = 3) -> Iterator[str]:
    """A model's table, and below it how far people and the detector are apart."""
    yield ""
    yield f"{model}: scores from people and automatic ones, of the same pictures; (n) answers behind them"
    cells = [("part", "attribute", "metric", "context", "people", "automatic", "difference")]
    cells += [
        (
            row.part,
            row.attribute,
            row.metric,
            row.context or "",
            _number(row.people, row.labelled, decimals),
            _number(row.automatic, row.read, decimals),
            "" if row.difference is None else f"{row.difference:+.{decimals}f}",
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        yield ("  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))).rstrip()
    for metric, (mean, count) in mean_differences(rows).items():
        yield f"{model}: {metric}: mean absolute difference {mean:.{decimals}f} over {plural(count, 'score')}"
    lacking = sum(row.difference is None for row in rows)
    if lacking:
        yield f"{model}: {lacking:,} scores that only one of them gives a value of are in no mean"


def _place(score: Score) -> tuple[str, str, str, str | None]:
    return score.part, score.attribute, score.metric, score.context


def _row(place: tuple[str, str, str, str | None], people: Score | None, automatic: Score | None) -> Row:
    return Row(
        *place,
        people=people.value if people else None,
        automatic=automatic.value if automatic else None,
        labelled=people.n if people else 0,
        read=automatic.n if automatic else 0,
    )


def _number(value: float | None, n: int, decimals: int) -> str:
    return f"{'-' if value is None else f'{value:.{decimals}f}'} ({n:,})"
