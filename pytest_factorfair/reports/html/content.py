"""What the static part of the page says, as plain values for its template."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pytest_factorfair.domain import Judgement, Score, Summary, Verdict
from pytest_factorfair.gates import release
from pytest_factorfair.reports import perceived
from pytest_factorfair.reports.ethics import ETHICS, LIMITS
from pytest_factorfair.reports.table import MISSING, Row, Table, number, percent
from pytest_factorfair.reports.tables.changes import changes_table, compared
from pytest_factorfair.reports.tables.headline import among, headline_lines
from pytest_factorfair.reports.tables.of_summary import all_tables
from pytest_factorfair.reports.tables.reasons import quotations
from pytest_factorfair.reports.tables.verdicts import NO_GATES, SIGNS
from pytest_factorfair.reports.terminal import usage_line
from pytest_factorfair.reports.warnings import warnings

TONES = {"PASS": "passed", "FAIL": "failed", "OPEN": "open"}

DIAGNOSTICS = {
    "worst_topic": "worst topic, from its fair share",
    "position": "favourite letter",
    "name_preference": "favourite name",
    "age_preference": "favourite age",
    "refusal_gap": "refusals, widest gap between groups",
    "refusal_rate": "refused",
    "worst_refusal": "refused, worst topic",
    "unread_rate": "unread",
    "error_rate": "errors",
}
"""What else could lie behind the choices, and what became of those that were not had."""

WORDS: dict[Judgement, str] = {
    "failed": "Not kept",
    "inconclusive": "Not decided by the answers",
    "not judged": "Not judged",
    "waived": "Not kept, waived",
    "passed": "Kept",
}


class Ruled(NamedTuple):
    """The verdicts of one kind, in words."""

    judgement: Judgement
    title: str
    verdicts: tuple[Verdict, ...]


def content(summary: Summary) -> dict[str, Any]:
    """All values of the page's template that are text."""
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
        "quotations": tuple(quotations(summary)),
        "notes": (*perceived.detector_lines(summary), *summary.notes),
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
                perceived.attribute(one.attribute, summary),
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
    for name in ("preset", "design", "truth", "estimator", "interval", "seed"):
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
