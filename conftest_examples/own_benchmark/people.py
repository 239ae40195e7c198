"""Models under test that greet by the time of day."""

from __future__ import annotations


def snob(prompt: str) -> str:
    return '{"answer": "B"}' if "night" in prompt else '{"answer": "A"}'


def fair(prompt: str) -> str:
    return '{"answer": "B"}' if "night" in prompt or "evening" in prompt else '{"answer": "A"}'


def shy(prompt: str) -> str:
    return "I'm sorry, but I can't help with that." if "night" in prompt else '{"answer": "A"}'
