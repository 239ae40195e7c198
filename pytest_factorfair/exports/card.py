"""A model card: what was measured of one model and how, as Markdown and as JSON-LD."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from shlex import join
from tempfile import TemporaryDirectory
from typing import Any

from pytest_factorfair.benchmarks import benchmark_with, benchmarks_of
from pytest_factorfair.domain import ALL, FILTERED, ReportedOutcome, Score, Source, Summary
from pytest_factorfair.drawing import escaping
from pytest_factorfair.drawing.statements import (
    ETHICS,
    attribute,
    detector_lines,
    per_case,
    settings,
    times,
)
from pytest_factorfair.drawing.table import Row, Table, as_markdown, number, span
from pytest_factorfair.errors import InputError, MissingExtraError
from pytest_factorfair.gates import release_of
from pytest_factorfair.redaction import fit
from pytest_factorfair.reports.json_report import ROWS
from pytest_factorfair.reports.markdown import VERDICTS, verdict_tables
from pytest_factorfair.reports.sections import sections
from pytest_factorfair.reports.tables import score_name, size

LOST: Mapping[ReportedOutcome, str] = {
    "refused": "refused",
    "filtered": FILTERED,
    "unparsed": "unparsed",
    "error": "errors",
}
"""Names of the outcomes without an answer."""

COLUMNS = ("score", "95 % interval", "n", "can reach")
AGAIN = "The command leaves out the provider's own arguments, the detector's files and all keys: see above."
NO_SOURCES = "The checklist's own file names the sources of its statistics."

DIGITS = 4
"""Digits of the scores in a front matter."""

DATASETS = "pytest-factorfair/"
"""The prefix of the dataset names in our evaluation results."""

_SECTION = re.compile(r"^## Factuality and fairness of .*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)

CONTEXT = {"@vocab": "https://schema.org/"}
MODEL = {"@id": "_:model"}
MEASURED = "95 % interval from minValue to maxValue"


@dataclass(frozen=True, slots=True)
class Card:
    """A model of a run; ``sources`` are those of the statistics it was asked about, by checklist."""

    model: str
    summary: Summary
    sources: Mapping[str, tuple[Source, ...]]


def of(summary: Summary, model: str, sources: Mapping[str, tuple[Source, ...]]) -> Card:
    """The card of one model; the summary is cut down to it and to verdicts that are about no single model."""
    fingerprint = replace(summary.fingerprint, models={model: summary.fingerprint.models[model]})

    def of_model(rows: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(row for row in rows if row.model == model)

    own: dict[str, Any] = {name: of_model(getattr(summary, name)) for name in ROWS}
    model_summary = replace(
        summary,
        fingerprint=fingerprint,
        **own,
        rows={name: of_model(rows) for name, rows in summary.rows.items()},
        cases=tuple(record for record in summary.cases if record.case.model == model),
        gates=tuple(verdict for verdict in summary.gates if verdict.model in ("", model)),
    )
    if model_summary.gates:
        model_summary = replace(model_summary, release=release_of(model_summary))
    return Card(model, model_summary, sources)


def to_markdown(card: Card) -> str:
    """The card as a section of a README: the verdict first; an unfinished measurement says so before it."""
    summary, report = card.summary, sections(card.summary)
    parts = [f"## Factuality and fairness of `{escaping.markdown_code(card.model)}`"]
    if summary.incomplete:
        parts += [f"> **Not a finished measurement:** {escaping.markdown(summary.incomplete)}."]
    parts += [f"**{escaping.markdown(report.title)}**"]
    parts += [escaping.markdown(report.release.advice)] if report.release else []
    parts += [escaping.markdown(what(summary)), "### Scores", *map(as_markdown, report.briefs)]
    missing = dict.fromkeys(score.reason for score in scores(summary) if score.reason)
    parts += [
        _bullets(
            [
                ", ".join(f"{n:,} {name}" for name, n in answers(summary).items()),
                *(line for benchmark in benchmarks_of(summary.scores) for line in benchmark.reading(summary)),
                *(f"no interval: {reason}" for reason in missing),
            ]
        )
    ]
    parts += [_folded("All scores", *score_tables(summary))]
    for passage in verdict_tables(report):
        table = "\n".join((VERDICTS, *passage.lines))
        passed = passage.name == "passed gates"
        parts += [_folded("Gates that passed", table)] if passed else ["### Gates that did not pass", table]
    parts += ["### How it was measured", _bullets(f"{name}: {value}" for name, value in method(card))]
    for checklist, sources in card.sources.items():
        title = f"Sources of the statistics in {checklist}"
        lines = [
            f"{source.statistic}: {source.agency}, {source.year} ({source.status})" for source in sources
        ]
        parts += [_folded(title, _bullets(lines or [NO_SOURCES]))]
    parts += ["### Limits and ethics", _bullets([ETHICS, *summary.notes])]
    again = f"```console\n$ {escaping.markdown_fence(command(summary))}\n```"
    return "\n\n".join([*parts, "### Reproduce this run", AGAIN, again]) + "\n"


def _folded(title: str, *parts: str) -> str:
    content = "\n\n".join(parts)
    return f"<details>\n<summary>{escaping.markdown(title)}</summary>\n\n{content}\n\n</details>"


def score_tables(summary: Summary) -> Iterator[str]:
    """A table per checklist and attribute."""
    listed = tuple(scores(summary))
    for checklist, name in dict.fromkeys((score.checklist, score.attribute) for score in listed):
        title = f"{checklist}: {name if name == ALL else attribute(name, summary)}"
        rows = []
        for score in listed:
            if (score.checklist, score.attribute) == (checklist, name):
                interval, reach = span(score.low, score.high), span(score.floor, score.ceiling)
                rows.append(Row(score_name(score), (number(score.shown), interval, f"{score.n:,}", reach)))
        yield f"**{escaping.markdown(title)}**\n\n{as_markdown(Table(title, COLUMNS, tuple(rows)))}"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {escaping.markdown(line)}" for line in lines)


def front_matter(card: Card, name: str) -> str:
    """The YAML block of a Hugging Face model card: every score as an evaluation result of the model ``name``.

    Raises:
        MissingExtraError: huggingface_hub is not installed.
    """
    try:
        from huggingface_hub import EvalResult, ModelCardData
    except ImportError:
        raise MissingExtraError("a model card for the Hugging Face Hub", "hub") from None
    summary = card.summary
    task = "text-to-image" if summary.fingerprint.detector else "text-generation"
    results = [
        EvalResult(
            task_type=task,
            dataset_type=f"{DATASETS}{score.checklist}",
            dataset_name=f"{score.checklist}, {score.context or score.part}, {score.attribute}",
            dataset_config=f"{score.context or score.part}-{score.attribute}",
            dataset_revision=summary.fingerprint.checklists[score.checklist],
            metric_type=score.metric,
            metric_name=score_name(score),
            metric_value=round(score.shown or 0.0, DIGITS),
            metric_args={
                name: round(end, DIGITS)
                for name, end in (("low", score.low), ("high", score.high))
                if end is not None
            }
            or None,
        )
        for score in scores(summary)
    ]
    data = ModelCardData(model_name=name, eval_results=results or None, tags=["pytest-factorfair"])
    return f"---\n{data.to_yaml()}\n---\n\n"


def push(card: Card, name: str) -> str:
    """Open a pull request at the Hugging Face Hub, and return its address.

    It adds the card to README.md of the model ``name``, or replaces the one of a former run there; all else
    in the file is kept.

    Raises:
        InputError: the Hub does not take it.
        MissingExtraError: huggingface_hub is not installed.
    """
    ours = front_matter(card, name) + to_markdown(card)
    from huggingface_hub import HfApi, ModelCard
    from huggingface_hub.errors import (
        EntryNotFoundError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    # The library reads HF_ENDPOINT when it is imported.
    hub, whole = HfApi(endpoint=os.environ.get("HF_ENDPOINT")), ModelCard(ours)
    try:
        try:
            with TemporaryDirectory() as fresh:  # a cached copy may be older than theirs
                former = Path(hub.hf_hub_download(name, "README.md", cache_dir=fresh)).read_text(
                    encoding="utf-8"
                )
        except LocalEntryNotFoundError as error:  # it could not be looked for
            raise error.__cause__ or error from None
        except EntryNotFoundError:
            pass
        else:
            added, whole = whole, ModelCard(former)
            new: Any = added.data
            data: Any = whole.data
            other_results = [
                result for result in data.eval_results or () if not result.dataset_type.startswith(DATASETS)
            ]
            data.eval_results = [*other_results, *(new.eval_results or ())]
            data.model_name = data.model_name or name
            whole.text = f"{_SECTION.sub('', whole.text).rstrip()}\n\n{added.text.lstrip()}"
        pull = hub.upload_file(
            path_or_fileobj=str(whole).encode(),
            path_in_repo="README.md",
            repo_id=name,
            commit_message="Add factuality and fairness, measured by pytest-factorfair",
            create_pr=True,
        )
    except RepositoryNotFoundError:
        reason = (
            "there is no such model, or the token of HF_TOKEN or `hf auth login` is not allowed to see it"
        )
    except HfHubHTTPError as error:
        refused = error.response.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
        advice = "the token is refused: set HF_TOKEN to one that may write, or use `hf auth login`"
        reason = advice if refused else fit(f"HTTP {error.response.status_code}: {error}")
    except Exception as error:  # noqa: BLE001  # of the library, its HTTP client, or the YAML of the former card
        reason = fit(f"{type(error).__name__}: {error}")
    else:
        return str(pull.pr_url)
    raise InputError(f"the Hugging Face Hub, {name}: {reason}")


def to_jsonld(card: Card) -> str:
    """A Dataset about the model: a variable per score, a review per gate, and how it was measured."""
    summary = card.summary
    run = summary.fingerprint
    properties = (
        *method(card),
        *answers(summary).items(),
        ("command line", command(summary)),
        *(("caution", note) for note in summary.notes),
    )
    dataset: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "Dataset",
        "name": f"Factuality and fairness of {card.model}",
        "creativeWorkStatus": f"Incomplete: {summary.incomplete}" if summary.incomplete else "Published",
        "description": f"{what(summary)} {ETHICS}",
        "about": MODEL | {"@type": "SoftwareApplication", "name": card.model},
        "dateCreated": run.times.get("finished", ""),
        "isBasedOn": [
            {
                "@type": "Dataset",
                "name": name,
                "version": digest,
                "citation": [
                    f"{source.statistic}: {source.agency}, {source.year}"
                    for source in card.sources.get(name, ())
                ],
            }
            for name, digest in run.checklists.items()
        ],
        "variableMeasured": [_variable(score) for score in scores(summary)],
        "review": [
            {
                "@type": "Review",
                "name": verdict.gate,
                "itemReviewed": MODEL,
                "reviewAspect": verdict.subject,
                "reviewBody": verdict.reason,
                "reviewRating": {"@type": "Rating", "ratingValue": verdict.judgement},
            }
            for verdict in summary.gates
        ],
        "additionalProperty": [_property(name, value) for name, value in properties],
    }
    return json.dumps(_clean(dataset), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _variable(score: Score) -> dict[str, Any]:
    """A score with its place and its number of answers as references."""
    variable = {
        "@type": "PropertyValue",
        "propertyID": score.metric,
        "name": f"{score.checklist}, {score.attribute}: {score_name(score)}",
        "value": score.shown,
        "minValue": score.low,
        "maxValue": score.high,
        "measurementTechnique": score.reason if score.low is None else MEASURED,
        "valueReference": [
            _property(name, getattr(score, name))
            for name in ("part", "context", "attribute", "n")
            if getattr(score, name) is not None
        ],
    }
    return {name: member for name, member in variable.items() if member is not None}


def _property(name: str, value: object) -> dict[str, Any]:
    return {"@type": "PropertyValue", "name": name, "value": value}


def _clean(value: Any) -> Any:
    """Strings without control characters and lone surrogates."""
    if isinstance(value, dict):
        return {name: _clean(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_clean(element) for element in value]
    return escaping.one_line(value) if isinstance(value, str) else value


def what(summary: Summary) -> str:
    """What was done, in a sentence."""
    names = ", ".join(summary.fingerprint.checklists)
    when = summary.fingerprint.times.get("started", "")[:10]
    kind = "text-to-image model" if summary.fingerprint.detector else "language model"
    return f"This {kind} was evaluated on {names} with pytest-factorfair on {when}."


def scores(summary: Summary) -> Iterator[Score]:
    """The scores that a card lists."""
    for score in summary.scores:
        if score.value is not None and benchmark_with(score.metric).on_card(score):
            yield score


def answers(summary: Summary) -> Mapping[str, int]:
    """The numbers of answers: all, and the lost ones by outcome."""
    outcomes = sum((record.reported_outcomes for record in summary.cases), Counter[ReportedOutcome]())
    lost = {
        name: outcomes[outcome]
        for outcome, name in LOST.items()
        if outcomes[outcome] or outcome != "filtered"
    }
    return {"answers": outcomes.total(), **lost}


def method(card: Card) -> Iterator[tuple[str, str]]:
    """How the scores were measured, as names and values."""
    run = card.summary.fingerprint
    for name, digest in run.checklists.items():
        yield "checklist", f"{name}, content SHA-256 {digest}"
    yield "size", size(card.summary)
    yield from settings(card.summary).items()
    if run.detector:
        yield from (("detector", line) for line in detector_lines(card.summary))
        yield "detector as used", json.dumps(run.detector, ensure_ascii=False, sort_keys=True)
    yield "model as asked", json.dumps(run.models[card.model], ensure_ascii=False, sort_keys=True)
    yield "versions", ", ".join(f"{name} {version}" for name, version in run.versions.items())
    yield from times(run)


def command(summary: Summary) -> str:
    """The command line that repeats the run; the provider's arguments are part of the model's identity."""
    run = summary.fingerprint
    text = f"{run.samples},objective={run.objective}"
    sizes = f"images={per_case(summary)}" if run.detector else text
    settings = [
        f"FACTORFAIR_DESIGN={run.design}",
        f"FACTORFAIR_TRUTH={run.truth}",
        f"FACTORFAIR_ESTIMATOR={run.estimator}",
        f"FACTORFAIR_INTERVAL={run.interval}",
    ]
    arguments = [
        *(f"--factorfair-model={model}" for model in run.models),
        *(f"--factorfair-checklist={run.requested.get(name, name)}" for name in run.checklists),
        f"--factorfair-preset={run.preset}",
        f"--factorfair-samples={sizes}",
        f"--factorfair-answers={run.answers}",
        f"--factorfair-seed={run.seed}",
        *(f"--factorfair-gate={gate}" for gate in dict.fromkeys(verdict.gate for verdict in summary.gates)),
    ]
    return join([*settings, "pytest", *arguments])
