"""Verdicts: whether each score that a gate covers is within its threshold, and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from math import floor
from types import MappingProxyType
from typing import NamedTuple

from pytest_factorfair.benchmarks import combined
from pytest_factorfair.benchmarks.measurement import BaselineCounts, Counts, Estimation, TopicKey
from pytest_factorfair.domain import Estimator, Gate, Interval, Verdict, Waiver, plural
from pytest_factorfair.errors import attributed
from pytest_factorfair.gates.evidence import Finding, GatedScore, corrected, examine, unclear
from pytest_factorfair.gates.explanation import Asking, explained
from pytest_factorfair.gates.levels import levels
from pytest_factorfair.gates.waivers import JudgedScore, covering
from pytest_factorfair.statistics.holm import ALPHA


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings that all gates of a run share.

    ``alpha`` is the one-sided probability of passing, and of failing, a score exactly at its threshold;
    ``today`` is the day on which waivers must be in force, and ``baseline`` the baseline of regression gates.
    What verdicts recommend depends on ``report``, the folder of the report if it is not the default, and on
    ``asking``.
    """

    estimator: Estimator = "corrected"
    interval: Interval = "instrument"
    alpha: float = ALPHA
    waivers: tuple[Waiver, ...] = ()
    today: date = date.min
    baseline: BaselineCounts | None = None
    report: str = ""
    asking: Asking = Asking()  # noqa: RUF009  # a named tuple

    @property
    def estimation(self) -> Estimation:
        return Estimation(self.estimator, self.interval)


COMMON = Terms()


class Ruling(NamedTuple):
    """A verdict, the topics that it rests on, and those where more answers may decide it.

    ``undecided`` has the factor by which the answers to a topic must grow if bounds need more; else it is 1.
    ``cannot_pass`` is whether too many answers are lost for it to pass, however many more are asked for.
    """

    verdict: Verdict
    topic_keys: frozenset[TopicKey]
    undecided: Mapping[TopicKey, float]
    cannot_pass: bool = False


def judge(
    gates: Iterable[Gate],
    counts: Sequence[Counts],
    *,
    incomplete: str | None,
    terms: Terms = COMMON,
    settled: Mapping[str, Verdict] = MappingProxyType({}),
) -> tuple[Verdict, ...]:
    """Return one verdict per score that a gate selects, in the order of gates, then of counts.

    With the corrected estimator, a ``>=`` gate passes if the one-sided lower bound reaches the
    threshold and fails if the upper bound is below it (``<=`` vice versa); otherwise it
    is inconclusive. Failures are corrected for the number of gates (Holm); passing needs no
    correction, because a release passes only if all gates pass. Without an interval, the value decides.

    If more than 5 % of a topic's answers are missing, the verdict is inconclusive unless all possible
    answers give the same one; rates of missing answers may then fail, but not pass.
    ``incomplete`` is the reason why this run must not be judged, None if it may be. A gate that selects no
    score has one verdict, *not judged*: nothing is green by omission. Names are unique.

    ``settled`` are verdicts that earlier looks decided, by name. They stay, but are explained by all answers.
    """
    return tuple(
        _settled(settled[examined.name], examined, terms)
        if examined.name in settled
        else _ruling(examined, terms, explain=True).verdict
        for examined in _examined(gates, counts, incomplete, terms)
    )


def rule(gates: Iterable[Gate], counts: Sequence[Counts], terms: Terms = COMMON) -> tuple[Ruling, ...]:
    """Judge the gates: verdicts without explanations, with the topics they rest on."""
    return tuple(
        _ruling(examined, terms, explain=False) for examined in _examined(gates, counts, None, terms)
    )


class _ScoreFinding(NamedTuple):
    """A score under its unique name, with what was found at its level; ``subject`` is its name in reports."""

    name: str
    subject: str
    score: GatedScore
    finding: Finding
    level: float


def _examined(
    gates: Iterable[Gate], counts: Sequence[Counts], incomplete: str | None, terms: Terms
) -> Iterator[_ScoreFinding]:
    """Examine all scores, and correct their failures for their number."""
    alone = tuple(_alone(gates, counts, incomplete, terms))
    findings = corrected(
        [examined.finding for examined in alone],
        [examined.score for examined in alone],
        [examined.level for examined in alone],
    )
    for examined, finding in zip(alone, findings, strict=True):
        yield examined._replace(finding=finding)


