"""Error rates of the canary on real models: Gemma 3 answers a share of the questions to SmolLM2.

    python -m benchmarks.canary_models     10 minutes on 2 cores; it fails if a promise is broken

Both are asked on llama.cpp as by a user, at several temperatures. Pairs of runs draw from the recorded
answers; the columns are those of ``benchmarks.canary``.
"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.canary import Row, Shares, print_table, row
from benchmarks.harness import PYTEST, measured
from tests.acceptance.test_canary_models import gemma, smollm2
from tests.servers import llama_server

PAIRS = 4_000
REPEATS = 24
TEMPERATURES = (0.0, 0.7, 1.0)
MODEL = "openai/served"

Answers = Mapping[str, Counter[str]]
"""How often each answer was given, by question."""


def asked(url: str, temperature: float) -> Answers:
    """What a first run of the canary records in its baseline."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pytest.ini").write_text("[pytest]\n")
        arguments = {"base_url": url, "max_tokens": 3, "temperature": temperature}
        command = (
            *PYTEST, "--factorfair-preset=canary", f"--factorfair-model={MODEL}",
            f"--factorfair-samples=repeats={REPEATS}", "--factorfair-max-connections=4",
            *(f"--factorfair-model-arg={name}={value}" for name, value in arguments.items()),
        )  # fmt: skip
        measured(command, cwd=Path(folder))
        (baseline,) = Path(folder).glob("factorfair-canary-*.json.gz")
        (counts,) = json.loads(gzip.decompress(baseline.read_bytes()))["counts"]
    return {question: Counter(replies) for question, replies in counts["values"]["replies"].items()}


def shares(models: Sequence[Answers]) -> Shares:
    """The shares of answers (models, questions, words), words by question in any order."""
    words = {question: sorted({*models[0][question], *models[1][question]}) for question in models[0]}
    result = np.zeros((len(models), len(words), max(map(len, words.values()))))
    for answers, of_model in zip(models, result, strict=True):
        for (question, names), chances in zip(words.items(), of_model, strict=True):
            counts = [answers[question][word] for word in names]
            chances[: len(names)] = np.array(counts) / sum(counts)
    return result


def drawn(models: Shares, random: np.random.Generator) -> tuple[Shares, Shares]:
    """The first model, and the others."""
    del random
    return models[0], models[1:]


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        recorded = []
        for weights in (smollm2(), gemma(Path(folder) / "gemma.gguf")):
            with llama_server(weights, 4, 1) as url:
                recorded.append([asked(url, temperature) for temperature in TEMPERATURES])
    for temperature, *models in zip(TEMPERATURES, *recorded, strict=True):
        draw = partial(drawn, shares(models))
        yield row(f"temperature {temperature:g}", draw, PAIRS, promised=temperature == 0)


if __name__ == "__main__":
    os.environ["OPENAI_API_KEY"] = "none"
    print_table(rows())
