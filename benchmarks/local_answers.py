"""The speed of a local checkpoint in each mode: ``python -m benchmarks.local_answers MODEL``.

MODEL is a folder or a GGUF file. The same queries of the shipped checklist are asked in each mode, in one
process and with one loaded model at a time; loading does not count. Compare CPU seconds on a busy machine.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from operator import truediv
from pathlib import Path

from benchmarks.harness import table
from pytest_factorfair import benchmarks, models
from pytest_factorfair.domain import AnswerMode, Query, Request, Sampling

MODES: tuple[AnswerMode, ...] = ("text", "json", "probabilities")


BLOCK = 8
"""The size of blocks of queries that a run asks one after another: a divisor of the size of every case."""


def queries(number: int) -> list[Query]:
    """Evenly spaced blocks of the first look's queries with ``--factorfair-answers=probabilities``."""
    checklist = benchmarks.load("fact_or_fair", truth="audited", base=Path.cwd())
    sampling = Sampling(samples=24, objective=24, design="balanced", seed=0)
    cases = benchmarks.cases(checklist, sampling)
    every = [query for case in cases for query in benchmarks.queries(checklist, case, sampling)]
    blocks = number // BLOCK
    starts = [len(every) * block // blocks // BLOCK * BLOCK for block in range(blocks)]
    return [query for start in starts for query in every[start : start + BLOCK]]


def seconds(model: str, answers: AnswerMode, asked: list[Query]) -> tuple[float, float]:
    """Wall and CPU seconds for all queries, after a query that loads the model."""
    built = models.build(f"transformers:{model}", {}, checklists=(), custom={}, answers=answers)

    async def ask() -> tuple[float, float]:
        try:
            await built.ask(Request.of(asked[0]))
            wall, cpu = time.monotonic(), time.process_time()
            await asyncio.gather(*(built.ask(Request.of(query)) for query in asked))
            return time.monotonic() - wall, time.process_time() - cpu
        finally:
            await built.close()

    return asyncio.run(ask())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a folder or a GGUF file")
    parser.add_argument("--queries", type=int, default=32, help="a multiple of 8, 32 by default")
    arguments = parser.parse_args()
    asked = queries(arguments.queries)
    taken = {mode: seconds(arguments.model, mode, asked) for mode in MODES}
    table(
        f"{len(asked)} queries: seconds, CPU seconds, and how many times as fast as text by each",
        [
            (
                mode,
                "  ".join(
                    f"{figure:6.1f}" for figure in (*taken[mode], *map(truediv, taken["text"], taken[mode]))
                ),
            )
            for mode in MODES
        ],
    )


if __name__ == "__main__":
    main()
