"""A finished run rebuilt from its report, so that other gates judge its answers; nothing is asked.

It goes through the same ``Driver`` as a run: its looks take the answers that the report has.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pytest_factorfair import reading, store
from pytest_factorfair.config.options import OPTIONS
from pytest_factorfair.config.settings import PRESETS, TINY, Settings, resolve
from pytest_factorfair.config.sources import OptionValue
from pytest_factorfair.detection import StoredDetector
from pytest_factorfair.domain import CaseKey, Exchange, Record, Summary, asked
from pytest_factorfair.errors import InputError, StoreError
from pytest_factorfair.reports import json_report
from pytest_factorfair.runs.baseline import comparable
from pytest_factorfair.runs.composing import compose
from pytest_factorfair.runs.driver import Driver
from pytest_factorfair.runs.execution import Execution
from pytest_factorfair.runs.planning import preflight
from pytest_factorfair.runs.progress import Meter
from pytest_factorfair.runs.responses import Responses
from pytest_factorfair.runs.run import SIZES, Assignment, Run
from pytest_factorfair.runs.stored import StoredModel

if TYPE_CHECKING:
    from pytest_factorfair.domain import AnswerMode, Query
    from pytest_factorfair.runs.conclusion import Result
    from pytest_factorfair.store import CallTexts

JUDGING = ("gate", "undecided", "looks-after-fail", "baseline", "detector-errors", "report")
"""The options that the judge of a report sets, or finds in the environment and in pyproject.toml."""

DETECTOR = "recorded"
"""The spec of the detector whose answers the report has."""


def judge(
    path: str, typed: Mapping[str, OptionValue], environment: Mapping[str, str], *, here: Path
) -> Result:
    """Judge the answers in a report by other gates, and write the reports.

    ``typed`` are options of ``JUDGING``, and ``checklist`` for files that are no longer where they were.

    Raises:
        InputError: the report cannot be read, its run cannot be rebuilt, or a gate cannot be
            judged in it.
    """
    with json_report.opened(path, name=path) as content:
        records = tuple(json_report.record(row) for row in content["cases"])
        report = json_report.summary(content, records)
    run = composed(path, report, typed, environment, here=here)
    execution = RecordedExecution(run, report, json_report.replies_file(json_report.located(path)))
    driver = Driver(execution, Meter(run, execution.account, execution.responses, execution.submissions))
    driver.check()
    driver.begin()
    driver.select(execution.recorded)
    with driver.asking(report.incomplete or "the report lacks them", telling=(KeyboardInterrupt,)):
        driver.ask()
    return driver.conclude()


def composed(
    path: str,
    report: Summary,
    typed: Mapping[str, OptionValue],
    environment: Mapping[str, str],
    *,
    here: Path,
) -> Run:
    """The run of a report with other gates."""
    recorded = report.fingerprint
    settings = _settings(path, report, typed, environment, here=here)
    if not settings.gates:
        raise InputError(f"{path}: no gate to judge it by; give --gate, such as --gate=default")
    identities = recorded.models
    run = compose(
        settings,
        {spec: lambda parsed: StoredModel(parsed.text, identities[parsed.text]) for spec in identities},
        {DETECTOR: lambda spec: StoredDetector(spec.kind, {"identity": recorded.detector})},
    )
    comparable(
        path,
        asdict(recorded),
        asdict(run.fingerprint(datetime.now(UTC))),
        other="that of this judgement",
        verdict="its answers cannot be judged",
    )
    answers = {record.case: len(asked(record.answers)) for record in report.cases}
    if all(answers.get(assignment.key, 0) <= assignment.case.samples for assignment in run.assignments):
        # Nothing was asked for because of a verdict, so that the one look may spend the whole error.
        return replace(run, settings=replace(settings, looks=1))
    return run


def _settings(
    path: str,
    report: Summary,
    typed: Mapping[str, OptionValue],
    environment: Mapping[str, str],
    *,
    here: Path,
) -> Settings:
    """The settings of a report's run, with other gates and the folder of its reports."""
    recorded, plan = report.fingerprint, report.plan
    if plan is None:
        raise InputError(f"{path}: it lacks its plan, so that its gates cannot be changed")
    fixed: dict[str, Any] = {
        "model": list(recorded.models),
        "checklist": [recorded.requested.get(name, name) for name in recorded.checklists],
        "looks": plan.looks,
        "reuse": "only",
        "report": str(Path(json_report.located(path)).parent / "judged"),
        **{
            name: getattr(recorded, name)
            for name in ("preset", "design", "truth", "seed", "answers", "estimator", "interval", "declines")
        },
    }
    if recorded.detector:
        fixed["detector"] = DETECTOR
    if preset := PRESETS.get(recorded.preset):
        usual = asdict(preset.sampling) | {"samples": preset.samples(cast("AnswerMode", recorded.answers))}
        sizes = {**plan.samples, "samples": plan.samples["answers"]}
        names = SIZES["image" if recorded.detector else "text"]
        changed = [name for name in names if sizes[name] != usual[name]]
        if not preset.judged and report.incomplete is None:  # as they were given, gates could be judged
            changed = [*names]
        if not preset.judged and (not changed or recorded.preset == TINY):
            raise InputError(
                f"{path}: preset {recorded.preset} asks too little to judge a gate; run pytest with preset ci"
            )
        if changed:
            fixed["samples"] = ",".join(f"{name}={sizes[name]}".removeprefix("samples=") for name in changed)
    where = {option.name: f"{path}: {option.key}" for option in OPTIONS}
    given = {name: OptionValue(value, where[name], here) for name, value in fixed.items()}
    settings = resolve({**given, **typed}, environment, root=here, here=here, only=JUDGING)
    # Nobody gave the others here: no note says that one has no effect.
    origins = {name: where for name, where in settings.origins.items() if name in {*typed, *JUDGING}}
    return replace(settings, origins=origins, first_baseline=None)


