"""responses.jsonl: every question with what came back and how it was read, a line each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pytest_factorfair.domain import Answer, CaseKey, Record
from pytest_factorfair.store import Said

Lookup = Callable[[Iterable[str]], Mapping[str, Said]]
"""From keys to what was asked and answered under them; what is not there is left out."""

NOTHING = Said("null", "null")
"""An error has no response, nor has an answer that a test brought along."""

EXCERPTS = 8
"""So many replies of a case are shown in the HTML report; responses.jsonl has all."""

LOOKED_UP = 500
"""So many replies, or those of one case, are read from the store at once."""

LONGEST = 1_000
"""Characters of a reply that the HTML report shows."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A question and its reply, for people to read; ``cut`` is how many characters are not shown.

    ``prompt`` and ``reply`` are None where the store has none.
    """

    prompt: str | None
    reply: str | None
    cut: int
    answer: Answer


@dataclass(frozen=True, slots=True)
class Excerpts:
    """Some replies of a case: those without an answer come first, since they need a reader most."""

    case: CaseKey
    shown: tuple[Excerpt, ...]
    total: int


class Transcript:
    """The replies of a run, read once from the store, case by case: as lines, and as excerpts.

    ``excerpts`` are complete once ``lines`` are.
    """

    def __init__(self, records: Iterable[Record], lookup: Lookup) -> None:
        self._records = records
        self._lookup = lookup
        self.excerpts: list[Excerpts] = []

    def lines(self) -> Iterator[str]:
        """The lines of responses.jsonl; what a model said stands in them as JSON, and cannot act."""
        for records in _together(self._records):
            said = self._lookup([answer.key for record in records for answer in record.answers if answer.key])
            for record in records:
                self.excerpts.append(_excerpts(record, said))
                yield from (_line(record.case, one, said.get(one.key, NOTHING)) for one in record.answers)


def _together(records: Iterable[Record]) -> Iterator[list[Record]]:
    """As many records as are looked up at once."""
    group: list[Record] = []
    for record in records:
        group.append(record)
        if sum(len(one.answers) for one in group) >= LOOKED_UP:
            yield group
            group = []
    yield group


def _line(case: CaseKey, answer: Answer, said: Said) -> str:
    read = {
        "model": case.model,
        "checklist": case.checklist,
        "case": case.case,
        "repeat": answer.repeat,
        "outcome": answer.outcome,
        "reason": answer.reason,
        "letter": answer.letter,
        "groups": dict(answer.groups),
        "key": answer.key,
    }
    return f'{json.dumps(read)[:-1]}, "prompt": {said.prompt}, "response": {said.body}}}\n'


def _excerpts(record: Record, said: Mapping[str, Said]) -> Excerpts:
    order = sorted(record.answers, key=lambda answer: answer.outcome == "answered")
    shown = tuple(_excerpt(answer, said.get(answer.key, NOTHING)) for answer in order[:EXCERPTS])
    return Excerpts(record.case, shown, len(record.answers))


def _excerpt(answer: Answer, said: Said) -> Excerpt:
    response = json.loads(said.body)
    reply = None if response is None else str(response["text"])
    cut = max(0, len(reply or "") - LONGEST)
    return Excerpt(json.loads(said.prompt), reply and reply[:LONGEST], cut, answer)
