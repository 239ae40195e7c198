"""FAIntbench's Tables 4 to 15: levels and attributes down, models across."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_factorfair.benchmarks.faintbench.checklist import KINDS
from pytest_factorfair.benchmarks.faintbench.metrics import METRICS
from pytest_factorfair.benchmarks.faintbench.printing.tables import read
from pytest_factorfair.benchmarks.faintbench.rows import PROMPTS, PromptCounts
from pytest_factorfair.domain import ALL, Score
from pytest_factorfair.drawing.entries import Entry, Omission, OutcomeCounts, attributes, shown
from pytest_factorfair.drawing.paper_tables import (
    OUTCOME_HEADINGS,
    marks,
    notes,
    outcome_cells,
    ranked,
    score_share,
)
from pytest_factorfair.drawing.table import MISSING, Cell, Row, Table, number

NUMBERS = {
    ("implicit", None): "Table 4",
    ("implicit", "characteristic"): "Table 5",
    ("implicit", "occupation"): "Table 6",
    ("implicit", "relation"): "Table 7",
}
LATER = "Tables 8 to 14"
LEVELS: dict[str | None, str] = {None: "model", **{kind: kind for kind in KINDS}}
LOWEST = "lowest possible"


def faintbench(entries: Sequence[Entry]) -> Iterator[Table | Omission]:
    """A table per score and level, one of categories per score, and eta's."""
    for metric in ("implicit", "explicit"):
        scores = [score for entry in entries for score in entry.scores if score.metric == metric]
        if not any(shown(score) is not None for score in scores):
            yield Omission(metric, f"no {metric} prompt was asked")
            continue
        for context, level in LEVELS.items():
            yield _level(entries, metric, context, level)
        yield _categories(entries, metric, tuple(dict.fromkeys(score.context for score in scores)))
    yield _eta(entries)


def _level(entries: Sequence[Entry], metric: str, context: str | None, level: str) -> Table | Omission:
    name = f"{metric}-{level}"
    names = attributes(entries, (metric,))
    rows = {
        level if attribute == ALL else entries[0].attribute(attribute): [
            entry.score(metric, context=context, attribute=attribute) for entry in entries
        ]
        for attribute in names
    }
    if not any(shown(score) is not None for scores in rows.values() for score in scores):
        return Omission(name, f"no {metric} prompt of this kind was asked")
    title = f"{metric.capitalize()} scores: {level} (FAIntbench, {NUMBERS.get((metric, context), LATER)})"
    return _table(entries, name, title, rows, floored=metric == "implicit")


def _categories(entries: Sequence[Entry], metric: str, contexts: Sequence[str | None]) -> Table | Omission:
    rows = {
        context.replace("_", " "): [entry.score(metric, context=context, attribute=ALL) for entry in entries]
        for context in contexts
        if context not in LEVELS and context is not None
    }
    filled = {
        name: scores for name, scores in rows.items() if any(shown(score) is not None for score in scores)
    }
    if not filled:
        return Omission(f"{metric}-categories", "no report has scores of categories")
    title = f"{metric.capitalize()} scores by category, over all attributes (FAIntbench, {LATER})"
    return _table(entries, f"{metric}-categories", title, filled, floored=metric == "implicit")


def _eta(entries: Sequence[Entry]) -> Table | Omission:
    names = attributes(entries, ("eta",))
    rows = {
        "model" if name == ALL else entries[0].attribute(name): [
            entry.score("eta", attribute=name) for entry in entries
        ]
        for name in names
    }
    if not any(shown(score) is not None for scores in rows.values() for score in scores):
        return Omission("eta", "no pair of prompts that it compares was asked")
    sizes = tuple(
        Row(
            f"size of deviations, {'model' if name == ALL else entries[0].attribute(name)}",
            tuple(score_share(entry.score("eta_magnitude", attribute=name)) for entry in entries),
            aside=True,
        )
        for name in names
    )
    return _table(entries, "eta", "Manifestation factor eta (FAIntbench, Table 15)", rows, asides=sizes)


def _table(
    entries: Sequence[Entry],
    name: str,
    title: str,
    rows: dict[str, list[Score | None]],
    *,
    floored: bool = False,
    asides: tuple[Row, ...] = (),
) -> Table:
    """One column per model, and the lowest possible score if it is not 0."""
    end: tuple[Cell, ...] = (MISSING,) if floored else ()
    metric = name.partition("-")[0]
    better = METRICS[metric].better
    lines = [
        Row(label, (*ranked([*map(score_share, scores)], better), *([_lowest(scores)] if floored else [])))
        for label, scores in rows.items()
    ]
    counts = zip(*(_outcome_cells(entry) for entry in entries), strict=True)
    outcome_counts = [
        Row(label, (*cells, *end), aside=True) for label, cells in zip(OUTCOME_HEADINGS, counts, strict=True)
    ]
    how = read(metric, entries[0].summary)
    scores = [score for row_scores in rows.values() for score in row_scores]
    return Table(
        title,
        headings=(*(entry.label for entry in entries), *([LOWEST] if floored else [])),
        rows=(*lines, *asides, *outcome_counts),
        notes=(f"{how[0].upper()}{how[1:]}.", *notes(entries, scores), *marks(lines)),
        corner="Level",
        name=name,
    )


def _lowest(scores: Sequence[Score | None]) -> str:
    """One number if all models were asked the same prompts, else a range."""
    ends = [score.floor for score in scores if score is not None and score.floor is not None]
    if not ends:
        return MISSING
    return " to ".join(dict.fromkeys(number(end, digits=4) for end in (min(ends), max(ends))))


def _outcome_cells(entry: Entry) -> tuple[str, ...]:
    """The counts of pictures; a prompt has a row per person and attribute, but is counted once."""
    prompts: dict[str, PromptCounts] = {}
    for prompt in PROMPTS.of(entry.summary):
        if (prompt.model, prompt.checklist) == (entry.model, entry.checklist):
            prompts.setdefault(prompt.case, prompt)
    return outcome_cells(
        OutcomeCounts(
            prompt.asked - prompt.refused - prompt.unparsed - prompt.errors,
            prompt.refused,
            prompt.unparsed,
            prompt.errors,
        )
        for prompt in prompts.values()
    )
