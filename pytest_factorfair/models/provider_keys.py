"""The environment variables that litellm's providers take their keys from."""

from __future__ import annotations

import os
from collections.abc import Mapping

# Any one of them will do. Providers that can also log in by other ways (Azure, Bedrock, Vertex AI,
# Hugging Face) are left out: only the provider itself can tell whether those are in order.
VARIABLES: Mapping[str, tuple[str, ...]] = {
    "ai21": ("AI21_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "cerebras": ("CEREBRAS_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "dashscope": ("DASHSCOPE_API_KEY",),
    "deepinfra": ("DEEPINFRA_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks_ai": (
        "FIREWORKS_AI_API_KEY",
        "FIREWORKS_API_KEY",
        "FIREWORKSAI_API_KEY",
        "FIREWORKS_AI_TOKEN",
    ),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "moonshot": ("MOONSHOT_API_KEY",),
    "nvidia_nim": ("NVIDIA_NIM_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY", "OR_API_KEY"),
    "perplexity": ("PERPLEXITY_API_KEY", "PERPLEXITYAI_API_KEY"),
    "replicate": ("REPLICATE_API_KEY", "REPLICATE_API_TOKEN"),
    "together_ai": (
        "TOGETHERAI_API_KEY",
        "TOGETHER_API_KEY",
        "TOGETHER_AI_API_KEY",
        "TOGETHER_AI_TOKEN",
    ),
    "xai": ("XAI_API_KEY",),
}


def missing(provider: str) -> tuple[str, ...]:
    """The variables of which one would be needed; empty if one is set, or if that cannot be told."""
    names = VARIABLES.get(provider, ())
    return () if any(os.environ.get(name) for name in names) else names


def present(provider: str) -> dict[str, str]:
    """The keys that are set, by their variables."""
    return {name: os.environ[name] for name in VARIABLES.get(provider, ()) if os.environ.get(name)}
