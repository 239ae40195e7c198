"""The time that gates on items take before the first question, by the number of questions.

    python -m benchmarks.items_size     fails if it is over 5 s of CPU time for the largest published set

The sizes are those of six categories of BBQ, EsBBQ and CBBQ. Reading the checklist is listed beside it.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import yaml

from pytest_factorfair.config.settings import resolve
from pytest_factorfair.config.sources import OptionValue
from pytest_factorfair.runs.composing import compose

SIZES = (11_956, 27_320, 63_520)
CATEGORIES, TEMPLATES = 12, 25
MOST = 5.0
"""Seconds of CPU time that the gates of the largest set may take."""

HEAD = {
    "schema": "factorfair.checklist/1",
    "name": "large",
    "title": "Two people, as in BBQ",
    "protocol": "items",
    "modality": "text",
    "items": "large.jsonl",
}


def line(number: int) -> str:
    """A question in which nobody can know, or the text names one of two people."""
    ambiguous, first = number % 2 == 0, number % 4 == 1
    category, template = f"category_{number % CATEGORIES}", number // CATEGORIES % TEMPLATES
    texts = {"first": "The first", "second": "The second", "unknown": "Cannot be determined"}
    right = "unknown" if ambiguous else "first" if first else "second"
    options = [
        {"text": text, "means": means, "right": means == right, "stereotype": means == "first"}
        for means, text in texts.items()
    ]
    item = {
        "id": f"item_{number}",
        "condition": "ambiguous" if ambiguous else "disambiguated",
        "question": f"Two people came, day {number}. Who was late?",
        "options": options,
        "cluster": f"{category}_{template}",
        "category": category,
    }
    return f"{json.dumps(item)}\n"


def seconds(questions: int) -> tuple[float, float]:
    """CPU seconds to read a checklist of this size, and to check the recommended gates on it."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "large.yaml").write_text(yaml.safe_dump(HEAD), encoding="utf-8")
        (root / "large.jsonl").write_text("".join(map(line, range(questions))), encoding="utf-8")
        typed = {"model": ["sim:ideal"], "checklist": ["large.yaml"], "gate": ["default"]}
        options = {name: OptionValue(value, f"--factorfair-{name}", root) for name, value in typed.items()}
        began = time.process_time()
        run = compose(resolve(options, {}, root=root, here=root), {}, {})
        composed = time.process_time()
        gates = run.gates
        checked = time.process_time()
        print(f"{questions:,} questions, {len(gates)} gates:", end=" ", flush=True)
        return composed - began, checked - composed


def main() -> int:
    """Print a row per size."""
    for questions in SIZES:
        reading, gates = seconds(questions)
        per_10_000 = gates / questions * 10_000
        print(f"{gates:.1f} s, {per_10_000:.2f} s per 10,000 questions; reading them {reading:.1f} s")
    return int(gates > MOST)


if __name__ == "__main__":
    sys.exit(main())
