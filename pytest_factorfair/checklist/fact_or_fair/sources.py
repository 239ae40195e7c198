"""Who publishes the statistics that a checklist asks about, and of which year they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_factorfair.checklist.fact_or_fair import layout
from pytest_factorfair.checklist.fact_or_fair.build import digest, selected
from pytest_factorfair.checklist.loading import parse
from pytest_factorfair.checklist.locate import shipped
from pytest_factorfair.domain import Source


def sources(name: str, content: str) -> tuple[Source, ...]:
    """Those of a shipped checklist with this content hash; of any other the report does not hold them."""
    if name not in shipped():
        return ()
    _, _, file = parse(name, base=Path())
    if not isinstance(file, layout.Checklist) or digest(file) != content:
        return ()
    return tuple(_sources(file))


def _sources(file: layout.Checklist) -> Iterator[Source]:
    for each in selected(file).values():
        yield Source(each.name, each.source.agency, str(each.source.year), each.source.status)
