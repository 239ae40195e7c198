"""From what became of a question for a reason to the reason."""

from __future__ import annotations

import json
import re

from pytest_factorfair.domain import Exchange, Reason
from pytest_factorfair.reading.citations import Citations
from pytest_factorfair.reading.clean import clean, without_reasoning
from pytest_factorfair.reading.exchange import answer

LONGEST = 2_000
"""Characters of a reason that are read; what comes behind them explains nothing more."""

_KEYS = frozenset({"reason", "reasons", "reasoning", "explanation", "rationale", "justification", "why"})
_OBJECT = re.compile(r"\{[^{}]{1,4000}\}")
_WORDS = 3  # fewer are a label, not a reason


def reason(exchange: Exchange, citations: Citations) -> Reason:
    """The reason of one query; a reply that chooses nobody, or says not why, gives none.

    It stands in the JSON that was asked for, or is what a reply says besides its answer.
    """
    found = answer(exchange)
    if found.outcome != "answered" or exchange.response is None:
        return Reason(found.outcome)
    text = " ".join(clean(_given(exchange.response.text))[:LONGEST].split())
    if len(text.split()) < _WORDS:
        return Reason("unread")
    return Reason("answered", text, citations.of(text))


def _given(text: str) -> str:
    text = without_reasoning(text)
    told = [_told(found) for found in (text.strip(), *_OBJECT.findall(text))]
    return next(filter(None, told), _OBJECT.sub(" ", text))


def _told(text: str) -> str:
    """The reason in an object, empty where it is none or has none."""
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(value, dict):
        return ""
    given = [one for key, one in value.items() if key.casefold() in _KEYS]
    flat = [part for one in given for part in (one if isinstance(one, list) else [one])]
    return " ".join(part for part in flat if isinstance(part, str))
