"""The speed of a local checkpoint in each mode: ``python -m benchmarks.local_answers MODEL``.

MODEL is a folder or a GGUF file. The same queries of the shipped checklist are asked in each mode, in one
process and with one loaded model at a time; loading does not count.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path

from benchmarks.harness import table
from pytest_factorfair import models, protocols
from pytest_factorfair.domain import AnswerMode, Query, Request, Sampling

MODES: tuple[AnswerMode, ...] = ("text", "json", "probabilities")


def queries(number: int) -> list[Query]:
    """The first queries of evenly spaced subjective cases."""
    checklist = protocols.load("fact_or_fair", truth="audited", base=Path.cwd())
    sampling = Sampling(samples=8, objective=4, design="balanced", seed=0)
    cases = [case for case in protocols.cases(checklist, sampling) if case.part == "subjective"]
    spaced = cases[:: max(1, len(cases) // number)][:number]
    return [protocols.queries(checklist, case, sampling)[0] for case in spaced]


def seconds(model: str, answers: AnswerMode, asked: list[Query]) -> float:
    """Wall seconds for all queries but the first, which loads the model."""
    built = models.build(f"transformers:{model}", {}, checklists=(), custom={}, answers=answers)

    async def ask() -> float:
        try:
            await built.ask(Request.of(asked[0]))
            began = time.monotonic()
            await asyncio.gather(*(built.ask(Request.of(query)) for query in asked[1:]))
            return time.monotonic() - began
        finally:
            await built.close()

    return asyncio.run(ask())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a folder or a GGUF file")
    parser.add_argument("--queries", type=int, default=33, help="33 by default")
    given = parser.parse_args()
    asked = queries(given.queries)
    taken = {mode: seconds(given.model, mode, asked) for mode in MODES}
    table(
        f"{len(asked) - 1} queries: seconds, and how many times as fast as text",
        [(mode, f"{taken[mode]:.1f}  {taken['text'] / taken[mode]:.1f}") for mode in MODES],
    )


if __name__ == "__main__":
    main()
