"""How often recommended gates on rates and on the worst of many topics err, over a run of four looks.

``benchmarks.gates`` prints it. A run passes when every topic does; it fails when one topic does after the
correction for the topics of its gate and, with Holm's smallest level, for all gates of the run. A look
asks again only topics that are undecided.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.protocols.fact_or_fair.recommended import LOST, POSITION, REFUSALS_OF_TOPIC, TOPIC
from pytest_factorfair.session.looks import BOUNDARIES
from pytest_factorfair.statistics.estimate import KNOWN, Several, Shares

Floats: TypeAlias = NDArray[np.float64]

SEED = 20261122
CONTEXTS, GATES, N = 4, 70, 72
STATISTICS = {2: 15, 4: 18}
BY_SECOND, CAUGHT, AT = 0.95, 0.98, 0.09


Must = Literal["pass", "fail", "at", ""]
STRENGTHS: tuple[tuple[float, Must], ...] = ((0.0, "pass"), (0.05, "pass"), (0.2, ""))
REFUSING: tuple[tuple[float, float, Must], ...] = (
    (0.0, 0.0, "pass"), (0.01, 0.01, "pass"), (0.0, REFUSALS_OF_TOPIC, "at"), (0.0, 1.0, "fail"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kind:
    """A gate on the largest of several shares, each of ``n`` answers at the first look."""

    gate: str
    threshold: float
    n: int = N
    scale: float = 1.0
    either_way: bool = True
    losses: bool = False

    def several(self, counts: Floats, n: Floats) -> Several:
        """For many runs at once; a gate is about the topics of one context."""
        k = 1 if self.losses else counts.shape[-1]
        found = Shares(counts[..., :k] / n[..., None], n[..., None])
        each = 1 if k == 2 else k  # noqa: PLR2004 - of two groups one share says it all
        return Several(
            names=("",) * (counts.shape[1] // CONTEXTS * each),
            found=found.values,
            least=found,
            most=found,
            against=Shares(np.full(k, 0.0 if self.losses else 1 / k), KNOWN),
            n=0,
            scale=self.scale,
            either_way=self.either_way,
        )


@dataclass(frozen=True, slots=True)
class Worst:
    """The shares of runs that had passed and had failed by each look, of one model.

    ``calls`` are those of all looks together, as a multiple of the first one's. ``must`` is what is held:
    to pass by the second look, to fail by the last, neither at the threshold, or nothing.
    """

    gate: str
    model: str
    must: Must
    passed: tuple[float, ...]
    failed: tuple[float, ...]
    calls: float

    @property
    def held(self) -> bool:
        if self.must == "pass":
            return self.passed[1] >= BY_SECOND and self.failed[-1] == 0
        if self.must == "fail":
            return self.failed[-1] >= CAUGHT and self.passed[-1] == 0
        return self.must != "at" or max(self.passed[-1], self.failed[-1]) <= AT

    def __str__(self) -> str:
        looks = "".join(
            f"{one:>8.1%}{other:>8.1%}" for one, other in zip(self.passed, self.failed, strict=True)
        )
        note = "" if self.held else "  <- not held"
        left = 1 - self.passed[-1] - self.failed[-1]
        return f"{self.gate:<22}{self.model:<22}{looks}{left:>9.1%}{self.calls:>7.2f}{note}"


HEAD = (
    f"{'gate':<22}{'model':<22}"
    + "".join(f"{f'look {look}: +':>11}{'-':>5}" for look in (1, 2, 3, 4))
    + f"{'undecided':>10}{'calls':>6}"
)


def rows(runs: int) -> Iterator[Worst]:
    """Every gate and model; the same numbers each time."""
    for k, off in ((4, 0.75), (2, 0.95)):
        fair, kind = (
            np.full((CONTEXTS * 2 * STATISTICS[k], k), 1 / k),
            Kind(f"worst_topic, {k} groups", TOPIC),
        )
        for strength, must in STRENGTHS:
            shares = (1 - strength) * fair + strength * np.eye(k)[np.arange(len(fair)) % k]
            yield worst(kind, f"strength {strength:.2f}" if strength else "fair", shares, runs, must)
        for share, must in ((1 / k + TOPIC, "at"), (off, "fail")):
            shares = fair.copy()
            shares[0] = _toward_first(share, k)
            yield worst(kind, f"one topic {share:.2f}", shares, runs, must)
    kind = Kind("position", POSITION, n=N * 2 * STATISTICS[4], scale=1 - 1 / 4, either_way=False)
    for strength, must in ((0.0, "pass"), (0.2, "pass"), (POSITION, "at"), (0.4, "fail"), (1.0, "fail")):
        shares = np.full((CONTEXTS, 4), 1 / 4)
        shares[0] = _toward_first(1 / 4 + strength * 3 / 4, 4)
        yield worst(kind, f"strength {strength:.2f}", shares, runs, must)
    kind = Kind("unparsed_rate", LOST, n=N * 2 * STATISTICS[4], losses=True, either_way=False)
    for rate, must in ((0.0, "pass"), (0.01, "pass"), (LOST, "at"), (0.1, "fail")):
        yield worst(kind, f"{rate:.0%} lost", np.array([[rate, 1 - rate]] * CONTEXTS), runs, must)
    kind = Kind("worst_refusal", REFUSALS_OF_TOPIC, losses=True, either_way=False)
    for rate, one, must in REFUSING:
        refused = np.full(CONTEXTS * 2 * STATISTICS[4], rate)
        refused[0] = one
        name = f"all {rate:.0%}" if one == rate else f"one topic {one:.2f}"
        yield worst(kind, name, np.stack([refused, 1 - refused], axis=-1), runs, must)


def _toward_first(share: float, k: int) -> Floats:
    return np.array([share, *[(1 - share) / (k - 1)] * (k - 1)])


def worst(kind: Kind, model: str, shares: Floats, runs: int, must: Must) -> Worst:
    """Runs of a model with these shares, (topics, k); of losses the first one is what is lost."""
    generator = np.random.default_rng([SEED, len(shares), runs])
    counts, n = np.zeros((runs, *shares.shape)), np.zeros((runs, len(shares)))
    undecided = np.ones((runs, len(shares)), np.bool_)
    passed, failed = np.zeros(runs, np.bool_), np.zeros(runs, np.bool_)
    history: list[tuple[float, float]] = []
    for look, bound in enumerate(BOUNDARIES[4], start=1):
        asked = undecided & ~(passed | failed)[:, None]
        more = np.where(asked, look * kind.n - n, 0).astype(np.int64)
        counts += generator.multinomial(more, shares)
        n += more
        found = kind.several(counts, n)
        alpha = 1 - NormalDist().cdf(bound)
        high, low = found.upper(alpha).max(axis=-1), found.lower(alpha / GATES).max(axis=-1)
        undecided = high > kind.threshold
        failed |= ~passed & (low > kind.threshold).any(axis=-1)
        passed |= ~failed & ~undecided.any(axis=-1)
        history.append((float(passed.mean()), float(failed.mean())))
    ups, downs = zip(*history, strict=True)
    return Worst(kind.gate, model, must, ups, downs, float(n.mean()) / kind.n)
