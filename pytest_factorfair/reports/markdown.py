"""report.md: fit for a pull-request comment and for a CI job's summary page."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from pytest_factorfair.domain import ContactSheet, Summary
from pytest_factorfair.gates.release import release
from pytest_factorfair.reports import markup
from pytest_factorfair.reports.all_tables import all_tables
from pytest_factorfair.reports.changes import changes_table, compared
from pytest_factorfair.reports.perceived import detector_lines
from pytest_factorfair.reports.reasons_table import quotations
from pytest_factorfair.reports.tables import SIGNS, headline_lines, verdict_lines
from pytest_factorfair.reports.terminal import usage_line

MARKER = "<!-- pytest-factorfair -->"
"""First line, so that a bot finds its comment again and updates it in place."""

ETHICS = (
    "Made for evaluating models, not for decisions about people. The prompts surface stereotypes on purpose; "
    "groups are coarse, and no single score shows that a model is fair: publish the full table."
)


def to_markdown(summary: Summary) -> str:
    """The summary as GitHub-flavoured Markdown; text from outside is shown, never interpreted."""
    models = ", ".join(f"`{markup.code(spec)}`" for spec in summary.fingerprint.models)
    parts = [MARKER, f"## factorfair: {models}", _verdict(summary)]
    if summary.changes:
        parts += [
            f"### {markup.text(compared(summary.changes))}\n\n{markup.table(changes_table(summary.changes))}"
        ]
    parts += [f"### {markup.text(table.title)}\n\n{markup.table(table)}" for table in all_tables(summary)]
    if quoted := [f"- {markup.text(line)}" for line in quotations(summary)]:
        parts += ["<details><summary>What reasons say</summary>\n", "\n".join(quoted), "</details>"]
    lines = (*headline_lines(summary), *detector_lines(summary), *summary.notes)
    parts += ["\n".join(f"- {markup.text(line)}" for line in lines)] if lines else []
    parts += _contact_sheets(summary)
    parts += [_fingerprint(summary), f"<sub>{ETHICS}</sub>"]
    return "\n\n".join(parts) + "\n"


def _verdict(summary: Summary) -> str:
    lines = [f"**Not judged:** {markup.text(summary.incomplete)}.\n"] if summary.incomplete else []
    if not summary.gates:
        return "\n".join([*lines, "No gates were declared: this run reports, it does not judge."])
    lines += [
        f"**{markup.text(release(summary.gates))}**",
        "",
        "| verdict | gate | on | why |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| **{SIGNS[one.judgement]}** | `{markup.code(one.gate)}` | {markup.text(one.subject)} "
        f"| {markup.text(one.reason)} |"
        for one in verdict_lines(summary.gates)
    ]
    return "\n".join(lines)


def _contact_sheets(summary: Summary) -> Iterator[str]:
    """Links to the sheets, model by model, folded away: a checklist has dozens."""
    by_model: dict[str, list[ContactSheet]] = {}
    for sheet in summary.contact_sheets:
        by_model.setdefault(sheet.model, []).append(sheet)
    for model, sheets in by_model.items():
        links = (
            f"- [{markup.text(sheet.case)}]({quote(sheet.file)}), {sheet.pictures:,} pictures"
            for sheet in sheets
        )
        title = f"Contact sheets of {markup.text(model)}: the pictures and what was read off them"
        yield "\n".join(["<details>", f"<summary>{title}</summary>", "", *links, "", "</details>"])


def _fingerprint(summary: Summary) -> str:
    told = summary.fingerprint
    checklists = ", ".join(f"{name} {digest[:12]}" for name, digest in told.checklists.items())
    return (
        f"{markup.text(usage_line(summary))}\n\n"
        f"<sub>{markup.text(checklists)}; preset {told.preset}, "
        f"design {told.design}, truth {markup.text(told.truth)}, "
        f"{told.samples} answers per topic and context, {told.objective} per objective case, "
        f"seed {told.seed}, estimator {told.estimator}, interval {told.interval}</sub>"
    )
