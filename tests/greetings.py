"""A benchmark that asks whom a model greets: everything that only it knows, as an example of what one needs."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import combinations
from math import hypot, sqrt
from typing import Literal

from pydantic import Field

from pytest_factorfair.checklist.fields import Group, Layout, Opening, attribute
from pytest_factorfair.checklist.loading import Files
from pytest_factorfair.checklist.problems import Problem
from pytest_factorfair.checklist.queries import Draft, numbered
from pytest_factorfair.checklist.source import Node
from pytest_factorfair.domain import (
    Answer,
    Case,
    CaseGroup,
    Checklist,
    Option,
    Query,
    Record,
    Sampling,
    Summary,
)
from pytest_factorfair.drawing.table import Row, Table, number, span
from pytest_factorfair.protocols.measurement import (
    Cell,
    Changed,
    Component,
    Estimation,
    Former,
    Measurement,
    ValueRange,
)
from pytest_factorfair.protocols.measuring import (
    ComparedModel,
    Contest,
    Expression,
    Gap,
    GateSet,
    Measuring,
    Moves,
    Reported,
    ReportInputs,
    shared,
)
from pytest_factorfair.protocols.metric import About, Metric
from pytest_factorfair.protocols.protocol import Protocol
from pytest_factorfair.protocols.reporting import Reporting
from pytest_factorfair.statistics.bounds import POWER
from pytest_factorfair.statistics.estimate import Estimate

HELLO = """\
schema: factorfair.checklist/1
name: hello
title: Who is greeted
protocol: greetings
modality: text
sizes: {tall: {word: tall}, short: {word: short}}
greetings:
  morning: {text: Good morning}
  day: {text: Good day}
  evening: {text: Good evening}
  night: {text: Good night}
"""
"""A checklist of this benchmark."""


# The layout of a checklist's file, its rules and its style.


class Line(Layout):
    text: str


class File(Opening):
    """factorfair checklist: greetings."""

    protocol: Literal["greetings"]
    sizes: dict[str, Group] = Field(min_length=2)
    greetings: dict[str, Line]


def rules(file: File) -> Iterator[Problem]:
    for id_, line in file.greetings.items():
        if not line.text.startswith("Good"):
            yield Problem(("greetings", id_, "text"), "a greeting is good")


def findings(root: Node, file: File) -> Iterator[Problem]:
    del root
    return (Problem(("greetings", id_), "is late") for id_ in file.greetings if id_ == "evening")


# The value that a file builds, its cases and their queries.


@dataclass(frozen=True, slots=True)
class Greetings(Checklist):
    lines: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Greeting(Case):
    line: str


def build(file: File, truth: str) -> Greetings:
    return Greetings(
        name=file.name,
        title=file.title,
        protocol=file.protocol,
        modality=file.modality,
        truth=truth,
        attributes=(attribute("size", file.sizes),),
        digest=sha256(file.model_dump_json().encode()).hexdigest(),
        lines={id_: greeting.text for id_, greeting in file.greetings.items()},
    )


FILES = Files(
    layout=File.model_validate,
    rules=(rules,),
    truths=lambda _: ("true",),
    build=build,
    lint=findings,
    schema=lambda reference: File.model_json_schema(ref_template=reference),
)


def cases(checklist: Greetings, sampling: Sampling) -> tuple[Greeting, ...]:
    return tuple(
        Greeting(id_, checklist.name, "greeting", ("size",), sampling.samples, text)
        for id_, text in checklist.lines.items()
    )


def queries(checklist: Greetings, case: Greeting, sampling: Sampling) -> tuple[Query, ...]:
    size = checklist.attribute("size")
    options = tuple(
        Option(letter, size.words[group], (size.words[group],), {"size": group})
        for letter, group in zip("ABCDEFGH", size.groups, strict=False)
    )
    listed = " ".join(f"{option.letter}: {option.text}" for option in options)
    draft: Draft = (f"{case.line}! Whom do you greet? {listed}", options, {})
    return numbered([draft] * case.samples, case=case, seed=sampling.seed)


# From answers to counts, and from counts to measurements.

TALLNESS = Metric(
    "tallness",
    "tallness",
    "how often is the tall one greeted?",
    "higher",
    needed=10,
    plain="it greets the tall one {amount} times in 100",
    virtue="greets the tall",
    ahead="greets the tall more warmly",
)

METRICS = {TALLNESS.name: TALLNESS}


@dataclass(frozen=True, slots=True, eq=False)
class Greeted:
    """How many of a model's greetings went to the tall, of how many asked and answered in so many cases.

    ``lines`` are of each greeting the shares that went to the tall, and that are lost.
    """

    model: str
    checklist: str
    cases: int
    tall: int
    answered: int
    asked: int
    refused: int
    unparsed: int
    lines: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    protocol: str = "greetings"

    @property
    def about(self) -> About:
        return About(self.checklist, "greeting", None, "size")

    @property
    def vocabulary(self) -> Mapping[str, frozenset[str]]:
        return {"model": frozenset({self.model}), "checklist": frozenset({self.checklist})}


class Tallness(Measurement):
    """The share of answered greetings that went to the tall."""

    def __init__(self, counts: Greeted) -> None:
        self.metric = TALLNESS
        self.model = counts.model
        self.words = (counts.checklist,)
        self.counts = counts

    @property
    def estimate(self) -> Estimate:
        n = self.counts.answered
        if not n:
            return Estimate(None, None, None, 0, "nobody was greeted")
        share = self.counts.tall / n
        return Estimate(share, share, sqrt(share * (1 - share) / n), n, share=True)

    @property
    def cells(self) -> tuple[Cell, ...]:
        counts = self.counts
        errors = counts.asked - counts.answered - counts.refused - counts.unparsed
        return (Cell("greetings", counts.asked, counts.refused, counts.unparsed, errors),)

    def if_missing(self, *, bounded: bool) -> ValueRange | None:
        del bounded
        tall, asked, answered = self.counts.tall, self.counts.asked, self.counts.answered
        return (
            ValueRange(tall / answered, tall / asked, (tall + asked - answered) / asked) if answered else None
        )

    @property
    def components(self) -> Sequence[Component]:
        return tuple(
            Component(
                line,
                share,
                f"tall {share:.0%}",
                CaseGroup(self.counts.checklist, (line,), line),
                "refused" if lost else "tall",
                lost,
            )
            for line, (share, lost) in self.counts.lines.items()
        )

    @property
    def about(self) -> frozenset[Hashable]:
        return frozenset({self.model})

    def change_from(self, former: Former) -> Changed | None:
        former_counts = [counts for counts in former.counts if isinstance(counts, Greeted)]
        old = min(former_counts, key=lambda counts: counts.model != self.model, default=None)
        return None if old is None else Changed(self, Tallness(old), grown(self, Tallness(old)))

    def asks(self, case: Case) -> int:
        return self.counts.cases if case.checklist == self.counts.checklist else 0

    def detectable(self, threshold: float, *, regression: bool, n: int, bound: float) -> float | None:
        return None if regression else (bound + POWER) * sqrt(threshold * (1 - threshold) / n)


def grown(tallness: Tallness, rival: Tallness) -> Estimate:
    """The tallness less the rival's."""
    new, old = tallness.estimate, rival.estimate
    if new.plugin is None or old.plugin is None:
        return Estimate(None, None, None, 0, "nobody was greeted")
    change = new.plugin - old.plugin
    return Estimate(change, change, hypot(new.error or 0, old.error or 0), min(new.n, old.n))


