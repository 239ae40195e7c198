"""Named settings of generation, and the samplers they name, for pipelines of diffusers.

The presets are those of Table 3 of Luo et al., FAIntbench (DMLR at ICML 2024): size, sampler, steps and
guidance of each model, written as arguments, which others given beside them override.

Two samplers of the table, which has "Euler a" for all but LCM-SDXL, do not exist in diffusers:
Playground v2.5 is sampled by plain Euler in its own (EDM) formulation, Stable Cascade keeps its own
ancestral sampler, whose steps and guidance are those of the first of its two stages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

Preset = Mapping[str, str | float]
"""Arguments of a pipeline by name."""


class Scheduler(NamedTuple):
    """A class of diffusers; it can take a pipeline's settings over if they have the field it ``needs``."""

    name: str
    needs: str


OWN = "own"
SCHEDULERS: Mapping[str, Scheduler] = {
    "euler-a": Scheduler("EulerAncestralDiscreteScheduler", "beta_schedule"),
    "lcm": Scheduler("LCMScheduler", "beta_schedule"),
    "edm-euler": Scheduler("EDMEulerScheduler", "sigma_data"),
}

PRESETS: Mapping[str, Preset] = {
    "sdxl": {"size": "1024x1024", "scheduler": "euler-a", "steps": 15, "guidance": 7},
    "sdxl-lightning": {"size": "1024x1024", "scheduler": "euler-a", "steps": 4, "guidance": 1},
    "sdxl-turbo": {"size": "512x512", "scheduler": "euler-a", "steps": 4, "guidance": 1},
    "lcm-sdxl": {"size": "1024x1024", "scheduler": "lcm", "steps": 4, "guidance": 1},
    "pixart-sigma": {"size": "512x512", "scheduler": "euler-a", "steps": 12, "guidance": 4.5},
    "stable-cascade": {
        "size": "1024x1024",
        "call.prior_num_inference_steps": 4,
        "call.prior_guidance_scale": 4,
    },
    "playground-v2.5": {"size": "1024x1024", "scheduler": "edm-euler", "steps": 12, "guidance": 4.5},
}
