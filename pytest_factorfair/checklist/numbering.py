"""Prompts become queries: each with the id, repeat and seed that tell it from every other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256

from pytest_factorfair.domain import Direction, Option, Query

Draft = tuple[str, tuple[Option, ...], Mapping[str, str]]
"""A query before it is numbered: a prompt, its options and the groups its context names."""


def numbered(drafts: Iterable[Draft], *, seed: int, direction: Direction | None = None) -> tuple[Query, ...]:
    """The queries of a case; ``seed`` is the run's, from which each gets its own."""
    asked: Counter[str] = Counter()
    queries = []
    for prompt, options, background in drafts:
        queries.append(query(prompt, options, background, direction, repeat=asked[prompt], seed=seed))
        asked[prompt] += 1
    return tuple(queries)


def query(
    prompt: str,
    options: tuple[Option, ...],
    background: Mapping[str, str],
    direction: Direction | None,
    *,
    repeat: int,
    seed: int,
) -> Query:
    """The query of a prompt, with the id and the provider's seed that follow from it."""
    id_ = sha256(f"{prompt}\0{repeat}".encode()).hexdigest()[:16]
    drawn = int(sha256(f"{seed}:{id_}".encode()).hexdigest()[:8], 16) & 0x7FFFFFFF
    return Query(id_, prompt, options, repeat, drawn, background, direction)
