"""The state dict of a ResNet-34 with 18 logits, like FairFace's, with random weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCKS = ((3, 64), (4, 128), (6, 256), (3, 512))
LOGITS = 18

State = dict[str, NDArray[Any]]


def random_weights(seed: int = 0) -> State:
    """The state dict with torchvision's names, including the statistics of the norms; logits are near 1."""
    generator = np.random.default_rng(seed)
    state: State = {}

    def normal(*shape: int, scale: float, mean: float = 0) -> NDArray[np.float32]:
        return (mean + scale * generator.standard_normal(shape, np.float32)).astype(np.float32)

    def add(name: str, norm: str, shape: tuple[int, int, int], gain: float = 1) -> None:
        out, into, size = shape
        state[f"{name}.weight"] = normal(out, into, size, size, scale=(2 / (into * size * size)) ** 0.5)
        state[f"{norm}.weight"] = normal(out, scale=0.1, mean=gain)
        state[f"{norm}.bias"] = normal(out, scale=0.1)
        state[f"{norm}.running_mean"] = normal(out, scale=0.1)
        state[f"{norm}.running_var"] = 1 + np.abs(normal(out, scale=0.1))
        state[f"{norm}.num_batches_tracked"] = np.array(7)

    add("conv1", "bn1", (64, 3, 7))
    before = 64
    for layer, (count, width) in enumerate(BLOCKS, start=1):
        for number in range(count):
            block = f"layer{layer}.{number}"
            add(f"{block}.conv1", f"{block}.bn1", (width, before, 3))
            add(f"{block}.conv2", f"{block}.bn2", (width, width, 3), gain=0.2)
            if before != width:
                add(f"{block}.downsample.0", f"{block}.downsample.1", (width, before, 1))
            before = width
    state["fc.weight"], state["fc.bias"] = normal(LOGITS, 512, scale=0.05), normal(LOGITS, scale=0.1)
    return state
