"""Every question with what came back and how it was read: the lines of responses.jsonl, and excerpts."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_factorfair.benchmarks.reporting import SCANS
from pytest_factorfair.domain import Answer, CaseKey, Record, Summary, excerpt
from pytest_factorfair.domain.answer import members
from pytest_factorfair.reports.json_report import DECIMALS
from pytest_factorfair.store import CallTexts

Lookup = Callable[[Iterable[str]], Mapping[str, CallTexts]]
"""Looks up prompts and responses by key; missing keys are left out."""

NOTHING = CallTexts("null", "null")
"""Stands for the missing response of an error, or of an answer that a test supplied."""

EXCERPTS = 8
"""Replies per case in the HTML report; responses.jsonl has all."""

PICTURES = 100
"""Most pictures of a case on its contact sheet; all are counted."""

LOOKED_UP = 500
"""Replies read from the store at once; a case is never split."""

LONGEST = 1_000
"""Characters of a reply that the HTML report shows."""

SOURCES, LONGEST_SOURCE = 20, 200
"""Sources of a reply that the HTML report shows, and characters of each."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A question and its reply, for people to read; ``cut`` is how many characters are not shown.

    ``prompt`` and ``reply`` are None where the store has none. ``sources`` are what the reply cites.
    """

    prompt: str | None
    reply: str | None
    cut: int
    answer: Answer
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Excerpts:
    """Some replies of a case: examples of what a scan found, then those without an answer."""

    case: CaseKey
    shown: tuple[Excerpt, ...]
    total: int


def examples(summary: Summary) -> frozenset[tuple[CaseKey, str]]:
    """The questions, by case and query, whose replies show what failed scans found."""
    return frozenset(
        (CaseKey(scan.model, scan.checklist, cell.case), query)
        for scan in SCANS.of(summary)
        for cell in scan.worst
        if cell.value > 1
        for query in cell.queries
    )


def excerpted(record: Record, of_scans: Collection[tuple[CaseKey, str]]) -> Sequence[Answer]:
    """The answers of a case that the HTML report shows: all examples ``of_scans``, and others if few."""
    scanned = {query for case, query in of_scans if case == record.case}
    answers = sorted(
        record.answers, key=lambda answer: (answer.query not in scanned, answer.outcome == "answered")
    )
    return answers[: max(EXCERPTS, len(scanned))]


class Transcript:
    """The replies of a run, read once from the store, case by case: as text, and as excerpts.

    ``excerpts`` are complete once ``pieces`` are.
    """

    def __init__(self, summary: Summary, lookup: Lookup) -> None:
        self._records = summary.cases
        self._examples = examples(summary)
        self._lookup = lookup
        self.excerpts: list[Excerpts] = []

    def pieces(self) -> Iterator[str]:
        """The lines of responses.jsonl, case by case; replies are JSON strings and cannot act."""
        batch: list[Record] = []
        for record in self._records:
            batch.append(record)
            if sum(len(record.answers) for record in batch) >= LOOKED_UP:
                yield from self._looked_up(batch)
                batch = []
        yield from self._looked_up(batch)

    def _looked_up(self, records: Sequence[Record]) -> Iterator[str]:
        stored = self._lookup([answer.key for record in records for answer in record.answers if answer.key])
        for record in records:
            case, lines = json.dumps(record.case._asdict())[1:-1], []
            for answer in record.answers:
                prompt, body = stored.get(answer.key, NOTHING)
                reading = members(answer, decimals=DECIMALS)
                lines.append(f'{{{case}, {reading}, "prompt": {prompt}, "response": {body}}}\n')
            yield "".join(lines)
            shown = []
            for answer in excerpted(record, self._examples):
                prompt, body = stored.get(answer.key, NOTHING)
                response = json.loads(body)
                reply = None if response is None else str(response["text"])
                cut = max(0, len(reply or "") - LONGEST)
                cited = () if response is None else response.get("sources", ())
                sources = tuple(excerpt(source, LONGEST_SOURCE) for source in cited[:SOURCES])
                shown.append(Excerpt(json.loads(prompt), reply and reply[:LONGEST], cut, answer, sources))
            self.excerpts.append(Excerpts(record.case, tuple(shown), len(record.answers)))
