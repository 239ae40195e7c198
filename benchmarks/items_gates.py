"""False alarms and misses of the recommended gates for items, with simulated models judged as in a run.

    python -m benchmarks.items_gates          300 runs per row
    python -m benchmarks.items_gates --full   1,000 runs; either way it fails where rates are not held

BBQ: eleven categories of 25 templates with 40 ambiguous questions each. A model answers *unknown* to a part
of them; the other answers favour the stereotype, on average by the bias of the category, with a standard
deviation of .20 between templates. Awareness: 2,000 questions in 40 scenarios in which groups differ, and as
many or twice as many in which they do not; a model's knowledge has a standard deviation of .10 between
scenarios.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

import numpy as np
from numpy.random import Generator

from benchmarks.harness import print_rows
from pytest_factorfair.benchmarks.items.checklist import (
    ANSWER,
    SAME,
    UNKNOWN,
    Condition,
    Item,
    Items,
    MarkedOption,
    cases,
    item_cases,
)
from pytest_factorfair.benchmarks.items.recommended import LIMITS, recommended
from pytest_factorfair.benchmarks.items.votes import AnswerKey, Votes
from pytest_factorfair.benchmarks.measuring import GateSet
from pytest_factorfair.domain import Attribute, Gate, Judgement, Sampling
from pytest_factorfair.gates import judge, parse
from pytest_factorfair.statistics.arrays import FloatArray

SEED = 20261124
CATEGORIES, TEMPLATES, QUESTIONS, SPREAD = 11, 25, 40, 0.20
SCENARIOS, EACH, VARIED = 40, 50, 0.10
GOOD, AT = 0.95, 0.09
"""How often a good model must pass at least; how often a model at a threshold may pass, and fail, at most."""

SAMPLING = Sampling("balanced", samples=1, objective=1, seed=0)

Must = Literal["pass", "never", "fail", "at"]
Draw = Callable[[Generator], FloatArray]
Shares = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Model:
    """A simulated model: ``draw`` draws a run's votes for the options of each item, without lost answers.

    ``must`` is the requirement by gate set: the set passes; it never passes; it never passes and mostly
    fails; or it passes and fails no more often than error rates allow.
    """

    name: str
    checklist: Items
    draw: Draw
    must: Mapping[str, Must] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """The shares of runs in which a gate set, and its metrics or groups of metrics, passed and failed."""

    gate_set: GateSet
    model: Model
    shares: Mapping[str, tuple[float, float]]

    @property
    def held(self) -> bool:
        passed, failed = self.shares["all"]
        match self.model.must.get(self.gate_set):
            case "pass":
                return passed >= GOOD and failed == 0
            case "never":
                return passed == 0
            case "fail":
                return passed == 0 and failed >= GOOD
            case "at":
                return max(passed, failed) <= AT
            case None:
                return True

    def __str__(self) -> str:
        shares = "".join(
            f"  {name} {passed:>6.1%} /{failed:>6.1%}" for name, (passed, failed) in self.shares.items()
        )
        return f"{self.gate_set:<9}{self.model.name:<38}{shares}{'' if self.held else '  <- not held'}"


def _checklist(*items: Item) -> Items:
    meanings = (UNKNOWN, SAME, "one", "other")
    return Items(
        name="items",
        title="",
        protocol="items",
        modality="text",
        truth="audited",
        attributes=(Attribute(ANSWER, meanings, {meaning: meaning for meaning in meanings}, {}),),
        digest="",
        items=items,
        answer_format="",
    )


@cache
def bbq() -> Items:
    """BBQ with an item per template: its questions are alike, and their answers are the item's votes."""
    options = (
        MarkedOption("", "one", stereotype=True),
        MarkedOption("", "other"),
        MarkedOption("", UNKNOWN, right=True),
    )
    return _checklist(
        *(
            Item(
                f"{category}_{template}",
                "ambiguous",
                "",
                options,
                f"{category}_{template}",
                f"{category}",
                {},
            )
            for category in range(CATEGORIES)
            for template in range(TEMPLATES)
        )
    )


@cache
def awareness(alike: int) -> Items:
    """Awareness with an item per scenario; groups do not differ in ``alike`` times as many scenarios."""

    def of(kind: Condition, right: str, number: int) -> Item:
        options = tuple(MarkedOption("", means, right=means == right) for means in ("one", "other", SAME))
        return Item(f"{right}_{number}", kind, "", options, f"{right}_{number}", "all", {})

    return _checklist(
        *(of("fact", "one", number) for number in range(SCENARIOS)),
        *(of("fact", SAME, number) for number in range(alike * SCENARIOS)),
    )


def leaning(unknown: float, *biases: float, elsewhere: float = 0.0) -> Draw:
    """Draws BBQ answers: a share is *unknown*, the others have the ``biases`` of the first categories, and
    ``elsewhere`` in further ones.
    """
    by_category = np.full(CATEGORIES, elsewhere)
    by_category[: len(biases)] = biases

    def draw(generator: Generator) -> FloatArray:
        centre = np.repeat(by_category / (1 - unknown), TEMPLATES)
        lean = np.clip(generator.normal(centre, SPREAD), -1, 1)
        named = np.stack([1 + lean, 1 - lean], axis=-1) / 2 * (1 - unknown)
        shares = np.concatenate([named, np.full((len(lean), 1), unknown)], axis=-1)
        return generator.multinomial(QUESTIONS, shares).astype(np.float64)

    return draw


THIRDS, APART, ALIKE = (1 / 3, 1 / 3, 1 / 3), (0.5, 0.5, 0.0), (0.0, 0.0, 1.0)


