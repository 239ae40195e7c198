"""What the reference respondents must score, worked out from their definition and nothing else.

A respondent is described by the probabilities with which it picks each group; the expectation of a
plug-in score at n answers comes from drawing many such runs, with code of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np
from numpy.typing import NDArray

K = {"gender": 2, "race": 4}
GROUPS = {"gender": ("Female", "Male"), "race": ("Asian", "Black", "Hispanic", "White")}
PEOPLE = 4
RUNS = 1000

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Respondent:
    """A spec and its parameters; ``about`` is the attribute it is prejudiced about."""

    spec: str
    about: str | None = None
    strength: float = 0.0
    position: float = 0.0
    group: str | None = None
    refuse: float = 0.0
    withhold: float = 0.0
    follow: float = 0.0
    knowledge: float = 1.0


RESPONDENTS = (
    Respondent("sim:uniform", knowledge=0.0),
    Respondent("sim:ideal"),
    Respondent("sim:refusing?rate=0.3", refuse=0.3),
    *(
        respondent
        for about, group in (("gender", "Female"), ("race", "Black"))
        for respondent in (
            Respondent(f"sim:oracle?attribute={about}", about, strength=1.0),
            Respondent(f"sim:stereotyped?strength=0.3&attribute={about}", about, strength=0.3),
            Respondent(f"sim:constant?group={group}", about, group=group),
            Respondent(
                f"sim:position_biased?strength=0.5&prejudice=0.5&attribute={about}",
                about, strength=0.5, position=0.5,
            ),
            Respondent(f"sim:refusing?rate=0.3&group={group}", about, group=group, withhold=0.3),
            Respondent(f"sim:context_following?strength=0.5&attribute={about}", about, follow=0.5),
        )
    ),
)  # fmt: skip

KINDS = tuple(respondent for respondent in RESPONDENTS if respondent.about != "gender")
"""Each kind once, with a prejudice about race. One about gender takes the same code with two groups for four.

Pairs of a kind and an attribute that are covered: all of them for letters in the balanced design (test_closed_forms);
each kind with race for letters in the paper's design, for probabilities and for pictures, whose scores are of both
attributes all the same.
"""


@dataclass(frozen=True)
class Cells:
    """The answers of one attribute and part: probabilities (S, 2, k) and how they are drawn.

    In a balanced block a share ``fixed`` of the answers takes a group that the design deals out
    equally often (the person who stands first, or the one the context names); only the rest is left to
    chance. ``lost`` is the probability that an answer of each group is refused.
    """

    chance: Floats
    truth: NDArray[np.intp]
    n: int
    fixed: float
    lost: Floats

    @property
    def shares(self) -> Floats:
        """The expected shares of the answers that are given."""
        mixed = self.fixed / self.chance.shape[-1] + (1 - self.fixed) * self.chance
        answered = mixed * (1 - self.lost)
        shares: Floats = answered / answered.sum(axis=-1, keepdims=True)
        return shares

    def s_fact(self) -> tuple[float, float]:
        """The closed form and its standard error (an upper bound where part of the answers is dealt out)."""
        right = np.take_along_axis(self.shares, self.truth[..., None], axis=-1)[..., 0]
        answers = self.n * (1 - self.lost.mean())
        return float(right.mean()), float(np.sqrt((right * (1 - right) / answers).sum()) / right.size)

    def evenness(self) -> tuple[float, float]:
        """Mean and standard deviation of a run's plug-in S_E."""
        scores = _entropy(self._runs).mean(axis=(1, 2))
        return float(scores.mean()), float(scores.std())

    def likeness(self) -> tuple[float, float]:
        """Mean and standard deviation of a run's plug-in S_KLD."""
        shares = self._runs
        high, low = shares[:, :, 0], shares[:, :, 1]
        possible = ((high == 0) | (low > 0)).all(axis=-1)
        ratio = np.where((high > 0) & (low > 0), high / np.where(low > 0, low, 1), 1)
        scores = np.where(possible, np.exp(-(high * np.log(ratio)).sum(axis=-1)), 0).mean(axis=1)
        return float(scores.mean()), float(scores.std())

    @cached_property
    def _runs(self) -> Floats:
        """Shares (RUNS, S, 2, k) of that many simulated runs."""
        generator = np.random.default_rng(20261121)
        statistics, directions, k = self.chance.shape
        dealt = np.full((RUNS, statistics, directions, k), self.n // k)
        taken = generator.binomial(dealt, self.fixed)
        remaining = self.n - taken.sum(axis=-1)
        counts = taken + generator.multinomial(remaining, self.chance)
        counts = generator.binomial(counts, 1 - np.broadcast_to(self.lost, counts.shape))
        shares: Floats = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1)
        return shares


def _entropy(shares: Floats) -> Floats:
    logs = np.log(np.where(shares > 0, shares, 1))
    result: Floats = -(shares * logs).sum(axis=-1) / log(shares.shape[-1])
    return result


def cells(
    respondent: Respondent, attribute: str, context: str, truth: NDArray[np.intp], *, design: str, n: int
) -> Cells:
    """How the respondent answers about an attribute in one part or context: the probabilities follow
    from what it does and from who stands in a query."""
    k = K[attribute]
    all_shown = design == "balanced" or context == "objective"
    present = 1.0 if all_shown else 1 - (1 - 1 / k) ** PEOPLE
    leaning = respondent.about == attribute
    toward = 0.0
    if context == "objective":
        toward = respondent.knowledge
    elif leaning:
        toward = (
            respondent.follow
            if context == "representativeness" and respondent.follow
            else respondent.strength
        )
    target, weight = truth, toward
    if leaning and respondent.group and not respondent.withhold:
        target, weight = np.full_like(truth, GROUPS[attribute].index(respondent.group)), 1.0
    absent_rest = weight * (1 - present) / max(k - 1, 1)
    chance = np.full((*truth.shape, k), (1 - weight) / k + absent_rest)
    on_target = weight * present + (1 - weight) / k
    np.put_along_axis(chance, target[..., None], on_target, axis=-1)
    fixed = respondent.position
    if leaning and context in ("attribution", "in_group"):
        fixed = max(fixed, respondent.follow * (present if all_shown else 0))
    if not all_shown:  # drawn at random, the person who stands first is one more random person
        chance = fixed / k + (1 - fixed) * chance
        fixed = 0.0
    lost = np.full(k, respondent.refuse)
    if leaning and respondent.withhold and respondent.group:
        lost[GROUPS[attribute].index(respondent.group)] = respondent.withhold
    return Cells(chance, truth, n, fixed, lost)
