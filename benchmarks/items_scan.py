"""What the scans of items find, and how often they fail a fair model.

    python -m benchmarks.items_scan          300 runs of each fair model, 3 of each biased one
    python -m benchmarks.items_scan --full   the fair ones with as many questions as the biased ones

Fair models answer 1,680 ambiguous and 3,360 other questions, biased ones 7,000 and 14,000: BBQ has 29,246 of
each.

A made-up BBQ: categories of five groups and of two, templates with two questions, good and bad, about each
pair of groups, ambiguous and disambiguated, in both orders of the text. Models answer by chance as they are
described; a lean of a template is drawn anew in each run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from time import perf_counter

import numpy as np
from numpy.random import Generator

from pytest_factorfair.benchmarks.first_look import ANSWERED, FirstLook
from pytest_factorfair.benchmarks.items.checklist import (
    ANSWER,
    RESERVED,
    UNKNOWN,
    Item,
    Items,
    MarkedOption,
    cases,
)
from pytest_factorfair.benchmarks.items.scan import (
    ALLOWANCES,
    SCANS,
    ItemDesign,
    choices,
    compared,
    design_of,
)
from pytest_factorfair.domain import Attribute, Sampling
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray

SEED = 20261128
FEW, MANY = 6, 25
"""Templates of each category."""
SAMPLING = Sampling("balanced", samples=1, objective=1, seed=0)
CATEGORIES = {**{f"wide_{number}": 5 for number in range(3)}, **{f"pair_{number}": 2 for number in range(8)}}
"""The categories, with their numbers of groups."""


@cache
def checklist(templates: int) -> Items:
    """The questions, with so many templates for each category."""
    items = []
    for category, k in CATEGORIES.items():
        groups = tuple(f"{category}_{number}" for number in range(k))
        for template in range(templates):
            for first, second in permutations(groups, 2):
                # The stereotype about the lower group is bad; with two groups, both texts are asked twice.
                for again in range(1 if k > 2 else 5):  # noqa: PLR2004 - a pair
                    for valence in ("negative", "positive"):
                        for right in (UNKNOWN, first, second):
                            low, high = sorted((first, second))
                            stereotype = low if valence == "negative" else high
                            items.append(
                                Item(
                                    id=f"{template}_{again}_{first}_{second}_{valence}_{right}",
                                    condition="ambiguous" if right == UNKNOWN else "disambiguated",
                                    question="",
                                    options=tuple(
                                        MarkedOption(means, means, means == right, means == stereotype)
                                        for means in (first, second, UNKNOWN)
                                    ),
                                    cluster=f"{category}_{template}",
                                    category=category,
                                    groups={category: (first, second)},
                                    valence=valence,
                                )
                            )
    meanings = (*RESERVED,)
    return Items(
        name="made-up BBQ",
        title="",
        protocol="items",
        modality="text",
        truth="audited",
        attributes=(Attribute(ANSWER, meanings, {meaning: meaning for meaning in meanings}, {}),),
        digest="",
        items=tuple(items),
        answer_format="",
    )


@cache
def design(templates: int, word: str) -> ItemDesign:
    questions = checklist(templates)
    return design_of(questions, cases(questions, SAMPLING), SAMPLING, word)


class Questions:
    """What a model of the simulation sees of a scan's questions."""

    def __init__(self, templates: int, word: str) -> None:
        self.design = design(templates, word)
        self.people: BoolArray = self.design.people
        items = [case.item for case in self.design.cases]
        self.category = np.array([item.category for item in items])
        self.negative: BoolArray = np.array([item.valence == "negative" for item in items])
        names = [item.cluster for item in items]
        self.cluster: IntArray = np.unique(names, return_inverse=True)[1]

    def of(self, kind: str) -> BoolArray:
        """The options of a kind of person, (N, L)."""
        return np.asarray(self.design.shown[:, :, self.design.kinds.index(kind)])


questions = cache(Questions)

Probabilities = Callable[[Questions, Generator], FloatArray]
Options = Callable[[Questions], BoolArray]


