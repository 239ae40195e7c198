"""What the scan of a first look finds: respondents whose letters and losses are given by a formula.

python -m benchmarks.scan                          fair, noisy and mildly leaning respondents, 100 runs each
python -m benchmarks.scan "leans *" --runs=300     of these, only some
python -m benchmarks.scan --biased --runs=2        those of ``respondents.tsv`` that are biased
python -m benchmarks.scan --module=unseen          those of another module, in ``RESPONDENTS``

``RESPONDENTS`` maps names to functions of a case and its situation that return ``Weights``: weights of the
letters, and the chances of a refusal and of a reply that cannot be read.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from typing import NamedTuple

import numpy as np

from benchmarks.respondents import SEED, Behaviour, Chances, Questions, Weights, respondents
from pytest_factorfair.benchmarks.asking import Situation
from pytest_factorfair.benchmarks.fact_or_fair.checklist import TopicCase
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scan_score import FirstLookScan
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scans import SCANS


class Leaning(NamedTuple):
    """Models that lean to groups by scenario, and by nothing else; ``spread`` is the deviation in logits."""

    spread: float

    def drawn(self, number: int) -> Behaviour:
        """A model of these: what it leans toward is drawn anew for each number."""

        @cache
        def logits(*key: object) -> Mapping[str, float]:
            generator = np.random.default_rng([SEED, number, *"/".join(map(str, key)).encode()])
            groups = ("Asian", "Black", "Hispanic", "White", "Female", "Male")
            return dict(zip(groups, generator.normal(0, self.spread, len(groups)).tolist(), strict=True))

        def behaviour(case: TopicCase, situation: Situation) -> Weights:
            lean = logits(case.statistic, case.direction, case.scenario)
            return Weights(
                {
                    letter: float(np.exp(sum(lean[group] for group in groups.values())))
                    for letter, groups in situation.options
                }
            )

        return behaviour


MILD = "stereotyped?strength=0.05"
NOISE = "position=0.1&refuse=0.03&nonsense=0.05"
FAIR: Mapping[str, str | Behaviour | Leaning] = {
    "fair": "sim:ideal",
    "noisy": f"sim:{MILD}&attribute=race&{NOISE}+{MILD}&attribute=gender",
    "stereotype of race .20": "sim:stereotyped?strength=0.2&attribute=race",
    "follows contexts .45": "sim:context_following?strength=0.45&attribute=race",
    "letter A .25 in base": "sim:position_biased?strength=0.25&when=context:base",
    "name .10": "sim:name_biased?strength=0.1",
    "leans by scenario .2": Leaning(0.2),
    "leans by scenario .3": Leaning(0.3),
    "leans by scenario .4": Leaning(0.4),
}


def scans(questions: Questions, chances: Chances, number: int) -> Iterator[FirstLookScan]:
    """The scans of a simulated first look."""
    used = np.zeros(len(questions.queries), np.bool_)
    used[questions.look == 0] = True
    draws = np.random.default_rng((SEED, number)).random((len(questions.queries), 1))
    outcomes = (draws >= chances.of(used)[:, :-1]).sum(axis=-1)
    first_answers = questions.first_answers(outcomes)
    for word, metric in SCANS.items():
        page = next(page for page in questions.pages if page.builder.key.part == metric.part)
        yield FirstLookScan(word, [page.tally(used, outcomes, first_answers)], first_answers, (word,))


def row(questions: Questions, name: str, respondent: str | Behaviour | Leaning, runs: int) -> str:
    """How many runs of a respondent are found, the largest value, and a worst cell."""
    found, largest, sentence = 0, 0.0, ""
    for number in range(runs):
        drawn = respondent.drawn(number) if isinstance(respondent, Leaning) else respondent
        results = [score for score in scans(questions, questions.chances(drawn), number) if score.scanned]
        worst = max(results, key=lambda score: score.estimate.plugin or 0.0)
        value = worst.estimate.plugin or 0.0
        largest = max(largest, value)
        if value > 1:
            found += 1
            sentence = worst.driver
    return f"{name:<52}{found:>5} of {runs:<5}{largest:>8.2f}  {sentence}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="only these respondents (* matches anything)")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--biased", action="store_true")
    parser.add_argument("--module")
    arguments = parser.parse_args()
    questions = Questions()
    chosen: Mapping[str, str | Behaviour | Leaning] = FAIR
    if arguments.module:
        chosen = import_module(f"benchmarks.{arguments.module}").RESPONDENTS
    elif arguments.biased:
        chosen = {model.label: model.spec for model in respondents() if model.must in ("never", "-")}
    print(f"{'respondent':<52}{'found':>13}{'largest':>8}  worst cell of the last run found")
    for name, respondent in chosen.items():
        if any(fnmatchcase(name, pattern) for pattern in arguments.names or "*"):
            print(row(questions, name, respondent, arguments.runs), flush=True)


if __name__ == "__main__":
    main()
