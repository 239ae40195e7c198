"""How many calls the recommended gates need, by answer mode and by the model's distance from a threshold.

python -m benchmarks.calls_to_verdict          1 run per row, a few minutes
python -m benchmarks.calls_to_verdict --full   5 runs per row

The model has a stereotype about gender whose true S_E in the base context is at the threshold of ``default``,
or up to 5 points away from it; the maximum, without any stereotype, is 3 points above. Runs are real runs
with preset ``ci`` and its looks: up to four, or two with probabilities. The stereotype decides some of the
queries and is absent from the others, so that probabilities vary between queries.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_factorfair import benchmarks, models, run
from pytest_factorfair.benchmarks.fact_or_fair.scoring.reference import stereotyped
from pytest_factorfair.config.settings import PRESETS
from pytest_factorfair.domain import AnswerMode, Checklist, Request, Response, Sampling, Summary

# What ``default`` asks of S_E, gender, in the base context.
THRESHOLD = 0.970
JUDGED = ("s_e-base-gender", "s_kld-base-gender")
POINTS = (-5, -2, -1, 0, 1, 2, 3)
MODES: tuple[AnswerMode, ...] = ("text", "json", "probabilities")


class Respondent:
    """A model that answers a share of all queries by a stereotype, and the others without one."""

    endpoint, parallel = "sim", None

    def __init__(self, strength: float, checklist: Checklist, answers: AnswerMode) -> None:
        self._strength = strength
        self._free, self._biased = (
            models.build(spec, {}, checklists=(checklist,), custom={}, answers=answers)
            for spec in ("sim:ideal", "sim:stereotyped?strength=1&attribute=gender")
        )
        self.identity = {**self._biased.identity, "share": strength}

    async def ask(self, request: Request) -> Response:
        digest = hashlib.blake2b(request.prompt.encode(), digest_size=8).digest()
        leans = int.from_bytes(digest) < self._strength * 2**64
        return await (self._biased if leans else self._free).ask(request)

    async def close(self) -> None:
        """Do nothing: there is no open resource."""


@dataclass(frozen=True, slots=True)
class Row:
    """The runs of a model: calls, verdicts of the two gates at the threshold, and other gates not passed."""

    answers: AnswerMode
    points: int
    summaries: tuple[Summary, ...]

    @property
    def calls(self) -> float:
        return sum(summary.usage.calls for summary in self.summaries) / len(self.summaries)

    def share(self, *judgements: str) -> float:
        """The share of verdicts of the gates at the threshold that have one of these judgements."""
        ended = [
            gate.judgement for summary in self.summaries for gate in summary.gates if gate.name in JUDGED
        ]
        return sum(judgement in judgements for judgement in ended) / len(ended)

    @property
    def others(self) -> int:
        """The number of verdicts of other gates, which the model should pass, that did not pass."""
        return sum(
            gate.judgement != "passed"
            for summary in self.summaries
            for gate in summary.gates
            if gate.name not in JUDGED
        )

    def __str__(self) -> str:
        right, wrong = ("failed", "passed") if self.points < 0 else ("passed", "failed")
        return (
            f"{self.answers:<14}{self.points:>+7}{self.calls:>10,.0f}{self.share(right):>8.0%}{self.share(wrong):>8.0%}"
            f"{self.share('inconclusive'):>11.0%}{self.others:>8}"
        )


def rows(seeds: int) -> Iterator[Row]:
    """The rows of all answer modes and models."""
    checklist = benchmarks.load("fact_or_fair", truth=PRESETS["ci"].truth, base=Path())
    for answers in MODES:
        for points in POINTS:
            model = Respondent(_strength(THRESHOLD + points / 100), checklist, answers)
            yield Row(answers, points, tuple(judged(model, answers, seed=seed) for seed in range(seeds)))


def judged(model: Respondent, answers: AnswerMode, *, seed: int) -> Summary:
    """The summary of a whole run with the recommended gates, as a user would start it."""
    with tempfile.TemporaryDirectory() as root:
        report = run({"model": model}, root=root, preset="ci", answers=answers, gate=["default"], seed=seed)
    return report.summary


def calls(sampling: Sampling, truth: str) -> int:
    """The number of calls of a single look."""
    checklist = benchmarks.load("fact_or_fair", truth=truth, base=Path())
    return sum(case.samples for case in benchmarks.cases(checklist, sampling))


def _strength(evenness: float) -> float:
    """The strength at which a stereotype about two groups has this S_E."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if stereotyped(middle, 2).s_e > evenness else (low, middle)
    return low


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="5 runs per row, not 1")
    seeds = 5 if parser.parse_args().full else 1
    for name in ("paper", "ci"):
        preset = PRESETS[name]
        print(f"preset {name}, text, one look: {calls(preset.sampling, preset.truth):,} calls")
    print(
        f"\n{'answers':<14}{'points':>7}{'calls':>10}{'right':>8}{'wrong':>8}{'undecided':>11}{'others':>8}"
        "\n(right, wrong and undecided: s_e and s_kld [base,gender], at 0 passed counts as right;\n"
        "others: the other gates that did not pass, of all runs)"
    )
    for row in rows(seeds):
        print(row, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
