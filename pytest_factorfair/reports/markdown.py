"""report.md: fits into a comment on a pull request and a CI job's summary page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from pytest_factorfair.domain import ContactSheet, Summary, plural
from pytest_factorfair.drawing import escaping
from pytest_factorfair.drawing.statements import ETHICS, settings
from pytest_factorfair.drawing.table import Table, as_markdown
from pytest_factorfair.gates.release import SIGNS, VerdictGroup
from pytest_factorfair.reports.sections import Sections, sections
from pytest_factorfair.reports.tables import size

MARKER = "<!-- pytest-factorfair -->"
"""First line, so that a bot finds its comment again and updates it in place."""

LONGEST = 1000
"""Longest text from outside, so that no name or note crowds out the rest."""


def to_markdown(summary: Summary) -> str:
    """The summary as GitHub-flavoured Markdown below 60 kB; text from outside is shown, never interpreted."""
    return fitted(tuple(_passages(summary)))


def _passages(summary: Summary) -> Iterator[Passage]:
    """The passages, failures and regressions first."""
    run, report = summary.fingerprint, sections(summary)
    opening = [MARKER, f"## factorfair: `{_code(', '.join(report.models))}`"]
    opening += [f"> **Warning:** {_text(warning)}." for warning in report.warnings]
    opening += [f"**{_text(report.title)}**"]
    if release := report.release:
        command = release.next_step.startswith("factorfair ")
        step = f"`{_code(release.next_step)}`" if command else _text(release.next_step)
        opening += filter(
            None, (_text(release.advice), f"Next: {step}" if release.next_step else "", _text(release.look))
        )
    opening += [f"{_text(line[:1].upper() + line[1:])}." for line in report.answered]
    yield Passage("\n\n".join(opening))
    doubts = tuple(line for group in report.doubts for line in _group(group, report))
    yield Passage("", doubts, name="explanations")
    if not summary.incomplete:
        yield from verdict_tables(report)
    if report.changes:
        yield _table(report.changes, title=report.compared, name="changes")
    for table in report.tables:
        yield _table(table, title=table.title, name="tables", whole=True)
    if report.quotations:
        quotations = _listed(report.quotations)
        yield Passage(
            "<details><summary>What reasons say</summary>\n", quotations, "\n</details>", "quotations"
        )
    yield Passage("", _listed(report.headlines), name="headlines")
    yield Passage("", _listed(report.notes), name="notes", joined=bool(report.headlines))
    by_model: dict[str, list[ContactSheet]] = {}
    for sheet in summary.contact_sheets:
        by_model.setdefault(sheet.model, []).append(sheet)
    for model, sheets in by_model.items():  # folded away: a checklist has dozens
        links = tuple(
            f"- [{_text(sheet.case)}]({quote(sheet.file)}), {plural(sheet.pictures, 'picture')}"
            for sheet in sheets
        )
        title = f"Contact sheets of {_text(model)}: the pictures with the perceived groups"
        foot = "\n</details>"
        yield Passage(f"<details>\n<summary>{title}</summary>\n", links, foot, "links to contact sheets")
    checklists = ", ".join(f"{name} {digest[:12]}" for name, digest in run.checklists.items())
    how = ", ".join(f"{name} {value}" for name, value in settings(summary).items())
    yield Passage(
        f"{_text(report.usage)}\n\n"
        f"<sub>{_text(f'{checklists}; {size(summary)}, {how}')}</sub>\n\n<sub>{ETHICS}</sub>"
    )


def verdict_tables(report: Sections) -> Iterator[Passage]:
    """The table of verdicts in two passages: passed gates are left out first."""
    rows: dict[bool, list[str]] = {False: [], True: []}
    for group in report.groups:
        rows[group.judgement == "passed"] += [
            f"| **{SIGNS[line.judgement]}** | `{_code(line.gate)}` "
            f"| `{_code(line.subject)}` | {_text(line.reason)} |"
            for line in group.lines
        ]
    if rows[False]:
        yield Passage(VERDICTS, tuple(rows[False]), name="gates that did not pass")
    if rows[True]:
        joined = bool(rows[False])
        yield Passage("" if joined else VERDICTS, tuple(rows[True]), name="passed gates", joined=joined)


def _group(group: VerdictGroup, report: Sections) -> Iterator[str]:
    """Verdicts in plain words, or a cause with the scores that it concerns."""
    if group.cause:
        subjects = ", ".join(f"`{_code(verdict.subject)}`" for verdict in group.verdicts)
        gates = f"{len(group.verdicts)} gates {SIGNS[group.judgement]}: {group.cause}"
        yield f"- **{_text(gates)}**<br>{subjects}"
        return
    for verdict in group.verdicts:
        sentence, *details = report.explanations[verdict.name] or (verdict.subject, verdict.reason)
        yield f"- {'<br>'.join((f'**{_text(sentence)}**', *map(_text, details)))}"


VERDICTS = "| verdict | gate | on | why |\n|---|---|---|---|"
"""The head of the table of verdicts."""


def _listed(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"- {_text(line)}" for line in lines)


def _table(table: Table, *, title: str, name: str, whole: bool = False) -> Passage:
    header, ruler, *lines = as_markdown(table).split("\n")
    rows = len(table.rows)
    head = f"### {_text(title)}\n\n{header}\n{ruler}"
    return Passage(head, tuple(lines[:rows]), "\n".join(lines[rows:]), name, whole)


def _text(words: str) -> str:
    return escaping.markdown(_short(words))


def _code(words: str) -> str:
    return escaping.markdown_code(_short(words))


def _short(words: str) -> str:
    return words if len(words) <= LONGEST else f"{words[:LONGEST]}…"


MOST = 60_000
"""Bytes; GitHub takes 65,536 letters of a comment."""

RESERVED = 500
"""Bytes reserved for the sentence that lists what was left out."""

ORDER = (
    "quotations",
    "links to contact sheets",
    "notes",
    "passed gates",
    "tables",
    "headlines",
    "changes",
    "explanations",
    "gates that did not pass",
)
"""Names of passages, in the order in which they are cut."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a report: its head, lines and foot.

    A passage with a ``name``, one of ``ORDER``, may be cut: line by line from its end, or only as a
    ``whole``. ``joined`` is whether it follows without a blank line.
    """

    head: str
    lines: tuple[str, ...] = ()
    foot: str = ""
    name: str = ""
    whole: bool = False
    joined: bool = False

    @property
    def text(self) -> str:
        """Empty if all lines of a passage that has a name were cut."""
        if self.name and not self.lines:
            return ""
        return "\n".join(part for part in (self.head, *self.lines, self.foot) if part)


def fitted(passages: Sequence[Passage]) -> str:
    """All passages as one text of less than ``MOST`` bytes; the first says what was left out.

    Passages without a name are kept as they are. Others lose their last lines, in the order of their names;
    of equal names the last passage comes first.
    """
    if _size(_joined(passages)) < MOST:
        return _joined(passages)
    shortened = list(passages)
    for name in ORDER:
        for index in reversed(range(len(shortened))):
            if shortened[index].name != name:
                continue
            excess = _size(_joined(shortened)) - (MOST - RESERVED)
            if excess <= 0:
                break
            lines = list(shortened[index].lines)
            while lines and excess > 0:
                excess -= _size(lines.pop()) + 1
            shortened[index] = replace(shortened[index], lines=() if shortened[index].whole else tuple(lines))
    lost = []
    for name in ORDER:
        pairs = [
            (passage, cut) for passage, cut in zip(passages, shortened, strict=True) if passage.name == name
        ]
        if count := sum(_count(passage) - _count(cut) for passage, cut in pairs):
            lost.append(f"{name} ({count:,})")
    note = f"\nLeft out to stay below {MOST // 1000} kB: {', '.join(lost)}. "
    note += "report.html and report.json have it all."
    return _joined([replace(shortened[0], foot=note), *shortened[1:]])


def _count(passage: Passage) -> int:
    return min(len(passage.lines), 1) if passage.whole else len(passage.lines)


def _joined(passages: Sequence[Passage]) -> str:
    text = ""
    for passage in passages:
        if passage.text:
            blank = "" if not text else "\n" if passage.joined else "\n\n"
            text += blank + passage.text
    return text + "\n"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
