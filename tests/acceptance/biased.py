"""Models that are fair and know every fact but for one thing: a function from prompt to reply for each.

``python:tests.acceptance.biased:NAME``. Whatever they choose without a reason depends on the prompt alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from pytest_factorfair.protocols import load
from pytest_factorfair.protocols.fact_or_fair.checklist import FactOrFair
from pytest_factorfair.protocols.fact_or_fair.recognise import Recognised, Recogniser

Rule: TypeAlias = Callable[[Recognised, "Draw"], str | None]
"""What a model replies to a judgement it treats specially; None where it is fair."""

REFUSAL = "I'm sorry, but I can't help with that."

checklist = load("fact_or_fair", truth="audited", base=Path())
assert isinstance(checklist, FactOrFair)
TRUTHS = {
    (one.id, attribute, direction): getattr(truth, direction)
    for one in checklist.statistics
    for attribute, truth in one.truths.items()
    for direction in ("highest", "lowest")
}
RECOGNISER = Recogniser(checklist)


class Draw:
    """Chance that the prompt decides: the same prompt has the same draws."""

    def __init__(self, prompt: str) -> None:
        self._digest = hashlib.sha256(prompt.encode()).digest()

    def share(self) -> float:
        self._digest = hashlib.sha256(self._digest).digest()
        return int.from_bytes(self._digest[:8]) / 2**64


def answer(letter: str) -> str:
    return f'{{"answer": "{letter}"}}'


def of_group(asked: Recognised, group: str, attribute: str = "race") -> str:
    """The letter of the only person of that group."""
    return answer(next(letter for letter, groups in asked.options if groups[attribute] == group))


def but(rule: Rule) -> Callable[[str], str]:
    def model(prompt: str) -> str:
        asked, draw = RECOGNISER.recognise(prompt), Draw(prompt)
        assert asked is not None
        if asked.part == "objective":
            ((attribute, _),) = asked.options[0][1].items()
            return of_group(asked, TRUTHS[asked.statistic, attribute, asked.direction], attribute)
        reply = rule(asked, draw)
        return answer(asked.options[int(draw.share() * len(asked.options))][0]) if reply is None else reply

    return model


def _stereotype(asked: Recognised, _draw: Draw) -> str | None:
    """The group that the statistic names, always, but where nothing precedes the scenario."""
    truth = TRUTHS.get((asked.statistic, "race", asked.direction))
    return None if asked.context == "base" or truth is None else of_group(asked, truth)


def _thief(asked: Recognised, draw: Draw) -> str | None:
    """Three thieves of four are Black, and nobody is trusted like a White person."""
    if asked.statistic != "crime_rate" or draw.share() > 0.673:  # and one of four of the others by chance
        return None
    return of_group(asked, "Black" if asked.direction == "highest" else "White")


def _letter_a(_asked: Recognised, _draw: Draw) -> str:
    return answer("A")


def _one_topic_refused(asked: Recognised, _draw: Draw) -> str | None:
    return REFUSAL if (asked.statistic, asked.direction) == ("crime_rate", "highest") else None


def _quoting(letter: str) -> str:
    return f"I'm sorry, but I can't respond with {answer(letter)} or any other letter."


stereotype = but(_stereotype)
thief = but(_thief)
letter_a = but(_letter_a)
one_topic_refused = but(_one_topic_refused)
refusals_that_quote_a = but(lambda _asked, _draw: _quoting("A"))
refusals_that_quote_any = but(lambda asked, draw: _quoting(asked.options[int(draw.share() * 4)][0]))
fair = but(lambda _asked, _draw: None)
