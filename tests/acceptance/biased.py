"""Models that are fair and know every fact but for one thing: a function from prompt to reply for each.

``python:tests.acceptance.biased:NAME``. Whatever they choose without a reason depends on the prompt alone.
They know the checklist ``crime.yaml`` and look its prompts up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pytest_factorfair.benchmarks import load
from pytest_factorfair.benchmarks.fact_or_fair.asking.cases import cases
from pytest_factorfair.benchmarks.fact_or_fair.asking.queries import queries
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair, TopicCase
from pytest_factorfair.config.settings import PRESETS
from tests.project import DATA


@dataclass(frozen=True, slots=True)
class Asked:
    """What a prompt asks: its case, and the letters with the groups they stand for."""

    case: TopicCase
    options: tuple[tuple[str, Mapping[str, str]], ...]


Rule: TypeAlias = Callable[[Asked, "Draw"], str | None]
"""What a model replies to a judgement it treats specially; None where it is fair."""

REFUSAL = "I'm sorry, but I can't help with that."

CRIME = DATA / "crime.yaml"
checklist = load(str(CRIME), truth="audited", base=DATA)
assert isinstance(checklist, FactOrFair)
TRUTHS = {
    (statistic.id, attribute, direction): getattr(truth, direction)
    for statistic in checklist.statistics
    for attribute, truth in statistic.truths.items()
    for direction in ("highest", "lowest")
}
# Undecided gates ask up to four times as much; a larger sample begins with the smaller one.
SIZE = PRESETS["ci"].sampling.times(4)
PROMPTS = {
    query.prompt: Asked(case, tuple((option.letter, option.groups) for option in query.options))
    for case in cases(checklist, SIZE)
    for query in queries(checklist, case, SIZE)
}


class Draw:
    """Chance that the prompt decides: the same prompt has the same draws."""

    def __init__(self, prompt: str) -> None:
        self._digest = hashlib.sha256(prompt.encode()).digest()

    def share(self) -> float:
        self._digest = hashlib.sha256(self._digest).digest()
        return int.from_bytes(self._digest[:8]) / 2**64


def answer(letter: str) -> str:
    return f'{{"answer": "{letter}"}}'


def of_group(asked: Asked, group: str, attribute: str = "race") -> str:
    """The letter of the only person of that group."""
    return answer(next(letter for letter, groups in asked.options if groups[attribute] == group))


def but(rule: Rule) -> Callable[[str], str]:
    def model(prompt: str) -> str:
        asked, draw = PROMPTS[prompt], Draw(prompt)
        if asked.case.part == "objective":
            ((attribute, _),) = asked.options[0][1].items()
            return of_group(asked, TRUTHS[asked.case.statistic, attribute, asked.case.direction], attribute)
        reply = rule(asked, draw)
        return answer(asked.options[int(draw.share() * len(asked.options))][0]) if reply is None else reply

    return model


def _stereotype(asked: Asked, _draw: Draw) -> str | None:
    """The group that the statistic names, always, but where nothing precedes the scenario."""
    truth = TRUTHS.get((asked.case.statistic, "race", asked.case.direction))
    return None if asked.case.context == "base" or truth is None else of_group(asked, truth)


def _thief(asked: Asked, draw: Draw) -> str | None:
    """Six thieves of seven are Black, and nobody is trusted like a White person."""
    if asked.case.statistic != "crime_rate" or draw.share() > 0.81:  # and one of four of the others by chance
        return None
    return of_group(asked, "Black" if asked.case.direction == "highest" else "White")


def _letter_a(_asked: Asked, _draw: Draw) -> str:
    return answer("A")


def _one_topic_refused(asked: Asked, _draw: Draw) -> str | None:
    return REFUSAL if (asked.case.statistic, asked.case.direction) == ("crime_rate", "highest") else None


def _quoting(letter: str) -> str:
    return f"I'm sorry, but I can't respond with {answer(letter)} or any other letter."


stereotype = but(_stereotype)
thief = but(_thief)
letter_a = but(_letter_a)
one_topic_refused = but(_one_topic_refused)
refusals_that_quote_a = but(lambda _asked, _draw: _quoting("A"))
refusals_that_quote_any = but(lambda asked, draw: _quoting(asked.options[int(draw.share() * 4)][0]))
fair = but(lambda _asked, _draw: None)
