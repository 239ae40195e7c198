"""What a judged score means in plain words, whatever the benchmark: the text that every report prints."""

from __future__ import annotations

from math import ceil

from pytest_factorfair.domain import Explanation, Mover
from pytest_factorfair.gates.evidence import Finding, Judged
from pytest_factorfair.gates.span import Span, to_beat
from pytest_factorfair.protocols.measurement import Measurement
from pytest_factorfair.protocols.metric import InWords

MOST = 3
"""Topics that an explanation names."""

DIGITS = range(4)
"""Decimals of a number in words: as many as it takes to differ from the limit."""

HOPELESS = 20
"""The factor from which asking for more answers is not recommended."""


def explained(score: Judged, finding: Finding) -> Explanation | None:
    """The explanation of a verdict, without an example; None if there is no score to explain."""
    one, span = score.measurement, finding.span
    if one is None or score.unmatched or finding.judgement == "not judged":
        return None
    sentence = "" if span is None else _sentence(score, one, span)
    if finding.lack == "replies":
        sentence = f"{sentence} The replies that are missing could change that.".strip()
    elif finding.lack == "clarity":
        sentence += " That is not certain enough for one of so many gates."
    elif finding.lack == "answers" and span is not None and one.sides is None:
        ends = sorted((one.in_words(score.shown(end)).amount for end in (span.low, span.high)), key=float)
        sentence += f" The answers so far allow anything from {' to '.join(ends)}."
    if finding.judgement == "passed":
        return Explanation(sentence)
    movers = _movers(score, one, finding)
    return Explanation(sentence, movers, next_step=_next_step(score, one, finding, movers))


def _sentence(score: Judged, one: Measurement, span: Span) -> str:
    """The value in words, the value of a fair model, and the limit."""
    gate = score.gate
    if one.sides is not None:
        most = f"a fall of {one.metric.label} by {abs(gate.threshold):g}"
        if gate.comparison == "<=":
            most = f"a rise of {one.metric.label} by {abs(gate.threshold):g}"
        return f"{_capital(changed_in_words(*one.sides))}; your limit is {most}."
    value = score.shown(span.value)
    now, limit = _apart((one, value), (one, gate.threshold))
    wanted = f"your limit is {limit.amount}"
    if one.metric.worsens(gate.comparison):
        rises = (value < gate.threshold) == (float(now.amount) < float(limit.amount))
        end = "least" if rises == (gate.comparison == ">=") else "most"
        wanted = f"your gate wants at {end} {limit.amount}"
    clauses = [clause for clause in (now.fair, wanted) if clause]
    return f"{_capital(now.sentence)}; {', '.join(clauses)}."


def changed_in_words(new: Measurement, old: Measurement) -> str:
    """Two scores that have a value, each in its own words, without a capital and a full stop."""
    now, before = _apart(*((each, each.estimate.shown or 0.0) for each in (new, old)))
    return "; ".join(filter(None, (now.sentence, before.past)))


def _apart(one: tuple[Measurement, float], other: tuple[Measurement, float]) -> tuple[InWords, InWords]:
    """Two values in words, with as many decimals as it takes to show that they differ."""
    for digits in (*DIGITS, 0):
        now, then = (measured.in_words(value, digits=digits) for measured, value in (one, other))
        if now.amount != then.amount:
            break
    return now, then


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _movers(score: Judged, one: Measurement, finding: Finding) -> tuple[Mover, ...]:
    """The topics furthest on the wrong side of the limit, or those with most replies missing."""
    if finding.lack == "replies":
        topics = sorted((topic for topic in one.components if topic.lost), key=lambda topic: -topic.lost)
    else:
        sign, limit = (1 if score.gate.comparison == ">=" else -1), to_beat(score.gate)
        topics = sorted(one.components, key=lambda topic: sign * topic.value)
        topics = [topic for topic in topics if sign * (topic.value - limit) < 0] or topics
    return tuple(Mover(each.name, each.share, each.cases, each.reply) for each in topics[:MOST])


def _next_step(score: Judged, one: Measurement, finding: Finding, movers: tuple[Mover, ...]) -> str:
    cases = " or ".join(dict.fromkeys(mover.cases for mover in movers))
    look = f'look at these questions: -k "{cases}"' if cases else "look at the replies"
    match finding.lack:
        case "answers" | "clarity":
            return _more_answers(score, finding)
        case "queries":
            return f"ask more: {one.needed} answers are needed where there are fewer (--factorfair-samples)"
        case "replies":
            return f"find out why answers are missing: {look}"
        case _:
            return f"{look}; or waive the gate until a date, if you know and accept this"


def _more_answers(score: Judged, finding: Finding) -> str:
    """The factor by which to increase the answers for a decision, if the score stays where it is."""
    span = finding.span
    if span is None:
        return ""
    gate = score.gate
    good = span.value >= gate.threshold if gate.comparison == ">=" else span.value <= gate.threshold
    distance = abs(span.value - (gate.threshold if good else to_beat(gate)))
    half = max(span.high - span.value, span.value - span.low)
    times = (half / distance) ** 2 if distance else HOPELESS
    if times >= HOPELESS:
        return "the score lies on its limit, where more answers hardly help: move the limit, or accept it"
    return f"ask about {max(ceil(times), 2)} times as many answers (--factorfair-samples)"
