"""What one process of a run holds: settings, checklists, cases, models and, once used, the engine."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair import models, process, protocols
from pytest_factorfair.config.settings import Settings
from pytest_factorfair.domain import (
    Answer,
    Case,
    CaseKey,
    Checklist,
    Exchange,
    Query,
    Usage,
    asked,
)
from pytest_factorfair.errors import InputError, StoreError
from pytest_factorfair.models import hosts, prices
from pytest_factorfair.models.prices import estimates
from pytest_factorfair.session import composition
from pytest_factorfair.session.composition import Assignment

if TYPE_CHECKING:
    from pytest_factorfair.detection import Factory as DetectorFactory
    from pytest_factorfair.engine import EndpointState, Engine
    from pytest_factorfair.models import Factory, Model
    from pytest_factorfair.models.prices import Price
    from pytest_factorfair.store import Ceilings, Limits, Store


RESERVED = {"factorfair", "filterwarnings", "parametrize", "skip", "skipif", "usefixtures", "xfail"}
"""Marks that mean something to pytest: no part, context or attribute may be called so."""


class Run:
    """One process's share of a run.

    Everything that can be wrong with the user's input is raised by the constructor, so that the
    controller finds it before a worker starts or a call is paid. ``checklists`` are those of the
    controller; without them they are read. ``session`` is the controller's, where this process works for it.

    Raises:
        InputError: a checklist, model spec or model argument that cannot be right.
    """

    def __init__(
        self,
        settings: Settings,
        custom: Mapping[str, Factory],
        detectors: Mapping[str, DetectorFactory],
        *,
        checklists: tuple[Checklist, ...] | None = None,
        session: str = "",
    ) -> None:
        self.settings = settings
        self._session = session
        self._controller = os.getppid()
        self.checklists = composition.load(settings) if checklists is None else checklists
        self.modality = self.checklists[0].modality
        self.sampling = settings.sampling.of(self.modality)
        if settings.explain and self.modality == "image":
            raise InputError("--factorfair-explain: a picture gives no reason; leave the option out")
        self._price = prices.given(settings.model_arguments)
        arguments = {
            name: value for name, value in settings.model_arguments.items() if name not in prices.ARGUMENTS
        }
        self.models: dict[str, Model] = {
            spec: models.build(
                spec,
                arguments,
                checklists=self.checklists,
                custom=custom,
                asked=not (settings.replay or settings.plan or settings.explain_cache),
            )
            for spec in settings.models
        }
        self.detector = composition.detector(settings, self.checklists, detectors)
        self.assignments = composition.assign(settings, self.checklists, self.sampling)
        for marker in RESERVED.intersection(self.markers):
            raise InputError(
                f"'{marker}' is a mark of pytest's own: give the context or attribute another name"
            )
        self._pending: dict[CaseKey, Future[tuple[Exchange, ...]]] = {}
        self._larger: dict[tuple[str, int], dict[str, Case]] = {}
        self._endpoints: tuple[EndpointState, ...] = ()
        self._usage = Usage()

    @cached_property
    def store(self) -> Store:
        """The response store, opened on first use.

        Raises:
            StoreError: it cannot be opened or made.
        """
        from pytest_factorfair.store import Store

        pictures = Path(self.settings.pictures)
        return Store.open(self.settings.store, pictures=pictures, read_only=self.settings.replay)

    @cached_property
    def engine(self) -> Engine:
        """The engine, made on first use: a controller of workers has none."""
        from pytest_factorfair.engine import Engine, Retry

        if self.modality == "image":
            # Used first by a thread of the loop: pytest rewrites a plugin's modules as it imports them, and
            # the parser of CPython 3.11 fails if two threads do so at once.
            import_module("pytest_factorfair.pictures.decode")
        return Engine(
            self.store,
            connections=self.settings.connections,
            replay=self.settings.replay,
            refresh=self.settings.refresh,
            limits=self.limits,
            estimate=estimates(self.price, self.modality),
            retry=Retry(attempts=1 + self.settings.retries, patience=self.settings.patience),
            price=self.price,
        )

    @cached_property
    def limits(self) -> Limits | None:
        """This process's hold on the limits and the account of the run.

        None where it asks nothing, and in a worker whose store is not the controller's: on another machine.

        Raises:
            StoreError: such a worker cannot keep the limits, or the store cannot be written.
        """
        from pytest_factorfair.store import Limits

        if self.settings.replay or not self._session:
            return None
        joined = Limits.join(
            self.store,
            self._ceilings,
            run=self.settings.run,
            session=self._session,
            controller=self._controller,
        )
        if joined is None and self._ceilings.any:
            raise StoreError(
                f"{self.store.place}: not the controller's store: on several machines, limits need a "
                "PostgreSQL store"
            )
        return joined

    @property
    def endpoints(self) -> tuple[EndpointState, ...]:
        """The endpoints that throttled or failed, in whichever process; the last known once it is closed."""
        from pytest_factorfair.engine import endpoint_states

        with suppress(StoreError):
            if self.limits is not None:
                self._endpoints = endpoint_states(self.limits.endpoints, now=time.time())
        return self._endpoints

    @property
    def markers(self) -> tuple[str, ...]:
        """The words of the checklists that become marks on items."""
        return tuple(dict.fromkeys(mark for one in self.assignments for mark in one.case.marks))

    @property
    def notices(self) -> tuple[str, ...]:
        """One line for each number of answers that had to be rounded up, and for pictures left over."""
        rounded = (line for one in self.checklists for line in protocols.notices(one, self.sampling))
        return (*rounded, *self._surplus())

    def _surplus(self) -> Iterator[str]:
        from pytest_factorfair.models.picture_folder import PictureFolder

        for spec, model in self.models.items():
            if isinstance(model, PictureFolder):
                mine = (one for one in self.assignments if one.model == spec)
                asked = {(query.prompt, query.repeat) for one in mine for query in self.queries(one)}
                if (told := model.surplus(asked)) is not None:
                    yield told

    @property
    def asking(self) -> bool:
        """Whether this process has started to ask."""
        return "engine" in self.__dict__

    def check_prices(self) -> None:
        """Make sure that a limit on USD can be kept, before anything is asked.

        Raises:
            InputError: a price is unknown.
        """
        for spec, model in self.models.items():
            if self.settings.max_cost is not None and self.price(model) is None:
                raise InputError(
                    f"--factorfair-max-cost: what '{spec}' costs is unknown; {prices.remedy(self.modality)}, "
                    "or limit --factorfair-max-calls"
                )

    def check_hosts(self) -> None:
        """Make sure that the services can be found, before anything is asked.

        Raises:
            InputError: a host cannot be resolved.
        """
        for spec, model in self.models.items():
            hosts.check(spec, model)

    def begin(self) -> None:
        """Sweep away what dead processes left; open the account of this session and set the run's limits.

        Called in the process that controls the run, before any process asks.

        Raises:
            InputError: the run is in progress elsewhere, with other limits.
            StoreError: the store cannot be written.
        """
        pictures = self.store.pictures.folder
        process.sweep(pictures.parent, glob.escape(Path(self.settings.store).name))
        process.sweep(pictures, "*")
        process.sweep(Path(self.settings.report), "report.*", "responses.jsonl", "pictures/*/*", "partial/*")
        if not self.settings.replay:
            from pytest_factorfair.store import Limits

            self.limits = Limits.begin(self.store, self._ceilings, run=self.settings.run, now=time.time())

    @property
    def session(self) -> str:
        """The name of the controller that began, for its workers."""
        return self.limits.session if self.limits is not None else ""

    @property
    def ended(self) -> str | None:
        """The limit that ended the run, in the process that began it."""
        with suppress(StoreError):
            return None if self.limits is None else self.limits.ended
        return None

    @property
    def usage(self) -> Usage:
        """What all processes of the session have asked, in the process that began it; else the last known."""
        with suppress(StoreError):
            if self.limits is not None:
                self._usage = self.limits.usage
        return self._usage

    def stop(self, reason: str) -> None:
        """Keep what has arrived and ask nothing more, in any process: each looks before every call."""
        if self.asking:
            self.engine.close()  # first: to it, a run that has ended is one whose calls in flight are awaited
        if self.limits is not None:
            with suppress(StoreError):  # a full disk: the verdict and what the run says must still come out
                self.limits.end(reason).result()

    def price(self, model: Model) -> Price | None:
        """What a model's answers cost, as the user says or else the model; None if that is unknown."""
        return self._price or prices.of(model)

    @property
    def _ceilings(self) -> Ceilings:
        from pytest_factorfair.store import Ceilings

        chosen = self.settings
        return Ceilings(chosen.max_calls, chosen.max_cost, chosen.max_minutes, chosen.max_rpm)

    def unaccounted(self, usage: Usage) -> Usage:
        """What of this process's asking is not on the session's account."""
        return usage if self.limits is None else Usage(cached=usage.cached)

    def queries(self, assignment: Assignment) -> tuple[Query, ...]:
        return protocols.queries(assignment.checklist, assignment.case, self.sampling)

    def further(self, assignment: Assignment, times: int) -> tuple[Query, ...]:
        """The queries of a case at so many times the size: those it has, and behind them more."""
        one, more = assignment.checklist, self.sampling.times(times)
        key = one.name, times
        if key not in self._larger:
            self._larger[key] = {case.id: case for case in protocols.cases(one, more)}
        return protocols.queries(one, self._larger[key][assignment.case.id], more)

    @cached_property
    def explained(self) -> tuple[tuple[Assignment, Query], ...]:
        """The queries that ask for a reason, with their cases; none without ``--factorfair-explain``."""
        if not self.settings.explain:
            return ()
        return tuple(
            (one, query)
            for one in self.assignments
            if (query := protocols.explained(one.checklist, one.case, self.sampling)) is not None
        )

    def had(self, one: Assignment, answers: Sequence[Answer], queries: Sequence[Query]) -> bool:
        """Whether a case's answers are to the first of these queries, and from the run's own model.

        A conftest.py may have put another model in its place, which only the item's process knows.
        """
        from pytest_factorfair import store

        known = asked(answers)
        begun = queries[: len(known)]
        if [query.id for query in begun] != list(known):
            return False
        keys = store.keys(self.models[one.model].identity, begun)
        return all(told in ("", key) for told, key in zip(known.values(), keys, strict=True))

    def stored(self, asked: Iterable[tuple[str, Sequence[Query]]]) -> bool:
        """Whether the store has the responses of all these models, by spec, to these queries."""
        from pytest_factorfair import store

        keys = [key for spec, some in asked for key in store.keys(self.models[spec].identity, some)]
        return self.store.count(keys) == len(keys)

    def picture(self, key: str) -> bytes:
        """The encoded picture of a response in the store.

        Raises:
            StoreError: there is none.
        """
        response = self.store.responses([key]).get(key)
        if response is None:
            raise StoreError(f"{self.store.place}: no response has the key {key}")
        return self.store.picture(response.image_file)

    def prefetch(self, assignment: Assignment) -> None:
        """Start asking a case that a later item will want; its outcome waits there."""
        if assignment.key not in self._pending:
            with suppress(StoreError):  # a test that asks reports it
                self._pending[assignment.key] = self.submit(assignment, self.models[assignment.model])

    def submit(self, assignment: Assignment, model: Model) -> Future[tuple[Exchange, ...]]:
        """Ask all queries of a case, or take the future of what was prefetched for this very model."""
        if model is self.models[assignment.model] and assignment.key in self._pending:
            return self._pending.pop(assignment.key)
        return self.engine.submit(model, self.queries(assignment))

    def close(self) -> None:
        """Stop asking, keep what arrived, release everything."""
        if self.asking:
            self.engine.close()
        if "limits" in self.__dict__ and self.limits is not None:
            self.limits.close()
        if "store" in self.__dict__:
            self.store.close()
