"""``--factorfair-plan``: the calls, cost and power of a run; nothing is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, get_args

from pytest_factorfair.benchmarks import cases, queries
from pytest_factorfair.benchmarks.combined import by_benchmark, selected
from pytest_factorfair.benchmarks.measurement import CORRECTED, detectable_distance
from pytest_factorfair.domain import AnswerMode, dollars, listed, plural
from pytest_factorfair.gates.levels import BOUNDARIES
from pytest_factorfair.models import prices
from pytest_factorfair.models.protocol import stored_name
from pytest_factorfair.runs.planning import preflight
from pytest_factorfair.runs.planning.outlook import IF_UNDECIDED, Outlook, read
from pytest_factorfair.runs.tabulating import deterministic
from pytest_factorfair.store.misses import CallIndex

if TYPE_CHECKING:
    from pytest_factorfair.domain import Gate, Sampling
    from pytest_factorfair.runs.run import Assignment, Run
    from pytest_factorfair.store import Store

GATE = "gate and scores"
"""Heads the first column of the table of detectable changes."""

WIDEST = 61
"""Characters of that column; a wider entry has a line of its own, so that a line of 80 columns holds all."""

UNKNOWN = "unknown"
"""Stands in that table for a change that depends on answers."""


class DetectableChange(NamedTuple):
    """One score of a gate, its answers per topic and context, and the change that they can detect."""

    gate: str
    context: str
    attribute: str
    n: int
    change: str


class FirstLook(NamedTuple):
    """The calls and tokens of a first look, and its cost in USD, also in batches; None if unknown."""

    calls: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    batch_cost: float | None

    @classmethod
    def total(cls, looks: Sequence[FirstLook]) -> FirstLook:
        """The sum of the looks of several models."""
        calls, tokens_in, tokens_out, *costs = zip(*looks, strict=True)
        return cls(
            sum(calls),
            sum(tokens_in),
            sum(tokens_out),
            *(None if None in cost else sum(cost) for cost in costs),
        )


class Plan:
    """The calls, cost and power of a run; ``written`` says where the plan was locked, if it was."""

    def __init__(self, outlook: Outlook, store: Store) -> None:
        self._run = outlook.run
        self._store = store
        self._gates = self._run.gates
        self._counts = self._run.unasked
        self._outlook = outlook
        self.written = ""
        self._sizes: dict[tuple[str, Sampling], tuple[int, int]] = {}

    def select(self, selected: Sequence[Assignment]) -> None:
        """Plan to ask only these: then no gate is judged, and there is one look."""
        self._run = self._run.only(selected)
        self._outlook = Outlook.of(self._run, self._store)
        self._gates = ()

    def lines(self) -> Iterator[str]:
        """Detectable changes, ways to answer and unused stored answers, then calls, cost and limits."""
        plan = self._outlook
        if self._run.selected is not None:
            part = f"{len(self._run.to_ask):,} of {plural(len(self._run.assignments), 'case')}"
            yield f"selected: {part}; gates are judged only if all are asked"
        yield from self._detectable_changes()
        if self._run.modality == "text":
            yield from self._modes()
        if self._run.settings.reuse != "none" and plan.stored < plan.planned:
            yield from _misses(self._run, self._store)
        most = plan.most
        if self._run.modality == "text":
            mode = self._run.settings.answers
            size, basis = self._first_look(mode), plan.lengths.basis(self._run.models, mode)
            yield f"tokens: about {size.tokens_in:,} in, {size.tokens_out:,} out, for all answers{basis}"
        if self._run.looking is not None:
            price = self._run.looking.price
            cost = "unknown"
            if price is not None and not price.by_tokens:
                cost = f"at most {dollars(price.total(most.answers, 0, 0))}"
            yield f"calls of the detector: at most {most.answers:,}, cost {cost}"
        upper_limit = f", at most {most.calls:,}{IF_UNDECIDED}" if most.calls > plan.calls else ""
        planned = plural(plan.planned, "answer") + (
            f" and {plural(plan.reasons, 'reason')}" if plan.reasons else ""
        )
        probes = f", and {plural(plan.probes, 'probe')} in each process" if plan.probes else ""
        yield f"calls: {plan.calls:,}{upper_limit}{probes} ({plan.stored:,} of {planned} are in the store)"
        yield f"cost: {self._cost()}{plan.caveat}"
        ceilings = self._run.settings.ceilings
        unkept = " (for which the run needs the price)" if preflight.unpriced(self._run) else ""
        limits = [
            *([plural(ceilings.calls, "call")] if ceilings.calls is not None else ()),
            *([f"{dollars(ceilings.cost)}{unkept}"] if ceilings.cost is not None else ()),
            *([plural(ceilings.minutes, "minute")] if ceilings.minutes is not None else ()),
            *([f"{plural(ceilings.rpm, 'call')} per minute"] if ceilings.rpm is not None else ()),
        ]
        if limits:
            yield f"limit: {', '.join(limits)}"
        if self._run.selected is not None:  # otherwise the header has them
            yield from plan.shortfalls()
        if self.written:
            yield self.written

    def _cost(self) -> str:
        """The cost of the first look, and the most that the run may cost if that is more."""
        cost, most = self._outlook.cost, self._outlook.most
        asked_prices = {spec: self._run.price(model) for spec, model in self._run.models.items()}
        if cost is not None and most.cost is not None:
            upper_limit = f", at most {dollars(most.cost)}{IF_UNDECIDED}" if most.cost > cost else ""
            lists = dict.fromkeys(price.source for price in asked_prices.values() if price and price.source)
            by_list = f" (prices of {listed(tuple(lists))})" if lists else ""
            return f"about {dollars(cost)}{upper_limit}{by_list}"
        unpriced = [spec for spec, price in asked_prices.items() if price is None]
        if not unpriced:
            return "unknown, because it depends on the tokens of a picture"
        return f"unknown, like the price of {', '.join(unpriced)}: {prices.remedy(self._run.modality)}"

    def _detectable_changes(self) -> Iterator[str]:
        """A table of the smallest distances from thresholds that a run detects; nothing without gates."""
        # Several models have the same rows.
        lines = _merged(tuple(dict.fromkeys(row for gate in self._gates for row in self._rows(gate))))
        if not lines:
            return
        units = {benchmark.unit for benchmark, _ in by_benchmark(self._counts)}
        yield "smallest distance from a threshold that 80 % of runs detect,"
        yield f"by {' or '.join(sorted(units))}:"
        if self._run.settings.answers == "probabilities":
            yield "(assuming answers vary like sampled ones; probabilities vary less and detect more)"
        split: list[tuple[str, str]] = []
        for subject, _, _ in lines:
            gate, on, scores = subject.rpartition(" on ")
            whole = len(subject) <= WIDEST or not on
            split.append(("", subject) if whole else (gate, f"  {on.strip()} {scores}"))
        width = max(len(entry) for entry in (GATE, *(entry for _, entry in split)))
        yield f"{GATE.ljust(width)}  answers  distance"
        previous = ""
        for (gate, entry), (_, n, change) in zip(split, lines, strict=True):
            if gate and gate != previous:
                yield gate
            previous = gate
            yield f"{entry.ljust(width)}  {n:>7,}  {change}"
        measured = (m for gate in self._gates for m in selected(gate, self._counts, CORRECTED))
        yield from dict.fromkeys(filter(None, (measurement.plan_note for measurement in measured)))
        if any(change == UNKNOWN for _, _, change in lines):
            yield f"{UNKNOWN}: how much such a score varies is known only once there are answers"

    def _modes(self) -> Iterator[str]:
        """A table of the first look in every way of answering that all models offer, with an empty store."""
        run = self._run
        modes = [
            mode
            for mode in get_args(AnswerMode)
            if all(
                mode in ("text", run.settings.answers, *run.other_modes(model))
                for model in run.models.values()
            )
        ]
        if len(modes) == 1:
            return
        looks = [self._first_look(mode) for mode in modes]
        columns = {
            "--factorfair-answers=": list(modes),
            "calls": [f"{look.calls:,}" for look in looks],
            "tokens in": [f"{look.tokens_in:,}" for look in looks],
            "tokens out": [f"{look.tokens_out:,}" for look in looks],
            "cost": ["" if look.cost is None else dollars(look.cost) for look in looks],
            "in batches": ["" if look.batch_cost is None else dollars(look.batch_cost) for look in looks],
        }
        shown = [(name, *cells) for name, cells in columns.items() if all(cells)]
        widths = [max(map(len, column)) for column in shown]
        basis = self._outlook.lengths.basis(run.models, "text")
        yield f"the first look in each way of answering{basis}:"
        for name, *cells in zip(*shown, strict=True):
            padded = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
            yield "  ".join((name.ljust(widths[0]), *padded))

    def _first_look(self, mode: AnswerMode) -> FirstLook:
        """The size of the first look in an answer mode, with an empty store."""
        run, looks = self._run, []
        for spec, model in run.models.items():
            calls, tokens_in = self._asked(spec, run.settings.sampled(mode))
            reasons = [query for assignment, query in run.explained if assignment.model == spec]
            tokens_out = self._outlook.lengths.written(spec, mode, calls, len(reasons))
            size = calls + len(reasons), tokens_in + read(reasons), tokens_out
            listed = None if run.given_price else getattr(model, "batch_price", None)
            prices_known = (run.price(model), listed)
            looks.append(
                FirstLook(*size, *(None if price is None else price.total(*size) for price in prices_known))
            )
        return FirstLook.total(looks)

    def _asked(self, spec: str, sampling: Sampling) -> tuple[int, int]:
        """The calls of a first look without reasons, and the tokens of their prompts."""
        if (spec, sampling) not in self._sizes:
            sized = {
                (checklist.name, case.id): case
                for checklist in self._run.checklists
                for case in cases(checklist, sampling)
            }
            asked = [
                query
                for assignment in self._run.to_ask
                if assignment.model == spec
                for query in queries(
                    assignment.checklist, sized[assignment.checklist.name, assignment.case.id], sampling
                )
            ]
            self._sizes[spec, sampling] = len(asked), read(asked)
        return self._sizes[spec, sampling]

    def _rows(self, gate: Gate) -> Iterator[DetectableChange]:
        looks = self._run.settings.looks
        for measurement in selected(gate, self._counts, CORRECTED):
            times = (1, looks) if looks > 1 and measurement.topic_keys else (1,)
            bounds = BOUNDARIES[looks if measurement.topic_keys else 1]
            assignment, cases = next(
                (assignment, cases)
                for assignment in self._run.assignments
                if (cases := measurement.sharing_cases(assignment.case))
            )
            copies = assignment.model in deterministic(self._run.models, ())
            for time in times:
                # The answers that count, after so many looks, of all cases of the topic or prompt together.
                queries = self._run.further(assignment, time)
                n = sum(not (copies and query.repeat) for query in queries) * cases
                change = detectable_distance(
                    measurement, gate.threshold, regression=gate.regression, n=n, bound=bounds[time - 1]
                )
                context, attribute = measurement.plan_labels or ("", "")
                yield DetectableChange(
                    gate.text, context, attribute, n, UNKNOWN if change is None else f"{change:.3f}"
                )


def _merged(rows: Sequence[DetectableChange]) -> list[tuple[str, int, str]]:
    """Subject, answers and change of each line; equal scores of a gate share a line."""
    rows_by_line: dict[tuple[str, int, str], list[DetectableChange]] = {}
    for row in rows:
        rows_by_line.setdefault((row.gate, row.n, row.change), []).append(row)
    lines = []
    for (gate, n, change), equal_rows in rows_by_line.items():
        attributes = ", ".join(dict.fromkeys(row.attribute for row in equal_rows))
        score_name = f"{equal_rows[0].context},{attributes}" if attributes else ""
        on = score_name if len(equal_rows) == 1 else f"{len(equal_rows)} scores of {attributes}"
        lines.append((f"{gate} on {on}" if on else gate, n, change))
    return lines


def _misses(run: Run, store: Store) -> Iterator[str]:
    """Why answers of the run are not in the store, if it has unused answers of the same model.

    A line for each model and reason, the most frequent first.
    """
    reasons: dict[tuple[str, str], tuple[int, str]] = {}  # the number of answers, and the case of the first
    for spec, model in run.models.items():
        memory, reused = CallIndex.of(store, stored_name(model)), 0
        missing: dict[tuple[str, str], tuple[int, str]] = {}
        for assignment in run.to_ask:
            for query in run.queries(assignment) if assignment.model == spec else ():
                if (reason := memory.reason(model.identity, query)) is None:
                    reused += 1
                else:
                    count, example = missing.get((spec, reason), (0, assignment.case.id))
                    missing[spec, reason] = count + 1, example
        if reused < len(memory.reusable) + len(memory.spoilt):
            reasons |= missing
    if reasons:
        yield "stored answers that are not reused, by what differs:"
    width = max((len(f"{count:,}") for count, _ in reasons.values()), default=0)
    for (spec, reason), (count, example) in sorted(reasons.items(), key=lambda row: -row[1][0]):
        yield f"{count:>{width},}  {spec}: {reason} (as in {example})"
