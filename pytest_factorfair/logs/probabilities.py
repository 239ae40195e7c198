"""The probabilities of options in a logged reply, in the form in which a model gives them that we ask.

A log has them in one of two ways: as the likeliest tokens in the place of each token of the reply, or as the
log likelihood of every option as a continuation of the prompt.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_factorfair.domain import WITHHELD, Option, letter_of
from pytest_factorfair.errors import InputError
from pytest_factorfair.logs.items import are_labels, normalized
from pytest_factorfair.logs.log import LoggedReply
from pytest_factorfair.models.logprobs import (
    MOST_TOKENS,
    ROUNDING,
    Token,
    distribution,
    token_after,
)
from pytest_factorfair.reading.answers import likeliest

_BEFORE_THE_LETTER = re.compile(
    r"""
    \A (?: \s* (?:```\w*\s*)? \{\s*"\w+"\s*:\s*"                # {"answer": "
         | \W* (?: (?:\w{2,}[ ]){0,2} \w{2,} \W* [:：] \W* )?   # **Answer: (
    )
    """,  # noqa: RUF001 - a colon of Chinese and Japanese
    re.VERBOSE,
)
"""What may stand before the letter: JSON, a label, markup. After other words, a letter depends on them."""

FULL = 2
"""The tokens in a full list, at least: a log may not say for how many the tool asked."""


class Distributions:
    """Reads the probabilities in a log, and remembers whether any can be used."""

    def __init__(self) -> None:
        self._useful = False
        self._problems = Counter[str]()

    def read(self, reply: LoggedReply, options: Sequence[Option]) -> str:
        """The distribution in a reply, as the text of a response."""
        text = distribution_of(reply, options)
        if not (self._useful or reply.error or reply.finish in WITHHELD):
            reading = likeliest(text, [option.letter for option in options])
            self._useful = reading.outcome == "answered"
            self._problems[reading.reason] += 1
        return text

    def check(self, path: Path) -> None:
        """Check that a log has probabilities.

        Raises:
            InputError: none can be used.
        """
        if self._useful or not self._problems:
            return
        ((reason, _),) = self._problems.most_common(1)
        raise InputError(
            f"{path}: no reply to the checklist has the probability of every option ({reason}): log the "
            f"{MOST_TOKENS} likeliest tokens (top_logprobs), or leave --factorfair-answers out"
        )


def distribution_of(reply: LoggedReply, options: Sequence[Option]) -> str:
    """The probabilities of letters, and of what else was likely, as JSON; without any, the text of the reply.

    ``options`` have the letters that the log shows. If it shows numbers, these are among an option's words.
    """
    token = _as_token(reply.scores) if reply.scores else token_after(_BEFORE_THE_LETTER, reply.tokens)
    if token is None:
        return reply.text
    letters = {_name(word): option.letter for option in options for word in option.words}
    letters |= {_name(option.text): option.letter for option in options}
    letters |= {option.letter.casefold(): option.letter for option in options} if reply.scores else {}
    probabilities: dict[str, float] = {}
    for text, probability in json.loads(distribution(token, listed=FULL)).items():
        name = _name(text)
        shown = letters.get(name, text) if reply.scores or name.isdecimal() else text
        probabilities[shown] = probabilities.get(shown, 0.0) + probability
    return json.dumps(probabilities, ensure_ascii=False)


def _as_token(scores: Mapping[str, float]) -> Token:
    """Scored options as the tokens in one place.

    The likelihood of a letter is the probability of the next token. The likelihoods of texts become shares
    of their sum, as there are many other texts that mean the same. They are not divided by the length.
    """
    total = 0.0
    if not are_labels([*scores]) and all(score <= ROUNDING for score in scores.values()):  # others are errors
        highest = max(scores.values())
        total = highest + math.log(sum(math.exp(score - highest) for score in scores.values()))
    likeliest = [{"token": text, "logprob": score - total} for text, score in scores.items()]
    return {"token": "", "top_logprobs": likeliest}


def _name(text: str) -> str:
    """The text of an option or a token for comparison."""
    return letter_of(normalized(text))
