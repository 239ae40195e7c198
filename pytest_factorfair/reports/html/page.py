"""The page of a report: static parts come from a template, a script draws details from embedded values."""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_factorfair.benchmarks import benchmarks_of
from pytest_factorfair.benchmarks.benchmark import UNKNOWN
from pytest_factorfair.domain import Answer, Case, ContactSheet, ReleaseWord, Summary, plural
from pytest_factorfair.drawing import escaping, statements
from pytest_factorfair.drawing.statements import ETHICS
from pytest_factorfair.gates.release import SIGNS
from pytest_factorfair.reports.html.document import document
from pytest_factorfair.reports.json_report import RESPONSES
from pytest_factorfair.reports.responses import EXCERPTS, PICTURES, examples
from pytest_factorfair.reports.sections import sections

if TYPE_CHECKING:
    from pytest_factorfair.reports.responses import Excerpt, Excerpts

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
    printed, shown = content(summary), tuple(_replies(summary, excerpts, asked, thumbnails))
    packed = gzip.compress(_compact_json(shown).encode(), mtime=0)  # to a tenth, as prompts recur
    values = {
        **printed,
        "values": {
            **drawn,
            "passed": printed["tone"] == "passed",
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


def content(summary: Summary) -> dict[str, Any]:
    """What the templates of a report print, on a page and in a notebook."""
    report = sections(summary)
    judgements = Counter(verdict.judgement for group in report.groups for verdict in group.verdicts)
    return {
        "report": report,
        "models": report.models,
        "word": report.release.word if report.release else "NOT JUDGED" if summary.incomplete else "",
        "regressed": any(change.regressed for change in summary.changes),
        "tone": TONES.get(report.release.word, "none") if report.release else "none",
        "tally": ", ".join(f"{number:,} {judgement}" for judgement, number in judgements.items()),
        "signs": SIGNS,
        "plural": plural,
        "ethics": ETHICS,
    }
