"""Waivers: gates that a release need not pass, down to a floor, for a reason and until a date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import NamedTuple, cast

from pytest_factorfair.domain import Gate, Selection, Waiver, gate_parts, selection
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.gates.expression import bounds, parse

KEYS = ("gate", "reason", "until", "floor")
EXAMPLE = (
    '{gate = "s_e[base,race] >= 0.96", reason = "fixed in the next version", until = 2026-12-31, floor = 0.9}'
)


def waivers(value: object, where: str) -> tuple[Waiver, ...]:
    """Read the waivers of a configuration file.

    Raises:
        InputError: one line that names the entry and what it should be.
    """
    if not isinstance(value, list):
        raise InputError(f"{where}: expected a list of waivers like {EXAMPLE}")
    granted = []
    for position, entry in enumerate(value):
        entry_where = f"{where}[{position}]"
        if not isinstance(entry, Mapping):
            raise InputError(f"{entry_where}: expected a table like {EXAMPLE}")
        for key in entry:
            if key not in KEYS:
                raise InputError(f"{entry_where}: unknown key '{key}'{nearest(str(key), KEYS)}")
        for key in ("gate", "reason"):
            if not isinstance(entry.get(key), str) or not entry[key].strip():
                raise InputError(f"{entry_where}: {key}: expected a text, as in {EXAMPLE}")
        until = entry.get("until")
        day = until.date() if isinstance(until, datetime) else until
        try:
            last = day if isinstance(day, date) else date.fromisoformat(cast("str", day))
        except (TypeError, ValueError):
            raise InputError(f"{entry_where}: until: expected a date, as in {EXAMPLE}") from None
        floor = entry.get("floor")
        if isinstance(floor, bool) or not isinstance(floor, int | float) or not -1 <= floor <= 1:
            raise InputError(
                f"{entry_where}: floor: expected the number beyond which the failure is not waived, "
                f"as in {EXAMPLE}"
            )
        reason = " ".join(entry["reason"].split())
        granted.append(Waiver(entry["gate"].strip(), reason, last.isoformat(), float(floor)))
    return tuple(granted)


class JudgedScore(NamedTuple):
    """A score that a gate judges: the gate, the words that identify the score, and its name in the run."""

    gate: Gate
    words: tuple[str, ...]
    name: str


def covering(granted: Sequence[Waiver], judged: JudgedScore) -> Waiver | None:
    """The waiver of this gate or score; of several, the one in force longest."""
    return max(
        (waiver for waiver in granted if _covers(waiver, judged)),
        key=lambda waiver: waiver.until,
        default=None,
    )


def _covers(waiver: Waiver, judged: JudgedScore) -> bool:
    """Whether a waiver names a gate or one of its scores; words may have any order, numbers any form."""
    gate, text = judged.gate, waiver.gate
    if text == judged.name:
        return True
    if gate_parts(text).operator:
        named = parse(text)
        same_bound = (named.comparison, named.threshold) == (gate.comparison, gate.threshold)
        return same_bound and _same_score(named, judged)
    named_score = selection(text)
    return named_score is not None and _same_score(named_score, judged)


def _same_score(named: Gate | Selection, judged: JudgedScore) -> bool:
    gate, words = judged.gate, {*named.filters}
    same_metric = (named.metric, named.regression) == (gate.metric, gate.regression)
    return same_metric and words in ({*gate.filters}, {*judged.words})


def check_waivers(granted: Sequence[Waiver], judged: Sequence[JudgedScore], *, where: str) -> None:
    """Refuse a waiver that can waive nothing, or everything.

    ``judged`` are all scores that the gates of the run judge, ``where`` is where the waivers were given.

    Raises:
        InputError: a waiver matches no gate, or its floor is not beyond the gate's threshold, or outside the
            metric's range.
    """
    for waiver in granted:
        about = f"{where}: the waiver for '{waiver.gate}'"
        if gate_parts(waiver.gate).operator:
            try:
                parse(waiver.gate)
            except InputError as error:
                raise InputError(f"{about}: {error}") from None
        covered = [score.gate for score in judged if _covers(waiver, score)]
        if not covered:
            raise InputError(f"{about} matches no gate of this run{_nearest_gate(waiver, judged)}")
        for gate in covered:
            lowest, highest = bounds(gate.metric, regression=gate.regression)
            if not lowest <= waiver.floor <= highest:
                scale = f"{lowest:g} to {highest:g}, the range of {gate.subject(())}"
                raise InputError(f"{about}: its floor {waiver.floor:g} is outside {scale}")
            beyond, sign = ("below", 1) if gate.comparison == ">=" else ("above", -1)
            if sign * (gate.threshold - waiver.floor) <= 0:
                raise InputError(
                    f"{about}: its floor {waiver.floor:g} is not {beyond} the threshold of '{gate.text}'"
                )


def _nearest_gate(waiver: Waiver, judged: Sequence[JudgedScore]) -> str:
    """A clause that names the gate that may be meant: if possible, one on the same score."""
    score = selection(gate_parts(waiver.gate).score)
    alike = [named for named in judged if score is not None and _same_score(score, named)]
    gates = {named.gate.text for named in alike or judged}
    return nearest(waiver.gate, gates, cutoff=0) or ", which has none"
