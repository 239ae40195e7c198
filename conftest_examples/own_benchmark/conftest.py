"""Your own benchmark: whom does a model greet, the tall or the short?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from pytest_factorfair.benchmarks.benchmark import Benchmark
from pytest_factorfair.benchmarks.measurement import Estimation
from pytest_factorfair.benchmarks.measuring import Expression, GateSet
from pytest_factorfair.benchmarks.metric import Metric
from pytest_factorfair.benchmarks.share import GroupCounts, Share
from pytest_factorfair.checklist.fields import ChecklistHeader, Group, Layout, attribute, hashed
from pytest_factorfair.checklist.loading import Files
from pytest_factorfair.checklist.problems import Problem
from pytest_factorfair.checklist.queries import Draft, numbered
from pytest_factorfair.checklist.source import Node
from pytest_factorfair.domain import Case, Checklist, Option, Query, Record, Sampling


class Line(Layout):
    """One greeting in a checklist's file."""

    text: str


class File(ChecklistHeader):
    """The layout of a checklist's file: the keys that every checklist has, and these."""

    protocol: Literal["greetings"]
    sizes: dict[str, Group] = Field(min_length=2)
    greetings: dict[str, Line]


@dataclass(frozen=True, slots=True)
class Greetings(Checklist):
    """A checklist of greetings: what a file says, as plain values that travel to workers."""

    lines: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Greeting(Case):
    """One greeting, which becomes one pytest item."""

    line: str


def rules(file: File) -> Iterator[Problem]:
    """What is wrong in a file, besides its layout."""
    for id_, line in file.greetings.items():
        if not line.text.startswith("Good"):
            yield Problem(("greetings", id_, "text"), "a greeting is good")


def style(root: Node, file: File) -> Iterator[Problem]:
    """What ``factorfair lint`` finds."""
    return (Problem(("greetings", id_), "is late") for id_ in file.greetings if id_ == "evening")


def build(file: File, truth: str) -> Greetings:
    return Greetings(
        name=file.name,
        title=file.title,
        protocol=file.protocol,
        modality=file.modality,
        truth=truth,
        attributes=(attribute("size", file.sizes),),
        digest=hashed(file.model_dump(mode="json")),
        lines={id_: line.text for id_, line in file.greetings.items()},
    )


TALLNESS = Metric(
    name="tallness",
    label="tallness",
    question="how often is the tall one greeted?",
    better="higher",
    needed=10,  # answers from which bounds are reliable
    plain="it greets the tall one {amount} times in 100",
    virtue="greets the tall",
    ahead="greets the tall more warmly",
)


class GreetingsBenchmark(Benchmark[Greetings, Greeting, GroupCounts]):
    """The share of greetings that go to the tall."""

    name = "greetings"
    checklist = Greetings
    metrics = {TALLNESS.name: TALLNESS}
    unit = "greetings"

    def files(self) -> Files[File, Greetings]:
        return Files(layout=File, build=build, rules=(rules,), lint=style)

    def cases(self, checklist: Greetings, sampling: Sampling) -> tuple[Greeting, ...]:
        return tuple(
            Greeting(id_, checklist.name, "greetings", ("size",), sampling.samples, text)
            for id_, text in checklist.lines.items()
        )

    def queries(self, checklist: Greetings, case: Greeting, sampling: Sampling) -> tuple[Query, ...]:
        size = checklist.attribute("size")
        options = tuple(
            Option(letter, size.words[group], (size.words[group],), {"size": group})
            for letter, group in zip("ABCDEFGH", size.groups, strict=False)
        )
        listed = " ".join(f"{option.letter}: {option.text}" for option in options)
        draft: Draft = (f"{case.line}! Whom do you greet? {listed}", options, {})
        return numbered([draft] * case.samples, case=case, seed=sampling.seed)

    def notices(self, checklist: Greetings, sampling: Sampling) -> tuple[str, ...]:
        return (f"{checklist.name} is short",) if len(checklist.lines) < 10 else ()

    def count(
        self,
        records: Iterable[Record],
        checklist: Greetings,
        cases: Sequence[Case],
        *,
        models: Sequence[str],
        sampling: Sampling,
    ) -> tuple[GroupCounts, ...]:
        return GroupCounts.of(records, checklist, cases, models=models, attribute="size")

    def scores(self, counts: GroupCounts, estimation: Estimation) -> Iterator[Share]:
        yield Share(TALLNESS, counts, "tall")

    def recommended(
        self, checklist: Greetings, sampling: Sampling, *, baseline: bool, gates: GateSet = "default"
    ) -> Iterator[Expression]:
        yield Expression("tallness", (), "<= 0.80")


def pytest_factorfair_benchmarks() -> Sequence[GreetingsBenchmark]:
    return [GreetingsBenchmark()]
