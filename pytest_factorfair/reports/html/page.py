"""The page: a template prints what is static, a script draws what a reader opens from embedded values."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from math import ceil
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_factorfair.domain import Answer, Case, ContactSheet, Judgement, ReleaseWord, Summary, Verdict
from pytest_factorfair.protocols import reportings
from pytest_factorfair.protocols.reporting import NOTHING
from pytest_factorfair.reports import escaping, statements
from pytest_factorfair.reports.html.document import document
from pytest_factorfair.reports.json_report import RESPONSES
from pytest_factorfair.reports.responses import EXCERPTS
from pytest_factorfair.reports.sheets import MOST
from pytest_factorfair.reports.statements import (
    ETHICS,
    NO_GATES,
    SIGNS,
    among,
    usage_line,
    warnings,
)
from pytest_factorfair.reports.table import MISSING, Row, Table, number, percent
from pytest_factorfair.reports.tables import all_tables, changes_table, compared, headlines, size

if TYPE_CHECKING:
    from pytest_factorfair.reports.responses import Excerpts

# Columns of a table of diagnostics: more do not fit on paper.
SIDE_BY_SIDE = 7

EMBEDDED = 16 * 2**20
"""Bytes of contact sheets that travel inside the page; further ones stay in their folder."""


def to_html(
    summary: Summary,
    excerpts: Iterable[Excerpts],
    cases: Iterable[Case],
    folder: Path,
    *,
    replies: str = RESPONSES,
    thumbnails: Mapping[str, bytes | str] = MappingProxyType({}),
) -> str:
    """The report as one page; text from outside is escaped, and nothing may be fetched.

    ``folder`` is where the contact sheets are, and the file of all ``replies``; ``thumbnails`` are small
    JPEGs of pictures by their keys, or why there is none.
    """
    asked, benchmarks = tuple(cases), reportings()
    drawn = {name: value for each in benchmarks for name, value in each.page(summary, asked).items()}
    # The failed scores, each with what the ids of the cases that moved it most begin with.
    drawn["marks"] = tuple(
        {
            "subject": one.subject,
            "model": one.model,
            "words": one.words,
            "cases": [mover.cases for mover in one.explanation.movers],
        }
        for one in summary.gates
        if one.judgement == "failed" and one.explanation is not None
    )
    shown = tuple(_replies(summary, excerpts, asked, thumbnails))
    packed = gzip.compress(_compact_json(shown).encode(), mtime=0)  # prompts recur: a tenth
    values = {
        **content(summary),
        "values": {**drawn, "former": bool(summary.former), "models": len(summary.fingerprint.models)},
        "data": escaping.script(_compact_json(drawn)),
        "replies": base64.b64encode(packed).decode(),
        "searchable": any(row["shown"] for row in shown),
        "unplaced": any(row["place"] is None for row in shown),
        "file": replies,
        "sample": "" if replies == RESPONSES else SAMPLE,
        "pictures": tuple(_pictures(summary.contact_sheets, folder)),
    }
    parts = [each.assets for each in benchmarks if each.assets]
    return document(
        "page.html", ("vega.js", "sort.js", "tips.js", "charts.js", "page.js"), values, parts=parts
    )


SAMPLE = (
    f"This page holds counts of all answers, and a sample of them: at most {EXCERPTS} replies or {MOST} "
    "pictures of a case. All are in"
)
"""A note for runs with many answers; the name of the file follows."""


def _compact_json(values: object) -> str:
    return json.dumps(values, allow_nan=False, separators=(",", ":"))


def _replies(
    summary: Summary,
    excerpts: Iterable[Excerpts],
    cases: Iterable[Case],
    thumbnails: Mapping[str, bytes | str],
) -> Iterator[dict[str, Any]]:
    """The cases with some of their replies, and the place on the page that a benchmark opens them from.

    Replies that are pictures have thumbnails; without a place of their own they are left out.
    """
    known = {(case.checklist, case.id): case for case in cases}
    sheets = {(one.model, one.checklist, one.case): place for place, one in enumerate(summary.contact_sheets)}
    for one in excerpts:
        if (case := known.get(one.case[1:])) is None:
            continue
        places = ((each, each.reply_place(case)) for each in reportings())
        benchmark, place = next((found for found in places if found[1] is not None), (NOTHING, None))
        if place is None and summary.fingerprint.detector:
            continue
        yield {
            "model": one.case.model,
            "checklist": one.case.checklist,
            "case": case.id,
            "place": place,
            "attributes": [statements.attribute(name, summary) for name in case.attributes],
            "total": one.total,
            "sheet": sheets.get(one.case),
            "shown": [
                {
                    "prompt": each.prompt,
                    "reply": each.reply,
                    "cut": each.cut,
                    "outcome": each.answer.fate,
                    "reason": each.answer.reason,
                    "letter": each.answer.letter,
                    "groups": list(each.answer.groups.values()),
                    "conditions": benchmark.reply_conditions(case, each.answer),
                    **(_picture(each.answer, thumbnails) if summary.fingerprint.detector else {}),
                }
                for each in one.shown
            ],
        }


def _picture(answer: Answer, thumbnails: Mapping[str, bytes | str]) -> dict[str, str]:
    """A thumbnail as data, or why there is none."""
    if answer.outcome not in ("answered", "unparsed"):
        return {"picture": "", "lacks": ""}
    found = thumbnails.get(answer.key, "This page has no room for a small copy of the picture.")
    if isinstance(found, str):
        return {"picture": "", "lacks": found}
    return {"picture": base64.b64encode(found).decode(), "lacks": ""}


def _pictures(sheets: Iterable[ContactSheet], folder: Path) -> Iterator[dict[str, Any]]:
    """Contact sheets as data, so long as they are not too much for one page."""
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
    "passed": "Passed",
}


class Ruled(NamedTuple):
    """The verdicts of one kind."""

    judgement: Judgement
    title: str
    verdicts: tuple[Verdict, ...]


def content(summary: Summary) -> dict[str, Any]:
    """The values of the template."""
    release, order = summary.release, list(SIGNS)
    ruled = (
        Ruled(judgement, title, tuple(one for one in summary.gates if one.judgement == judgement))
        for judgement, title in WORDS.items()
    )
    return {
        "models": tuple(summary.fingerprint.models),
        "warnings": tuple(warnings(summary)),
        "incomplete": None if release else summary.incomplete,
        "judged": summary.incomplete is None,
        "verdict": str(release or NO_GATES),
        "short": release.advice if release else "",
        "answered": tuple(statements.answered(summary)),
        "tone": TONES.get(release.word, "none") if release else "none",
        "ruled": tuple(one for one in ruled if one.verdicts),
        "gates": sorted(summary.gates, key=lambda one: order.index(one.judgement)),
        "order": order,
        "signs": SIGNS,
        "explanation": statements.explanation,
        "number": number,
        "headlines": tuple(headlines(summary)),
        "tables": tuple(all_tables(summary)),
        "compared": compared(summary.changes) if summary.changes else "",
        "changes": changes_table(summary.changes) if summary.changes else None,
        "diagnostics": tuple(_diagnostics(summary)),
        "quotations": tuple(line for each in reportings() for line in each.quotations(summary)),
        "notes": (*statements.detector_lines(summary), *summary.notes),
        "usage": usage_line(summary),
        "fingerprint": tuple(_fingerprint(summary)),
        "ethics": ETHICS,
        "limits": tuple(line for each in reportings() for line in each.limits(summary)),
    }


def _diagnostics(summary: Summary) -> Iterator[Table]:
    """Tables per benchmark, a row per part or context and attribute; empty rows and columns are left out."""
    for each in reportings():
        places: dict[tuple[str, ...], dict[str, str]] = {}
        for one in summary.scores:
            if one.metric in each.diagnostics and one.value is not None:
                metric = each.diagnostics[one.metric][1]
                name = statements.attribute(one.attribute, summary)
                place = (*among(summary, one), one.context or one.part, name)
                worse = ("from", one.low) if metric.better == "higher" else ("to", one.high)
                most = "" if worse[1] is None else f" ({worse[0]} {percent(worse[1], digits=1)})"
                places.setdefault(place, {})[one.metric] = f"{percent(one.value, digits=1)}{most}"
        found = {name for here in places.values() for name in here}
        columns = {name: column for name, column in each.diagnostics.items() if name in found}
        tables = ceil(len(columns) / SIDE_BY_SIDE)
        for nth in range(tables):
            start, end = (len(columns) * part // tables for part in (nth, nth + 1))
            names = tuple(columns)[start:end]
            rows = tuple(
                Row(" · ".join(place), tuple(here.get(name, MISSING) for name in names))
                for place, here in places.items()
                if not here.keys().isdisjoint(names)
            )
            headings, shown = zip(*(columns[name] for name in names), strict=True)
            meanings = tuple(metric.meaning for metric in shown)
            notes = (each.diagnosed,) if end == len(columns) else ()
            yield Table("Diagnostics", headings, rows, notes, meanings=meanings)


def _fingerprint(summary: Summary) -> Iterator[tuple[str, str]]:
    """What another run must share to be compared with this one."""
    run, usage = summary.fingerprint, summary.usage
    yield from ((f"checklist {name}", digest[:12]) for name, digest in run.checklists.items())
    for name in ("preset", "design", "truth", "answers", "estimator", "interval", "seed"):
        yield name, str(getattr(run, name))
    yield "tokens", f"{usage.tokens_in:,} in, {usage.tokens_out:,} out"
    yield "size", size(summary)
    identities = {f"model {spec}": identity for spec, identity in run.models.items()}
    for name, identity in (identities | ({"detector": run.detector} if run.detector else {})).items():
        known = {key: value for key, value in identity.items() if value not in (None, "")}
        yield name, ", ".join(f"{key} {value}" for key, value in known.items() if key != "checklists")
    yield from run.versions.items()
    yield from run.times.items()
