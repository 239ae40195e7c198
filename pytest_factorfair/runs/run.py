"""A run: its checklists, models, detector, and the cases assigned to the models."""

from __future__ import annotations

import heapq
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING

from pytest_factorfair import benchmarks
from pytest_factorfair.benchmarks import benchmark_of
from pytest_factorfair.config.settings import Settings, Shard
from pytest_factorfair.domain import (
    GRACE,
    Answer,
    AnswerMode,
    Case,
    CaseKey,
    Checklist,
    Fingerprint,
    Modality,
    Query,
    Sampling,
    asked,
)
from pytest_factorfair.models import prices, source_of

if TYPE_CHECKING:
    from pytest_factorfair.benchmarks.measurement import Counts
    from pytest_factorfair.detection import Detector
    from pytest_factorfair.detection.vision import VisionDetector
    from pytest_factorfair.domain import Gate, Record
    from pytest_factorfair.logs.matching import Matching
    from pytest_factorfair.models import Model
    from pytest_factorfair.models.prices import Price
    from pytest_factorfair.ray.fleet import Fleet


@dataclass(frozen=True, slots=True)
class Assignment:
    """A case assigned to a model; one parametrized item. ``id`` is its parameter id."""

    id: str
    model: str
    checklist: Checklist
    case: Case

    @property
    def key(self) -> CaseKey:
        return CaseKey(self.model, self.checklist.name, self.case.id)


def part(assignments: Sequence[Assignment], shard: Shard) -> tuple[Assignment, ...]:
    """The shard's assignments, in their order.

    The heaviest case goes to the lightest shard first, so that two shards differ by at most one case.
    """
    loads = [(0, number) for number in range(1, shard.count + 1)]
    positions = set()
    for position in sorted(range(len(assignments)), key=lambda position: -assignments[position].case.samples):
        load, number = loads[0]
        heapq.heapreplace(loads, (load + assignments[position].case.samples, number))
        if number == shard.number:
            positions.add(position)
    return tuple(assignment for position, assignment in enumerate(assignments) if position in positions)


SIZES: Mapping[Modality, Sequence[str]] = {"text": ("samples", "objective", "repeats"), "image": ("images",)}
"""The sizes of each kind of checklist, in the order in which they are typed."""

MANY = 5_000
"""The number of cases from which it takes seconds to check gates, look into the store, or write a report."""


