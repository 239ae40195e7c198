"""Several models on the scores they share: who is ahead, and which differences are real."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from math import hypot
from typing import NamedTuple, TypeAlias

from pytest_factorfair.domain import Better, Board, Difference, Standing
from pytest_factorfair.gates.change import change
from pytest_factorfair.gates.contenders import Contender, Showing, counted, pictured, quoted
from pytest_factorfair.gates.expression import INFLUENCE
from pytest_factorfair.gates.pairing import Answers, answers, joint
from pytest_factorfair.scoring.estimate import estimate
from pytest_factorfair.scoring.faintbench import Gallery, Selection
from pytest_factorfair.scoring.faintbench.change import change as gallery_change
from pytest_factorfair.scoring.faintbench.scores import ALL
from pytest_factorfair.scoring.tally import Tally
from pytest_factorfair.statistics.bounds import BEYOND
from pytest_factorfair.statistics.estimate import Estimate
from pytest_factorfair.statistics.holm import ALPHA, chance_above, chance_below, surviving
from pytest_factorfair.statistics.letters import letters

COUNTED = {"objective": ("s_fact",), "subjective": ("s_e", "s_kld", "s_fair", "distance")}
"""Scores computed anew from counts, by part."""

PICTURED = {"implicit": "implicit", "explicit": "explicit", "eta": "implicit"}
"""FAIntbench's scores, with the part they are about."""

BETTER: Mapping[str, Better] = {
    "s_fact": "higher", "s_e": "higher", "s_kld": "higher", "s_fair": "higher", "distance": "lower",
    "influence": "lower", "implicit": "higher", "explicit": "higher", "eta": "neither",
}  # fmt: skip
"""Every metric that has a board, in their order."""

SIGNED = frozenset({"distance", "influence"})
"""Metrics that may be below 0."""

DIGITS = 3
"""Decimals that are shown: what is alike in them has the same rank."""


class Contest(NamedTuple):
    """What a board is about."""

    checklist: str
    part: str
    context: str | None
    attribute: str
    metric: str


class Meeting(NamedTuple):
    """How two contenders differ, and how many of the answers of the one with more are paired."""

    found: Estimate
    paired: float


Meetings: TypeAlias = Mapping[tuple[str, str], Meeting]


def boards(contenders: Sequence[Contender], *, alpha: float = ALPHA) -> tuple[Board, ...]:
    """A board for every score that two contenders at least have, by checklist and attribute.

    FACT-OR-FAIR's are S_fact of the objective part, and of the subjective one without a context
    S_E, S_KLD, S_fair and the distance, paired by question, and its influence; FAIntbench's are
    its three scores. All are without bias, whatever the reports' estimator, but the influence, which is
    the reports'. A difference is real if it is so at
    level alpha over all pairs of its board (two-sided, Holm), and neither score is in doubt: a gate
    on it would not have been inconclusive for want of answers.
    """
    found = [*_counted(contenders, alpha), *_influences(contenders, alpha), *_pictured(contenders, alpha)]
    subjects = list(dict.fromkeys((one.checklist, one.attribute) for one in found))
    metrics = list(BETTER)
    return tuple(
        sorted(
            found,
            key=lambda one: (subjects.index((one.checklist, one.attribute)), metrics.index(one.metric)),
        )
    )


class _Sheet(NamedTuple):
    name: str
    tally: Tally
    answers: Answers


def _counted(contenders: Sequence[Contender], alpha: float) -> Iterator[Board]:
    for (checklist, part, context, attribute), sheets in _sheets(contenders):
        joints = {
            (one.name, other.name): joint(one.tally, one.answers, other.answers)
            for one, other in combinations(sheets, 2)
        }
        tallies = {one.name: one.tally for one in sheets}
        scores = {name: estimate(tally) for name, tally in tallies.items()}
        for metric in COUNTED[part]:
            meetings = {
                (one, other): Meeting(
                    change(metric, tallies[one], tallies[other], both),
                    float(both.sum() / max(*(tallies[name].answered.sum() for name in (one, other)), 1)),
                )
                for (one, other), both in joints.items()
            }
            showings = [counted(name, metric, tally, scores[name][metric]) for name, tally in tallies.items()]
            yield _board(Contest(checklist, part, context, attribute, metric), showings, meetings, alpha)


def _sheets(
    contenders: Sequence[Contender],
) -> Iterator[tuple[tuple[str, str, str | None, str], list[_Sheet]]]:
    """The tallies about the same of two contenders at least, over the statistics that all of these have."""
    places: dict[tuple[str, str, str | None, str], list[tuple[Contender, Tally]]] = {}
    for contender in contenders:
        for tally in _plain(contender):
            place = tally.checklist, tally.part, tally.context, tally.attribute
            places.setdefault(place, []).append((contender, tally))
    for place, found in places.items():
        common = frozenset.intersection(*(frozenset(tally.statistics) for _, tally in found))
        if len(found) > 1 and common:
            kept = [(contender, tally.restrict(common)) for contender, tally in found]
            yield (
                place,
                [
                    _Sheet(contender.name, tally, answers(tally, contender.records))
                    for contender, tally in kept
                ],
            )


