"""A model with a fixed taste in letters, of which variables change a part, or toss it up; and a count of calls."""

import hashlib
import os
import random

LETTERS = "ABCD"


def between(salt, prompt):
    """A number from 0 to 1 that depends on the prompt."""
    return int(hashlib.sha256(f"{salt}{prompt}".encode()).hexdigest()[:8], 16) / 2**32


def answer(prompt):
    with open("calls", "a") as file:
        file.write("x")
    letter = int(len(LETTERS) * between("taste", prompt))
    letter += between("change", prompt) < float(os.environ.get("CHANGED", "0"))
    if between("noise", prompt) < float(os.environ.get("NOISE", "0")):
        letter += 2 * (random.random() < 0.5)  # noqa: S311  # a toss-up
    if between("loss", prompt) < float(os.environ.get("LOST", "0")):
        raise RuntimeError("no reply")
    return f'{{"answer": "{LETTERS[letter % len(LETTERS)]}"}}'
