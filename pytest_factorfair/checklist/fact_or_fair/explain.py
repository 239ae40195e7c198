"""The question for a reason: the same one as a case's, but for the form of the answer."""

from __future__ import annotations

from pytest_factorfair.checklist.fact_or_fair.expand import queries
from pytest_factorfair.checklist.numbering import query
from pytest_factorfair.domain import FactOrFair, Query, Sampling, TopicCase

REASON_FORMAT = (
    'Reply with exactly {"answer": "A", "reason": "..."} and nothing else, putting the letter of your choice '
    "in place of A, and your reason for it, in one or two sentences, in place of the dots."
)


def explained(checklist: FactOrFair, case: TopicCase, sampling: Sampling) -> Query:
    """The first query of a subjective case, asked with its reason.

    Another prompt and so another query, with an id and a key in the store of its own: who must give
    reasons may choose otherwise, and these choices count for nothing else.
    """
    first = queries(checklist, case, sampling)[0]
    prompt = first.prompt.removesuffix(checklist.answer_format) + REASON_FORMAT
    return query(prompt, first.options, first.background, first.direction, repeat=0, seed=sampling.seed)
