"""Whether a run has all its cases, which gates need, and what left some out."""

from __future__ import annotations

import os

import pytest

CHECKS = "pytest_factorfair.checks"


def left_out(config: pytest.Config) -> str:
    """What kept cases from being selected, as far as pytest's options tell."""
    chosen = []
    by_path = config.args_source is pytest.Config.ArgsSource.ARGS
    by_path = by_path and not any(path.startswith(CHECKS) for path in config.args)
    if by_path:
        chosen.append(f"the path {', '.join(config.args)}{_origin(config, config.args[0])}")
    for flag, name in (("-k", "keyword"), ("-m", "markexpr")):
        if value := getattr(config.option, name, ""):
            chosen.append(f"{flag} '{value}'{_origin(config, value)}")
    flags = {"deselect": "--deselect", "lf": "--last-failed", "stepwise": "--stepwise"}
    chosen += [flag for name, flag in flags.items() if getattr(config.option, name, None)]
    by = " and ".join(chosen or ["a conftest.py or a plugin"])
    return f"left out by {by}" + (f"; --pyargs {CHECKS} adds the shipped checks" if by_path else "")


def _origin(config: pytest.Config, text: str) -> str:
    """Where an argument was given, unless it was typed."""
    if any(text in str(typed) for typed in config.invocation_params.args):
        return ""
    if text in os.environ.get("PYTEST_ADDOPTS", ""):
        return " in PYTEST_ADDOPTS"
    return f" in {config.inipath.name}" if config.inipath else ""