def _alone(
    gates: Iterable[Gate], counts: Sequence[Counts], incomplete: str | None, terms: Terms
) -> Iterator[_ScoreFinding]:
    """Examine each score as if it were the only one."""
    scores = [score for gate in dict.fromkeys(gates) for score in _scores(gate, counts, terms)]
    for name, subject, score in zip(_names(scores), _subjects(scores), scores, strict=True):
        # A score that no further look adds to has one look, at the whole level.
        level = terms.alpha if score.topic_keys else ALPHA
        finding = Finding("not judged", incomplete or "")
        if incomplete is None:
            with attributed(f"metric '{score.gate.metric}'"):
                finding = examine(score, level)
        yield _ScoreFinding(name, subject, score, finding, level)


def possible(
    gates: Iterable[Gate],
    counts: Sequence[Counts],
    *,
    incomplete: str | None,
    terms: Terms,
    looks: int,
    family: int,
) -> Mapping[str, Sequence[Verdict]]:
    """The verdicts that the scores may have by themselves, by name, without explanations.

    A score is judged at the level of any look. It may be one of up to ``family`` scores, of which the others
    are unknown: a failure that is not certain enough for one of so many may be inconclusive.
    """
    declared, verdicts = tuple(gates), dict[str, list[Verdict]]()
    for alpha in levels(looks):
        at_look = replace(terms, alpha=alpha)
        for examined in _alone(declared, counts, incomplete, at_look):
            score, finding, level = examined.score, examined.finding, examined.level
            findings = [finding]
            if finding.chance is not None:
                numbers = range(floor(level / finding.chance), family)
                findings += [unclear(finding, score, number + 1) for number in numbers]
            verdicts.setdefault(examined.name, []).extend(
                _ruling(examined._replace(finding=alternative), at_look, explain=False).verdict
                for alternative in findings
            )
    return verdicts


def on_first(answers: int) -> str:
    """The end of the reason of a verdict that an earlier look decided."""
    return f"; decided on its first {plural(answers, 'answer')}"


def _settled(verdict: Verdict, examined: _ScoreFinding, terms: Terms) -> Verdict:
    """The verdict of an earlier look, explained by all answers."""
    score, reason = examined.score, verdict.reason
    if verdict.n < score.estimate.n:
        reason += on_first(verdict.n)
    finding = Finding(verdict.judgement, reason, score.bounds(examined.level))
    explanation = explained(score, finding, terms.report, terms.asking)
    return replace(verdict, reason=reason, explanation=explanation)


def _ruling(examined: _ScoreFinding, terms: Terms, *, explain: bool) -> Ruling:
    """The verdict, waived if the score does not pass while its waiver is in force, but passes the floor.

    The floor is judged by the same bounds as the gate: if it is undecided, more answers are asked for. A
    waived score gets no more, even if they could let it pass: the release does not depend on it.
    """
    name, _, score, finding, level = examined
    with attributed(f"metric '{score.gate.metric}'"):
        verdict = _verdict(examined, terms, explain=explain)
    undecided = _undecided(score, finding, terms.alpha)
    waiver = covering(terms.waivers, JudgedScore(score.gate, score.words, name))
    if verdict.judgement not in ("failed", "inconclusive") or waiver is None:
        return Ruling(verdict, score.topic_keys, undecided, finding.cannot_pass)
    if waiver.expired(terms.today.isoformat()):
        expired = _not_waived(verdict, f"waiver expired on {waiver.until}")
        return Ruling(expired, score.topic_keys, undecided, finding.cannot_pass)
    at_floor = replace(score, gate=replace(score.gate, threshold=waiver.floor))
    covered = examine(at_floor, level)
    reach = f"{'down' if score.gate.comparison == '>=' else 'up'} to {waiver.floor:g}"
    if covered.judgement == "passed":
        reason = f"{verdict.reason}; waived until {waiver.until} {reach}: {waiver.reason}"
        return Ruling(replace(verdict, judgement="waived", reason=reason, cause=""), score.topic_keys, {})
    lack = "it is beyond that" if covered.judgement == "failed" else "it may be beyond that"
    verdict = _not_waived(verdict, f"waiver covers it {reach}, and {lack}")
    undecided = {**undecided, **_undecided(at_floor, covered, terms.alpha)}
    return Ruling(verdict, score.topic_keys, undecided, covered.cannot_pass)


