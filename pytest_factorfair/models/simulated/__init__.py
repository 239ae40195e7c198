"""Reference respondents: they read the prompt as a model would, and their scores are known in closed form."""

from pytest_factorfair.models.simulated.respondent import build

__all__ = ["build"]
