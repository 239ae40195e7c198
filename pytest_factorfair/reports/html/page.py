"""The page: what is static is written by a template, what a reader opens is drawn from embedded values."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_factorfair.domain import Case, ContactSheet, Summary, prompt_cases, topic_cases
from pytest_factorfair.reports import escaping, perceived
from pytest_factorfair.reports.entries import by_checklist, entries
from pytest_factorfair.reports.figures.eta_axis import eta_axis
from pytest_factorfair.reports.figures.plane import Plane, plane, planes
from pytest_factorfair.reports.figures.shares import shares
from pytest_factorfair.reports.figures.spec import FIT, Spec
from pytest_factorfair.reports.html.content import content
from pytest_factorfair.reports.html.document import document
from pytest_factorfair.reports.html.matrix import cells
from pytest_factorfair.reports.html.tree import trees

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
    return {
        "planes": [{"title": _title(summary, of), "spec": plane(summary, of)} for of in planes(summary)],
        "cells": list(cells(summary)),
        "shares": shares(),
        "etas": list(_etas(summary)),
        "trees": list(trees(summary, prompt_cases(cases))),
    }


def _etas(summary: Summary) -> Iterator[dict[str, Any]]:
    """Each FAIntbench checklist's axis of eta, with the models that have one."""
    for checklist, group in by_checklist(entries({"": summary})).items():
        if spec := eta_axis(group):
            yield {"title": f"eta of {checklist}", "spec": _on_screen(spec)}


def _on_screen(spec: Spec) -> Spec:
    """A printed figure as wide as the page, in the page's own letters."""
    drawn = {name: part for name, part in spec.items() if name not in ("title", "config")}
    return drawn | {"width": "container", "height": 2 * spec["height"], "autosize": FIT}


def _title(summary: Summary, of: Plane) -> str:
    name = perceived.attribute(of.attribute, summary)
    return f"{of.checklist} · {name}" if len(summary.fingerprint.checklists) > 1 else name


def _replies(
    summary: Summary, excerpts: Iterable[Excerpts], cases: Iterable[Case]
) -> Iterator[dict[str, Any]]:
    """The cases of topics with some of their replies; a picture has its contact sheet instead."""
    known = {(case.checklist, case.id): case for case in topic_cases(cases)}
    sheets = {(one.model, one.checklist, one.case): place for place, one in enumerate(summary.contact_sheets)}
    for one in excerpts:
        if case := known.get(one.case[1:]):
            yield {
                "model": one.case.model,
                "checklist": one.case.checklist,
                "case": case.id,
                "statistic": case.statistic,
                "direction": case.direction,
                "column": case.context or case.part,
                "attributes": [perceived.attribute(name, summary) for name in case.attributes],
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
