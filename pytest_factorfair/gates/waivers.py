"""Waivers: known failures that a release may carry, each for a reason and until a date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import NamedTuple, cast

from pytest_factorfair.domain import Verdict
from pytest_factorfair.errors import InputError, nearest

KEYS = ("gate", "reason", "until")
EXAMPLE = '{gate = "s_e[base,race] >= 0.96", reason = "fixed in the next version", until = 2026-12-31}'


class Waiver(NamedTuple):
    """An accepted failure: ``gate`` is an expression, or a verdict's name or subject; ``until`` a date."""

    gate: str
    reason: str
    until: str


def waivers(value: object, where: str) -> tuple[Waiver, ...]:
    """Waivers from what a configuration file has under that name.

    Raises:
        InputError: one line that names the entry and what it should be.
    """
    if not isinstance(value, list):
        raise InputError(f"{where}: expected a list of waivers like {EXAMPLE}")
    found = []
    for place, entry in enumerate(value):
        here = f"{where}[{place}]"
        if not isinstance(entry, Mapping):
            raise InputError(f"{here}: expected a table like {EXAMPLE}")
        for key in entry:
            if key not in KEYS:
                raise InputError(f"{here}: unknown key '{key}'{nearest(str(key), KEYS)}")
        for key in KEYS[:2]:
            if not isinstance(entry.get(key), str) or not entry[key].strip():
                raise InputError(f"{here}: {key}: expected a text, as in {EXAMPLE}")
        until = entry.get("until")
        day = until.date() if isinstance(until, datetime) else until
        try:
            last = day if isinstance(day, date) else date.fromisoformat(cast("str", day))
        except (TypeError, ValueError):
            raise InputError(f"{here}: until: expected a date, as in {EXAMPLE}") from None
        found.append(Waiver(entry["gate"].strip(), " ".join(entry["reason"].split()), last.isoformat()))
    return tuple(found)


def waived(verdict: Verdict, granted: Sequence[Waiver], today: date) -> Verdict:
    """The verdict: waived if it failed and a waiver is in force, through its last day."""
    mine = [one for one in granted if one.gate in (verdict.gate, verdict.name, verdict.subject)]
    if verdict.judgement != "failed" or not mine:
        return verdict
    last = max(mine, key=lambda one: one.until)
    if date.fromisoformat(last.until) < today:
        return replace(verdict, reason=f"{verdict.reason}; its waiver expired on {last.until}")
    reason = f"{verdict.reason}; waived until {last.until}: {last.reason}"
    return replace(verdict, judgement="waived", reason=reason)


def unused(granted: Sequence[Waiver], verdicts: Sequence[Verdict]) -> Iterator[str]:
    """One line per waiver that matches no gate of the run."""
    known = {word for verdict in verdicts for word in (verdict.gate, verdict.name, verdict.subject)}
    for one in granted:
        if one.gate not in known:
            yield f"the waiver for '{one.gate}' matches no gate of this run"
