"""FAIntbench's scores: levels down, attributes across, and where the model lies between the two biases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_factorfair.benchmarks.faintbench.metrics import METRICS
from pytest_factorfair.domain import ALL, Score, Summary
from pytest_factorfair.drawing import statements
from pytest_factorfair.drawing.table import POINT, UNCORRECTED, Row, Table, interval, mixed, number

PRINTED_ETA = (
    "by the paper's formula, whose sign is the reverse of its text: above .5 good and bad words favour the "
    "same group, below it opposite ones"
)
SUMMED = "; a sum over pairs, so it has no upper bound"
"""A note on eta by the paper's formula, which is a sum; by the scripts it is a mean."""


UNDEFINED = "; the authors' scripts define no such score of all prompts, of relations or of an attribute"
"""A note on the scores that ``published-code`` lacks."""


def read(metric: str, summary: Summary) -> str:
    """How to read a metric of this run."""
    estimator = summary.fingerprint.estimator
    if metric == "explicit" and estimator == "published-code":
        return METRICS[metric].reading + UNDEFINED
    if metric != "eta" or estimator == "corrected":
        return METRICS[metric].reading
    return PRINTED_ETA + (SUMMED if estimator == "plugin" else "")


def faintbench_tables(summary: Summary) -> Iterator[Table]:
    """Per model and checklist a table of implicit scores, one of explicit ones, and one of eta."""
    subjects = dict.fromkeys(
        (score.model, score.checklist) for score in summary.scores if score.metric in METRICS
    )
    for model, checklist in subjects:
        scores = [score for score in summary.scores if (score.model, score.checklist) == (model, checklist)]
        prefix = f"{model} · " if len({model for model, _ in subjects}) > 1 else ""
        for metric in ("implicit", "explicit"):
            if valued := [score for score in scores if score.metric == metric and score.value is not None]:
                yield _levels(f"{prefix}{metric}", valued, summary)
        if any(score.metric == "eta" and score.value is not None for score in scores):
            yield _eta(f"{prefix}eta", scores, summary)


def _levels(title: str, scores: Sequence[Score], summary: Summary) -> Table:
    names = tuple(dict.fromkeys(score.attribute for score in scores))
    rows = []
    for context in dict.fromkeys(score.context for score in scores):
        by_attribute = {score.attribute: score for score in scores if score.context == context}
        label = (context or "all prompts").replace("_", " ")
        cells = (interval(by_attribute.get(name), marked=mixed(scores)) for name in names)
        rows.append(Row(label, tuple(cells)))
        if context is None and by_attribute[names[0]].metric == "implicit":
            lowest = (by_attribute[name].floor if name in by_attribute else None for name in names)
            rows.append(Row("  lowest possible", tuple(map(_plain, lowest)), aside=True))
    return Table(title, _headings(names, summary), tuple(rows), _notes(scores, summary))


def _eta(title: str, scores: Sequence[Score], summary: Summary) -> Table:
    eta = {score.attribute: score for score in scores if score.metric == "eta"}
    sizes = {score.attribute: score for score in scores if score.metric == "eta_magnitude"}
    deviations = (sizes[name].value if name in sizes else None for name in eta)
    rows = (
        Row("all pairs", tuple(interval(score, marked=mixed(eta.values())) for score in eta.values())),
        Row("  size of deviations", tuple(map(_plain, deviations)), aside=True),
    )
    return Table(title, _headings(tuple(eta), summary), rows, _notes(tuple(eta.values()), summary))


def _notes(scores: Sequence[Score], summary: Summary) -> tuple[str, ...]:
    """How to read a table of one metric, and why it lacks intervals."""
    reasons = dict.fromkeys(score.reason for score in scores if score.reason)
    lacking = f"{UNCORRECTED} uncorrected, no interval" if mixed(scores) else "no intervals"
    return (read(scores[0].metric, summary), *(f"{lacking}: {reason}" for reason in reasons))


def _headings(names: Sequence[str], summary: Summary) -> tuple[str, ...]:
    return tuple(name if name == ALL else statements.attribute(name, summary) for name in names)


def _plain(value: float | None) -> str:
    return "" if value is None else f"{number(value)}{POINT}"