def guessing(unknown: float, spread: float = 0.0) -> Probabilities:
    """Answers *unknown* so often, and else somebody, leaning by template with this standard deviation."""

    def of(asked: Questions, generator: Generator) -> FloatArray:
        lean = np.clip(generator.normal(0, spread, asked.cluster.max() + 1), -1, 1)[asked.cluster, None]
        named = asked.people * (1 + np.where(asked.of("the stereotype"), lean, -lean)) / 2
        return np.asarray(np.where(asked.people, (1 - unknown) * named, unknown))

    return of


def knowing(knows: float, spread: float = 0.1) -> Probabilities:
    """Knows so many answers, differently by template, and else says any of the others."""

    def of(asked: Questions, generator: Generator) -> FloatArray:
        right = np.clip(generator.normal(knows, spread, asked.cluster.max() + 1), 0, 1)[asked.cluster, None]
        return np.asarray(np.where(asked.design.counted, right, (1 - right) / 2))

    return of


def takes(model: Probabilities, share: float, whom: Options) -> Probabilities:
    """Takes one of these options (N, L), where there are any, so often, and is else like the model."""

    def of(asked: Questions, generator: Generator) -> FloatArray:
        chosen = whom(asked)
        number = chosen.sum(axis=1, keepdims=True)
        bent = (1 - share) * model(asked, generator) + share * chosen / np.maximum(number, 1)
        return np.where(number > 0, bent, model(asked, generator))

    return of


def letter(number: int) -> Options:
    """The option at a letter."""
    return lambda asked: np.broadcast_to(np.arange(asked.people.shape[1]) == number, asked.people.shape)


def group(name: str, where: Options | None = None) -> Options:
    """The people of a group, in some of the questions."""

    def of(asked: Questions) -> BoolArray:
        mask = asked.of(name)
        return mask if where is None else mask & where(asked)[:, None]

    return of


def group_at(name: str, number: int) -> Options:
    """The people of a group at a letter."""
    return lambda asked: asked.of(name) & letter(number)(asked)


def _negative(asked: Questions) -> BoolArray:
    return asked.negative


def _of_category(name: str) -> Options:
    return lambda asked: np.asarray(asked.category == name)


def _wrong(name: str) -> Options:
    """Any wrong answer, where the right one is a group."""

    def of(asked: Questions) -> BoolArray:
        affected = (asked.of(name) & asked.design.counted).any(axis=1, keepdims=True)
        return np.asarray(~asked.design.counted & affected)

    return of


STEREOTYPE = "the stereotype"
HALF = guessing(0.5, 0.2)


@dataclass(frozen=True, slots=True)
class Model:
    """A simulated model: how it answers the questions of a scan, and how many answers it loses.

    ``exact`` is whether its probabilities are the answers. Questions with one of the options ``refused`` are.
    """

    name: str
    scan: str
    probabilities: Probabilities
    lost: float = 0.0
    exact: bool = False
    refused: Options | None = None


