"""``--factorfair-plan``: the calls, cost and power of a run; nothing is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, get_args

from pytest_factorfair.domain import AnswerMode, plural
from pytest_factorfair.models import prices
from pytest_factorfair.protocols import cases
from pytest_factorfair.protocols.combined import by_benchmark, selected
from pytest_factorfair.protocols.measurement import CORRECTED, detectable_distance
from pytest_factorfair.session.looks import BOUNDARIES, most_answers
from pytest_factorfair.session.outlook import Outlook, misses, read, written
from pytest_factorfair.session.tabulating import deterministic

if TYPE_CHECKING:
    from pytest_factorfair.domain import Gate
    from pytest_factorfair.session.execution import Execution
    from pytest_factorfair.session.run import Assignment


GATE = "gate and scores"
"""Heads the first column of the table of detectable changes."""

WIDEST = 61
"""Characters of that column; a wider entry has a line of its own, so that a line of 80 columns holds all."""

UNKNOWN = "unknown"
"""Stands in that table for a change that depends on answers."""

IF_UNDECIDED = " if gates stay undecided"


class DetectableChange(NamedTuple):
    """One score of a gate, its answers per topic and context, and the change that they can detect."""

    gate: str
    context: str
    attribute: str
    n: int
    change: str


class Plan:
    """The calls, cost and power of a run; ``written`` says where the plan was locked, if it was.

    Raises:
        InputError: a gate cannot be judged in this run.
    """

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._run = execution.run
        self._gates = self._run.gates
        self._counts = self._run.unasked
        self._outlook = execution.outlook
        self.written = ""

    def select(self, selected: Sequence[Assignment]) -> None:
        """Plan to ask only these: then no gate is judged, and there is one look."""
        self._run = self._run.only(selected)
        self._outlook = Outlook.of(self._run, self._execution.store)
        self._gates = ()

    def lines(self) -> Iterator[str]:
        """Detectable changes, ways to answer and unused stored answers, then calls, cost and limits."""
        plan = self._outlook
        if self._run.selected is not None:
            of = f"{len(self._run.to_ask):,} of {plural(len(self._run.assignments), 'case')}"
            yield f"selected: {of}; gates are judged only if all are asked"
        yield from self._detectable_changes()
        if self._run.modality == "text":
            yield from self._modes()
        if self._run.settings.reuse != "none" and plan.stored < plan.planned:
            yield from misses(self._run, self._execution.store)
        most = {} if self._partial else most_answers(self._run, self._gates)
        answers = sum(most.values()) if most else plan.planned
        if self._run.modality == "text":
            out = written(plan.planned, plan.reasons, self._run.settings.answers)
            yield f"tokens: about {self._tokens():,} in, {out:,} out, for all answers"
        if self._run.looking is not None:
            price = self._run.looking.price
            cost = "unknown"
            if price is not None and not price.by_tokens:
                cost = f"at most ${price.total(answers, 0, 0):,.2f}"
            yield f"calls of the detector: at most {answers:,}, cost {cost}"
        most_calls = plan.calls - plan.planned + answers
        upper_limit = f", at most {most_calls:,}{IF_UNDECIDED}" if most_calls > plan.calls else ""
        planned = plural(plan.planned, "answer") + (
            f" and {plural(plan.reasons, 'reason')}" if plan.reasons else ""
        )
        yield f"calls: {plan.calls:,}{upper_limit} ({plan.stored:,} of {planned} are in the store)"
        yield f"cost: {self._cost(most)}"
        ceilings = self._run.settings.ceilings
        limits = [
            *([plural(ceilings.calls, "call")] if ceilings.calls is not None else ()),
            *([f"${ceilings.cost:,.2f}"] if ceilings.cost is not None else ()),
            *([plural(ceilings.minutes, "minute")] if ceilings.minutes is not None else ()),
            *([f"{plural(ceilings.rpm, 'call')} per minute"] if ceilings.rpm is not None else ()),
        ]
        if limits:
            yield f"limit: {', '.join(limits)}"
        if self.written:
            yield self.written

    @property
    def _partial(self) -> bool:
        """Whether some cases are not asked, so that nothing is judged."""
        return self._run.settings.shard is not None or self._run.selected is not None

    def _cost(self, most: Mapping[str, int]) -> str:
        """The cost of the first look, and of so many answers to each assignment if that is more."""
        cost = self._outlook.cost
        if cost is not None:
            further = Counter[str]()
            for assignment in self._run.to_ask if most else ():
                further[assignment.model] += most[assignment.id] - assignment.case.samples
            costs = [self._outlook.answer_cost(spec) * more for spec, more in further.items() if more]
            upper_limit = f", at most ${cost + sum(costs):,.2f}{IF_UNDECIDED}" if sum(costs) else ""
            return f"about ${cost:,.2f}{upper_limit}"
        unpriced = [spec for spec, model in self._run.models.items() if self._run.price(model) is None]
        if not unpriced:
            return "unknown, because it depends on the tokens of a picture"
        return f"unknown, like the price of {', '.join(unpriced)}: {prices.remedy(self._run.modality)}"

    def _detectable_changes(self) -> Iterator[str]:
        """A table of the smallest distances from thresholds that a run detects; nothing without gates."""
        # Several models have the same rows.
        lines = _merged(tuple(dict.fromkeys(row for gate in self._gates for row in self._rows(gate))))
        if not lines:
            return
        units = {measuring.unit for measuring, _ in by_benchmark(self._counts)}
        yield "smallest distance from a threshold that 80 % of runs detect,"
        yield f"by {' or '.join(sorted(units))}:"
        if self._run.settings.answers == "probabilities":
            yield "(assuming answers vary like sampled ones; probabilities vary less and detect more)"
        split = [
            ("", subject) if len(subject) <= WIDEST or not on else (gate, f"  {on.strip()} {scores}")
            for subject, _, _ in lines
            for gate, on, scores in [subject.rpartition(" on ")]
        ]
        width = max(len(entry) for entry in (GATE, *(entry for _, entry in split)))
        yield f"{GATE.ljust(width)}  answers  distance"
        previous = ""
        for (gate, entry), (_, n, change) in zip(split, lines, strict=True):
            if gate and gate != previous:
                yield gate
            previous = gate
            yield f"{entry.ljust(width)}  {n:>7,}  {change}"
        if any(change == UNKNOWN for _, _, change in lines):
            yield f"{UNKNOWN}: how much such a score varies is known only once there are answers"

    def _tokens(self) -> int:
        return read(
            chain(
                (query for assignment in self._run.to_ask for query in self._run.queries(assignment)),
                (query for _, query in self._run.explained),
            )
        )

    def _modes(self) -> Iterator[str]:
        """The size of the first look for each value of ``--factorfair-answers``, with an empty store."""
        settings, run = self._run.settings, self._run
        per_answer = self._tokens() / max(self._outlook.planned, 1)
        asked = run.assignments if run.selected is None else run.selected
        prices_known = {
            spec: price for spec, model in run.models.items() if (price := run.price(model)) is not None
        }
        for mode in get_args(AnswerMode):
            sampling = settings.sampled(mode)
            sizes = {
                (checklist.name, case.id): case.samples
                for checklist in run.checklists
                for case in cases(checklist, sampling)
            }
            answers = Counter[str]()
            for assignment in asked:
                answers[assignment.model] += sizes[assignment.checklist.name, assignment.case.id]
            total = answers.total()
            tokens = f"{round(per_answer * total):,} tokens in, {written(total, 0, mode):,} out"
            line = f"{total:,} calls, about {tokens}"
            if len(prices_known) == len(run.models):
                cost = sum(
                    prices_known[spec].total(count, round(per_answer * count), written(count, 0, mode))
                    for spec, count in answers.items()
                )
                line += f", about ${cost:,.2f}"
            yield f"--factorfair-answers={mode}: {line}"

    def _rows(self, gate: Gate) -> Iterator[DetectableChange]:
        looks = self._run.settings.looks
        for measurement in selected(gate, self._counts, CORRECTED):
            times = (1, looks) if looks > 1 and measurement.topic_keys else (1,)
            bounds = BOUNDARIES[looks if measurement.topic_keys else 1]
            assignment, cases = next(
                (assignment, cases)
                for assignment in self._run.assignments
                if (cases := measurement.asks(assignment.case))
            )
            copies = assignment.model in deterministic(self._run, ())
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
    alike: dict[tuple[str, int, str], list[DetectableChange]] = {}
    for row in rows:
        alike.setdefault((row.gate, row.n, row.change), []).append(row)
    lines = []
    for (gate, n, change), equal_rows in alike.items():
        attributes = ", ".join(dict.fromkeys(row.attribute for row in equal_rows))
        score_name = f"{equal_rows[0].context},{attributes}" if attributes else ""
        on = score_name if len(equal_rows) == 1 else f"{len(equal_rows)} scores of {attributes}"
        lines.append((f"{gate} on {on}" if on else gate, n, change))
    return lines
