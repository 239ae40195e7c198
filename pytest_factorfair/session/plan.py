"""``--factorfair-plan``: what a run would ask, cost and be able to tell; nothing is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_factorfair.domain import plural
from pytest_factorfair.gates import detectable, foreseen, gate_subjects
from pytest_factorfair.gates.expression import IMAGE_METRICS, INFLUENCE
from pytest_factorfair.models import prices
from pytest_factorfair.protocols.fact_or_fair.checklist import fact_or_fair, topic_cases
from pytest_factorfair.protocols.faintbench.checklist import faintbench
from pytest_factorfair.session.looks import BOUNDARIES, most_answers
from pytest_factorfair.session.outlook import CHARACTERS_PER_TOKEN, written
from pytest_factorfair.session.run import declared_gates
from pytest_factorfair.session.tabulating import deterministic, galleries

if TYPE_CHECKING:
    from pytest_factorfair.domain import Gate
    from pytest_factorfair.gates.subjects import Planned
    from pytest_factorfair.session.execution import Execution


class Row(NamedTuple):
    """One score that a gate is about, answers per topic and context, and what they can tell."""

    gate: str
    place: str
    attribute: str
    n: int
    change: str


class Plan:
    """What a run would ask, cost and be able to tell.

    Raises:
        InputError: a gate that cannot be judged in this run.
    """

    def __init__(self, execution: Execution) -> None:
        self._run = execution.run
        self._gates = declared_gates(self._run)
        self._outlook = execution.outlook

    def lines(self) -> Iterator[str]:
        """Calls, tokens and cost, then a line per gate and score."""
        plan, looks = self._outlook, self._run.settings.looks
        most = plan.calls - plan.planned + most_answers(self._run.assignments, looks)
        more = f", at most {most:,} if gates stay undecided" if most > plan.calls else ""
        what = plural(plan.planned, "answer") + (
            f" and {plural(plan.reasons, 'reason')}" if plan.reasons else ""
        )
        yield f"calls: {plan.calls:,}{more} ({plan.stored:,} of {what} are in the store)"
        out = written(plan.planned, plan.reasons)
        if self._run.modality == "text":
            yield f"tokens: about {self._tokens():,} in, {out:,} out, for all answers"
        yield f"cost: {self._cost()}"
        # Several models have the same rows.
        rows = tuple(dict.fromkeys(row for gate in self._gates for row in self._rows(gate)))
        lines = _merged(rows)
        width = max((len(subject) for subject, _, _ in lines), default=0)
        if rows:
            per = (
                "pictures per prompt" if faintbench(self._run.checklists) else "answers per topic and context"
            )
            yield f"smallest distance from a threshold told in 80 % of runs, by {per}:"
        yield from (f"{subject.ljust(width)}  {n:>6,}  {change}" for subject, n, change in lines)

    def _cost(self) -> str:
        if self._outlook.cost is not None:
            return f"about ${self._outlook.cost:,.2f}"
        unpriced = [spec for spec, model in self._run.models.items() if self._run.price(model) is None]
        if not unpriced:
            return "unknown, as it depends on the tokens of a picture"
        return f"unknown, as is the price of {', '.join(unpriced)}: {prices.remedy(self._run.modality)}"

    def _tokens(self) -> int:
        letters = sum(len(query.prompt) for one in self._run.assignments for query in self._run.queries(one))
        letters += sum(len(query.prompt) for _, query in self._run.explained)
        return letters // CHARACTERS_PER_TOKEN

    def _rows(self, gate: Gate) -> Iterator[Row]:
        if gate.metric in IMAGE_METRICS:
            n = self._run.sampling.per_prompt
            for change in foreseen(gate, galleries(self._run, ()), n):
                yield Row(gate.text, "", "", n, _told(change))
            return
        looks = self._run.settings.looks
        for scores in self._scores(gate):
            subject, statistics = scores[0]
            asked = fact_or_fair(self._run.checklists)
            checklist = next(one for one in asked if one.name == subject.checklist)
            k = checklist.attribute(subject.attribute).k
            told = [(str(one.context), one.background) for one, _ in scores]
            plain = [(one.id, one.background) for one in checklist.contexts if one.background == "none"]
            for times in (1, looks) if looks > 1 else (1,):
                n, bound = self._size(subject, times), BOUNDARIES[looks][times - 1]
                change = detectable(
                    gate, k, statistics=len(statistics), n=n, bound=bound, contexts=[*plain, *told]
                )
                context = "all contexts" if len(scores) > 1 else subject.context
                yield Row(gate.text, context or subject.part, subject.attribute, n, _told(change))

    def _scores(self, gate: Gate) -> Iterator[list[tuple[Planned, tuple[str, ...]]]]:
        """The subjects of each score of a gate: one, but for an influence, which is over contexts."""
        subjects = gate_subjects(gate, self._run.checklists, self._run.settings.models)
        groups: dict[object, list[tuple[Planned, tuple[str, ...]]]] = {}
        for one, statistics in subjects:
            place = () if gate.metric == INFLUENCE else (one.part, one.context)
            score = (one.model, one.checklist, one.attribute, *place)
            groups.setdefault(score, []).append((one, statistics))
        yield from groups.values()

    def _size(self, subject: Planned, times: int) -> int:
        """Answers per topic and context that count, all its scenarios together, after so many looks."""
        first, case = next(
            (one, case)
            for one in self._run.assignments
            if (one.model, one.checklist.name) == (subject.model, subject.checklist)
            for case in topic_cases([one.case])
            if case.context == subject.context and subject.attribute in case.attributes
        )
        queries = self._run.further(first, times)
        copies = subject.model in deterministic(self._run, ())
        return sum(not (copies and query.repeat) for query in queries) * case.scenarios


def _merged(rows: Sequence[Row]) -> list[tuple[str, int, str]]:
    """Subject, answers and change of each line: scores of a gate that say the same share one."""
    alike: dict[tuple[str, int, str], list[Row]] = {}
    for row in rows:
        alike.setdefault((row.gate, row.n, row.change), []).append(row)
    lines = []
    for (gate, n, change), found in alike.items():
        attributes = ", ".join(dict.fromkeys(row.attribute for row in found))
        one = f"{found[0].place},{attributes}" if attributes else ""
        on = one if len(found) == 1 else f"{len(found)} scores of {attributes}"
        lines.append((f"{gate} on {on}" if on else gate, n, change))
    return lines


def _told(change: float | None) -> str:
    return "not foreseen" if change is None else f"{change:.3f}"
