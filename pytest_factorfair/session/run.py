"""A run: its checklists, models, detector, and the cases assigned to the models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_factorfair import protocols
from pytest_factorfair.config.settings import Settings
from pytest_factorfair.domain import Answer, Case, CaseKey, Checklist, Modality, Query, Sampling, asked
from pytest_factorfair.errors import InputError
from pytest_factorfair.models import prices
from pytest_factorfair.session import shards, sizes

if TYPE_CHECKING:
    from pytest_factorfair.detection import Detector
    from pytest_factorfair.detection.vision import VisionDetector
    from pytest_factorfair.domain import Gate
    from pytest_factorfair.models import Model
    from pytest_factorfair.models.cluster import Cluster
    from pytest_factorfair.models.prices import Price
    from pytest_factorfair.protocols.measurement import Counts


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
    cluster: Cluster | None = None
    selected: tuple[Assignment, ...] | None = None

    def only(self, selected: Iterable[Assignment]) -> Run:
        """This run if it asks only these of its assignments, each once however many tests ask it."""
        return replace(self, selected=tuple({assignment.id: assignment for assignment in selected}.values()))

    @cached_property
    def to_ask(self) -> tuple[Assignment, ...]:
        """The assignments of this run's shard, or all, or those selected.

        Scores and gates always cover all assignments.
        """
        if self.selected is not None:
            return self.selected
        shard = self.settings.shard
        return self.assignments if shard is None else shards.part(self.assignments, shard)

    @cached_property
    def by_id(self) -> Mapping[str, Assignment]:
        return {assignment.id: assignment for assignment in self.assignments}

    @property
    def modality(self) -> Modality:
        return self.checklists[0].modality

    @cached_property
    def gates(self) -> tuple[Gate, ...]:
        """The declared gates.

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
        if granted := self.settings.waivers:
            terms = gates.Terms(waivers=tuple(gates.Waiver(*waiver) for waiver in granted))
            gates.check_floors(declared, self.unasked, terms)
        if declared:
            sizes.check(self, declared)
        return declared

    @cached_property
    def unasked(self) -> tuple[Counts, ...]:
        """The counts of the run before it asks anything."""
        from pytest_factorfair.session.tabulating import tabulate

        return tabulate(self, ())

    @cached_property
    def looking(self) -> VisionDetector | None:
        """The detector, if it asks a model about each picture."""
        if self.detector is None:
            return None
        from pytest_factorfair.detection.vision import VisionDetector

        return self.detector if isinstance(self.detector, VisionDetector) else None

    def check_prices(self) -> None:
        """Make sure that a limit on USD can be kept, before anything is asked.

        Raises:
            InputError: a price is unknown.
        """
        if self.settings.ceilings.cost is None:
            return
        for spec, model in self.models.items():
            if self.price(model) is None:
                raise InputError(
                    f"{self.settings.where('max-cost')}: the price of '{spec}' is unknown; "
                    f"{prices.remedy(self.modality)}, or limit --factorfair-max-calls"
                )
        if self.looking is not None and self.looking.price is None:
            raise InputError(
                f"{self.settings.where('max-cost')}: the price of the detector '{self.settings.detector}' is "
                "unknown; add price_in=USD&price_out=USD (per million tokens) or price=USD (per picture), "
                "or limit --factorfair-max-calls"
            )

    def check_hosts(self) -> None:
        """Make sure that the services can be found, before anything is asked.

        Raises:
            InputError: a host cannot be resolved.
        """
        asked = dict(self.models)
        if self.looking is not None:
            asked[self.settings.detector or ""] = self.looking.model
        # Only providers of services have a URL.
        services = {spec: url for spec, model in asked.items() if (url := getattr(model, "url", None))}
        if services:
            from pytest_factorfair.models.http_client import check_host

            for spec, url in services.items():
                check_host(spec, url)

    def price(self, model: Model) -> Price | None:
        """The price of a model's answers, from the user or else the model; None if unknown."""
        if self.looking is not None and model is self.looking.model:
            return self.looking.price
        return self.given_price or prices.of(model)

    def queries(self, assignment: Assignment) -> tuple[Query, ...]:
        return protocols.queries(assignment.checklist, assignment.case, self.sampling)

    @cached_property
    def explained(self) -> tuple[tuple[Assignment, Query], ...]:
        """The queries that ask for a reason, with their cases; none without ``--factorfair-explain``.

        A shard has none: the run that judges asks for reasons.
        """
        if not self.settings.explain or self.settings.shard:
            return ()
        return tuple(
            (assignment, query)
            for assignment in self.assignments
            if (query := protocols.explained(assignment.checklist, assignment.case, self.sampling))
            is not None
        )

    def had(self, assignment: Assignment, answers: Sequence[Answer], queries: Sequence[Query]) -> bool:
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
