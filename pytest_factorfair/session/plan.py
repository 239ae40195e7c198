"""``--factorfair-plan``: the calls, cost and power of a run; nothing is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, get_args

from pytest_factorfair.domain import AnswerMode, plural
from pytest_factorfair.models import prices
from pytest_factorfair.protocols import cases
from pytest_factorfair.protocols.combined import by_benchmark, selected
from pytest_factorfair.protocols.measurement import CORRECTED
from pytest_factorfair.session.looks import BOUNDARIES, most_answers
from pytest_factorfair.session.outlook import CHARACTERS_PER_TOKEN, Outlook, misses, written
from pytest_factorfair.session.tabulating import deterministic

if TYPE_CHECKING:
    from pytest_factorfair.domain import Gate
    from pytest_factorfair.session.execution import Execution
    from pytest_factorfair.session.run import Assignment


class DetectableChange(NamedTuple):
    """One score of a gate, its answers per topic and context, and the change that they can detect."""

    gate: str
    context: str
    attribute: str
    n: int
    change: str


class Plan:
    """The calls, cost and power of a run.

    Raises:
        InputError: a gate cannot be judged in this run.
    """

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._run = execution.run
        self._gates = self._run.gates
        self._counts = self._run.unasked
        self._outlook = execution.outlook

    def select(self, selected: Sequence[Assignment]) -> None:
        """Plan to ask only these: then no gate is judged, and there is one look."""
        self._run = self._run.only(selected)
        self._outlook = Outlook.of(self._run, self._execution.store)
        self._gates = ()

    def lines(self) -> Iterator[str]:
        """Calls, tokens and cost, a line per gate and score, and why stored answers are not reused."""
        plan = self._outlook
        partly = self._run.settings.shard or self._run.selected is not None
        if self._run.selected is not None:
            of = f"{len(self._run.to_ask):,} of {plural(len(self._run.assignments), 'case')}"
            yield f"selected: {of}; gates are judged only if all are asked"
        answers = plan.planned if partly else sum(most_answers(self._run, self._gates).values())
        most_calls = plan.calls - plan.planned + answers
        upper_limit = f", at most {most_calls:,} if gates stay undecided" if most_calls > plan.calls else ""
        planned = plural(plan.planned, "answer") + (
            f" and {plural(plan.reasons, 'reason')}" if plan.reasons else ""
        )
        yield f"calls: {plan.calls:,}{upper_limit} ({plan.stored:,} of {planned} are in the store)"
        if self._run.modality == "text":
            out = written(plan.planned, plan.reasons, self._run.settings.answers)
            yield f"tokens: about {self._tokens():,} in, {out:,} out, for all answers"
        yield f"cost: {self._cost()}"
        if self._run.looking is not None:
            price = self._run.looking.price
            cost = "unknown"
            if price is not None and not price.by_tokens:
                cost = f"at most ${price.total(answers, 0, 0):,.2f}"
            yield f"calls of the detector: at most {answers:,}, cost {cost}"
        if self._run.modality == "text":
            yield from self._modes()
        # Several models have the same rows.
        rows = tuple(dict.fromkeys(row for gate in self._gates for row in self._rows(gate)))
        lines = _merged(rows)
        width = max((len(subject) for subject, _, _ in lines), default=0)
        if rows:
            units = {measuring.unit for measuring, _ in by_benchmark(self._counts)}
            per = " or ".join(sorted(units))
            yield f"smallest distance from a threshold that 80 % of runs detect, by {per}:"
            if self._run.settings.answers == "probabilities":
                yield "(assuming answers vary like sampled ones; probabilities vary less and detect more)"
        yield from (f"{subject.ljust(width)}  {n:>6,}  {change}" for subject, n, change in lines)
        if self._run.settings.reuse != "none" and plan.stored < plan.planned:
            yield from misses(self._run, self._execution.store)

    def _cost(self) -> str:
        if self._outlook.cost is not None:
            return f"about ${self._outlook.cost:,.2f}"
        unpriced = [spec for spec, model in self._run.models.items() if self._run.price(model) is None]
        if not unpriced:
            return "unknown, because it depends on the tokens of a picture"
        return f"unknown, like the price of {', '.join(unpriced)}: {prices.remedy(self._run.modality)}"

    def _tokens(self) -> int:
        letters = sum(
            len(query.prompt) for assignment in self._run.to_ask for query in self._run.queries(assignment)
        )
        letters += sum(len(query.prompt) for _, query in self._run.explained)
        return letters // CHARACTERS_PER_TOKEN

    def _modes(self) -> Iterator[str]:
        """The size of the first look for each value of ``--factorfair-answers``, with an empty store."""
        settings, run = self._run.settings, self._run
        read = self._tokens() / max(self._outlook.planned, 1)
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
            line = (
                f"{total:,} calls, about {round(read * total):,} tokens in, {written(total, 0, mode):,} out"
            )
            if len(prices_known) == len(run.models):
                cost = sum(
                    prices_known[spec].total(count, round(read * count), written(count, 0, mode))
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
                change = measurement.detectable(
                    gate.threshold, regression=gate.regression, n=n, bound=bounds[time - 1]
                )
                context, attribute = measurement.plan_labels or ("", "")
                yield DetectableChange(
                    gate.text, context, attribute, n, "not foreseen" if change is None else f"{change:.3f}"
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
