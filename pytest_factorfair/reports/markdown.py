"""report.md: fit for a pull-request comment and for a CI job's summary page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote

from pytest_factorfair.domain import ContactSheet, Summary, plural
from pytest_factorfair.gates.release import release
from pytest_factorfair.reports import escaping
from pytest_factorfair.reports.ethics import ETHICS
from pytest_factorfair.reports.fitting import Passage, fitted
from pytest_factorfair.reports.perceived import detector_lines
from pytest_factorfair.reports.table import Table, as_markdown
from pytest_factorfair.reports.tables.changes import changes_table, compared
from pytest_factorfair.reports.tables.headline import headline_lines
from pytest_factorfair.reports.tables.of_summary import all_tables
from pytest_factorfair.reports.tables.reasons import quotations
from pytest_factorfair.reports.tables.verdicts import NO_GATES, SIGNS, VerdictLine, verdict_lines
from pytest_factorfair.reports.terminal import usage_line
from pytest_factorfair.reports.warnings import warnings

MARKER = "<!-- pytest-factorfair -->"
"""First line, so that a bot finds its comment again and updates it in place."""

LONGEST = 1000
"""Letters of any one text from outside: no name and no note crowds out the rest."""


def to_markdown(summary: Summary) -> str:
    """The summary as GitHub-flavoured Markdown below 60 kB; text from outside is shown, never interpreted."""
    return fitted(tuple(_passages(summary)))


def _passages(summary: Summary) -> Iterator[Passage]:
    """What failed and what got worse first."""
    yield Passage(_head(summary))
    yield from _verdicts(summary)
    if summary.changes:
        yield _table(changes_table(summary.changes), title=compared(summary.changes), name="changes")
    for table in all_tables(summary):
        yield _table(table, title=table.title, name="tables", whole=True)
    if quoted := tuple(f"- {_text(line)}" for line in quotations(summary)):
        head = "<details><summary>What reasons say</summary>\n"
        yield Passage(head, quoted, "\n</details>", "quotations")
    headlines = _bullets((*headline_lines(summary), *detector_lines(summary)), name="headlines")
    yield headlines
    yield replace(_bullets(summary.notes, name="notes"), joined=bool(headlines.lines))
    yield from _contact_sheets(summary)
    yield Passage(f"{_fingerprint(summary)}\n\n<sub>{ETHICS}</sub>")


def _head(summary: Summary) -> str:
    models = _code(", ".join(summary.fingerprint.models))
    lines = [MARKER, f"## factorfair: `{models}`"]
    lines += [f"> **Warning:** {_text(warning)}." for warning in warnings(summary)]
    lines += [f"**Not judged:** {_text(summary.incomplete)}."] if summary.incomplete else []
    told = f"**{_text(release(summary.gates, summary.unjudged))}**" if summary.gates else NO_GATES
    return "\n\n".join([*lines, told])


def _verdicts(summary: Summary) -> Iterator[Passage]:
    """One table in two passages: what was kept may be left out before what was not."""
    lines = verdict_lines(summary.gates)
    kept = [line for line in lines if line.judgement == "passed"]
    rest = [line for line in lines if line.judgement != "passed"]
    if rest:
        yield Passage(VERDICTS, tuple(map(_verdict, rest)), name="gates that did not pass")
    if kept:
        head = "" if rest else VERDICTS
        yield Passage(head, tuple(map(_verdict, kept)), name="passed gates", joined=bool(rest))


VERDICTS = "| verdict | gate | on | why |\n|---|---|---|---|"


def _verdict(one: VerdictLine) -> str:
    told = f"| **{SIGNS[one.judgement]}** | `{_code(one.gate)}` |"
    return f"{told} {_text(one.subject)} | {_text(one.reason)} |"


def _bullets(texts: tuple[str, ...], *, name: str) -> Passage:
    return Passage("", tuple(f"- {_text(text)}" for text in texts), name=name)


def _table(table: Table, *, title: str, name: str, whole: bool = False) -> Passage:
    first, ruler, *lines = as_markdown(table).split("\n")
    rows = len(table.rows)
    head = f"### {_text(title)}\n\n{first}\n{ruler}"
    return Passage(head, tuple(lines[:rows]), "\n".join(lines[rows:]), name, whole)


def _contact_sheets(summary: Summary) -> Iterator[Passage]:
    """Links to the sheets, model by model, folded away: a checklist has dozens."""
    by_model: dict[str, list[ContactSheet]] = {}
    for sheet in summary.contact_sheets:
        by_model.setdefault(sheet.model, []).append(sheet)
    for model, sheets in by_model.items():
        links = tuple(
            f"- [{_text(sheet.case)}]({quote(sheet.file)}), {plural(sheet.pictures, 'picture')}"
            for sheet in sheets
        )
        title = f"Contact sheets of {_text(model)}: the pictures and what was read off them"
        head = f"<details>\n<summary>{title}</summary>\n"
        yield Passage(head, links, "\n</details>", "links to contact sheets")


def _fingerprint(summary: Summary) -> str:
    told = summary.fingerprint
    checklists = ", ".join(f"{name} {digest[:12]}" for name, digest in told.checklists.items())
    return (
        f"{_text(usage_line(summary))}\n\n"
        f"<sub>{_text(checklists)}; preset {told.preset}, "
        f"design {told.design}, truth {_text(told.truth)}, "
        f"{plural(told.samples, 'answer')} per topic and context, {told.objective} per objective case, "
        f"seed {told.seed}, estimator {told.estimator}, interval {told.interval}</sub>"
    )


def _text(words: str) -> str:
    return escaping.markdown(_short(words))


def _code(words: str) -> str:
    return escaping.markdown_code(_short(words))


def _short(words: str) -> str:
    return words if len(words) <= LONGEST else f"{words[:LONGEST]}…"
