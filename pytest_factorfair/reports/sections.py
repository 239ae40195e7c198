"""What a report says, as values that the terminal, Markdown, HTML and model cards write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_factorfair.benchmarks import benchmarks_of
from pytest_factorfair.domain import Illustration, ReleaseVerdict, Summary
from pytest_factorfair.drawing import statements
from pytest_factorfair.drawing.statements import NO_GATES, settings, times
from pytest_factorfair.drawing.table import Table
from pytest_factorfair.gates.release import VerdictGroup, grouped
from pytest_factorfair.reports import tables


@dataclass(frozen=True, slots=True)
class Sections:
    """The sections of a report; where there is nothing to say, they are empty.

    ``title`` is the verdict on the release, or why there is none. ``doubts`` are the groups of verdicts that
    did not pass, unless the whole run is the cause, which the title says. ``explanations`` are the paragraphs
    of each verdict, by its name; none repeats an example or the next step of the release. ``changes`` are
    those since the baseline, and ``compared`` sums them up. ``briefs`` are the scores in a few rows,
    ``headlines`` in a few numbers.
    """

    models: tuple[str, ...]
    release: ReleaseVerdict | None
    title: str
    warnings: tuple[str, ...]
    answered: tuple[str, ...]
    groups: tuple[VerdictGroup, ...]
    doubts: tuple[VerdictGroup, ...]
    explanations: Mapping[str, tuple[str, ...]]
    compared: str
    changes: Table | None
    briefs: tuple[Table, ...]
    tables: tuple[Table, ...]
    diagnostics: tuple[Table, ...]
    headlines: tuple[str, ...]
    quotations: tuple[str, ...]
    notes: tuple[str, ...]
    usage: str
    fingerprint: tuple[tuple[str, str], ...]
    limits: tuple[str, ...]


def sections(summary: Summary) -> Sections:
    """All sections of a report on a run."""
    benchmarks, groups = benchmarks_of(summary.scores), grouped(summary.gates)
    title = f"Not judged: {summary.incomplete}." if summary.incomplete else NO_GATES
    examples: set[Illustration] = set()
    lead = f"Next: {summary.release.next_step}" if summary.release else ""
    explanations = {
        verdict.name: tuple(line for line in statements.explanation(verdict, known=examples) if line != lead)
        for group in groups
        for verdict in group.verdicts
    }
    return Sections(
        models=tuple(summary.fingerprint.models),
        release=summary.release,
        title=str(summary.release or title),
        warnings=tuple(statements.warnings(summary)),
        answered=tuple(statements.answered(summary)),
        groups=groups,
        doubts=() if summary.incomplete else tuple(group for group in groups if group.judgement != "passed"),
        explanations=explanations,
        compared=tables.compared(summary) if summary.changes else "",
        changes=tables.changes_table(summary.changes) if summary.changes else None,
        briefs=tuple(tables.briefs(summary)),
        tables=tuple(tables.all_tables(summary)),
        diagnostics=tuple(tables.diagnostics(summary)),
        headlines=tuple(tables.headlines(summary)),
        quotations=tuple(line for benchmark in benchmarks for line in benchmark.quotations(summary)),
        notes=(*statements.detector_lines(summary), *summary.notes),
        usage=statements.usage_line(summary),
        fingerprint=tuple(_fingerprint(summary)),
        limits=tuple(line for benchmark in benchmarks for line in benchmark.limits(summary)),
    )


def _fingerprint(summary: Summary) -> Iterator[tuple[str, str]]:
    """The settings in which another run must agree to be comparable with this one."""
    run, usage = summary.fingerprint, summary.usage
    yield from ((f"checklist {name}", digest[:12]) for name, digest in run.checklists.items())
    yield from settings(summary).items()
    yield "tokens", f"{usage.tokens_in:,} in, {usage.tokens_out:,} out{usage.reasoning}"
    yield "size", tables.size(summary)
    identities = {f"model {spec}": identity for spec, identity in run.models.items()}
    for name, identity in (identities | ({"detector": run.detector} if run.detector else {})).items():
        details = {key: value for key, value in identity.items() if value not in (None, "")}
        yield name, ", ".join(f"{key} {value}" for key, value in details.items() if key != "checklists")
    yield from run.versions.items()
    yield from times(run)
