"""responses.jsonl: every question with what came back and how it was read, a line each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from pytest_factorfair.domain import Answer, CaseKey, Record
from pytest_factorfair.store import Said

Lookup = Callable[[Iterable[str]], Mapping[str, Said]]
"""From keys to what was asked and answered under them; what is not there is left out."""

NOTHING = Said("null", "null")
"""For errors and for answers that a test supplied, which have no response."""

EXCERPTS = 8
"""Replies per case in the HTML report; responses.jsonl has all."""

LOOKED_UP = 500
"""Replies read from the store at once; a case is never split."""

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
    """The replies of a run, read once from the store, case by case: as text, and as excerpts.

    ``excerpts`` are complete once ``pieces`` are.
    """

    def __init__(self, records: Iterable[Record], lookup: Lookup) -> None:
        self._records = records
        self._lookup = lookup
        self.excerpts: list[Excerpts] = []

    def pieces(self) -> Iterator[str]:
        """The lines of responses.jsonl, case by case; replies are JSON strings and cannot act."""
        for records in _together(self._records):
            said = self._lookup([answer.key for record in records for answer in record.answers if answer.key])
            for record in records:
                self.excerpts.append(_excerpts(record, said))
                yield "".join(_lines(record, said))


def _together(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Records in batches that are looked up at once."""
    group: list[Record] = []
    for record in records:
        group.append(record)
        if sum(len(one.answers) for one in group) >= LOOKED_UP:
            yield group
            group = []
    yield group


def _lines(record: Record, said: Mapping[str, Said]) -> Iterator[str]:
    case = record.case
    of = _members(model=case.model, checklist=case.checklist, case=case.case)
    for one in record.answers:
        prompt, body = said.get(one.key, NOTHING)
        read = _read(one.outcome, one.reason, one.letter, tuple(one.groups.items()))
        put = f'"key": {json.dumps(one.key)}, "prompt": {prompt}, "response": {body}'
        yield f'{{{of}, "repeat": {one.repeat}, {read}, {put}}}\n'


@lru_cache(maxsize=4096)
def _read(outcome: str, reason: str, letter: str | None, groups: tuple[tuple[str, str], ...]) -> str:
    """The reading of a reply: a run has many replies, and few different readings."""
    return _members(outcome=outcome, reason=reason, letter=letter, groups=dict(groups))


def _members(**values: object) -> str:
    return json.dumps(values)[1:-1]


def _excerpts(record: Record, said: Mapping[str, Said]) -> Excerpts:
    order = sorted(record.answers, key=lambda answer: answer.outcome == "answered")
    shown = tuple(_excerpt(answer, said.get(answer.key, NOTHING)) for answer in order[:EXCERPTS])
    return Excerpts(record.case, shown, len(record.answers))


def _excerpt(answer: Answer, said: Said) -> Excerpt:
    response = json.loads(said.body)
    reply = None if response is None else str(response["text"])
    cut = max(0, len(reply or "") - LONGEST)
    return Excerpt(json.loads(said.prompt), reply and reply[:LONGEST], cut, answer)
