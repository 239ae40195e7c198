"""A forward pass over several prompts that computes their common prefixes only once.

The queries of a case share the scenario and differ in the people at the letters; all queries share the system
prompt. So prompts form a prefix tree, which is computed level by level, each with the keys and values of the
level before. Up to rounding, the probabilities equal those of a plain forward pass.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise, takewhile
from typing import Any

# torch is imported by name when used: importing takes seconds, and it may not be installed.

Tokens = Sequence[int]
Cuts = tuple[int, ...]

PASS = {"cpu": 20}
"""The cost of an additional forward pass, in tokens, by device: a CPU must read the weights again."""

PASS_ELSEWHERE = 1000
"""The cost of an additional forward pass on other devices: launching GPU kernels, for 7 billion weights."""


class ForwardPass:
    """Computes the next-token logits of any causal language model of transformers."""

    def __init__(self, model: Any, *, pad: int) -> None:
        self._model = model
        self._pad = pad
        self._device = str(model.device)
        self._parameters = inspect.signature(model.forward).parameters
        # The argument was renamed in transformers 5.24.
        self._cache = "cache" if "cache" in self._parameters else "past_key_values"
        self._window = self._kept()

    def __call__(self, rows: Sequence[Tokens]) -> Any:
        """The logits after each row, shape (rows, vocabulary)."""
        torch = import_module("torch")
        cuts: Cuts = ()
        if max(map(len, rows)) < self._window:
            cuts = cheapest(rows, pass_cost=PASS.get(self._device, PASS_ELSEWHERE))
        beginnings, start, cache = [tuple[int, ...]()], 0, None
        with torch.inference_mode():
            for end in (*cuts, None):
                parts = [tuple(row[:end]) for row in rows]
                if end is not None:
                    parts = list(dict.fromkeys(parts))
                if cache is not None:
                    indices = {beginning: index for index, beginning in enumerate(beginnings)}
                    cache.batch_select_indices(torch.tensor([indices[part[:start]] for part in parts]))
                output = self._pass([part[start:] for part in parts], start, cache, use_cache=bool(cuts))
                if end is not None:
                    beginnings, start, cache = parts, end, output[self._cache]
        return output.logits[:, -1]

    def _pass(self, parts: Sequence[Tokens], start: int, cache: Any, *, use_cache: bool) -> Any:
        """Compute parts, padded on the left, that follow ``start`` tokens with a given KV cache."""
        torch = import_module("torch")
        width = max(map(len, parts))
        missing = [width - len(part) for part in parts]
        tokens = [[self._pad] * padding + [*part] for padding, part in zip(missing, parts, strict=True)]
        mask = torch.tensor([[1] * start + [0] * padding + [1] * (width - padding) for padding in missing])
        mask = mask.to(self._device)
        options = {
            # Explicit, because a model with absolute positions would otherwise count the padding.
            "position_ids": (mask.cumsum(-1) - 1).clamp(min=0)[:, start:],
            "logits_to_keep": 1,
            "use_cache": use_cache,
            **({self._cache: cache} if cache is not None else {}),
        }
        supported = {name: value for name, value in options.items() if name in self._parameters}
        return self._model(
            input_ids=torch.tensor(tokens, device=self._device), attention_mask=mask, **supported
        )

    def _kept(self) -> float:
        """The prompt length below which the model keeps the full KV cache, which prompts can then share.

        0 for a model that keeps another state, such as a recurrent one, or that does not accept positions: it
        might count the padding between a shared prefix and the rest of a prompt.
        """
        if not {self._cache, "position_ids"} <= self._parameters.keys():
            return 0
        caches = import_module("transformers.cache_utils")
        with import_module("torch").inference_mode():
            cache = self._pass([(self._pad,)], 0, None, use_cache=True).get(self._cache)
        if cache is None or type(cache) is not caches.DynamicCache:
            return 0
        windows = {caches.DynamicLayer: math.inf}
        for layer in cache.layers:
            if type(layer) is caches.DynamicSlidingWindowLayer:
                windows[type(layer)] = layer.sliding_window
        return min(windows.get(type(layer), 0) for layer in cache.layers)


def cheapest(rows: Sequence[Tokens], *, pass_cost: int) -> Cuts:
    """The positions at which to cut the rows so that the fewest tokens are computed.

    Up to the last cut, every distinct prefix is computed once; after it, every row is computed and padded. An
    additional pass costs as much as ``pass_cost`` tokens.
    """
    shared = [alike(row, neighbour) for row, neighbour in pairwise(sorted(rows, key=tuple))]
    longest, shortest = max(map(len, rows)), min(map(len, rows))
    best: dict[int, tuple[int, Cuts]] = {0: (0, ())}
    for end in sorted({min(length, shortest - 1) for length in shared} - {0}):
        distinct = 1 + sum(length < end for length in shared)
        best[end] = min(
            (cost + distinct * (end - start) + pass_cost, (*cuts, end))
            for start, (cost, cuts) in best.items()
        )
    return min((cost + len(rows) * (longest - start), cuts) for start, (cost, cuts) in best.items())[1]


def alike(row: Tokens, neighbour: Tokens) -> int:
    """The length of the common prefix of two rows."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(row, neighbour, strict=False)))
