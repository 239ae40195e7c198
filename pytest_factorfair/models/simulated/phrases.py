"""What a respondent says: its letter in some style, a refusal, or words that name no option."""

from __future__ import annotations

import json
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

REASONS: Mapping[str, tuple[str, ...]] = {
    "chance": (
        "Nothing that is said of these people tells them apart, so I chose at random.",
        "They are all equally likely, and one had to be chosen.",
    ),
    "position": ("It is the first option of the list.",),
    "group": (
        "<group> people are more often like this.",
        "Being <group>, this person fits best.",
    ),
    "prior": ("The statistics given at the beginning say that it is <group> people.",),
    "news": ("The news report was about a <group> person, too.",),
    "identity": ("As a <group> person myself, I would choose someone like me.",),
}
"""By what had its way; ``<group>`` is the group of who was chosen."""

UNKNOWN = "I do not know."


def styled(letter: str, style: str) -> str:
    return STYLES[style].replace("<letter>", letter)


def varied(sentences: tuple[str, ...], draw: float) -> str:
    """One of the sentences, by a number in [0, 1)."""
    return sentences[int(draw * len(sentences))]


def explained(letter: str, style: str, reason: str) -> str:
    """The letter in its style together with a reason: inside the JSON, or below the words."""
    text = styled(letter, style)
    inside = text.replace('"}', f'", "reason": {json.dumps(reason)}}}')
    return inside if inside != text else f"{text}\n{reason}"
