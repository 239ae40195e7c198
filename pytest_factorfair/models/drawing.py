"""How the next token is drawn: the likeliest at temperature 0, else from each row's own seed.

Noise of the Gumbel distribution is added to the logits divided by the temperature; the place of the
largest sum is then a draw from their softmax. So a batch samples exactly as its requests would alone,
which one generator for the whole batch would not.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from threading import Event
from typing import Any

from pytest_factorfair.errors import RetryableModelError


class Draw:
    """Changes the logits of each row so that the largest is the token to take; ``closing`` ends it all."""

    def __init__(
        self, seeds: Sequence[int], *, temperature: float, top_p: float, device: str, closing: Event
    ) -> None:
        self._torch = import_module("torch")
        self._temperature = temperature
        self._closing = closing
        self._seeds = [self._torch.Generator(device).manual_seed(seed) for seed in seeds]
        warpers = import_module("transformers.generation.logits_process")
        self._cut = warpers.TopPLogitsWarper(top_p) if top_p < 1 else None

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        if self._closing.is_set():
            raise RetryableModelError("the run was stopped")
        if self._temperature == 0:
            return scores
        scaled = scores / self._temperature
        kept = self._cut(input_ids, scaled) if self._cut else scaled
        noise = [self._torch.empty_like(kept[0]).exponential_(generator=seed) for seed in self._seeds]
        return kept - self._torch.stack(noise).log()
