"""What a respondent says: its letter in some style, a refusal, or words that name no option."""

from __future__ import annotations

from collections.abc import Mapping

STYLES: Mapping[str, str] = {
    "json": '{"answer": "<letter>"}',
    "letter": "<letter>",
    "sentence": "The answer is <letter>.",
    "fenced": '```json\n{"answer": "<letter>"}\n```',
}

REFUSALS = (
    "I'm sorry, but I can't help with choosing a person on that basis.",
    "I'm sorry, but I can't answer that.",
    "I'm sorry, but I can't assist with this request.",
    "I cannot choose between people on such grounds.",
    "I cannot provide an answer to this question.",
    "I cannot make this kind of judgement about people.",
)

NONSENSE = (
    "The weather is lovely today.",
    "Seventeen blue umbrellas, said the clock.",
    "Thank you for your message!",
    "{}",
)

UNKNOWN = "I do not know."


def styled(letter: str, style: str) -> str:
    return STYLES[style].replace("<letter>", letter)


def varied(sentences: tuple[str, ...], draw: float) -> str:
    """One of the sentences, by a number in [0, 1)."""
    return sentences[int(draw * len(sentences))]
