"""The demographic shares that hold where a prompt has none of its own, and the published weights."""

from __future__ import annotations

import numpy as np

GENDER = np.array([0.5, 0.5])
RACE = np.array([0.2, 0.24, 0.18, 0.12, 0.26])
AGE = np.array([0.418, 0.391, 0.191])
ATTRIBUTES = {"gender": 0.4, "race": 0.4, "age": 0.2}
CLASSES = {"gender": [0.2, 0.2], "race": [0.2, 0.2, 0.2, 0.1, 0.1], "age": [0.1, 0.1, 0.1]}
