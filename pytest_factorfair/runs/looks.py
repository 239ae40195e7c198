"""Sequential looks: further answers for undecided gates, up to a cap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_factorfair import gates as gating
from pytest_factorfair.benchmarks.measurement import BaselineCounts, Counts, TopicKey
from pytest_factorfair.config.settings import DEFAULT_REPORT
from pytest_factorfair.domain import Gate, Query, Record, Verdict, asked, dollars, plural, together
from pytest_factorfair.errors import BudgetError, DetectorError, FatalModelError, StoreError
from pytest_factorfair.gates.levels import levels
from pytest_factorfair.runs.ledger import ended
from pytest_factorfair.runs.planning.outlook import Lengths, cost_of
from pytest_factorfair.runs.planning.sizes import asking, most_answers, topics
from pytest_factorfair.runs.tabulating import deterministic
from pytest_factorfair.statistics.holm import ALPHA

if TYPE_CHECKING:
    from pytest_factorfair.runs.execution import Execution
    from pytest_factorfair.runs.ledger import Ledger
    from pytest_factorfair.runs.progress import Meter
    from pytest_factorfair.runs.run import Assignment, Run


AFTER_FAIL = "looks_after_fail = true"
"""The setting that settles the gates of a model that can no longer be released, as in pyproject.toml."""


@dataclass(frozen=True, slots=True)
class LooksResult:
    """How the looks ended: the level of the last look, the verdicts that earlier looks settled, and notes.

    ``obstacle`` is why undecided gates got no further look; ``spared`` are the names of those whose model
    can no longer be released. ``counts`` are those of all records; empty if they have to be counted.
    """

    alpha: float = ALPHA
    settled: Mapping[str, Verdict] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    obstacle: gating.Obstacle | None = None
    spared: frozenset[str] = frozenset()
    counts: tuple[Counts, ...] = ()


class Extension(NamedTuple):
    """Further queries of one case, and its record so far."""

    assignment: Assignment
    record: Record
    queries: tuple[Query, ...]


def settle(rulings: Sequence[gating.Ruling], settled: dict[str, Verdict]) -> dict[TopicKey, float]:
    """Add the verdicts that this look decides to ``settled``.

    Returns where to ask for more answers, with the factor by which they must grow for bounds.
    """
    unsettled = [ruling for ruling in rulings if ruling.verdict.name not in settled]
    settled |= {
        ruling.verdict.name: ruling.verdict
        for ruling in unsettled
        if ruling.verdict.judgement in ("passed", "failed", "waived") and not ruling.undecided
    }
    growth: dict[TopicKey, float] = {}
    for ruling in unsettled:
        for key, factor in ruling.undecided.items():
            growth[key] = max(factor, growth.get(key, factor))
    return growth


def unreleasable(
    rulings: Iterable[gating.Ruling], settled: Mapping[str, Verdict], *, tolerated: bool = False
) -> frozenset[str]:
    """The models, by spec, that no further answers can release.

    A gate of theirs has failed for good. Or it loses so many answers that it cannot pass; if an undecided
    release is ``tolerated``, further answers may still make it fail.
    """
    failed = {verdict.model for verdict in settled.values() if verdict.judgement == "failed"}
    lost = {
        ruling.verdict.model
        for ruling in rulings
        if ruling.cannot_pass and ruling.verdict.name not in settled and not tolerated
    }
    return frozenset(failed | lost)


def judging(run: Run, today: date, baseline: BaselineCounts | None, *, alpha: float) -> gating.Terms:
    """The terms by which gates are judged; waivers must be in force ``today``."""
    settings = run.settings
    # As a command in the current folder names it; the default one is left out.
    report, current_folder = Path(settings.report), Path.cwd()
    if report.is_relative_to(current_folder):
        report = report.relative_to(current_folder)
    return gating.Terms(
        settings.estimator,
        settings.interval,
        alpha=alpha,
        waivers=settings.waivers,
        today=today,
        baseline=baseline,
        report="" if report == Path(DEFAULT_REPORT) else str(report),
        asking=asking(run),
    )


def _undecided(rulings: Iterable[gating.Ruling], settled: Mapping[str, Verdict]) -> list[Verdict]:
    """The verdicts that more answers may decide."""
    return [ruling.verdict for ruling in rulings if ruling.undecided and ruling.verdict.name not in settled]


class Looks:
    """Judges the gates, and while some are undecided asks for more answers to their topics."""

    def __init__(self, execution: Execution, ledger: Ledger, progress: Meter, *, today: date) -> None:
        self._execution = execution
        self._run = execution.run
        self._ledger = ledger
        self._progress = progress
        self._today = today
        self._levels = levels(self._run.settings.looks)

    def first(self) -> LooksResult:
        """The level of the first look, with nothing decided."""
        return LooksResult(self._levels[0])

    def take(self, gates: Sequence[Gate], baseline: BaselineCounts | None) -> LooksResult:
        """Look until everything is decided, the cap is reached, or asking fails.

        A model that can no longer be released is asked no more, unless ``looks-after-fail`` wants all its
        gates settled; other models of the run are.
        """
        if len(self._levels) == 1 or not gates:
            return self.first()
        settings, settled = self._run.settings, dict[str, Verdict]()
        obstacle, ended = None, frozenset[str]()
        looks, caps = len(self._levels), most_answers(self._run)
        for number, alpha in enumerate(self._levels, start=1):
            terms = judging(self._run, self._today, baseline, alpha=alpha)
            counts = self._run.tabulate(self._ledger.records)
            rulings = gating.rule(gates, counts, terms)
            if not any(ruling.topic_keys for ruling in rulings):
                return replace(self.first(), counts=counts)
            growth = settle(rulings, settled)
            if not growth or number == looks:
                break
            if not settings.looks_after_fail:
                ended = unreleasable(rulings, settled, tolerated=settings.undecided == "warn")
                growth = {key: factor for key, factor in growth.items() if key.model not in ended}
            if not growth:
                break
            undecided = sum(verdict.model not in ended for verdict in _undecided(rulings, settled))
            look = f"look {number + 1} of {looks}"
            cause = f"{plural(undecided, 'gate')} undecided"
            if obstacle := self._ask(tuple(self._extensions(growth, number + 1, caps)), look, cause):
                counts = ()  # some answers may have been added
                break
        cap = sum(caps.values())
        answers = sum(record.asked for record in self._ledger.records)
        cap_note = f" instead of up to {cap:,}" if answers < cap else ""
        notes = [f"stopped after look {number} of {looks} with {answers:,} answers{cap_note}"]
        spared = frozenset(verdict.name for verdict in _undecided(rulings, settled) if verdict.model in ended)
        if spared:
            gates_left = plural(len(spared), "undecided gate")
            notes.append(
                f"{gates_left} got no further answers, which could not release the model any more; "
                f"{AFTER_FAIL} asks for them"
            )
        return LooksResult(alpha, settled, tuple(notes), obstacle, spared, counts)

    def _extensions(
        self, growth: Mapping[TopicKey, float], look: int, caps: Mapping[str, int]
    ) -> Iterator[Extension]:
        """Further queries about the topics of ``growth``: for each look as many as for the first.

        For the last look, those of a topic also grow by its factor, up to the cap of its case.
        """
        drawn = self._run.models.keys() - deterministic(self._run.models, self._ledger.records)
        for assignment in self._run.assignments:
            record = self._ledger.record(assignment.key)
            factors = [growth[key] for key in topics(assignment) if key in growth]
            if record is not None and factors:
                samples, times = assignment.case.samples, look
                if look == len(self._levels):
                    grown = min(max(factors) * len(asked(record.answers)), caps[assignment.id])
                    times = max(look, ceil(grown / samples))
                # The copy of an answer carries no information, so it is not asked for.
                queries = [
                    query
                    for number, query in enumerate(self._run.further(assignment, times))
                    if number < samples or assignment.model in drawn or not query.repeat
                ]
                if not record.own_detector and self._run.matches(assignment, record.answers, queries):
                    yield Extension(assignment, record, tuple(queries[len(asked(record.answers)) :]))

    def _obstacle(
        self, extensions: Sequence[Extension], to_ask: Sequence[Extension]
    ) -> gating.Obstacle | None:
        """Why the extensions cannot be asked, None if they can; those in ``to_ask`` have queries."""
        if not extensions:
            return gating.Obstacle(
                "the models that tests asked are not those of the command line, so that they are not asked "
                "again",
                "start with more answers (--factorfair-samples)",
            )
        if not to_ask:
            return gating.Obstacle(
                "every further question repeats an earlier one, and the models are deterministic",
                "raise the temperature (--factorfair-model-arg=temperature=1), or add scenarios to the "
                "checklist",
            )
        asked_queries = ((extension.assignment.model, extension.queries) for extension in to_ask)
        stored_only = self._run.settings.reuse == "only"
        if stored_only and not self._execution.has(asked_queries):
            return gating.Obstacle(*self._execution.without_answers)
        return None

    def _ask(self, extensions: Sequence[Extension], look: str, cause: str) -> gating.Obstacle | None:
        """Announce and ask, and add to the records; why that is not possible, or None."""
        to_ask = [extension for extension in extensions if extension.queries]
        if obstacle := self._obstacle(extensions, to_ask):
            return obstacle
        further_answers = sum(len(extension.queries) for extension in to_ask)
        total = sum(record.asked for record in self._ledger.records) + further_answers
        try:
            self._progress.announce(
                f"factorfair: {look}: {cause}, {plural(further_answers, 'more answer')}{self._bill(to_ask)}"
            )
            self._progress.expect(total, look=look)
            further = self._execution.ask(
                ((extension.assignment.model, extension.queries) for extension in to_ask), self._progress
            )
            for extension, exchanges in zip(to_ask, further, strict=True):
                self._ledger.spend(self._execution.account.unaccounted(exchanges))
                addition = self._execution.record(extension.assignment, exchanges)
                self._ledger.add(extended(extension.record, addition))
        except (BudgetError, DetectorError, FatalModelError, StoreError) as error:
            return gating.Obstacle(*ended(str(error), self._run.settings.ceilings))
        finally:
            self._progress.clear()
        return None

    def _bill(self, extensions: Sequence[Extension]) -> str:
        """How many answers of the extensions are stored, and what the others cost at most, as text."""
        reuse, everything = self._run.settings.reuse, ", all in the store"
        if reuse == "only":
            return everything
        keys = self._run.keys((extension.assignment.model, extension.queries) for extension in extensions)
        stored = 0 if reuse == "none" else self._execution.store.count(keys)
        if stored == len(keys):
            return everything
        part, cost = f", {stored:,} in the store" if stored else "", self._cost(extensions)
        return part if cost is None else f"{part}, at most {dollars(cost * (1 - stored / len(keys)))}"

    def _cost(self, extensions: Sequence[Extension]) -> float | None:
        """The cost in USD of the extensions if none of their answers is stored; None if unknown."""
        queries: dict[str, list[Query]] = {}
        for extension in extensions:
            queries.setdefault(extension.assignment.model, []).extend(extension.queries)
        lengths = Lengths(self._run, self._execution.store)
        costs = [
            cost_of(self._run, spec, len(of_model), of_model, lengths=lengths)
            for spec, of_model in queries.items()
        ]
        return None if None in costs else sum(filter(None, costs))


def extended(record: Record, addition: Record) -> Record:
    """The record of a case with the answers to further queries."""
    return replace(
        record,
        answers=(*record.answers, *addition.answers),
        notes=tuple(sorted({*record.notes, *addition.notes})),
        dropped=tuple(sorted({*record.dropped, *addition.dropped})),
        choices=together(record.choices, addition.choices),
        shapes=Counter(record.shapes) + Counter(addition.shapes),
        answered_by=Counter(record.answered_by) + Counter(addition.answered_by),
        configurations=Counter(record.configurations) + Counter(addition.configurations),
    )
