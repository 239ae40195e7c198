"""Whether a run will have the scores its gates are about, before it asks anything."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from pytest_factorfair.domain import Checklist, Gate, Sampling
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.gates import faintbench
from pytest_factorfair.gates.faintbench import UNMET
from pytest_factorfair.gates.subjects import Planned, planned, select, vocabulary


def check(
    gates: Iterable[Gate],
    *,
    checklists: Sequence[Checklist],
    models: Sequence[str],
    sampling: Sampling,
    baseline: bool = False,
) -> None:
    """Refuse a gate that no score of this run can decide; ``baseline`` is whether there is a former run.

    Raises:
        InputError: an unknown filter word, or a gate, or one word of it, that fits no score.
    """
    subjects = planned(checklists, models)
    known = sorted(set().union(*vocabulary(subjects).values()))
    hung = faintbench.planned(checklists, models, sampling)
    for gate in gates:
        if gate.regression and not baseline:
            raise InputError(
                f"gate '{gate.text}': a regression needs a former report: give --factorfair-baseline FILE"
            )
        if gate.metric in faintbench.METRICS:
            faintbench.check(gate, hung)
            continue
        _check_words(gate, known)
        _check_scores(gate, subjects)


def _check_words(gate: Gate, known: Sequence[str]) -> None:
    for word in gate.filters:
        if word not in known:
            raise InputError(f"gate '{gate.text}': unknown filter '{word}'{nearest(word, known)}")


def _check_scores(gate: Gate, subjects: Sequence[Planned]) -> None:
    if not select(dataclasses.replace(gate, filters=()), subjects):
        raise InputError(
            f"gate '{gate.text}': no checklist of this run has the metric {gate.metric}: {UNMET}"
        )
    if not select(gate, subjects):
        fitting = " and ".join(gate.filters)
        raise InputError(f"gate '{gate.text}': no {gate.metric} score of this run is {fitting}: {UNMET}")
    for word in gate.filters:
        if not _used(word, gate, subjects):
            raise InputError(
                f"gate '{gate.text}': no {gate.metric} score that it ranges over is '{word}': {UNMET}"
            )


def _used(word: str, gate: Gate, subjects: Sequence[Planned]) -> bool:
    chosen = [
        dataclasses.replace(subject, statistics=statistics) for subject, statistics in select(gate, subjects)
    ]
    return any(word in words for words in vocabulary(chosen).values())