@dataclass(frozen=True, eq=False)
class Run:
    """A run, the same in each of its processes; ``Execution`` holds the open resources of one of them.

    ``models`` are by spec; ``given_price`` applies to all of them. Replicas run in ``cluster``; None if this
    process asks every model itself. ``selected`` are the assignments that -k, -m or a path leave; None
    before pytest has collected them.
    """

    settings: Settings
    checklists: tuple[Checklist, ...]
    sampling: Sampling
    models: Mapping[str, Model]
    detector: Detector | None
    assignments: tuple[Assignment, ...]
    given_price: Price | None
    cluster: Fleet | None = None
    selected: tuple[Assignment, ...] | None = None

    def only(self, selected: Iterable[Assignment]) -> Run:
        """The run restricted to these assignments; an assignment that several tests ask counts once."""
        return replace(self, selected=tuple({assignment.id: assignment for assignment in selected}.values()))

    @cached_property
    def to_ask(self) -> tuple[Assignment, ...]:
        """The selected assignments; before pytest has collected them, those of the shard, or all.

        Scores and gates always cover all assignments.
        """
        if self.selected is not None:
            return self.selected
        shard = self.settings.shard
        return self.assignments if shard is None else part(self.assignments, shard)

    @property
    def large(self) -> bool:
        """Whether it has so many cases that counting them takes seconds."""
        return len(self.assignments) >= MANY

    @cached_property
    def by_id(self) -> Mapping[str, Assignment]:
        return {assignment.id: assignment for assignment in self.assignments}

    @property
    def modality(self) -> Modality:
        return self.checklists[0].modality

    @property
    def unit(self) -> str:
        """What a query returns."""
        return "answer" if self.modality == "text" else "picture"

    @cached_property
    def gates(self) -> tuple[Gate, ...]:
        """The declared gates; whether the run asks enough to judge them is checked by ``sizes.check``.

        Raises:
            InputError: one cannot be judged in this run.
        """
        from pytest_factorfair import gates

        former = self.settings.baseline is not None
        declared = gates.expand(
            self.settings.gates, checklists=self.checklists, sampling=self.sampling, baseline=former
        )
        if declared:
            gates.check(declared, self.unasked, baseline=former)
        if self.settings.waivers and not self.settings.set_aside:
            judged = gates.judged_scores(declared, self.unasked)
            gates.check_waivers(self.settings.waivers, judged, where=self.settings.where("waivers"))
        return declared

    @cached_property
    def verdicts(self) -> int:
        """The number of scores that its gates judge, each of which has a verdict."""
        if not self.settings.gates:
            return 0
        from pytest_factorfair import gates

        return len(gates.judged_scores(self.gates, self.unasked))

    @cached_property
    def unasked(self) -> tuple[Counts, ...]:
        """The counts of the run before it asks anything."""
        return self.tabulate(())

    def tabulate(self, records: Sequence[Record]) -> tuple[Counts, ...]:
        """The counts of these records by model, in the user's order; repeated answers do not count."""
        from pytest_factorfair.runs.tabulating import tabulate

        return tabulate(records, self.cases, models=self.models, sampling=self.sampling)

    @cached_property
    def cases(self) -> tuple[tuple[Checklist, tuple[Case, ...]], ...]:
        """The checklists, each with its cases, which are the same for every model."""
        cases: dict[str, list[Case]] = {checklist.name: [] for checklist in self.checklists}
        for assignment in self.assignments:
            if assignment.model == self.settings.models[0]:
                cases[assignment.checklist.name].append(assignment.case)
        return tuple((checklist, tuple(cases[checklist.name])) for checklist in self.checklists)

    @cached_property
    def looking(self) -> VisionDetector | None:
        """The detector, if it asks a model about each picture."""
        if self.detector is None:
            return None
        from pytest_factorfair.detection.vision import VisionDetector

        return self.detector if isinstance(self.detector, VisionDetector) else None

    def price(self, model: Model) -> Price | None:
        """The price of a model's answers, as the user gave it or the model knows it; None if unknown.

        It is not the user's if the answers exist already.
        """
        if self.looking is not None and model is self.looking.model:
            return self.looking.price
        own_price = prices.of(model)
        return own_price if source_of(model) else self.given_price or own_price

    def batch_price(self, model: Model) -> Price | None:
        """The price of a model's answers by batch; if it is unknown, the price of single calls."""
        if source_of(model):
            return self.price(model)
        return self.given_price or getattr(model, "batch_price", None) or self.price(model)

    def logged(self, model: Model) -> bool:
        """Whether the model's replies are those of a log."""
        return source_of(model) == "log"

    @property
    def can_look_again(self) -> bool:
        """Whether it has topics about which undecided gates may ask for more answers."""
        cases = ((assignment.checklist, assignment.case) for assignment in self.assignments)
        topics = (topic for checklist, case in cases for topic in benchmark_of(checklist).topics(case))
        return next(topics, None) is not None and not any(map(source_of, self.models.values()))

    def other_modes(self, model: object) -> tuple[AnswerMode, ...]:
        """Other answer modes in which the model could return a letter alone."""
        return tuple(mode for mode in getattr(model, "modes", ()) if mode != self.settings.answers)

    @property
    def timeout(self) -> float:
        """Seconds that a call may take: the longest timeout of a service."""
        timeouts = [getattr(model, "timeout", None) for model in self.models.values()]
        return max((timeout for timeout in timeouts if isinstance(timeout, int | float)), default=GRACE)

    def queries(self, assignment: Assignment) -> tuple[Query, ...]:
        """The queries of a case; those to a log are as it asked them."""
        queries = benchmarks.queries(assignment.checklist, assignment.case, self.sampling)
        matching = self.matching(assignment.model)
        return queries if matching is None else matching.as_asked(queries)

    def matching(self, spec: str) -> Matching | None:
        """Which queries the log answers that stands for a model; None for models that are asked."""
        return getattr(self.models[spec], "matching", None)

    def further(self, assignment: Assignment, times: int) -> tuple[Query, ...]:
        """The queries of a case at ``times`` its size; they begin with its own."""
        checklist, sampling = assignment.checklist, self.sampling.times(times)
        key = checklist.name, times
        if key not in self._larger:
            self._larger[key] = {case.id: case for case in benchmarks.cases(checklist, sampling)}
        return benchmarks.queries(checklist, self._larger[key][assignment.case.id], sampling)

    @cached_property
    def _larger(self) -> dict[tuple[str, int], dict[str, Case]]:
        """Cases by id, for each checklist and multiple of its size."""
        return {}

    def keys(self, asked: Iterable[tuple[str, Sequence[Query]]]) -> list[str]:
        """The keys of the responses of these models, by spec, to these queries."""
        from pytest_factorfair import store

        return [key for spec, queries in asked for key in store.keys(self.models[spec].identity, queries)]

    @cached_property
    def explained(self) -> tuple[tuple[Assignment, Query], ...]:
        """The queries that ask for a reason, with their cases; none without ``--factorfair-explain``.

        A shard has none: the run that judges asks for reasons.
        """
        if not self.settings.explain or self.settings.shard:
            return ()
        explained = []
        for assignment in self.assignments:
            checklist = assignment.checklist
            query = benchmark_of(checklist).explained(checklist, assignment.case, self.sampling)
            if query is not None:
                explained.append((assignment, query))
        return tuple(explained)

    def matches(self, assignment: Assignment, answers: Sequence[Answer], queries: Sequence[Query]) -> bool:
        """Whether a case's answers belong to the first of these queries and come from the run's own model.

        A conftest.py may have replaced the model, which only the item's process knows.
        """
        from pytest_factorfair import store

        recorded_keys = asked(answers)
        begun = queries[: len(recorded_keys)]
        if [query.id for query in begun] != list(recorded_keys):
            return False
        keys = store.keys(self.models[assignment.model].identity, begun)
        return all(recorded in ("", key) for recorded, key in zip(recorded_keys.values(), keys, strict=True))

    def fingerprint(self, started: datetime) -> Fingerprint:
        """What another run must share to be compared with this one; without the digest of its plan."""
        settings, sampling = self.settings, self.sampling
        return Fingerprint(
            models={spec: dict(model.identity) for spec, model in self.models.items()},
            checklists={checklist.name: checklist.digest for checklist in self.checklists},
            preset=settings.preset,
            design=sampling.design,
            truth=settings.truth,
            samples=sampling.samples,
            objective=sampling.objective,
            seed=sampling.seed,
            answers=settings.answers,
            estimator=settings.estimator,
            interval=settings.interval,
            detector=dict(self.detector.identity) if self.detector else {},
            versions={
                "python": platform.python_version(),
                **{name: version(name) for name in ("pytest-factorfair", "pytest", "numpy")},
            },
            times={
                "started": started.isoformat(timespec="seconds"),
                "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            },
            requested={
                checklist.name: checklist.requested
                for checklist in self.checklists
                if checklist.requested != checklist.name
            },
            declines=sampling.declines,
        )
