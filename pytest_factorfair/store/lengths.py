"""The tokens that a model's stored answers took."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from pytest_factorfair.domain import Response
from pytest_factorfair.store.opening import explained
from pytest_factorfair.store.rows import from_body, plain
from pytest_factorfair.store.schema import RESPONSES
from pytest_factorfair.store.store import Store

MOST = 2_000
"""Answers that are read at most: their mean is precise enough for a plan."""


class MeanLength(NamedTuple):
    """The mean output tokens of an answer, and of its hidden reasoning, over this many answers."""

    answers: int
    tokens: float
    reasoning: float


def mean_lengths(store: Store, name: str, identity: Mapping[str, object]) -> dict[str, MeanLength]:
    """The mean lengths of stored answers of a model with these parameters, by answer mode.

    Raises:
        StoreError: the store cannot be read, or a row is damaged.
    """
    identity_sought = _without_mode(json.loads(json.dumps(dict(identity))))
    of_model = RESPONSES.c.model == plain(name)
    rows = select(RESPONSES.c.key, RESPONSES.c.body).where(of_model).limit(MOST)
    responses: defaultdict[str, list[Response]] = defaultdict(list)
    try:
        with store.database.begin() as connection:
            for text in connection.execute(select(RESPONSES.c.identity).where(of_model).distinct()).scalars():
                stored: dict[str, Any] = json.loads(text)
                if _without_mode(stored) != identity_sought:
                    continue
                for key, body in connection.execute(rows.where(RESPONSES.c.identity == text)):
                    response = from_body(body, key=key, location=store.location)
                    if response.tokens_out is not None:
                        responses[stored.get("answers", "text")].append(response)
    except SQLAlchemyError as error:
        raise explained(store.location, "cannot be read", error) from error
    return {mode: _mean(of_mode) for mode, of_mode in responses.items()}


def _without_mode(identity: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in identity.items() if name != "answers"}


def _mean(responses: list[Response]) -> MeanLength:
    tokens, reasoning = (
        sum(getattr(response, name) or 0 for response in responses) / len(responses)
        for name in ("tokens_out", "tokens_reasoning")
    )
    return MeanLength(len(responses), tokens, reasoning)
