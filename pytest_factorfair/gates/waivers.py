"""Waivers: known failures that a release may carry, down to a floor, for a reason and until a date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import NamedTuple, cast

from pytest_factorfair.domain import Verdict
from pytest_factorfair.errors import InputError, nearest

KEYS = ("gate", "reason", "until", "floor")
EXAMPLE = (
    '{gate = "s_e[base,race] >= 0.96", reason = "fixed in the next version", until = 2026-12-31, floor = 0.9}'
)


class Waiver(NamedTuple):
    """An accepted failure: ``gate`` is an expression, or a verdict's name or subject; ``until`` a date.

    ``floor`` is the threshold that the score must still pass; for a ``<=`` gate it is an upper limit.
    """

    gate: str
    reason: str
    until: str
    floor: float


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


def covering(granted: Sequence[Waiver], verdict: Verdict) -> Waiver | None:
    """The waiver of this verdict's gate or score; of several, the one in force longest."""
    return max(
        (waiver for waiver in granted if waiver.gate in (verdict.gate, verdict.name, verdict.subject)),
        key=lambda waiver: waiver.until,
        default=None,
    )


def unused(granted: Sequence[Waiver], verdicts: Sequence[Verdict]) -> Iterator[str]:
    """One line per waiver that matches no gate of the run."""
    words = {word for verdict in verdicts for word in (verdict.gate, verdict.name, verdict.subject)}
    for waiver in granted:
        if waiver.gate not in words:
            yield f"the waiver for '{waiver.gate}' matches no gate of this run"
