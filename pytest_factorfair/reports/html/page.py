"""The page: a template prints what is static, a script draws what a reader opens from embedded values."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_factorfair.domain import Case, ContactSheet, Judgement, Score, Summary, Verdict
from pytest_factorfair.gates.release import release
from pytest_factorfair.protocols import reportings
from pytest_factorfair.reports import escaping, statements
from pytest_factorfair.reports.html.document import document
from pytest_factorfair.reports.statements import (
    ETHICS,
    LIMITS,
    NO_GATES,
    SIGNS,
    among,
    headline_lines,
    usage_line,
    warnings,
)
from pytest_factorfair.reports.table import MISSING, Row, Table, number, percent
from pytest_factorfair.reports.tables import all_tables, changes_table, compared

if TYPE_CHECKING:
    from pytest_factorfair.reports.responses import Excerpt, Excerpts

EMBEDDED = 16 * 2**20
"""Bytes of contact sheets that travel inside the page; further ones stay in their folder."""


def to_html(summary: Summary, excerpts: Iterable[Excerpts], cases: Iterable[Case], folder: Path) -> str:
    """The report as one page; text from outside is escaped, and nothing may be fetched.

    ``folder`` is where the contact sheets are.
    """
    asked = tuple(cases)
    replies = _compact_json(list(_replies(summary, excerpts, asked)))  # prompts recur: packed, a tenth
    values = {
        **content(summary),
        "values": escaping.script(_compact_json(_values(summary, asked))),
        "replies": base64.b64encode(gzip.compress(replies.encode(), mtime=0)).decode(),
        "pictures": tuple(_pictures(summary.contact_sheets, folder)),
    }
    return document("page.html", ("vega.js", "sort.js", "page.js"), values)


def _compact_json(values: object) -> str:
    return json.dumps(values, allow_nan=False, separators=(",", ":"))


def _values(summary: Summary, cases: Sequence[Case]) -> dict[str, Any]:
    """What the benchmarks draw."""
    return {name: value for each in reportings() for name, value in each.page(summary, cases).items()}


def _replies(
    summary: Summary, excerpts: Iterable[Excerpts], cases: Iterable[Case]
) -> Iterator[dict[str, Any]]:
    """The cases about a statistic with some of their replies; a picture has its contact sheet instead."""
    known = {(case.checklist, case.id): case for case in cases if "statistic" in case.words}
    sheets = {(one.model, one.checklist, one.case): place for place, one in enumerate(summary.contact_sheets)}
    for one in excerpts:
        if case := known.get(one.case[1:]):
            yield {
                "model": one.case.model,
                "checklist": one.case.checklist,
                "case": case.id,
                "statistic": next(iter(case.words["statistic"])),
                "direction": next(iter(case.words["direction"])),
                "column": case.place[-1],
                "attributes": [statements.attribute(name, summary) for name in case.attributes],
                "total": one.total,
                "sheet": sheets.get(one.case),
                "shown": [_reply(each) for each in one.shown],
            }


def _reply(one: Excerpt) -> dict[str, Any]:
    answer = one.answer
    return {
        "prompt": one.prompt,
        "reply": one.reply,
        "cut": one.cut,
        "outcome": answer.outcome,
        "reason": answer.reason,
        "letter": answer.letter,
        "groups": list(answer.groups.values()),
    }


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


TONES = {"PASS": "passed", "FAIL": "failed", "OPEN": "open"}

DIAGNOSTICS = {
    "worst_topic": "worst topic, from its fair share",
    "position": "favourite letter",
    "name_preference": "favourite name",
    "age_preference": "favourite age",
    "refusal_gap": "refusals, widest gap between groups",
    "refusal_rate": "refused",
    "worst_refusal": "refused, worst topic",
    "unparsed_rate": "unparsed",
    "error_rate": "errors",
}
"""Other explanations of the choices, and the answers that are missing."""

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
    told = summary.fingerprint
    verdict = release(summary.gates, summary.unjudged)
    return {
        "models": tuple(told.models),
        "warnings": tuple(warnings(summary)),
        "incomplete": summary.incomplete,
        "verdict": verdict or NO_GATES,
        "tone": TONES.get(verdict.partition(":")[0], "none"),
        "ruled": tuple(_ruled(summary)),
        "gates": summary.gates,
        "signs": SIGNS,
        "number": number,
        "headlines": headline_lines(summary),
        "former": bool(summary.former),
        "planes": bool(summary.topics),
        "prompts": bool(summary.prompts),
        "tables": tuple(all_tables(summary)),
        "compared": compared(summary.changes) if summary.changes else "",
        "changes": changes_table(summary.changes) if summary.changes else None,
        "diagnostics": _diagnostics(summary),
        "quotations": tuple(line for each in reportings() for line in each.quotations(summary)),
        "notes": (*statements.detector_lines(summary), *summary.notes),
        "usage": usage_line(summary),
        "fingerprint": tuple(_fingerprint(summary)),
        "ethics": ETHICS,
        "limits": LIMITS,
    }


def _ruled(summary: Summary) -> Iterator[Ruled]:
    for judgement, title in WORDS.items():
        if found := tuple(one for one in summary.gates if one.judgement == judgement):
            yield Ruled(judgement, title, found)


def _diagnostics(summary: Summary) -> Table | None:
    """A row per model, checklist, part or context, and attribute; the first two where there are several."""
    places: dict[tuple[str, ...], dict[str, Score]] = {}
    for one in summary.scores:
        if one.metric in DIAGNOSTICS and one.value is not None:
            place = (
                *among(summary, one),
                one.context or one.part,
                statements.attribute(one.attribute, summary),
            )
            places.setdefault(place, {})[one.metric] = one
    rows = tuple(
        Row(" · ".join(place), tuple(_rate(here.get(name)) for name in DIAGNOSTICS))
        for place, here in places.items()
    )
    return Table("Diagnostics", tuple(DIAGNOSTICS.values()), rows) if rows else None


def _rate(score: Score | None) -> str:
    if score is None or score.value is None:
        return MISSING
    most = "" if score.high is None else f" (to {percent(score.high, digits=1)})"
    return f"{percent(score.value, digits=1)}{most}"


def _fingerprint(summary: Summary) -> Iterator[tuple[str, str]]:
    """What another run must share to be compared with this one."""
    told = summary.fingerprint
    yield from ((f"checklist {name}", digest[:12]) for name, digest in told.checklists.items())
    for name in ("preset", "design", "truth", "answers", "estimator", "interval", "seed"):
        yield name, str(getattr(told, name))
    usage = summary.usage
    yield "tokens", f"{usage.tokens_in:,} in, {usage.tokens_out:,} out"
    yield "answers per topic and context", f"{told.samples:,}"
    yield "answers per objective case", f"{told.objective:,}"
    for spec, identity in told.models.items():
        yield f"model {spec}", _plain(identity)
    if told.detector:
        yield "detector", _plain(told.detector)
    yield from told.versions.items()
    yield from told.times.items()


def _plain(identity: object) -> str:
    if not isinstance(identity, dict):
        return str(identity)
    kept = {
        name: value for name, value in identity.items() if value not in (None, "") and name != "checklists"
    }
    return ", ".join(f"{name} {value}" for name, value in kept.items())
