"""The scores and replies that other formats can hold, and how many are left out, by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from pytest_factorfair.benchmarks import benchmarks_of
from pytest_factorfair.benchmarks.metric import Metric, ScoreKey, with_variants
from pytest_factorfair.benchmarks.reporting import RightAnswer
from pytest_factorfair.domain import Answer, Score, Summary
from pytest_factorfair.domain.answer import from_json
from pytest_factorfair.errors import InputError


class ExportedScore(NamedTuple):
    """A score and its metric; ``shown`` is its value in reports, ``direction`` the better end in its part."""

    score: Score
    metric: Metric
    shown: float
    direction: str

    @property
    def key(self) -> str:
        """The key of the score among those of its model."""
        return result_key(self.score.metric, self.score_key)

    @property
    def score_key(self) -> ScoreKey:
        score = self.score
        return ScoreKey(score.checklist, score.part, score.context, score.attribute)


def result_key(metric: str, score_key: ScoreKey) -> str:
    """The key of a score among those of its model, such as ``CHECKLIST.s_e.subjective.base.race``."""
    checklist, *words = score_key
    return ".".join(filter(None, (checklist, metric, *words)))


class ExportedScores(NamedTuple):
    """The scores of a model that are exported, and the numbers of the others by reason."""

    scores: tuple[ExportedScore, ...]
    left_out: Counter[str]


def scores(summary: Summary, model: str) -> ExportedScores:
    """The scores of a model with a value, a better end and a declared range that holds the value."""
    metrics: dict[str, Metric] = {}
    for benchmark in benchmarks_of(summary.scores):
        metrics = {**with_variants(benchmark.metrics), **metrics}
    exported, left_out = [], Counter[str]()
    for score in summary.scores:
        if score.model != model:
            continue
        metric, shown = metrics.get(score.metric), score.shown
        direction = None if metric is None else metric.direction(score.part)
        if shown is None:
            left_out["no value"] += 1
        elif metric is None or direction is None:
            left_out["neither end is better"] += 1
        elif not metric.declared_range[0] <= shown <= metric.declared_range[1]:
            left_out["outside the range of its metric"] += 1
        else:
            exported.append(ExportedScore(score, metric, shown, direction))
    return ExportedScores(tuple(exported), left_out)


class Reply(NamedTuple):
    """A line of the replies beside a report: its answer, the right one, and the line itself."""

    answer: Answer
    right: RightAnswer
    line: Mapping[str, Any]

    @property
    def score(self) -> float:
        """1 for the right group, 0 for another or none; its share if the answer is in probabilities."""
        offered, shares = self.answer.offered.get(self.attribute, ()), self.answer.probabilities
        if shares and self.answer.outcome == "answered":
            of_right = sum(
                share for group, share in zip(offered, shares, strict=True) if group == self.right.group
            )
            return of_right / sum(shares)
        return float(self.correct)

    @property
    def correct(self) -> bool:
        return self.group == self.right.group

    @property
    def attribute(self) -> str:
        return self.right.score_key.attribute

    @property
    def group(self) -> str:
        """The group that the answer names; empty if it names none."""
        return self.answer.groups.get(self.attribute, "")


class ExportedReplies(NamedTuple):
    """The replies to a model that are exported, and the numbers of the others by reason."""

    replies: list[Reply]
    left_out: Counter[str]


def replies(
    summary: Summary, lines: Iterator[Mapping[str, Any]], *, where: str
) -> Mapping[str, ExportedReplies]:
    """The replies with a right answer in the report, by model; ``lines`` are all replies of the run.

    Raises:
        InputError: the replies are not those that the report was made from.
    """
    right: dict[Any, Sequence[RightAnswer]] = {}
    for benchmark in benchmarks_of(summary.scores):
        right |= benchmark.right_answers(summary)
    pictures = bool(summary.fingerprint.detector)
    exported = {model: ExportedReplies([], Counter()) for model in summary.fingerprint.models}
    for record in summary.cases:
        of_model = exported[record.case.model]
        of_case = list(islice(lines, len(record.answers)))
        read = [
            (tuple(line[name] for name in record.case._fields), _essence(from_json(line))) for line in of_case
        ]
        if read != [(tuple(record.case), _essence(answer)) for answer in record.answers]:
            raise InputError(f"{where}, which are not the replies of this report")
        right_answers = right.get(record.case, ())
        for answer, line in zip(record.answers, of_case, strict=True):
            if not right_answers:
                of_model.left_out[f"no right answer in the report ({record.question.part})"] += 1
            elif pictures:
                of_model.left_out["a picture"] += 1
            elif line["prompt"] is None:
                of_model.left_out["the question is not in the store"] += 1
            else:
                of_model.replies.extend(
                    Reply(answer, right_answer, line)
                    for right_answer in right_answers
                    if right_answer.score_key.attribute in answer.offered
                )
    if next(lines, None) is not None:
        raise InputError(f"{where}, which are not the replies of this report")
    return exported


def _essence(answer: Answer) -> tuple[object, ...]:
    """What a report and its replies both hold of an answer."""
    return answer.query, answer.outcome, answer.letter, dict(answer.groups), answer.probabilities