FAIR: Sequence[Model] = (
    Model("fair, 80 % unknown", "choices", guessing(0.8)),
    Model("fair, never unknown", "choices", guessing(0.0)),
    Model("leans by template .20", "choices", HALF),
    Model("leans by template .30, never unknown", "choices", guessing(0.0, 0.3)),
    Model("stereotype .08 everywhere, loses 5 %", "choices", takes(HALF, 0.08, group(STEREOTYPE)), lost=0.05),
    Model("letter A .30", "choices", takes(HALF, 0.3, letter(0))),
    Model("letter A .60, never unknown", "choices", takes(guessing(0.0, 0.2), 0.6, letter(0))),
    Model("exact probabilities", "choices", HALF, exact=True),
    Model("knows .95", "errors", knowing(0.95)),
    Model("knows .70, by template .20", "errors", knowing(0.7, 0.2)),
    Model("letter A .30, knows .80", "errors", takes(knowing(0.8), 0.3, letter(0))),
    Model("letter A .60, knows .80, loses 5 %", "errors", takes(knowing(0.8), 0.6, letter(0)), lost=0.05),
    Model("exact probabilities, knows .80", "errors", knowing(0.8), exact=True),
    Model("refuses .05 at random", "refusals", HALF, lost=0.05),
    Model("refuses .40 at random", "refusals", HALF, lost=0.40),
)
BIASED: Sequence[Model] = (
    Model("one group .50", "choices", takes(HALF, 0.5, group("'wide_0_1'"))),
    Model("one group of two .50, that is no stereotype", "choices", takes(HALF, 0.5, group("'pair_2_0'"))),
    Model(
        "stereotype .50 in one category",
        "choices",
        takes(HALF, 0.5, group(STEREOTYPE, _of_category("pair_3"))),
    ),
    Model("stereotype .40 in bad questions", "choices", takes(HALF, 0.4, group(STEREOTYPE, _negative))),
    Model(
        "one group .80 at letter B",
        "choices",
        takes(HALF, 0.8, group_at("'wide_1_2'", 1)),
    ),
    Model("one group .80 in bad questions", "choices", takes(HALF, 0.8, group("'wide_1_2'", _negative))),
    Model(
        "stereotype .60 at letter C",
        "choices",
        takes(HALF, 0.6, group_at(STEREOTYPE, 2)),
    ),
    Model("one group .50, exact probabilities", "choices", takes(HALF, 0.5, group("'wide_0_1'")), exact=True),
    Model("one group is wrongly answered .50", "errors", takes(knowing(0.95), 0.5, _wrong("'wide_0_1'"))),
    Model("one of two is wrongly answered .60", "errors", takes(knowing(0.8), 0.6, _wrong("'pair_4_1'"))),
    Model("stereotype .40 where the text tells", "errors", takes(knowing(0.9), 0.4, group(STEREOTYPE))),
    Model(
        "stereotype .60 where it tells and is bad",
        "errors",
        takes(knowing(0.9), 0.6, group(STEREOTYPE, _negative)),
    ),
    Model("refuses whatever is about one group", "refusals", HALF, refused=group("'wide_2_3'")),
    Model("refuses one group at letter A", "refusals", HALF, refused=group_at("'pair_1_0'", 0)),
)


def answers(model: Model, asked: Questions, generator: Generator) -> FirstLook:
    """Answers of a run."""
    shares = model.probabilities(asked, generator)
    if not model.exact:
        draws = generator.random((len(shares), 1)) * shares.sum(axis=1, keepdims=True)
        shares = np.eye(shares.shape[1])[(shares.cumsum(axis=1) < draws).sum(axis=1)]
    lost = generator.random(len(shares)) < model.lost
    if model.refused is not None:
        lost |= model.refused(asked).any(axis=1)
    return FirstLook(shares * ~lost[:, None], np.where(lost, ANSWERED + 1, ANSWERED))


def row(model: Model, templates: int, runs: int) -> Mapping[str, tuple[int, float]]:
    """How many runs each set of limits fails, and the median value."""
    asked, generator = questions(templates, model.scan), np.random.default_rng([SEED, runs])
    scan = choices if model.scan == "choices" else compared
    values = {name: np.zeros(runs) for name in ALLOWANCES}
    for run in range(runs):
        look = answers(model, asked, generator)
        for name, allowed in ALLOWANCES.items():
            values[name][run] = scan(asked.design, look, SCANS[model.scan], allowed).value
    return {name: (int((of > 1).sum()), float(of.max())) for name, of in values.items()}


def rows(templates: int) -> Iterator[tuple[str, bool]]:
    """The rows of all models, and whether each is as it has to be by the default limits."""
    sizes = (*((model, templates, 300) for model in FAIR), *((model, MANY, 3) for model in BIASED))
    for model, size, runs in sizes:
        by_limits = row(model, size, runs)
        failed, _ = by_limits["default"]
        held = failed <= runs // 100 if model in FAIR else failed == runs
        shown = "".join(
            f"  {name} {failures:>3} of {runs}, largest {value:5.2f}"
            for name, (failures, value) in by_limits.items()
        )
        yield f"{model.scan:<8}{model.name:<46}{shown}{'' if held else '  <- not held'}", held


def main() -> int:
    """Print the table; return 1 if a fair model fails in more than 1 %, or a biased one passes."""
    began, every = perf_counter(), []
    for text, held in rows(MANY if "--full" in sys.argv[1:] else FEW):
        print(text, flush=True)
        every.append(held)
    print(f"{perf_counter() - began:.0f} s")
    return 0 if all(every) else 1


if __name__ == "__main__":
    raise SystemExit(main())
