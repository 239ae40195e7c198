"""The output tokens that answers are expected to take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pytest_factorfair.domain import AnswerMode, plural
from pytest_factorfair.models.protocol import stored_name

if TYPE_CHECKING:
    from pytest_factorfair.runs.run import Run
    from pytest_factorfair.store import Store
    from pytest_factorfair.store.lengths import MeanLength

TOKENS_PER_ANSWER: Mapping[AnswerMode, int] = {"text": 8, "json": 8, "probabilities": 1}
"""Tokens of ``{"answer": "A"}``, the format that is asked for, or of its letter alone."""

TOKENS_PER_REASON = 60
"""Tokens of an answer with one or two sentences."""

EXCLUDING = ", excluding reasoning"
"""Follows numbers of tokens and costs that will be higher if the model reasons."""


class Lengths:
    """The expected length of answers: the mean of the model's stored ones, otherwise that of the format."""

    def __init__(self, run: Run, store: Store | None) -> None:
        self._run = run
        self._store = store
        self._stored: dict[str, Mapping[str, MeanLength]] = {}

    def written(self, spec: str, mode: AnswerMode, answers: int, reasons: int = 0) -> int:
        """Tokens that a model writes for this many answers and reasons."""
        mean = self._mean(spec, mode)
        if mean is None:
            return answers * TOKENS_PER_ANSWER[mode] + reasons * TOKENS_PER_REASON
        return round(answers * mean.tokens + reasons * (TOKENS_PER_REASON + mean.reasoning))

    def basis(self, specs: Iterable[str], mode: AnswerMode) -> str:
        """What to add to a number of tokens: that it excludes reasoning, or how much of it is; else ""."""
        means = {spec: self._mean(spec, mode) for spec in specs}
        if mode != "probabilities" and any(
            mean is None and getattr(self._run.models[spec], "may_reason", False)
            for spec, mean in means.items()
        ):
            return EXCLUDING
        return "".join(
            f", each {mean.tokens:,.0f} as in {plural(mean.answers, 'stored answer')}"
            f"{f' of {spec}' if len(means) > 1 else ''}, {mean.reasoning:,.0f} of them for reasoning"
            for spec, mean in means.items()
            if mean is not None and mean.reasoning
        )

    def _mean(self, spec: str, mode: AnswerMode) -> MeanLength | None:
        """The mean of stored answers in this mode; JSON takes as many tokens as text."""
        if spec not in self._stored:
            self._stored[spec] = self._read(spec)
        stored = self._stored[spec]
        alike = {"text": "json", "json": "text"}.get(mode, mode)
        return stored.get(mode) or stored.get(alike)

    def _read(self, spec: str) -> Mapping[str, MeanLength]:
        if self._store is None:
            return {}
        from pytest_factorfair.store.lengths import mean_lengths

        model = self._run.models[spec]
        return mean_lengths(self._store, stored_name(model), model.identity)