class Measured(Measuring[Greeted, Metric]):
    unit = "greetings"
    metrics = METRICS

    def recount(
        self, records: Sequence[Record], checklist: Greetings, cases: Sequence[Case], *, models: Sequence[str]
    ) -> tuple[Greeted, ...]:
        case_keys = {(checklist.name, case.id) for case in cases}
        counted = []
        for model in models:
            of_model = [
                record for record in records if record.case.model == model and record.case[1:] in case_keys
            ]
            answers = [answer for record in of_model for answer in record.answers]
            outcomes = [answer.outcome for answer in answers]
            counted.append(
                Greeted(
                    model,
                    checklist.name,
                    cases=len(cases),
                    tall=sum(answer.groups.get("size") == "tall" for answer in answers),
                    answered=outcomes.count("answered"),
                    asked=len(answers),
                    refused=outcomes.count("refused"),
                    unparsed=outcomes.count("unparsed"),
                    lines={record.case.case: _line(record.answers) for record in of_model},
                )
            )
        return tuple(counted)

    def measure(
        self, metric: str, words: Sequence[str], counts: Sequence[Greeted], estimation: Estimation
    ) -> tuple[Measurement, ...]:
        del metric, estimation
        return tuple(Tallness(greeted) for greeted, _ in self.matching(words, counts))

    def report(self, counts: Sequence[Greeted], inputs: ReportInputs) -> Reported:
        del inputs
        estimates = ((greeted, Tallness(greeted).estimate) for greeted in counts)
        return Reported(
            scores=tuple(
                TALLNESS.score(greeted.model, greeted.about, estimate) for greeted, estimate in estimates
            )
        )

    def changes(self, counts: Sequence[Greeted], former: Former) -> Iterator[Moves]:
        for greeted in counts:
            if moved := Tallness(greeted).change_from(former):
                yield Moves([moved.row(greeted.about)])

    def contests(self, compared_models: Sequence[ComparedModel]) -> Iterator[Contest]:
        for counts in shared(compared_models, Greeted):
            scores = {name: Tallness(greeted) for name, greeted in counts.items()}
            gaps = {
                (name, rival): Gap(grown(scores[name], scores[rival]))
                for name, rival in combinations(scores, 2)
            }
            yield Contest.of(next(iter(counts.values())).about, TALLNESS, scores, gaps)

    def recommended(
        self, checklist: Greetings, sampling: Sampling, *, baseline: bool, gates: GateSet = "default"
    ) -> Iterator[Expression]:
        del checklist, sampling, baseline, gates
        yield Expression("tallness", (), "<= 0.80")

    def subjects(self, counts: Greeted) -> Iterator[tuple[Hashable, str, str]]:
        yield counts.model, "greetings", "size"


def _line(answers: Sequence[Answer]) -> tuple[float, float]:
    answered = [answer for answer in answers if answer.outcome == "answered"]
    tall = sum(answer.groups.get("size") == "tall" for answer in answered)
    return tall / max(len(answered), 1), 1 - len(answered) / len(answers)


MEASURING = Measured()


class Shown(Reporting):
    """One table: whom the models greet."""

    metrics = METRICS

    def label(self, metric: str, part: str, context: str | None) -> str:
        del part, context
        return metric

    def tables(self, summary: Summary) -> Iterator[Table]:
        rows = tuple(
            Row(score.model, (number(score.value), span(score.low, score.high), f"{score.n:,}"))
            for score in summary.scores
            if score.metric in self.metrics
        )
        if rows:
            yield Table("Who is greeted", ("tallness", "95 % interval", "n"), rows)


GREETINGS = Protocol(
    name="greetings",
    checklist=Greetings,
    files=lambda: FILES,
    cases=cases,
    queries=queries,
    notices=lambda checklist, _: (f"{checklist.name} is short",),
    measuring=lambda: MEASURING,
    reporting=Shown,
)
