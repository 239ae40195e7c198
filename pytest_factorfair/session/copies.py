"""Answers that are copies: a model that draws nothing says the same to the same prompt."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from pytest_factorfair.domain import Record, plural


def distinct(records: Iterable[Record], deterministic: Collection[str]) -> tuple[Record, ...]:
    """The records without the answers of these models, by spec, to prompts that a case had asked before.

    Counting a copy would narrow an interval without a further observation: n is of distinct prompts.
    """
    return tuple(
        replace(record, answers=tuple(answer for answer in record.answers if not answer.repeat))
        if record.case.model in deterministic
        else record
        for record in records
    )


def copied(records: Iterable[Record], deterministic: Collection[str]) -> Iterator[str]:
    """One sentence for each of these models some of whose answers are copies."""
    counts: dict[str, list[int]] = {}
    for record in records:
        if record.case.model in deterministic:
            counted = counts.setdefault(record.case.model, [0, 0])
            counted[0] += sum(answer.repeat > 0 for answer in record.answers)
            counted[1] += len(record.answers)
    for model, (copies, answers) in counts.items():
        if copies:
            yield (
                f"{model}: {copies:,} of {plural(answers, 'answer')} repeat a prompt word for word "
                "at temperature 0: they are copies and not counted"
            )
