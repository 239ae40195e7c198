"""The answers that a run is going to ask for and their cost, before it asks anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from pytest_factorfair.benchmarks import benchmark_of
from pytest_factorfair.domain import AnswerMode, dollars, expired, listed, plural
from pytest_factorfair.errors import attributed
from pytest_factorfair.models.protocol import stored_name
from pytest_factorfair.redaction import redacted

if TYPE_CHECKING:
    from pytest_factorfair.domain import Query
    from pytest_factorfair.models import Model
    from pytest_factorfair.runs.run import Run
    from pytest_factorfair.store import Store
    from pytest_factorfair.store.lengths import MeanLength

CHARACTERS_PER_TOKEN = 4

TOKENS_PER_ANSWER: Mapping[AnswerMode, int] = {"text": 8, "json": 8, "probabilities": 1}
"""Tokens of ``{"answer": "A"}``, the format that is asked for, or of its letter alone."""

TOKENS_PER_REASON = 60
"""Tokens of an answer with one or two sentences."""

IF_UNDECIDED = " if gates stay undecided"

EXCLUDING = ", excluding reasoning"
"""Follows numbers of tokens and costs that will be higher if the model reasons."""


class Lengths:
    """The expected length of answers: the mean of the model's stored answers, else the format's."""

    def __init__(self, run: Run, store: Store | None) -> None:
        self._run = run
        self._store = store
        self._stored: dict[str, Mapping[str, MeanLength]] = {}

    def written(self, spec: str, mode: AnswerMode, answers: int, reasons: int = 0) -> int:
        """Tokens that a model writes for this many answers and reasons."""
        mean = self._mean(spec, mode)
        if mean is None:
            return answers * TOKENS_PER_ANSWER[mode] + reasons * TOKENS_PER_REASON
        return round(answers * mean.tokens + reasons * (TOKENS_PER_REASON + mean.reasoning))

    def basis(self, specs: Iterable[str], mode: AnswerMode) -> str:
        """A remark on a number of tokens: whether it excludes reasoning, or how much of it is reasoning."""
        means = {spec: self._mean(spec, mode) for spec in specs}
        if mode != "probabilities" and any(
            mean is None and getattr(self._run.models[spec], "may_reason", False)
            for spec, mean in means.items()
        ):
            return EXCLUDING
        return "".join(
            f", each {mean.tokens:,.0f} as in {plural(mean.answers, 'stored answer')}"
            f"{f' of {spec}' if len(means) > 1 else ''}, {mean.reasoning:,.0f} of them for reasoning"
            for spec, mean in means.items()
            if mean is not None and mean.reasoning
        )

    def _mean(self, spec: str, mode: AnswerMode) -> MeanLength | None:
        """The mean of stored answers in this mode; JSON takes as many tokens as text."""
        if self._store is None:
            return None
        if spec not in self._stored:
            from pytest_factorfair.store.lengths import mean_lengths

            model = self._run.models[spec]
            self._stored[spec] = mean_lengths(self._store, stored_name(model), model.identity)
        stored = self._stored[spec]
        as_long = {"text": "json", "json": "text"}.get(mode, mode)
        return stored.get(mode) or stored.get(as_long)


class Most(NamedTuple):
    """The answers, calls and cost in USD of a run whose gates stay undecided; a cost of None is unknown."""

    answers: int
    calls: int
    cost: float | None


@dataclass(frozen=True)
class Outlook:
    """Answers and reasons planned, how many of them are stored, and the cost in USD of the rest.

    A cost of None is unknown. ``lengths`` are the tokens that answers are expected to take; ``per_answer`` is
    the cost of an answer of each model, by spec, 0 if it is unknown.
    """

    run: Run
    planned: int
    reasons: int
    stored: int
    cost: float | None
    lengths: Lengths
    per_answer: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Run, store: Store | None) -> Outlook:
        """Plan the run, and look into the store if there is one.

        Raises:
            StoreError: the store cannot be opened.
        """
        planned, reasons = sum(assignment.case.samples for assignment in run.to_ask), len(run.explained)
        lengths = Lengths(run, store)
        if store is None:
            return cls(run, planned, reasons, stored=0, cost=None, lengths=lengths)
        from pytest_factorfair.store import keys

        stored = 0
        if not store.empty and run.settings.reuse != "none":
            for spec, model in run.models.items():
                cases = (run.queries(assignment) for assignment in run.to_ask if assignment.model == spec)
                asked = ((query,) for assignment, query in run.explained if assignment.model == spec)
                stored += store.count(
                    key for queries in chain(cases, asked) for key in keys(model.identity, queries)
                )
        total = planned + reasons
        costs, per_answer = list[float | None](), dict[str, float]()
        for spec in run.models:
            answers, queries = _asked(run, spec)
            reasons_asked = [query for assignment, query in run.explained if assignment.model == spec]
            of_answers = cost_of(run, spec, answers, queries, lengths=lengths)
            costs += [of_answers, cost_of(run, spec, 0, (), reasons_asked, lengths=lengths)]
            per_answer[spec] = (of_answers or 0.0) / max(answers, 1)
        priced = [cost for cost in costs if cost is not None]
        unknown = stored < total and len(priced) < len(costs)
        cost = None if unknown else (1 - stored / max(total, 1)) * sum(priced)
        return cls(run, planned, reasons, stored, cost, lengths, per_answer)

    @property
    def calls(self) -> int:
        """Calls to make if no gate asks for more."""
        return self.planned + self.reasons - self.stored

    @cached_property
    def most(self) -> Most:
        """What the run may take if its gates stay undecided to the last look."""
        run, further = self.run, Counter[str]()
        is_part = run.settings.shard is not None or run.selected is not None  # which judges no gate
        if run.settings.gates and not is_part:
            from pytest_factorfair.runs.planning.sizes import most_answers

            most_by_id = most_answers(run)
            for assignment in run.to_ask:
                further[assignment.model] += most_by_id[assignment.id] - assignment.case.samples
        cost = self.cost
        if cost is not None:
            cost += sum(self.per_answer[spec] * more for spec, more in further.items())
        return Most(self.planned + further.total(), self.calls + further.total(), cost)

    def shortfalls(self) -> Iterator[str]:
        """The limits that end the run without a verdict, as far as is known before it asks."""
        settings, ceilings = self.run.settings, self.run.settings.ceilings
        if not (ceilings.any and self.calls):
            return
        per_minute = ceilings.rpm or inf
        needs: Mapping[str, tuple[float | None, float | None, float | None, Callable[[float], str]]] = {
            "max-cost": (ceilings.cost, self.cost, self.most.cost, dollars),
            "max-calls": (ceilings.calls, self.calls, self.most.calls, "{:,} calls".format),
            "max-minutes": (
                ceilings.minutes,
                self.calls / per_minute,
                self.most.calls / per_minute,
                "{:,.0f} minutes".format,
            ),
        }
        for option, (limit, first_look, most, form) in needs.items():
            if limit is None or first_look is None or most is None or most <= limit:
                continue
            need = f"may need {form(most)}{IF_UNDECIDED}"
            if first_look > limit:
                need = f"needs about {form(first_look)}"
            where, end = settings.where(option), form(limit)
            yield f"{where}: the run {need}; at {end} it ends without a verdict"

    @property
    def probes(self) -> int:
        """Calls with which each process tests whether services return letters, before it asks questions."""
        return sum(getattr(model, "probes", 0) for model in self.run.models.values()) if self.calls else 0

    @property
    def caveat(self) -> str:
        """That the cost excludes reasoning, unless stored answers show how much the model reasons."""
        if not self.cost or self.run.modality == "image":
            return ""
        basis = self.lengths.basis(self.run.models, self.run.settings.answers)
        return basis if basis == EXCLUDING else ""

    def lines(self, *, sized: bool = True) -> list[str]:
        """The header: models and checklists, settings, and, if ``sized``, size and cost."""
        settings, sampling = self.run.settings, self.run.sampling
        names = ", ".join(checklist.name for checklist in self.run.checklists)
        gates = f", gates: {'; '.join(settings.gates)}" if settings.gates else ""
        values = {
            "preset": settings.preset,
            "design": sampling.design,
            "truth": settings.truth,
            "seed": sampling.seed,
            "answers": settings.answers,
            "estimator": settings.estimator,
            "declines": sampling.declines,
        }
        how = ", ".join(f"{name} {value}" for name, value in values.items() if name in settings.origins)
        whole = plural(len(self.run.assignments), "case")
        looking, detector = self.run.looking is not None, redacted(settings.detector or "")
        parts = (
            f"{', '.join(settings.models)} on {names}{gates}",
            *([how] if how else ()),
            *(self.size if sized else ()),
            *([f"{detector} looks at each picture: one call, unless its reply is stored"] * looking),
            *([f"{settings.shard}: {whole} in all, judged once they are merged"] if settings.shard else ()),
            *(f"note: {notice}" for notice in notices(self.run)),
            *(f"note: {line}" for line in expired(settings.waivers, datetime.now(UTC).date().isoformat())),
            *([f"note: {settings.set_aside}: nothing is judged"] if settings.set_aside else ()),
        )
        return [f"factorfair: {line}" for line in parts]

    @property
    def size(self) -> Iterator[str]:
        """Cases, gates and planned answers; how many are stored, and the cost of the others; the most.

        Then a note for each limit that is too low for them.
        """
        run, most = self.run, self.most
        cases = plural(len(run.to_ask), "case")
        if run.selected is not None:
            cases = f"{len(run.to_ask):,} of {plural(len(run.assignments), 'case')}"
        parts = [cases, *([plural(run.verdicts, "gate")] if run.verdicts else ())]
        whole = sum(assignment.case.samples for assignment in run.assignments)
        part = f"{self.planned:,} of {plural(whole, f'planned {run.unit}')}"
        parts += [part if self.planned < whole else f"{plural(whole, run.unit)} planned"]
        parts += [plural(self.reasons, "reason")] if self.reasons else []
        cost = "unknown" if self.cost is None else dollars(self.cost)
        yield ", ".join(parts)
        yield f"{self.stored:,} in the store, {self.calls:,} to ask, estimated cost {cost}{self.caveat}"
        if most.answers > self.planned:
            cost = "" if most.cost is None else f", cost {dollars(most.cost)},"
            yield f"at most {plural(most.answers, run.unit)}{cost}{IF_UNDECIDED}"
        yield from (f"note: {shortfall}" for shortfall in self.shortfalls())


def notices(run: Run) -> Iterator[str]:
    """One line for each setting that has less effect than it seems to.

    Rounded numbers of answers, gates that judge less than their words say, spare pictures, what a log lacks,
    missing replicas, and declines that count as neutral where nothing asks to choose among people.
    """
    settings = run.settings
    if settings.unread:
        yield settings.unread
    yield from _on_declines(run)
    for checklist in run.checklists:
        with attributed(f"the notices of checklist '{checklist.name}'"):
            yield from benchmark_of(checklist).notices(checklist, run.sampling)
    if run.settings.gates:
        from pytest_factorfair import gates

        yield from gates.cautions(run.gates, run.unasked)
    for spec, model in run.models.items():
        if (matching := run.matching(spec)) is not None:
            yield from (f"{spec}: {notice}" for notice in matching.notices)
        if run.modality == "image":
            yield from _spare_pictures(run, spec, model)
    if run.cluster is not None:
        yield from run.cluster.notices()


def _spare_pictures(run: Run, spec: str, model: Model) -> Iterator[str]:
    """How many pictures of a folder answer no query of the run."""
    from pytest_factorfair.models.picture_folder import PictureFolder

    if isinstance(model, PictureFolder):
        prompts = {
            (query.prompt, query.repeat)
            for assignment in run.assignments  # whatever the shard
            if assignment.model == spec
            for query in run.queries(assignment)
        }
        if (surplus := model.surplus(prompts)) is not None:
            yield surplus


def _on_declines(run: Run) -> Iterator[str]:
    """Where declined judgements are neutral without any effect, or against the published protocol."""
    settings = run.settings
    if settings.sampling.declines != "neutral":
        return
    if not any(assignment.case.judges for assignment in run.assignments):
        if "declines" in settings.origins:
            where = settings.where("declines")
            yield f"{where} 'neutral' has no effect here: no question asks to choose among groups of people"
        return
    published = ["preset paper"] if settings.preset == "paper" else []
    published += ["estimator published-code"] if settings.estimator == "published-code" else []
    if published:
        authors = "the authors leave out judgements that a model declines"
        yield f"{listed(published)}, but declines = neutral: {authors}"


def read(queries: Iterable[Query]) -> int:
    """Tokens of the prompts of queries, estimated from their length."""
    return sum(len(query.prompt) for query in queries) // CHARACTERS_PER_TOKEN


def cost_of(
    run: Run,
    spec: str,
    asked: int,
    queries: Iterable[Query],
    reasons: Collection[Query] = (),
    *,
    lengths: Lengths,
) -> float | None:
    """The estimated cost of asking a model this number of queries for answers, and for reasons.

    None if unknown. The ``queries`` are read only if their lengths count.
    """
    price = run.price(run.models[spec])
    if price is None:
        return None
    total = asked + len(reasons)
    if not price.by_tokens:
        return price.total(total, 0, 0)
    if run.modality == "image":
        return None  # how many tokens a picture takes is unknown
    tokens_out = lengths.written(spec, run.settings.answers, asked, len(reasons))
    return price.total(total, read(chain(queries, reasons)), tokens_out)


def _asked(run: Run, spec: str) -> tuple[int, Iterator[Query]]:
    """The number of queries of a run to a model, and the queries, which take a while to generate."""
    assignments = [assignment for assignment in run.to_ask if assignment.model == spec]
    asked = sum(assignment.case.samples for assignment in assignments)
    return asked, (query for assignment in assignments for query in run.queries(assignment))
