"""Scores of a model as ``.eval_results`` of its repository on the Hugging Face Hub."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from pytest_factorfair.domain import Summary
from pytest_factorfair.drawing.table import number, span
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.exports.evidence.exported import ExportedScore

_TASK = re.compile(r"([\w.-]+/[\w.-]+)/([\w.-]+)=(.+)", re.ASCII)


class HubTask(NamedTuple):
    """A task of a benchmark dataset on the Hub, and the key of the score that is reported for it."""

    dataset: str
    task: str
    score: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse ``OWNER/NAME/TASK=SCORE``.

        Raises:
            InputError: it has another form.
        """
        match = _TASK.fullmatch(text)
        if match is None:
            raise InputError(f"--hub: expected OWNER/NAME/TASK=SCORE, got '{text}'")
        return cls(*match.groups())


def entries(
    summary: Summary, tasks: Sequence[HubTask], scores: Mapping[str, ExportedScore]
) -> list[dict[str, Any]]:
    """An entry for each task, without a token: only runs on the Hub's own jobs have one.

    Raises:
        InputError: there is no such score.
    """
    run = summary.fingerprint
    listed = []
    for task in tasks:
        exported = scores.get(task.score)
        if exported is None:
            raise InputError(f"--hub: there is no score '{task.score}'{nearest(task.score, scores)}")
        score = exported.score
        interval = span(score.low, score.high)
        listed.append(
            {
                "dataset": {"id": task.dataset, "task_id": task.task},
                "value": exported.shown,
                "date": run.times["finished"],
                "notes": f"{task.score} {number(exported.shown)}"
                + (f", 95 % interval {interval}" if interval else ", no interval")
                + f", n = {score.n:,}; pytest-factorfair {run.versions['pytest-factorfair']}, "
                f"preset {run.preset}, design {run.design}, seed {run.seed}",
            }
        )
    return listed
