"""The page of a report: static parts come from a template, a script draws details from embedded values."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import ceil
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_factorfair.benchmarks import benchmarks_of
from pytest_factorfair.benchmarks.benchmark import UNKNOWN
from pytest_factorfair.benchmarks.combined import warnings
from pytest_factorfair.domain import (
    Answer,
    Case,
    ContactSheet,
    Illustration,
    Judgement,
    ReleaseWord,
    Summary,
    Verdict,
    plural,
)
from pytest_factorfair.drawing import escaping, statements
from pytest_factorfair.drawing.statements import (
    ETHICS,
    NO_GATES,
    SIGNS,
    among,
    usage_line,
)
from pytest_factorfair.drawing.table import MISSING, Row, Table, percent
from pytest_factorfair.reports.html.document import document
from pytest_factorfair.reports.json_report import RESPONSES
from pytest_factorfair.reports.responses import EXCERPTS, PICTURES, examples
from pytest_factorfair.reports.tables import all_tables, changes_table, compared, headlines, size

if TYPE_CHECKING:
    from pytest_factorfair.reports.responses import Excerpt, Excerpts

# The maximum number of columns of a table of diagnostics that fit on a screen and on paper.
SIDE_BY_SIDE = 5

EMBEDDED = 16 * 2**20
"""How many bytes of contact sheets are embedded in the page; the page links to further ones."""


def to_html(
    summary: Summary,
    excerpts: Iterable[Excerpts],
    cases: Iterable[Case],
    folder: Path,
    *,
    replies: str = RESPONSES,
    thumbnails: Mapping[str, bytes | str] = MappingProxyType({}),
) -> str:
    """Render a report as a single page; text from outside is escaped, and the page may not load anything.

    ``folder`` contains the contact sheets and the file of all ``replies``; ``thumbnails`` are small JPEGs of
    pictures by their keys, or messages why there are none.
    """
    asked, benchmarks, excerpts = tuple(cases), benchmarks_of(summary.scores), tuple(excerpts)
    # A run that got no answer has nothing to draw.
    counted = summary if summary.cases else replace(summary, rows={})
    drawn = {
        name: value for benchmark in benchmarks for name, value in benchmark.page(counted, asked).items()
    }
    # The failed scores, each with the cases with the most influence on it.
    drawn["marks"] = tuple(
        {
            "subject": verdict.subject,
            "model": verdict.model,
            "words": verdict.words,
            "cases": [
                (mover.cases.checklist, case)
                for mover in verdict.explanation.movers
                for case in mover.cases.ids
            ],
        }
        for verdict in summary.gates
        if verdict.judgement == "failed" and verdict.explanation is not None
    )
    shown = tuple(_replies(summary, excerpts, asked, thumbnails))
    packed = gzip.compress(_compact_json(shown).encode(), mtime=0)  # to a tenth, as prompts recur
    values = {
        **content(summary),
        "values": {
            **drawn,
            "former": bool(summary.former),
            "models": len(summary.fingerprint.models),
            "declined": _declined(excerpts, asked),
        },
        "data": escaping.script(_compact_json(drawn)),
        "replies": base64.b64encode(packed).decode(),
        "searchable": any(row["shown"] for row in shown),
        "unplaced": any(row["place"] is None for row in shown),
        "file": replies,
        "sample": "" if replies == RESPONSES else SAMPLE,
        "pictures": tuple(_pictures(summary.contact_sheets, folder)),
    }
    parts = [benchmark.assets for benchmark in benchmarks if benchmark.assets]
    return document(
        "page.html", ("vega.js", "sort.js", "tips.js", "charts.js", "page.js"), values, parts=parts
    )


SAMPLE = (
    f"This page holds counts of all answers, and a sample of them: at most {EXCERPTS} replies or {PICTURES} "
    "pictures of a case, and those that show what a scan found. All are in"
)
"""A note for runs with many answers, to be followed by the name of the file."""


def _compact_json(values: object) -> str:
    return json.dumps(values, allow_nan=False, separators=(",", ":"))


def _replies(
    summary: Summary,
    excerpts: Iterable[Excerpts],
    cases: Iterable[Case],
    thumbnails: Mapping[str, bytes | str],
) -> Iterator[dict[str, Any]]:
    """The cases with some of their replies, and the place on the page from which they can be opened.

    Replies that are pictures have thumbnails. They are left out if their benchmark has no such place.
    """
    cases_by_id = {(case.checklist, case.id): case for case in cases}
    sheets = {
        (sheet.model, sheet.checklist, sheet.case): index
        for index, sheet in enumerate(summary.contact_sheets)
    }
    of_scans = examples(summary)
    for case_excerpts in excerpts:
        if (case := cases_by_id.get(case_excerpts.case[1:])) is None:
            continue
        locations = ((benchmark, benchmark.reply_place(case)) for benchmark in benchmarks_of(summary.scores))
        benchmark, location = next((pair for pair in locations if pair[1] is not None), (UNKNOWN, None))
        if location is None and summary.fingerprint.detector:
            continue
        yield {
            "model": case_excerpts.case.model,
            "checklist": case_excerpts.case.checklist,
            "case": case.id,
            "place": location,
            "attributes": [statements.attribute(name, summary) for name in case.attributes],
            "total": case_excerpts.total,
            "sheet": sheets.get(case_excerpts.case),
            "shown": [
                {
                    "prompt": excerpt.prompt,
                    "reply": excerpt.reply,
                    "cut": excerpt.cut,
                    "outcome": excerpt.answer.reported_outcome,
                    "reason": excerpt.answer.reason,
                    "letter": excerpt.answer.letter,
                    "groups": list(excerpt.answer.groups.values()),
                    "conditions": benchmark.reply_conditions(case, excerpt.answer),
                    **({"query": query} if (case_excerpts.case, query) in of_scans else {}),
                    **({"sources": excerpt.sources} if excerpt.sources and case.part == "objective" else {}),
                    **(_picture(excerpt.answer, thumbnails) if summary.fingerprint.detector else {}),
                }
                for excerpt in case_excerpts.shown
                for query in [excerpt.answer.query]
            ],
        }


QUOTED = 3
"""Declined judgements of a model that are quoted."""


def _declined(excerpts: Iterable[Excerpts], cases: Iterable[Case]) -> Mapping[str, list[Excerpt]]:
    """The first different replies of each model that decline a judgement."""
    judging = {(case.checklist, case.id) for case in cases if case.judges}
    quoted: dict[str, dict[str, Excerpt]] = {}
    for of_case in excerpts:
        replies = quoted.setdefault(of_case.case.model, {})
        for excerpt in of_case.shown if of_case.case[1:] in judging else ():
            if excerpt.answer.declined and excerpt.reply and len(replies) < QUOTED:
                replies.setdefault(excerpt.reply, excerpt)
    return {model: [*replies.values()] for model, replies in quoted.items()}


def _picture(answer: Answer, thumbnails: Mapping[str, bytes | str]) -> dict[str, str]:
    """A thumbnail as embedded data, or a message why there is none."""
    if answer.outcome not in ("answered", "unparsed"):
        return {"picture": "", "lacks": ""}
    thumbnail = thumbnails.get(answer.key, "This page has no room for a small copy of the picture.")
    if isinstance(thumbnail, str):
        return {"picture": "", "lacks": thumbnail}
    return {"picture": base64.b64encode(thumbnail).decode(), "lacks": ""}


def _pictures(sheets: Iterable[ContactSheet], folder: Path) -> Iterator[dict[str, Any]]:
    """Contact sheets as embedded data, up to the limit of a page."""
    room = EMBEDDED
    for sheet in sheets:
        size = (folder / sheet.file).stat().st_size
        source = ""
        if size <= room:
            room -= size
            data = base64.b64encode((folder / sheet.file).read_bytes()).decode()
            source = f"data:image/jpeg;base64,{data}"
        yield {"sheet": sheet, "source": source}


TONES: Mapping[ReleaseWord, str] = {
    "PASS": "passed",
    "PASS WITH WAIVERS": "passed",
    "FAIL": "failed",
    "UNDECIDED": "open",
}

WORDS: dict[Judgement, str] = {
    "failed": "Failed",
    "inconclusive": "Inconclusive",
    "not judged": "Not judged",
    "waived": "Failed, waived",
}
"""The titles of the verdicts that did not pass, in the order of the page."""


class ExplainedVerdict(NamedTuple):
    """A verdict with the lines that explain it."""

    verdict: Verdict
    lines: tuple[str, ...]


class Cause(NamedTuple):
    """Verdicts with the same cause in words, or without words the verdicts on answers of one kind."""

    words: str
    verdicts: tuple[ExplainedVerdict, ...]


class VerdictGroup(NamedTuple):
    """The verdicts with the same judgement, under a title."""

    title: str
    causes: tuple[Cause, ...]


def _verdict_groups(summary: Summary) -> Iterator[VerdictGroup]:
    """The verdicts that did not pass; an example, and what to do about the release, are not repeated."""
    examples: set[Illustration] = set()
    lead = f"Next: {summary.release.next_step}" if summary.release else ""

    def explained(verdict: Verdict) -> ExplainedVerdict:
        lines = statements.explanation(verdict, known=examples)
        return ExplainedVerdict(verdict, tuple(line for line in lines if line != lead))

    for judgement, title in WORDS.items():
        verdicts = (verdict for verdict in summary.gates if verdict.judgement == judgement)
        causes = tuple(Cause(cause, tuple(map(explained, members))) for cause, members in _together(verdicts))
        if causes:
            yield VerdictGroup(title, causes)


def _together(verdicts: Iterable[Verdict]) -> list[tuple[str, list[Verdict]]]:
    """Verdicts by what they have in common: a cause, else what they are about."""
    together: list[tuple[str, list[Verdict]]] = []
    for group in statements.groups(verdicts):
        verdict, *further_verdicts = group.verdicts
        alike = (
            members
            for cause, members in together
            if not (cause or further_verdicts)
            and members[0].model == verdict.model
            and verdict.about
            and members[0].about == verdict.about
        )
        if (members := next(alike, None)) is not None:
            members.append(verdict)
        else:
            together.append((group.cause if further_verdicts else "", list(group.verdicts)))
    return together


class GateRow(NamedTuple):
    """A row of the table of gates: a verdict, or several with what they share."""

    name: str
    verdicts: tuple[Verdict, ...]
    shared: str = ""


UNFOLDED = 3
"""The most verdicts with one cause that have a row each, unless they passed."""


def _gates(summary: Summary) -> Iterator[GateRow]:
    """The rows of the table of gates: all scores that passed a gate share one, and many of one cause do."""
    order = list(SIGNS)
    alike: dict[tuple[str, ...], list[Verdict]] = {}
    for verdict in sorted(summary.gates, key=lambda verdict: order.index(verdict.judgement)):
        cause = verdict.cause or (verdict.reason if verdict.judgement == "not judged" else verdict.about)
        key = (verdict.model, cause) if cause else (verdict.name,)
        if verdict.judgement == "passed":
            key = (verdict.gate,)
        alike.setdefault((verdict.judgement, *key), []).append(verdict)
    for (judgement, *_, shared), (first, *others) in alike.items():
        if not others:
            yield GateRow(first.subject, (first,))
        elif judgement == "passed":
            yield GateRow(first.gate, (first, *others), f"on {len(others) + 1} scores")
        elif len(others) < UNFOLDED:
            yield from (GateRow(verdict.subject, (verdict,)) for verdict in (first, *others))
        else:
            yield GateRow(f"{first.subject} and {len(others)} more", (first, *others), shared)


def content(summary: Summary) -> dict[str, Any]:
    """The values for the template."""
    release, benchmarks = summary.release, benchmarks_of(summary.scores)
    return {
        "models": tuple(summary.fingerprint.models),
        "warnings": tuple(warnings(summary)),
        "incomplete": None if release else summary.incomplete,
        "verdict": str(release or NO_GATES),
        "word": release.word if release else "NOT JUDGED" if summary.incomplete else "",
        "advice": release.advice if release else "",
        "next_step": release.next_step if release else "",
        "look": release.look if release else "",
        "answered": tuple(statements.answered(summary)),
        "tone": TONES.get(release.word, "none") if release else "none",
        "verdict_groups": () if summary.incomplete else tuple(_verdict_groups(summary)),
        "passed": sum(verdict.judgement == "passed" for verdict in summary.gates),
        "gates": tuple(_gates(summary)),
        "order": list(SIGNS),
        "signs": SIGNS,
        "plural": plural,
        "headlines": tuple(headlines(summary)),
        "tables": tuple(all_tables(summary)),
        "compared": compared(summary) if summary.changes else "",
        "changes": changes_table(summary.changes) if summary.changes else None,
        "diagnostics": tuple(_diagnostics(summary)),
        "quotations": tuple(line for benchmark in benchmarks for line in benchmark.quotations(summary)),
        "notes": (*statements.detector_lines(summary), *summary.notes),
        "usage": usage_line(summary),
        "fingerprint": tuple(_fingerprint(summary)),
        "ethics": ETHICS,
        "limits": tuple(line for benchmark in benchmarks for line in benchmark.limits(summary)),
    }


def _diagnostics(summary: Summary) -> Iterator[Table]:
    """Tables of diagnostics per benchmark: a row per part or context and attribute, without empty ones."""
    for benchmark in benchmarks_of(summary.scores):
        cells_by_label: dict[tuple[str, ...], dict[str, str]] = {}
        for score in summary.scores:
            if score.metric in benchmark.diagnostics and score.value is not None:
                metric = benchmark.diagnostics[score.metric][1]
                name = statements.attribute(score.attribute, summary)
                label = (*among(summary, score), score.context or score.part, name)
                worse = ("from", score.low) if metric.better == "higher" else ("to", score.high)
                bound = "" if worse[1] is None else f" ({worse[0]} {percent(worse[1], digits=1)})"
                cells_by_label.setdefault(label, {})[score.metric] = (
                    f"{percent(score.value, digits=1)}{bound}"
                )
        measured = {name for cells in cells_by_label.values() for name in cells}
        columns = {name: column for name, column in benchmark.diagnostics.items() if name in measured}
        tables = ceil(len(columns) / SIDE_BY_SIDE)
        for nth in range(tables):
            start, end = (len(columns) * part // tables for part in (nth, nth + 1))
            names = tuple(columns)[start:end]
            rows = tuple(
                Row(" · ".join(label), tuple(cells.get(name, MISSING) for name in names))
                for label, cells in cells_by_label.items()
                if not cells.keys().isdisjoint(names)
            )
            headings, shown = zip(*(columns[name] for name in names), strict=True)
            meanings = tuple(metric.meaning for metric in shown)
            notes = (benchmark.diagnosed,) if end == len(columns) else ()
            yield Table("Other explanations", headings, rows, notes, meanings=meanings)


def _fingerprint(summary: Summary) -> Iterator[tuple[str, str]]:
    """The settings in which another run must agree to be comparable with this one."""
    run, usage = summary.fingerprint, summary.usage
    yield from ((f"checklist {name}", digest[:12]) for name, digest in run.checklists.items())
    for name in ("preset", "design", "truth", "answers", "declines", "estimator", "interval", "seed"):
        yield name, str(getattr(run, name))
    yield "tokens", f"{usage.tokens_in:,} in, {usage.tokens_out:,} out{usage.reasoning}"
    yield "size", size(summary)
    identities = {f"model {spec}": identity for spec, identity in run.models.items()}
    for name, identity in (identities | ({"detector": run.detector} if run.detector else {})).items():
        details = {key: value for key, value in identity.items() if value not in (None, "")}
        yield name, ", ".join(f"{key} {value}" for key, value in details.items() if key != "checklists")
    yield from run.versions.items()
    yield from run.times.items()
