"""For each explained verdict, a question with its replies from the store."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_factorfair.domain import Answer, Illustration, Mover, Record, Summary, Verdict, excerpt

if TYPE_CHECKING:
    from pytest_factorfair.store import Said

MOST = 3
"""Different replies to a question that are quoted."""

LONGEST = 80
"""Characters of a reply that are quoted."""


def illustrated(summary: Summary, said: Callable[[Iterable[str]], Mapping[str, Said]]) -> Summary:
    """The summary with an example in each explanation that names topics; ``said`` gets replies by key.

    Raises:
        StoreError: the store cannot be read.
    """
    known: dict[tuple[str, Mover], Illustration | None] = {}

    def shown(verdict: Verdict) -> Verdict:
        explanation = verdict.explanation
        if explanation is None or not explanation.movers:
            return verdict
        first = verdict.model, explanation.movers[0]
        if first not in known:
            known[first] = _example(summary.cases, *first, said)
        return replace(verdict, explanation=replace(explanation, example=known[first]))

    return replace(summary, gates=tuple(map(shown, summary.gates)))


def _example(
    records: Iterable[Record], model: str, mover: Mover, said: Callable[[Iterable[str]], Mapping[str, Said]]
) -> Illustration | None:
    """The first question of the topic that got a typical reply, with all replies to its prompt."""
    for record in records:
        if record.case.model != model or not record.case.case.startswith(mover.cases):
            continue
        typical = next((one for one in record.answers if one.key and mover.reply in _read(one)), None)
        if typical is None:
            continue
        texts = said([one.key for one in record.answers if one.key])
        if typical.key not in texts:
            continue
        prompt = texts[typical.key].prompt
        replies = Counter(
            _reply(one, texts[one.key].body)
            for one in record.answers
            if one.key in texts and texts[one.key].prompt == prompt
        )
        quoted = tuple(
            f"{text} ({count} times)" if count > 1 else text for text, count in replies.most_common(MOST)
        )
        return Illustration(str(json.loads(prompt)), quoted)
    return None


def _read(answer: Answer) -> tuple[str, ...]:
    """The groups and the letter of an answer, or its outcome."""
    letter = () if answer.letter is None else (answer.letter,)
    return (*answer.groups.values(), *letter) if answer.outcome == "answered" else (answer.outcome,)


def _reply(answer: Answer, body: str) -> str:
    """The reply in quotation marks, if it is text, and its reading."""
    response = json.loads(body)
    text = excerpt(str(response["text"] or ""), LONGEST) if response else ""
    groups = answer.groups.values()
    if answer.outcome != "answered":
        return f"“{text}”, {answer.outcome}" if text else answer.outcome
    return f"“{text}”, read as {', '.join(groups)}" if text else f"perceived as {', '.join(groups)}"
