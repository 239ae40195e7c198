"""Verdicts: whether each score a gate ranges over keeps its promise, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pytest_factorfair.domain import Gate, Judgement, Verdict
from pytest_factorfair.gates.doubt import doubt, unknown
from pytest_factorfair.gates.judged import Judged, judged
from pytest_factorfair.scoring.attainable import Range, attainable
from pytest_factorfair.scoring.tally import Tally

# Scores are means of floats: a difference this small is rounding, and the model gets it.
ROUNDING = 1e-12
DIGITS = range(3, 13)


def judge(gates: Iterable[Gate], tallies: Sequence[Tally], *, incomplete: str | None) -> tuple[Verdict, ...]:
    """One verdict per score that a gate ranges over, in the order of gates, then of tallies.

    ``incomplete`` is why this run must not be judged at all, None if it may be. A score is not
    judged either where a topic has no answers or where more than 5 % of a topic's answers are
    missing. Rates of missing answers are, but that of refused or unread ones does not pass where
    more than 5 % of a topic's answers are errors, which might have been either. A gate that fits no
    tally has one verdict, not judged: nothing is green by omission. Names are unique.
    """
    scores = [score for gate in dict.fromkeys(gates) for score in _scores(gate, tallies)]
    return tuple(
        _verdict(score, name, incomplete) for score, name in zip(scores, _names(scores), strict=True)
    )


def _scores(gate: Gate, tallies: Sequence[Tally]) -> tuple[Judged, ...]:
    return judged(gate, tallies) or (Judged(gate, (), gate.filters, None, 0),)


def _names(scores: Sequence[Judged]) -> list[str]:
    """Each score's name; one that gates share gets the bound, and if they share that too, a number."""
    plain = [score.name for score in scores]
    bound = [
        f"{score.name}-{_bound(score.gate)}" if plain.count(score.name) > 1 else score.name
        for score in scores
    ]
    seen: Counter[str] = Counter()
    names = []
    for name in bound:
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return names


def _bound(gate: Gate) -> str:
    return f"{'ge' if gate.comparison == '>=' else 'le'}-{gate.threshold:.12g}"


def _verdict(score: Judged, name: str, incomplete: str | None) -> Verdict:
    judgement, reason = _judgement(score, incomplete)
    return Verdict(
        gate=score.gate.text,
        name=name,
        subject=score.subject,
        judgement=judgement,
        value=score.value,
        threshold=score.gate.threshold,
        n=score.n,
        reason=reason,
    )


def _judgement(score: Judged, incomplete: str | None) -> tuple[Judgement, str]:
    if incomplete is not None:
        return "not judged", incomplete
    if not score.tallies:
        return "not judged", "this run has no such score"
    doubtful = doubt(score)
    if doubtful is not None:
        return "not judged", doubtful
    if score.value is None:
        return "not judged", "there is nothing to compute it from"
    kept = _kept(score.gate, score.value)
    if kept and (untold := unknown(score)) is not None:
        return "not judged", untold
    return "passed" if kept else "failed", _reason(score.gate, score.value, score.tallies[0])


def _kept(gate: Gate, value: float) -> bool:
    if gate.comparison == ">=":
        return value >= gate.threshold - ROUNDING
    return value <= gate.threshold + ROUNDING


def _reason(gate: Gate, value: float, tally: Tally) -> str:
    """``0.512 is below 0.80 (floor 0, ceiling 1)``."""
    relation = {
        (">=", True): "is at least",
        (">=", False): "is below",
        ("<=", True): "is at most",
        ("<=", False): "is above",
    }[gate.comparison, _kept(gate, value)]
    ends = _range(attainable(gate.metric, tally))
    return f"{_value(gate, value)} {relation} {_threshold(gate.threshold)}{ends}"


def _value(gate: Gate, value: float) -> str:
    """With as many decimals as it takes to stay on its side of the threshold, three at least."""
    texts = [f"{value:.{digits}f}" for digits in DIGITS]
    return next((text for text in texts if _kept(gate, float(text)) == _kept(gate, value)), texts[-1])


def _threshold(threshold: float) -> str:
    return f"{threshold:.2f}" if float(f"{threshold:.2f}") == threshold else f"{threshold:.12g}"


def _range(attainable: Range) -> str:
    ends = {"floor": attainable.floor, "ceiling": attainable.ceiling}
    told = ", ".join(f"{name} {end:.3g}" for name, end in ends.items() if end is not None)
    return f" ({told})" if told else ""