def _not_waived(verdict: Verdict, waiver: str) -> Verdict:
    """The verdict with what its waiver lacks: in its reason, explanation and, if undecided, its cause."""
    explanation = verdict.explanation
    if explanation is not None:
        explanation = replace(explanation, sentence=f"{explanation.sentence} Its {waiver}.".lstrip())
    cause = verdict.cause
    if cause and verdict.judgement == "inconclusive":
        cause = f"{cause}; its {waiver}"
    return replace(verdict, reason=f"{verdict.reason}; its {waiver}", explanation=explanation, cause=cause)


def _undecided(score: GatedScore, finding: Finding, alpha: float) -> Mapping[TopicKey, float]:
    """Where more answers may decide a finding, with the factor by which they must grow."""
    if not finding.curable:
        return {}
    topic_keys = score.topic_keys if finding.lack == "queries" else score.undecided(alpha)
    return {key: finding.growth.get(key, 1.0) for key in topic_keys}


def judged_scores(gates: Iterable[Gate], counts: Sequence[Counts]) -> tuple[JudgedScore, ...]:
    """The scores that gates judge; ``counts`` may be those of a run that has asked nothing yet."""
    scores = [
        GatedScore(gate, measurement, measurement.words, bounded=False)
        for gate in dict.fromkeys(gates)
        for measurement in combined.selected(gate, counts, Estimation())
    ]
    names = _names(scores)
    return tuple(
        JudgedScore(score.gate, score.words, name) for score, name in zip(scores, names, strict=True)
    )


def _scores(gate: Gate, counts: Sequence[Counts], terms: Terms) -> Iterator[GatedScore]:
    """The scores that a gate covers, or their changes; a single empty one if there are none."""
    measurements = combined.selected(gate, counts, terms.estimation)
    if not measurements or (gate.regression and terms.baseline is None):
        yield GatedScore(gate, None, gate.filters, bounded=False)
        return
    for measurement in measurements:
        bounded = terms.estimator == "corrected" and not measurement.metric.level
        if not gate.regression or terms.baseline is None:
            yield GatedScore(gate, measurement, measurement.words, bounded=bounded)
        elif (moved := measurement.change_from(terms.baseline)) is not None:
            yield GatedScore(gate, moved, measurement.words, bounded=bounded)
        else:
            yield GatedScore(gate, measurement, measurement.words, bounded=False, unmatched=True)


def _verdict(examined: _ScoreFinding, terms: Terms, *, explain: bool) -> Verdict:
    name, subject, score, finding, _ = examined
    bounds, gate = finding.bounds, score.gate
    return Verdict(
        gate=gate.text,
        name=name,
        subject=subject,
        judgement=finding.judgement,
        value=score.estimate.plugin if bounds is None else score.shown(bounds.value),
        threshold=gate.threshold,
        n=score.estimate.n,
        reason=finding.reason,
        low=score.shown(bounds.low) if bounds is not None and score.bounded else None,
        high=score.shown(bounds.high) if bounds is not None and score.bounded else None,
        model="" if score.measurement is None else score.measurement.model,
        explanation=explained(score, finding, terms.report, terms.asking) if explain else None,
        words=score.words,
        about="" if score.measurement is None else score.measurement.about,
        cause=finding.cause,
    )


def _subjects(scores: Sequence[GatedScore]) -> Iterator[str]:
    """The name of each score in reports; with the limit of its gate where several gates judge the score."""
    subjects = [score.gate.subject(score.words) for score in scores]
    models = ["" if score.measurement is None else score.measurement.model for score in scores]
    times = Counter(zip(models, subjects, strict=True))
    for model, subject, score in zip(models, subjects, scores, strict=True):
        limit = f" {score.gate.comparison} {score.gate.threshold:g}"
        yield subject + (limit if times[model, subject] > 1 else "")


def _names(scores: Sequence[GatedScore]) -> list[str]:
    """A unique name for each score, of the characters [a-z0-9._-]: ``s_e-base-race``.

    If gates share a name, their thresholds are added, and numbers if they share these, too.
    """
    plain = []
    for score in scores:
        words = [re.sub(r"[^a-z0-9._]+", "-", word.lower()).strip("-") for word in score.words]
        plain.append("-".join(("regression",) * score.gate.regression + (score.gate.metric, *words)))
    seen: Counter[str] = Counter()
    names = []
    for name, score in zip(plain, scores, strict=True):
        bound = f"{'ge' if score.gate.comparison == '>=' else 'le'}-{score.gate.threshold:.12g}"
        full = f"{name}-{bound}" if plain.count(name) > 1 else name
        seen[full] += 1
        names.append(full if seen[full] == 1 else f"{full}-{seen[full]}")
    return names
