"""A model with a fixed taste in words, of which variables change a part, or toss it up; and a count of calls."""

import hashlib
import os
import random
from collections import Counter

WORDS = ("amber", "basalt", "cedar", "delta", "ember", "fjord", "grove", "heath")

asked = Counter()


def between(salt, prompt):
    """A number from 0 to 1 that depends on the prompt."""
    return int(hashlib.sha256(f"{salt}{prompt}".encode()).hexdigest()[:8], 16) / 2**32


def variable(name):
    return float(os.environ.get(name, "0"))


def answer(prompt):
    with open("calls", "a") as file:
        file.write("x")
    asked[prompt] += 1
    chance = random.Random(f"{variable('RUN')} {asked[prompt]} {prompt}")  # noqa: S311  # the same in each test
    word = int(len(WORDS) * between("taste", prompt))
    word += between("change", prompt) < variable("CHANGED")
    if between("noise", prompt) < variable("NOISE"):
        word += 2 * (chance.random() < 0.5)
    if chance.random() < variable("STRAY"):  # another word than its first choice
        word += chance.randrange(2, len(WORDS))
    if between("loss", prompt) < variable("LOST"):
        raise RuntimeError("no reply")
    return f"**{WORDS[word % len(WORDS)].title()}**."