def _plain(contender: Contender) -> Iterator[Tally]:
    """Of the subjective part only the first context: the one that says nothing."""
    first: dict[str, str | None] = {}
    for tally in contender.tallies:
        if tally.part == "objective" or first.setdefault(tally.checklist, tally.context) == tally.context:
            yield tally


def _influences(contenders: Sequence[Contender], alpha: float) -> Iterator[Board]:
    contests: dict[Contest, list[Showing]] = {}
    for contender in contenders:
        for one in contender.scores:
            if one.metric == INFLUENCE and one.value is not None:
                contest = Contest(one.checklist, one.part, None, one.attribute, one.metric)
                contests.setdefault(contest, []).append(quoted(contender, one))
    for contest, showings in contests.items():
        meetings = {
            (one.name, other.name): Meeting(_apart(one.found, other.found), 0.0)
            for one, other in combinations(showings, 2)
        }
        if meetings:
            yield _board(contest, showings, meetings, alpha)


def _pictured(contenders: Sequence[Contender], alpha: float) -> Iterator[Board]:
    """Galleries of the same prompts; each attribute, and all of them."""
    by_checklist: dict[str, dict[str, Gallery]] = {}
    for contender in contenders:
        for one in contender.galleries:
            by_checklist.setdefault(one.checklist.name, {})[contender.name] = one
    for checklist, galleries in by_checklist.items():
        names = [one.name for one in next(iter(galleries.values())).checklist.attributes]
        for attribute, metric in product((ALL, *names), PICTURED):
            words = frozenset() if attribute == ALL else frozenset({attribute})
            selection = Selection({"attribute": words})
            showings = [pictured(name, metric, one, selection) for name, one in galleries.items()]
            meetings = {
                (one, other): Meeting(
                    gallery_change(metric, galleries[one], galleries[other], selection, "corrected"), 0.0
                )
                for one, other in combinations(galleries, 2)
            }
            if meetings and any(one.found.plugin is not None for one in showings):
                contest = Contest(checklist, PICTURED[metric], None, attribute, metric)
                yield _board(contest, showings, meetings, alpha)


def _apart(one: Estimate, other: Estimate) -> Estimate:
    """Their difference where both are independent."""
    plain = None if one.plugin is None or other.plugin is None else one.plugin - other.plugin
    n = min(one.n, other.n)
    if one.corrected is None or other.corrected is None or one.error is None or other.error is None:
        return Estimate(plain, None, None, n, one.reason or other.reason)
    return Estimate(plain, one.corrected - other.corrected, hypot(one.error, other.error), n)


def _board(contest: Contest, showings: Sequence[Showing], meetings: Meetings, alpha: float) -> Board:
    doubtful = frozenset(showing.name for showing in showings if showing.doubt)
    chances = [None if doubtful & set(pair) else _chance(one.found) for pair, one in meetings.items()]
    held = surviving(chances, of=len(meetings), alpha=alpha)
    differences = tuple(
        _difference(pair, one, real=real) for (pair, one), real in zip(meetings.items(), held, strict=True)
    )
    better = BETTER[contest.metric]
    return Board(*contest, better, _standings(contest.metric, showings, differences), differences)


def _chance(found: Estimate) -> float | None:
    """The two-sided p value of a difference; None where it cannot be estimated."""
    if found.corrected is None:
        return None
    return min(1.0, 2 * min(chance_below(found, 0.0), chance_above(found, 0.0)))


def _difference(pair: tuple[str, str], one: Meeting, *, real: bool) -> Difference:
    found = one.found
    value = found.plugin if found.corrected is None else found.corrected
    return Difference(*pair, value, found.lower(BEYOND), found.upper(BEYOND), real, one.paired)


def _standings(
    metric: str, showings: Sequence[Showing], differences: Sequence[Difference]
) -> tuple[Standing, ...]:
    """The best first, those without a value last."""
    sign = -1 if BETTER[metric] == "higher" else 1
    values = {showing.name: _shown(metric, _value(showing.found)) for showing in showings}
    order = sorted(
        (showing for showing in showings if values[showing.name] is not None),
        key=lambda showing: sign * (_value(showing.found) or 0.0),
    )
    named = letters(
        [showing.name for showing in order], [(one.first, one.second) for one in differences if one.real]
    )
    rounded = [round(sign * (values[showing.name] or 0.0), DIGITS) for showing in order]
    missing = [showing for showing in showings if values[showing.name] is None]
    return tuple(
        Standing(
            model=showing.name,
            rank=rounded.index(rounded[place]) + 1
            if place < len(order) and BETTER[metric] != "neither"
            else None,
            value=values[showing.name],
            low=_shown(metric, showing.low),
            high=_shown(metric, showing.high),
            letters=named.get(showing.name, ""),
            asked=showing.total.asked,
            refused=showing.total.refused,
            unparsed=showing.total.unparsed,
            errors=showing.total.errors,
            doubt=showing.doubt,
        )
        for place, showing in enumerate((*order, *missing))
    )


def _value(found: Estimate) -> float | None:
    return found.plugin if found.corrected is None else found.corrected


def _shown(metric: str, value: float | None) -> float | None:
    """An estimate may leave 0 to 1, the score cannot."""
    return value if value is None or metric in SIGNED else min(max(value, 0.0), 1.0)
