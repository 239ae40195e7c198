"""Simulated models: they answer prompts like a model, and their scores are known in closed form."""

from pytest_factorfair.models.simulated.respondent import build

__all__ = ["build"]
