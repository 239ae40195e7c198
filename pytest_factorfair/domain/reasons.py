"""Why a model says it chose: what its reasons cite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_factorfair.domain.answer import Outcome

Citation = Literal["group", "prior", "news", "identity"]

CITATIONS: tuple[Citation, ...] = ("group", "prior", "news", "identity")


@dataclass(frozen=True, slots=True)
class Reason:
    """What became of one question for a reason, and what the reason cites.

    ``group``: it names a group of people; ``prior``: statistics; ``news``: the report the context
    tells of; ``identity``: the one the context assumes. ``outcome`` is ``answered`` only where an
    option was chosen and a reason given; ``text`` is then the reason, without markup.
    """

    outcome: Outcome
    text: str = ""
    cited: frozenset[Citation] = frozenset()


@dataclass(frozen=True, slots=True)
class ReasonShare:
    """The share of a model's reasons in one context that cite one thing, with its 95 % interval.

    ``count`` of ``n`` reasons; those asked for and not had are ``refused``, ``unparsed`` or
    ``errors``. ``share`` and interval are None without a reason. ``quotations`` are the first
    reasons that cite it.
    """

    model: str
    checklist: str
    context: str
    citation: Citation
    share: float | None
    low: float | None
    high: float | None
    count: int
    n: int
    asked: int
    refused: int
    unparsed: int
    errors: int
    quotations: tuple[str, ...]
