"""Verdicts: whether each score a gate ranges over keeps its promise, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pytest_factorfair.domain import Gate, Verdict
from pytest_factorfair.gates import faintbench
from pytest_factorfair.gates.basis import Place
from pytest_factorfair.gates.evidence import Finding, corrected, examine
from pytest_factorfair.gates.judged import Judged, judged
from pytest_factorfair.gates.terms import COMMON, Terms
from pytest_factorfair.gates.waivers import waived
from pytest_factorfair.gates.wording import shown
from pytest_factorfair.scoring.faintbench import Gallery
from pytest_factorfair.scoring.tally import Tally
from pytest_factorfair.statistics.holm import ALPHA


class Ruling(NamedTuple):
    """A verdict, where answers were asked for it, and where more of them may decide it."""

    verdict: Verdict
    places: frozenset[Place]
    undecided: frozenset[Place]


def judge(
    gates: Iterable[Gate],
    tallies: Sequence[Tally],
    *,
    galleries: Sequence[Gallery] = (),
    incomplete: str | None,
    terms: Terms = COMMON,
) -> tuple[Verdict, ...]:
    """One verdict per score that a gate ranges over, in the order of gates, then of tallies.

    With the corrected estimator a ``>=`` gate passes when the one-sided lower bound reaches the
    threshold and fails when the upper bound is below it (``<=`` the other way round); otherwise it
    is inconclusive. Claims to have failed are corrected for their number (Holm), for a release
    passes only if all gates do, which needs no correction. Without an interval the value decides.

    Where more than 5 % of a topic's answers are missing the verdict is inconclusive, unless it is
    the same however they might have gone; rates of missing answers may fail but not pass there.
    ``incomplete`` is why this run must not be judged at all, None if it may be. A gate that fits no
    tally has one verdict, not judged: nothing is green by omission. Names are unique.
    """
    found = rule(gates, tallies, galleries=galleries, incomplete=incomplete, terms=terms)
    return tuple(ruling.verdict for ruling in found)


def rule(
    gates: Iterable[Gate],
    tallies: Sequence[Tally],
    *,
    galleries: Sequence[Gallery] = (),
    incomplete: str | None,
    terms: Terms = COMMON,
) -> tuple[Ruling, ...]:
    """The verdicts with what they rest on."""
    scores = [
        score
        for gate in dict.fromkeys(gates)
        for score in (
            faintbench.judged(gate, galleries, terms)
            if gate.metric in faintbench.METRICS
            else judged(gate, tallies, terms)
        )
    ]
    if incomplete is None:
        # What no further look adds to is looked at once: it has the whole level.
        levels = [terms.alpha if score.places else ALPHA for score in scores]
        findings = corrected([*map(examine, scores, levels)], scores, levels)
    else:
        findings = tuple(Finding("not judged", incomplete) for _ in scores)
    return tuple(
        Ruling(
            waived(_verdict(score, name, finding), terms.waivers, terms.today),
            score.places,
            score.undecided(terms.alpha) if finding.curable else frozenset(),
        )
        for score, name, finding in zip(scores, _names(scores), findings, strict=True)
    )


def _verdict(score: Judged, name: str, finding: Finding) -> Verdict:
    span, gate = finding.span, score.gate
    return Verdict(
        gate=gate.text,
        name=name,
        subject=score.subject,
        judgement=finding.judgement,
        value=score.estimate.plugin if span is None else shown(gate, span.value),
        threshold=gate.threshold,
        n=score.estimate.n,
        reason=finding.reason,
        low=shown(gate, span.low) if span is not None and score.bounded else None,
        high=shown(gate, span.high) if span is not None and score.bounded else None,
    )


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
