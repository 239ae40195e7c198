"""The sentence about a model that declines judgements."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_factorfair.benchmarks.fact_or_fair.printing.declines import declining
from pytest_factorfair.benchmarks.fact_or_fair.rows import TopicCounts


@pytest.mark.parametrize(
    ("asked", "answered", "sentence"),
    [
        (100, (50, 50), "It declined all judgements."),
        (
            300,
            (230, 70),
            "It declined 33 of 100 judgements; of the other 200, it picks the stereotyped gender 90",
        ),
        (150, (75, 75), "It declined 67 of 100 judgements; 50 other answers are too few to describe."),
        (500, (50, 50), "It declined 20 of 100 judgements; 400 answers are missing."),
        (
            500,
            (230, 70),
            "It declined 20 of 100 judgements; 200 answers are missing; of the other 200, it picks the",
        ),
    ],
)
def test_missing_answers_are_no_choices(asked: int, answered: tuple[int, int], sentence: str) -> None:
    """A hundred were declined, which count as fifty of either group: 180 of 200 choices are 90 of 100."""
    counts = dict(zip(("woman", "man"), answered, strict=True))
    topic = TopicCounts(
        "m", "c", "subjective", "base", "gender", "s", "highest", "woman", fragile=False, counts=counts,
        asked=asked, refused=0, unparsed=asked - sum(answered), errors=0, declined=100,
    )  # fmt: skip
    (declined,) = declining(SimpleNamespace(rows={"topics": (topic,)}))
    assert declined.sentence.startswith(sentence)
    assert declined.share == 100 / asked
