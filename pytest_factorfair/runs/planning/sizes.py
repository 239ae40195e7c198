"""How many answers the gates of a run need, and whether it asks for enough; known before it asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import ceil
from typing import NamedTuple

from pytest_factorfair import benchmarks
from pytest_factorfair import gates as gating
from pytest_factorfair.benchmarks.combined import selected, topic_keys
from pytest_factorfair.benchmarks.measurement import CORRECTED, Measurement, TopicKey
from pytest_factorfair.domain import Gate, Sampling, plural
from pytest_factorfair.errors import InputError
from pytest_factorfair.gates.levels import levels
from pytest_factorfair.models import source_of
from pytest_factorfair.runs.run import SIZES, Assignment, Run
from pytest_factorfair.runs.tabulating import deterministic

SAMPLES = "--factorfair-samples"


class UndersizedScore(NamedTuple):
    """A score of a gate that needs ``enough`` answers per topic or prompt, and has fewer: ``answers``."""

    gate: Gate
    score: Measurement
    answers: int
    enough: int


def check(run: Run, *, archived: bool = False) -> None:
    """Refuse sizes with which the gates of a run stay undecided, however many looks are taken.

    ``archived`` is whether its answers are those of a report, with which there is no option to change.

    Raises:
        InputError: one line with sizes that are large enough; or a gate cannot be judged at all.
    """
    settings = run.settings
    if settings.estimator != "corrected":
        return  # values are judged without bounds, whatever their number
    planned = _AnswersAtLastLook(run)
    lacking = tuple(_lacking(run, planned))
    raised_sizes: dict[str, int] = {}
    for name in SIZES[run.modality]:
        for row in lacking:
            size = planned.raised(row, name)
            if size is not None:
                raised_sizes[name] = max(size, raised_sizes.get(name, 0))
    if not raised_sizes:
        return
    undersized, *further_scores = lacking
    need = f"and {plural(len(further_scores), 'more gate')} need" if further_scores else "needs"
    raise InputError(
        f"{undersized.gate.subject(undersized.score.words)} {need} more answers"
        f"{_remedy(run, _option(run, raised_sizes), archived=archived)}"
    )


def _option(run: Run, raised_sizes: Mapping[str, int]) -> str:
    """The option for these sizes, which keeps the others that the user gave."""
    sizes = {
        name: raised_sizes.get(name, getattr(run.sampling, name))
        for name in SIZES[run.modality]
        if name in raised_sizes or name in run.settings.sizes
    }
    typed = ",".join(f"{size}" if name == "samples" else f"{name}={size}" for name, size in sizes.items())
    return f"{SAMPLES}={typed}"


def _remedy(run: Run, option: str, *, archived: bool) -> str:
    """The end of the message: an option that asks for more answers, or what holds as many."""
    sources = asking(run).sources
    if not sources:
        return f": run pytest with {option}" if archived else f": {option}"
    spec, source = next(iter(sources.items()))
    only_report = "" if archived else "; --factorfair-gate=none only reports"
    if source == "log" and spec in deterministic(run.models, ()):
        copies = "at temperature 0, repeats of a prompt are copies"
        return f" than the log has: log more questions ({copies}){only_report}"
    return f": {option}, and a {source} that has as many{only_report}"


def asking(run: Run) -> gating.Asking:
    """How the run gets more answers, for the advice of its verdicts."""
    sources = {spec: source_of(model) for spec, model in run.models.items()}
    return gating.Asking(
        {spec: source for spec, source in sources.items() if source}, partial(_multiplied, run)
    )


def _multiplied(run: Run, gate: Gate, score: Measurement, times: float) -> str:
    """The option that asks for so many times the answers of the last look at once; no size if unknown."""
    at_once = _AnswersAtLastLook(replace(run, settings=replace(run.settings, looks=1)))
    answers = at_once.answers(score, run.sampling)
    if not answers:
        return SAMPLES
    enough = ceil(times * _AnswersAtLastLook(run).answers(score, run.sampling))
    row = UndersizedScore(gate, score, answers, enough)
    raised = {name: at_once.raised(row, name) for name in SIZES[run.modality]}
    sizes = {name: size for name, size in raised.items() if size is not None}
    return _option(run, sizes) if sizes else SAMPLES


def _lacking(run: Run, planned: _AnswersAtLastLook) -> Iterator[UndersizedScore]:
    settings = run.settings
    for gate in dict.fromkeys(run.gates):
        for score in selected(gate, run.unasked, CORRECTED):
            answers = planned.answers(score, run.sampling)
            alpha = levels(settings.looks if score.topic_keys else 1)[-1]
            needed = gating.enough(gate, score, alpha, drawn=settings.answers != "probabilities")
            if 0 < answers < needed:
                yield UndersizedScore(gate, score, answers, needed)


class _AnswersAtLastLook:
    """The answers per topic or prompt at the last look, for any sizes."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._cases = {
            (assignment.checklist.name, assignment.case.id): assignment.case
            for assignment in run.assignments
            if assignment.model == run.settings.models[0]
        }
        self._larger: dict[Sampling, dict[tuple[str, str], int]] = {}

    def answers(self, score: Measurement, sampling: Sampling) -> int:
        """The answers of the topic or prompt with the fewest; 0 if the score uses no case."""
        whole = sampling.times(self._run.settings.looks) if score.topic_keys else sampling
        if whole not in self._larger:
            self._larger[whole] = {
                (checklist.name, case.id): case.samples
                for checklist in self._run.checklists
                for case in benchmarks.cases(checklist, whole)
            }
        larger = self._larger[whole]
        shared = ((key, score.sharing_cases(case)) for key, case in self._cases.items())
        return min((larger[key] * cases for key, cases in shared if cases), default=0)

    def raised(self, row: UndersizedScore, name: str) -> int | None:
        """The smallest value of a size that is enough for a score; None if the size is not the score's."""
        size = int(getattr(self._run.sampling, name))
        if self.answers(row.score, self._sized(name, 2 * size)) == row.answers:
            return None
        size = ceil(size * row.enough / self.answers(row.score, self._sized(name, size)))
        while self.answers(row.score, self._sized(name, size)) < row.enough:
            size += 1
        return size

    def _sized(self, name: str, size: int) -> Sampling:
        sampling = self._run.sampling
        match name:
            case "samples":
                return replace(sampling, samples=size)
            case "objective":
                return replace(sampling, objective=size)
            case "repeats":
                return replace(sampling, repeats=size)
            case _:
                return replace(sampling, images=size, per_prompt=size, per_scene=size).of("image")


def most_answers(run: Run) -> Mapping[str, int]:
    """The answers to each assignment, by id, if gates stay undecided to the last look.

    Topics without a gate are asked once, others once per look, or as often as bounds need.
    """
    looks = run.settings.looks
    first_look = Counter[TopicKey]()
    for assignment in run.assignments:
        for key in topics(assignment):
            first_look[key] += assignment.case.samples
    times: dict[TopicKey, int] = {}
    for gate in run.gates if looks > 1 else ():
        for score in selected(gate, run.unasked, CORRECTED):
            needed = score.enough(levels(looks)[-1], compared=gate.regression)
            for cell in score.cells:
                asked_first = sum(first_look[key] for key in cell.topic_keys)
                for key in cell.topic_keys:
                    times[key] = max(looks, ceil(needed / asked_first), times.get(key, 1))
    return {
        assignment.id: assignment.case.samples
        * max((times.get(key, 1) for key in topics(assignment)), default=1)
        for assignment in run.assignments
    }


def topics(assignment: Assignment) -> frozenset[TopicKey]:
    """The topics of an assignment on which more answers can be asked for."""
    return topic_keys(assignment.model, assignment.checklist, assignment.case)