class RecordedResponses(Responses):
    """The responses beside a report; ``times`` are those of the first and the last."""

    def __init__(self, settings: Settings, file: Path, times: tuple[str, str]) -> None:
        super().__init__(settings)
        self._file = file
        self._times = times
        self._by_query: dict[tuple[CaseKey, str], CallTexts] | None = None
        self.queries: dict[str, tuple[CaseKey, str]] = {}
        """The case and the query of each key."""

    def call_texts(self, keys: Iterable[str]) -> Mapping[str, CallTexts]:
        if self._by_query is None:
            self._by_query = dict(self._read())
        texts = ((key, self._by_query.get(self.queries[key])) for key in keys if key in self.queries)
        return {key: text for key, text in texts if text is not None}

    def _read(self) -> Iterator[tuple[tuple[CaseKey, str], CallTexts]]:
        if not self._file.exists():
            return
        for row in json_report.replies(self._file, where=f"the replies are in {self._file}"):
            if row["response"] is not None:
                case = CaseKey(*(row[part] for part in CaseKey._fields))
                texts = store.CallTexts(json.dumps(row["prompt"]), json.dumps(row["response"]))
                yield (case, row["query"]), texts

    def span(self, keys: Iterable[str]) -> tuple[str, str] | None:
        del keys
        return self._times

    def picture(self, key: str) -> bytes:
        raise StoreError(f"the report holds no pictures: {key}")


class RecordedExecution(Execution):
    """A run whose answers are in its report: queries are looked up there."""

    without_answers = (
        "the report has no answers for another look",
        "to ask for them, run pytest with these gates and the report's options",
    )
    archived = True

    def __init__(self, run: Run, report: Summary, file: Path) -> None:
        super().__init__(run)
        times = report.fingerprint.times
        self.responses: RecordedResponses = RecordedResponses(
            run.settings,
            file,
            (times.get("first_answer", times["started"]), times.get("last_answer", times["finished"])),
        )
        self._records = {record.case: record for record in report.cases}
        self._recorded = {spec: set[str]() for spec in run.models}
        for record in report.cases:
            self._recorded[record.case.model].update(asked(record.answers))
        self._begun: set[CaseKey] = set()
        day = times["started"][:10]
        self.notes = (f"judged from the report of {day}: its answers were there when the gates were chosen",)

    @property
    def recorded(self) -> tuple[Assignment, ...]:
        """The cases that the report has."""
        return tuple(assignment for assignment in self.run.assignments if assignment.key in self._records)

    def begin(self) -> None:
        preflight.check_report(self.run.settings, make=True)

    def has(self, queries: Iterable[tuple[str, Sequence[Query]]]) -> bool:
        return all(
            query.id in self._recorded[spec] for spec, model_queries in queries for query in model_queries
        )

    def ask(
        self, queries: Iterable[tuple[str, Sequence[Query]]], meter: Meter
    ) -> Iterator[tuple[Exchange, ...]]:
        del meter
        for spec, model_queries in queries:
            keys = store.keys(self.run.models[spec].identity, model_queries)
            yield tuple(Exchange(query, key, None) for query, key in zip(model_queries, keys, strict=True))

    def ask_cases(
        self, assignments: Sequence[Assignment], meter: Meter
    ) -> Iterator[tuple[Assignment, tuple[Exchange, ...]]]:
        recorded = [assignment for assignment in assignments if assignment.key in self._records]
        queries = ((assignment.model, self.run.queries(assignment)) for assignment in recorded)
        yield from zip(recorded, self.ask(queries, meter), strict=True)

    def record(self, assignment: Assignment, exchanges: Sequence[Exchange]) -> Record:
        """The recorded answers to these queries; counts of the whole case are in its first record."""
        whole = self._records[assignment.key]
        further = assignment.key in self._begun
        self._begun.add(assignment.key)
        by_id = {exchange.query.id: exchange for exchange in exchanges}
        answers = tuple(
            replace(answer, key=answer.key or by_id[answer.query].key)
            for answer in whole.answers
            if answer.query in by_id
        )
        if len(asked(answers)) < len(by_id):  # a test of the user's asked something else
            return whole
        for query, key in asked(answers).items():
            self.responses.queries[key] = assignment.key, query
        shown = whole.choices and reading.choices((by_id[answer.query].query, answer) for answer in answers)
        record = replace(whole, answers=answers, choices=shown)
        return replace(record, shapes={}, answered_by={}, configurations={}) if further else record
