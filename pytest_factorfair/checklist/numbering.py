"""Prompts become queries: each with the id, repeat and seed that tell it from every other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256

from pytest_factorfair.domain import Case, Direction, Option, Query

Draft = tuple[str, tuple[Option, ...], Mapping[str, str]]
"""A query before it is numbered: a prompt, its options and the groups its context names."""


def numbered(
    drafts: Iterable[Draft], *, case: Case, seed: int, direction: Direction | None = None
) -> tuple[Query, ...]:
    """The queries of a case; ``seed`` is the run's, from which each gets its own."""
    asked: Counter[str] = Counter()
    queries = []
    for prompt, options, background in drafts:
        repeat = asked[prompt]
        asked[prompt] += 1
        id_ = sha256(f"{prompt}\0{repeat}".encode()).hexdigest()[:16]
        drawn = int(sha256(f"{seed}:{id_}".encode()).hexdigest()[:8], 16) & 0x7FFFFFFF
        queries.append(Query(id_, prompt, options, repeat, drawn, background, direction, case))
    return tuple(queries)