def aware(checklist: Items, differing: Shares, alike: Shares) -> Draw:
    """Draws awareness answers: the shares of the right group, the other and *same* if groups differ, and of
    either group and *same* if they do not.
    """
    right = np.array([0 if item.meaning("right") == "one" else 2 for item in checklist.items])
    base, places = np.array([differing if column == 0 else alike for column in right]), np.arange(len(right))
    correct = base[places, right]
    # A model that guesses, or always or never knows, does so in every scenario.
    varied = VARIED * ((correct > 0) & (correct < 1)) * (differing not in (THIRDS, APART))

    def draw(generator: Generator) -> FloatArray:
        moved = np.clip(generator.normal(correct, varied), 0, 1)
        scale = np.divide(1 - moved, 1 - correct, out=np.ones_like(correct), where=correct < 1)
        shares = base * scale[:, None]
        shares[places, right] = moved
        return generator.multinomial(EACH, shares).astype(np.float64)

    return draw


BOTH: Mapping[str, Must] = {"default": "pass", "lenient": "pass"}
FAILS: Mapping[str, Must] = {"default": "fail", "lenient": "fail"}
NEAR: Mapping[str, Must] = {"default": "fail", "lenient": "at"}


def models() -> Iterator[Model]:
    """Fair models, biased models, and models at a threshold of a gate set."""
    for unknown in (0.8, 0.5):
        yield Model(f"fair, {unknown:.0%} unknown", bbq(), leaning(unknown), BOTH)
    yield Model("all categories .08", bbq(), leaning(0.5, elsewhere=0.08), {"lenient": "pass"})
    yield Model("one category .15", bbq(), leaning(0.5, 0.15), {"default": "at"})
    yield Model("one category .20", bbq(), leaning(0.5, 0.20), {"default": "never"})
    yield Model("one category .30", bbq(), leaning(0.5, 0.30), {"default": "never", "lenient": "at"})
    yield Model("one .30, one -.20", bbq(), leaning(0.5, 0.30, -0.20), {"default": "never", "lenient": "at"})
    yield Model("one category .40", bbq(), leaning(0.5, 0.40), {"default": "fail", "lenient": "never"})
    yield Model(
        "all categories .20", bbq(), leaning(0.5, elsewhere=0.20), {"default": "fail", "lenient": "at"}
    )
    for alike in (1, 2):
        checklist = awareness(alike)
        for name, differing, alike_shares, must in AWARE:
            yield Model(f"{name} (1:{alike})", checklist, aware(checklist, differing, alike_shares), must)


AWARE: Sequence[tuple[str, Shares, Shares, Mapping[str, Must]]] = (
    ("knows .80, wrongly apart .10", (0.8, 0.1, 0.1), (0.05, 0.05, 0.9), BOTH),
    ("knows .55, wrongly apart .25", (0.55, 0.15, 0.3), (0.125, 0.125, 0.75), BOTH),
    ("always alike", ALIKE, ALIKE, FAILS),
    ("random of three", THIRDS, THIRDS, NEAR),
    ("always apart, at random", APART, APART, NEAR),
    ("knows .40, never wrongly apart", (0.4, 0.2, 0.4), ALIKE, {"default": "at"}),
    ("knows all, always apart", (1.0, 0.0, 0.0), APART, {}),
)


def row(gate_set: GateSet, model: Model, runs: int) -> Row:
    """Judge runs of a model by a gate set."""
    gates = _gates(gate_set, model.checklist)
    key, generator = _key(model.checklist), np.random.default_rng([SEED, runs])
    metrics = list(dict.fromkeys(gate.metric for gate in gates))
    tally = {name: np.zeros(2) for name in ("all", *metrics)}
    for _ in range(runs):
        votes = np.zeros(key.offered.shape)
        votes[:, :3] = model.draw(generator)
        verdicts = judge(gates, [Votes.of("m", key, votes)], incomplete=None)
        judgements: dict[str, list[Judgement]] = {name: [] for name in tally}
        for gate, verdict in zip(gates, verdicts, strict=True):
            for name in ("all", gate.metric):
                judgements[name].append(verdict.judgement)
        for name, several in judgements.items():
            tally[name] += all(judgement == "passed" for judgement in several), "failed" in several
    shares = {name: (float(passed) / runs, float(failed) / runs) for name, (passed, failed) in tally.items()}
    return Row(gate_set, model, shares)


def _gates(gate_set: GateSet, checklist: Items) -> tuple[Gate, ...]:
    """The gates of a set on scores of bias; ``items_scan`` has the runs of scans."""
    expressions = recommended(checklist, SAMPLING, gate_set)
    texts = [
        f"{expression.metric}[{','.join(expression.words)}] {expression.bound}"
        if expression.words
        else f"{expression.metric} {expression.bound}"
        for expression in expressions
    ]
    return tuple(parse(text) for text in texts if "rate" not in text and "scan" not in text)


@cache
def _key(checklist: Items) -> AnswerKey:
    return AnswerKey.of(checklist.name, item_cases(cases(checklist, SAMPLING)))


def rows(runs: int) -> Iterator[Row]:
    """The rows of all gate sets and models; reproducible."""
    for gate_set in LIMITS:
        for model in models():
            yield row(gate_set, model, runs)


def main() -> int:
    """Print the table; return 1 if a rate is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="1,000 runs per row, not 300")
    runs = 1_000 if parser.parse_args().full else 300
    print(f"{runs:,} runs per row: shares of runs that passed / failed, by the whole set and by metric")
    for gate_set in LIMITS:
        for checklist in (bbq(), awareness(1), awareness(2)):
            print(f"{gate_set}: {', '.join(gate.text for gate in _gates(gate_set, checklist))}")
    return 0 if print_rows(rows(runs)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
