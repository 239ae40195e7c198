"""Every simulated respondent through the product itself: asked, read, judged and asked again, in each mode.

``benchmarks.gates --end-to-end`` prints them; ``tests/acceptance/test_end_to_end.py`` asserts that they hold.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import pytest_factorfair
from benchmarks.respondents import FAIR, Model

Mode = Literal["text", "probabilities"]
MODES: tuple[Mode, ...] = ("text", "probabilities")
PASSED = "PASS"

HEAD = (
    f"{'respondent':<50}{'answers':<15}{'release':<11}{'calls':>8}  gates that failed; gates left undecided"
)


class Ending(NamedTuple):
    """How the run of a respondent before ``default`` ended, and the gates that did not pass."""

    model: Model
    mode: Mode
    release: str
    failed: tuple[str, ...]
    undecided: tuple[str, ...]
    calls: int

    @property
    def held(self) -> bool:
        """Whether a plainly biased respondent did not pass, and a fair one did."""
        if self.model.must in ("limit", "-"):
            return True
        return (self.release == PASSED) == (self.model.must in FAIR)

    def __str__(self) -> str:
        note = "" if self.held else "  <- not held"
        return (
            f"{self.model.label:<50}{self.mode:<15}{self.release:<11}{self.calls:>8,}"
            f"  {', '.join(self.failed) or '-'}; {', '.join(self.undecided) or '-'}{note}"
        )


def ending(model: Model, mode: Mode) -> Ending:
    """Run a respondent with preset ``ci`` in an empty folder; the same result each time."""
    with tempfile.TemporaryDirectory() as folder:
        summary = pytest_factorfair.run(
            model.spec, root=folder, gate=["default"], answers=mode, progress=False
        ).summary
    if summary.release is None:
        raise RuntimeError(f"{model.label}: the run was not judged")
    subjects = {
        judgement: tuple(verdict.subject for verdict in summary.gates if verdict.judgement == judgement)
        for judgement in {verdict.judgement for verdict in summary.gates}
    }
    return Ending(
        model,
        mode,
        summary.release.word,
        subjects.pop("failed", ()),
        tuple(subject for name, others in subjects.items() if name != "passed" for subject in others),
        summary.usage.calls,
    )


def endings(models: Iterable[Model]) -> Iterator[Ending]:
    for model in models:
        for mode in MODES:
            yield ending(model, mode)
