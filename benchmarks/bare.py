"""The minimum cost, for comparison: the same requests from a bare loop, with and without storing the answers.

``python -m benchmarks.bare aiohttp|sqlite|litellm URL CALLS`` prints the wall and CPU seconds from the first
request to the end.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks.harness import CONNECTIONS

PROMPT = "x" * 1000  # about 250 tokens
BATCH = 100

Ask = Callable[[int], Awaitable[None]]


async def pool(calls: int, ask: Ask) -> None:
    """Ask ``calls`` times, with a constant number of calls in flight."""
    numbers = iter(range(calls))

    async def work() -> None:
        for number in numbers:
            await ask(number)

    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))


def body(number: int) -> dict[str, object]:
    messages = [{"role": "user", "content": f"{number} {PROMPT}"}]
    return {"model": "m", "temperature": 0, "max_tokens": 1024, "messages": messages}


async def through_aiohttp(url: str, calls: int, keep: Callable[[int, str], None] | None) -> None:
    """Send the requests with aiohttp and read the replies; with ``keep``, also parse and store them."""
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(number: int) -> None:
            async with session.post(f"{url}/chat/completions", json=body(number)) as reply:
                raw = await reply.read()
            if keep is not None:
                keep(number, json.loads(json.loads(raw)["choices"][0]["message"]["content"])["answer"])

        await pool(calls, ask)


async def through_litellm(url: str, calls: int) -> None:
    import litellm

    async def ask(number: int) -> None:
        messages = [{"role": "user", "content": f"{number} {PROMPT}"}]
        await litellm.acompletion(
            model="openai/m", api_base=url, api_key="none", temperature=0, max_tokens=1024, messages=messages
        )

    await ask(0)  # litellm's one-time initialisation
    await pool(calls, ask)


class Rows:
    """Rows in an SQLite file, committed a hundred at a time so that they survive a power failure."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path)
        self._database.execute("pragma journal_mode=wal")
        self._database.execute("pragma synchronous=full")
        self._database.execute("create table responses (key integer primary key, prompt text, answer text)")
        self._rows: list[tuple[int, str, str]] = []

    def add(self, number: int, answer: str) -> None:
        self._rows.append((number, PROMPT, answer))
        if len(self._rows) == BATCH:
            self.commit()

    def commit(self) -> None:
        with self._database:
            self._database.executemany("insert into responses values (?, ?, ?)", self._rows)
        self._rows.clear()


def main() -> None:
    variant, url, calls = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        rows = Rows(Path(folder) / "kept.sqlite")
        if variant == "litellm":
            import litellm  # noqa: F401  # 4 s that are not the loop's
        else:
            import aiohttp  # noqa: F401  # as above
        wall, cpu = time.monotonic(), time.process_time()
        if variant == "litellm":
            asyncio.run(through_litellm(url, calls))
        else:
            asyncio.run(through_aiohttp(url, calls, rows.add if variant == "sqlite" else None))
        rows.commit()
        print(time.monotonic() - wall, time.process_time() - cpu)


if __name__ == "__main__":
    main()
