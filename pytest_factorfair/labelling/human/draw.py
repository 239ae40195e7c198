"""Which prompts people look at: a share of all, of every part and kind alike."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import floor
from random import Random
from typing import TypeVar

from pytest_factorfair.domain import PromptCase

Stratum = TypeVar("Stratum", bound=Hashable)


def drawn(cases: Sequence[PromptCase], share: float, *, seed: int) -> tuple[PromptCase, ...]:
    """A share of the cases, in their order; the same cases and seed draw the same ones.

    Each part and kind gives as many as its size calls for, and at least one.
    """
    strata: dict[tuple[str, str], list[PromptCase]] = {}
    for case in cases:
        strata.setdefault((case.part, case.kind), []).append(case)
    taken: set[str] = set()
    for stratum, size in quotas({name: len(each) for name, each in strata.items()}, share).items():
        chance = Random(f"{seed} {' '.join(stratum)}")  # noqa: S311 - a draw anybody can repeat
        taken |= {case.id for case in chance.sample(strata[stratum], size)}
    return tuple(case for case in cases if case.id in taken)


def quotas(sizes: Mapping[Stratum, int], share: float) -> dict[Stratum, int]:
    """How many of each stratum, of so many: together the share of all, by largest remainders.

    A stratum too small for one gives one all the same.
    """
    exact = {name: max(1.0, share * size) for name, size in sizes.items()}
    found = {name: floor(size) for name, size in exact.items()}
    left = round(share * sum(sizes.values())) - sum(found.values())
    by_remainder = sorted(exact, key=lambda name: found[name] - exact[name])
    return found | {name: found[name] + 1 for name in by_remainder[: max(left, 0)]}
