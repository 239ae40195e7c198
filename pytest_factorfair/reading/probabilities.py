"""Read the probabilities of a query's letters from a model's distribution over its next token.

A response in this mode is a JSON object of tokens and their probabilities, the likeliest first, as the model
gave them. A letter may be spread over several tokens: ``A``, `` A``, ``"A``, ``A"``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite

from pytest_factorfair.domain import Reading, letter_of
from pytest_factorfair.reading import outcomes

NEGLIGIBLE = 0.005
"""An unlisted letter whose probability may be larger than this leaves the answer unparsed."""

ROUNDING = 0.001
"""How far the probabilities may exceed 1."""

DECIMALS = 6
"""Of a letter's probability, as answers have it; more would only make reports longer."""


def likeliest(text: str, letters: Sequence[str]) -> Reading:
    """The likeliest of the letters, with the probabilities of all."""
    tokens = _distribution(text)
    if tokens is None:
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


def _distribution(text: str) -> Mapping[str, float] | None:
    """The probabilities by token; None for anything else."""
    try:
        tokens = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(tokens, dict) or not tokens:
        return None
    numbers = tokens.values()
    if not all(isinstance(one, int | float) and isfinite(one) and 0 <= one <= 1 for one in numbers):
        return None
    return tokens if sum(numbers) <= 1 + ROUNDING else None
