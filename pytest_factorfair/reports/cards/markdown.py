"""A model card as a section for a model's README: text from outside is shown, never interpreted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pytest_factorfair.domain import Score, Summary
from pytest_factorfair.gates.release import release
from pytest_factorfair.reports import markup
from pytest_factorfair.reports.cards.card import Card, answers, command, label, method, scores, value, what
from pytest_factorfair.reports.ethics import ETHICS
from pytest_factorfair.reports.perceived import attribute
from pytest_factorfair.reports.tables.faintbench import ALL, READ
from pytest_factorfair.reports.tables.table import Row, Table
from pytest_factorfair.reports.tables.verdicts import NO_GATES, SIGNS, verdict_lines

COLUMNS = ("score", "95 % interval", "n", "can reach")
FACT_OR_FAIR = (
    "S_fact: the share of true groups; high where a fact is asked, at chance where a judgement is",
    "S_E and S_KLD: whether groups are chosen evenly, and alike for most and least; fair judgements have 1",
    "S_fair: either of the two; distance: how far below the best trade-off of S_fact and S_E, not fairness",
)
AGAIN = "The provider's own arguments, a detector's files and keys are no part of the line: see above."
NO_SOURCES = "Where its statistics are from stands in the checklist's own file."


def to_markdown(card: Card) -> str:
    """An unfinished measurement is said to be one before anything else."""
    summary = card.summary
    parts = [f"## Factuality and fairness of `{markup.code(card.model)}`"]
    if summary.incomplete:
        parts += [f"> **Not a finished measurement:** {markup.text(summary.incomplete)}."]
    parts += [markup.text(what(summary)), "### Scores", *_tables(summary), _bullets(_reading(summary))]
    parts += ["### Promises", _gates(summary)]
    parts += ["### How it was measured", _bullets(f"{name}: {told}" for name, told in method(card))]
    parts += _sources(card)
    parts += ["### Limits and ethics", _bullets([ETHICS, *summary.notes])]
    parts += ["### To do it again", AGAIN, f"```console\n$ {markup.fenced(command(summary))}\n```"]
    return "\n\n".join(parts) + "\n"


def _tables(summary: Summary) -> Iterator[str]:
    found = tuple(scores(summary))
    for checklist, name in dict.fromkeys((one.checklist, one.attribute) for one in found):
        mine = (one for one in found if (one.checklist, one.attribute) == (checklist, name))
        title = f"{checklist}: {name if name == ALL else attribute(name, summary)}"
        table = Table(title, COLUMNS, tuple(Row(label(one), _cells(one)) for one in mine))
        yield f"**{markup.text(title)}**\n\n{markup.table(table)}"


def _cells(one: Score) -> tuple[str, ...]:
    return f"{value(one):.3f}", _range(one.low, one.high), f"{one.n:,}", _range(one.floor, one.ceiling)


def _range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.3f} to {high:.3f}"


def _reading(summary: Summary) -> Iterator[str]:
    """How many answers there are, how to read the scores that are there, and why some lack an interval."""
    yield ", ".join(f"{n:,} {name}" for name, n in answers(summary).items())
    found = tuple(scores(summary))
    metrics = {one.metric for one in found}
    yield from FACT_OR_FAIR if "s_fact" in metrics else ()
    yield from (f"{metric}: {READ[metric]}" for metric in READ if metric in metrics)
    yield from (f"no interval: {reason}" for reason in dict.fromkeys(one.reason for one in found) if reason)


def _gates(summary: Summary) -> str:
    if not summary.gates:
        return NO_GATES
    rows = (
        f"| {SIGNS[one.judgement]} | `{markup.code(one.gate)}` | {markup.text(one.subject)} "
        f"| {markup.text(one.reason)} |"
        for one in verdict_lines(summary.gates)
    )
    head = f"**{markup.text(release(summary.gates, summary.unjudged))}**\n"
    return "\n".join([head, "| verdict | gate | on | why |", "|---|---|---|---|", *rows])


def _sources(card: Card) -> Iterator[str]:
    for checklist, found in card.sources.items():
        title = f"Whose statistics {markup.text(checklist)} asks about"
        lines = [f"{one.statistic}: {one.agency}, {one.year} ({one.status})" for one in found]
        yield f"<details>\n<summary>{title}</summary>\n\n{_bullets(lines or [NO_SOURCES])}\n\n</details>"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {markup.text(line)}" for line in lines)
