"""Read the probabilities of a query's letters from a model's distribution over its next token.

A response in this mode is a JSON object of tokens and their probabilities, the likeliest first, as the model
gave them. A letter may be spread over several tokens: ``A``, `` A``, ``"A``, ``A"``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isfinite

from pytest_factorfair.domain import Reading, letter_of
from pytest_factorfair.reading import outcomes

NEGLIGIBLE = 0.005
"""An unlisted letter whose probability may be larger than this leaves the answer unparsed."""

ROUNDING = 0.001
"""How far the probabilities may exceed 1."""

DECIMALS = 6
"""Decimals of a letter's probability in answers; more would only make reports longer."""


def likeliest(text: str, letters: Sequence[str]) -> Reading:
    """The likeliest of the letters, with the probabilities of all."""
    try:
        tokens = json.loads(text)
    except (ValueError, RecursionError):
        return outcomes.NO_PROBABILITIES
    if not (
        isinstance(tokens, dict)
        and tokens
        and all(isinstance(one, int | float) and isfinite(one) and 0 <= one <= 1 for one in tokens.values())
        and sum(tokens.values()) <= 1 + ROUNDING
    ):
        return outcomes.NO_PROBABILITIES
    found = dict.fromkeys(letters, 0.0)
    listed = set()
    for token, probability in tokens.items():
        letter = letter_of(token)
        if letter in found:
            found[letter] += probability
            listed.add(letter)
    found = {letter: round(probability, DECIMALS) for letter, probability in found.items()}
    if not any(found.values()):
        return outcomes.NO_LETTER
    if len(listed) < len(found) and min(tokens.values()) > NEGLIGIBLE:
        return outcomes.UNLISTED
    return Reading("answered", max(found, key=lambda letter: found[letter]), probabilities=found)
