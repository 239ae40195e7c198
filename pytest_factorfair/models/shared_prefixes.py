"""One forward pass over prompts that begin alike: what several of them share is computed once.

The queries of a case differ in the people at its letters, but share the scenario, and all share the system
prompt. Sorted, prompts are a tree: it is computed level by level, each level with the keys and values of the
one before it. Probabilities are those of the plain pass, up to rounding.
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
"""The cost of another forward pass in tokens, by device: a CPU reads the weights again."""

PASS_ELSEWHERE = 1000
"""The cost on a GPU: launching its kernels, estimated for a model of 7 billion weights."""


class ForwardPass:
    """The next-token logits of a causal language model, which is any that transformers loads."""

    def __init__(self, model: Any, *, pad: int) -> None:
        self._model = model
        self._pad = pad
        self._device = str(model.device)
        self._parameters = inspect.signature(model.forward).parameters
        # Renamed in transformers 5.24.
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
        """Compute the parts, padded on their left, after ``start`` tokens whose keys and values are given."""
        torch = import_module("torch")
        width = max(map(len, parts))
        missing = [width - len(part) for part in parts]
        tokens = [[self._pad] * padding + [*part] for padding, part in zip(missing, parts, strict=True)]
        mask = torch.tensor([[1] * start + [0] * padding + [1] * (width - padding) for padding in missing])
        mask = mask.to(self._device)
        options = {
            # Without positions of its own, a model with absolute positions would count the padding.
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
        """The prompt length below which the full KV cache is kept, so that prompts can share it.

        0 for a model that keeps something else, such as a recurrent state, or cannot be told positions: it
        may count the padding between a shared beginning and the rest of a prompt.
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
    """Where to cut the rows to compute the fewest tokens, if a further pass costs ``pass_cost`` tokens.

    Up to a cut, every distinct beginning is computed once; after the last one every row is, padded.
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
    """The number of tokens at the beginning of two rows that are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(row, neighbour, strict=False)))
