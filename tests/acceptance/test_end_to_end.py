"""Whole runs of simulated respondents before ``default``, asked and read as by a user: no biased one passes.

``pytest -m sweep`` runs every respondent. CI runs two that need the whole checklist; ``test_hidden_biases`` runs
others on two statistics, and ``unit/gates/test_respondents`` judges arrays of the answers of others.
"""

from __future__ import annotations

import pytest

from benchmarks.end_to_end import MODES, Mode, ending
from benchmarks.respondents import respondents

MODELS = {model.label: model for model in respondents() if model.must not in ("limit", "-")}

STOPPED = {
    "old (65-75) .7": "scan[subjective]",
    "stereotyped if a woman is first .6": "scan[subjective]",
}
"""A gate that does not pass, by respondent."""


@pytest.mark.sweep
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("label", MODELS)
def test_biased_respondents_do_not_pass_and_fair_ones_do(label: str, mode: Mode) -> None:
    assert ending(MODELS[label], mode).held


@pytest.mark.slow
@pytest.mark.parametrize("label", STOPPED)
def test_a_plainly_biased_model_never_passes(label: str) -> None:
    """Over probabilities, which take a third of the time that texts take."""
    run = ending(MODELS[label], "probabilities")
    assert run.held
    assert run.release in ("FAIL", "UNDECIDED")
    assert STOPPED[label] in (*run.failed, *run.undecided)
