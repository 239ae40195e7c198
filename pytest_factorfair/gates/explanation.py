"""Explain a judged score in plain words, as every report prints it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from types import MappingProxyType
from typing import NamedTuple

from pytest_factorfair.benchmarks.measurement import Component, Measurement, ScoreChange
from pytest_factorfair.benchmarks.metric import InWords
from pytest_factorfair.domain import Explanation, Gate, InfluentialTopic
from pytest_factorfair.gates.evidence import Finding, GatedScore
from pytest_factorfair.gates.threshold import BoundedScore, fail_limit, within_margin
from pytest_factorfair.statistics.holm import ALPHA

MOST = 3
"""Topics that an explanation names."""

DIGITS = range(4)
"""Decimals of a number in words: as many as it takes to differ from the limit."""

HOPELESS = 20
"""The factor from which asking for more answers is not recommended."""


class Asking(NamedTuple):
    """How more answers can be had.

    ``sources`` say what holds the answers of models that cannot be asked: a log or a folder, by model.
    ``option`` is what to type for so many times the answers to a gate's score.
    """

    sources: Mapping[str, str] = MappingProxyType({})
    option: Callable[[Gate, Measurement, float], str] = lambda _gate, _score, _times: "--factorfair-samples"


def explained(score: GatedScore, finding: Finding, report: str, asking: Asking) -> Explanation | None:
    """The explanation of a verdict, without an example; None if there is no score to explain.

    ``report`` is the folder of the report, if it is not the default.
    """
    measurement, bounds = score.measurement, finding.bounds
    if measurement is None or score.unmatched or finding.judgement == "not judged":
        return None
    sentence = "" if bounds is None else _sentence(score, measurement, bounds, finding)
    if finding.lack == "replies":
        sentence = f"{sentence} The replies that are missing could change that.".strip()
    elif finding.lack == "mass":
        sentence = f"{sentence} The probability of other words could change that.".strip()
    elif finding.lack == "clarity":
        sentence += " That is not certain enough for one of so many gates."
    elif (
        finding.lack == "answers"
        and bounds is not None
        and not isinstance(measurement, ScoreChange)
        and not _few_losses(score, measurement, bounds, finding)
    ):
        words = [measurement.in_words(score.shown(end)) for end in (bounds.low, bounds.high)]
        low, high = sorted((end.amount for end in words), key=float)
        sentence += f" The answers so far allow anything from {low} to {high}{words[0].unit}."
    if finding.judgement == "passed":
        return Explanation(sentence)
    topics = _worst(score, measurement, finding)
    movers = tuple(
        InfluentialTopic(topic.name, topic.share, topic.cases, topic.reply, topic.condition)
        for topic in topics
    )
    next_step = _next_step(score, measurement, finding, asking) or _show(movers, report)
    ranked = len({topic.lost if finding.lack == "replies" else topic.value for topic in topics}) > 1
    ranked = ranked or (len(topics) == 1 and not measurement.result)  # of a test, the sentence names it
    return Explanation(sentence, movers, next_step=next_step, ranked=ranked)


def _few_losses(score: GatedScore, measurement: Measurement, bounds: BoundedScore, finding: Finding) -> bool:
    """Whether a rate of lost answers keeps its limit, but rests on too few answers to be sure."""
    keeps_limit = score.gate.comparison == "<=" and bounds.value <= score.gate.threshold
    return finding.lack == "answers" and measurement.metric.counts_losses and keeps_limit


def _sentence(score: GatedScore, measurement: Measurement, bounds: BoundedScore, finding: Finding) -> str:
    """The value in words, the value of a fair model, and the limit: the ``clauses`` of an explanation."""
    if measurement.result:
        return f"{_capital(measurement.result)}."
    gate = score.gate
    if isinstance(measurement, ScoreChange):
        worse = "fall" if gate.comparison == ">=" else "rise"
        allowed_change = f"the limit is a {worse} of {measurement.metric.label} by {abs(gate.threshold):g}"
        if finding.judgement == "failed" and within_margin(gate, bounds):
            allowed_change = f"the gate fails on any clear {worse} of {measurement.metric.label}"
        return f"{_capital(changed_in_words(*measurement.sides))}; {allowed_change}."
    value = score.shown(bounds.value)
    current, limit = _apart((measurement, value), (measurement, gate.threshold))
    limit_clause = f"the limit is {limit.amount}{limit.unit}"
    if _few_losses(score, measurement, bounds, finding):
        limit_clause = f"these are too few to rule out {limit.amount}{limit.unit}"
    if measurement.metric.worsens(gate.comparison, gate.threshold):
        rises = (value < gate.threshold) == (float(current.amount) < float(limit.amount))
        end = "least" if rises == (gate.comparison == ">=") else "most"
        limit_clause = f"your gate wants at {end} {limit.amount}{limit.unit}"
    clauses = [clause for clause in (current.fair, limit_clause) if clause]
    return f"{_capital(current.sentence)}; {', '.join(clauses)}."


def changed_in_words(new: Measurement, old: Measurement) -> str:
    """A score and its former value in plain words, without a capital and a full stop."""
    current, former = _apart(
        *((measurement, measurement.estimate.shown or 0.0) for measurement in (new, old))
    )
    return "; ".join(filter(None, (current.sentence, former.past)))


def _apart(
    subject: tuple[Measurement, float], reference: tuple[Measurement, float]
) -> tuple[InWords, InWords]:
    """Two values in words, with as many decimals as it takes to show that they differ."""
    for digits in (*DIGITS, 0):
        subject_words, reference_words = (
            measured.in_words(value, digits=digits) for measured, value in (subject, reference)
        )
        if subject_words.amount != reference_words.amount:
            break
    return subject_words, reference_words


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _worst(score: GatedScore, measurement: Measurement, finding: Finding) -> Sequence[Component]:
    """The topics furthest on the wrong side of the limit, or those with most replies missing."""
    if finding.lack == "replies":
        topics = sorted(
            (topic for topic in measurement.components if topic.lost), key=lambda topic: -topic.lost
        )
    else:
        sign, limit = (1 if score.gate.comparison == ">=" else -1), fail_limit(score.gate)
        topics = sorted(measurement.components, key=lambda topic: sign * topic.value)
        topics = [topic for topic in topics if sign * (topic.value - limit) < 0] or topics
    return topics[:MOST]


def _next_step(score: GatedScore, measurement: Measurement, finding: Finding, asking: Asking) -> str:
    """What to do if more answers are needed; else nothing."""
    source, step = asking.sources.get(measurement.model), ""
    match finding.lack:
        case "answers" | "clarity" if not measurement.narrowed_by_repeats:
            step = "repeats of the same questions hardly help: add others, move the limit, or accept it"
        case "answers" | "clarity":
            step = _more_answers(score, measurement, finding, asking)
        case "queries":
            needed = measurement.needed_at(ALPHA)
            step = f"ask for {needed} answers where there are fewer (--factorfair-samples)"
            if source:
                step = f"judge a {source} with {needed} answers where this one has fewer"
        case "power":
            step = measurement.remedy
        case "mass":
            step = "ask for replies, not probabilities (--factorfair-answers=json)"
            if source:
                step = f"judge the replies in the {source}, not probabilities: without --factorfair-answers"
    return step


def _show(movers: Sequence[InfluentialTopic], report: str) -> str:
    """The command that shows the questions of these topics with their replies; empty without topics."""
    cases = list(dict.fromkeys(mover.cases.select for mover in movers))
    return shlex.join(["factorfair", "show", *filter(None, [report]), *cases]) if cases else ""


def _more_answers(score: GatedScore, measurement: Measurement, finding: Finding, asking: Asking) -> str:
    """The factor by which to increase the answers for a decision, if the score stays where it is."""
    bounds = finding.bounds
    if bounds is None:
        return ""
    gate = score.gate
    good = bounds.value >= gate.threshold if gate.comparison == ">=" else bounds.value <= gate.threshold
    distance = abs(bounds.value - (gate.threshold if good else fail_limit(gate)))
    half = max(bounds.high - bounds.value, bounds.value - bounds.low)
    times = (half / distance) ** 2 if distance else HOPELESS
    if times >= HOPELESS:
        return "the score lies on its limit, where more answers hardly help: move the limit, or accept it"
    times = max(ceil(times), 2)
    source = asking.sources.get(measurement.model)
    return (
        f"{f'judge a {source} with' if source else 'ask for'} about {times} times as many answers "
        f"({asking.option(gate, measurement, times)})"
    )
