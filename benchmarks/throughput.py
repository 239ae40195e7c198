"""The speed of a run compared with the minimum: ``python -m benchmarks.throughput [--full]``.

Everything is measured in one session against the same stub server (a separate process, 50 ms per reply, 64
connections). ``--full`` asks the 10,944 subjective queries of the ci preset instead of a quarter of them, and
also measures the CPU time per answer for 45,600 answers.
"""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec

from benchmarks.harness import CONNECTIONS, LATENCY, ROOT, Cost, at_least, limited, measured, run, table
from tests.servers import StubServer, started

PRESET = "paper"
"""The preset with 45,600 answers: in a shorter run, the workers' start (2 CPU seconds) would dominate."""


def bare(variant: str, at: StubServer, calls: int) -> tuple[float, float]:
    """Wall and CPU seconds of a bare loop."""
    command = [sys.executable, "-m", "benchmarks.bare", variant, at.base_url, str(calls)]
    wall, cpu = measured(command, cwd=ROOT).output.split()[-2:]
    return float(wall), float(cpu)


def ours(
    model: str, at: StubServer, *arguments: str, latency: float, preset: str = "ci"
) -> tuple[Cost, float, list[float]]:
    """Run the plugin: its cost, the seconds from its first request to its end, and its requests' times."""
    at.script(latency=latency)
    options = (f"--factorfair-preset={preset}", f"--factorfair-max-connections={CONNECTIONS}")
    cost = run(model, *options, *arguments, base_url=at.base_url)
    arrived = at.stats()["arrived"]
    return cost, cost.began + cost.wall - arrived[0], arrived


def per_call(model: str, at: StubServer, *arguments: str, preset: str = "ci") -> tuple[int, float]:
    """The number of calls of a run, and its CPU seconds per answer, minus those of an almost empty run."""
    whole, _, run_arrivals = ours(model, at, *arguments, latency=0.0, preset=preset)
    empty, _, empty_arrivals = ours(model, at, "-k", "objective-crime_rate", latency=0.0)
    return len(run_arrivals), (whole.cpu - empty.cpu) / (len(run_arrivals) - len(empty_arrivals))


def http(at: StubServer, *, full: bool) -> None:
    selection = ("-m", "subjective" if full else "subjective and base")
    cost, wall, arrived = ours("hosted_vllm/m", at, *selection, "-p", "no:xdist", latency=LATENCY)
    calls, asking = len(arrived), arrived[-1] - arrived[0] + LATENCY
    at.script(latency=LATENCY)
    stored, _ = bare("sqlite", at, calls)
    raw, _ = bare("aiohttp", at, calls)
    ideal = calls * LATENCY / CONNECTIONS
    _, two, _ = ours("hosted_vllm/m", at, *selection, "-n2", latency=LATENCY)
    table(
        f"{calls:,} calls, 50 ms each, {CONNECTIONS} at once: seconds",
        [
            ("ideal", f"{ideal:.2f}"),
            ("bare aiohttp", f"{raw:.2f}"),
            ("bare aiohttp, parsed and kept", f"{stored:.2f}"),
            ("pytest, first request to end", f"{wall:.2f}"),
            ("of that, asking", f"{asking:.2f}"),
            ("of that, scores, gates and reports", f"{wall - asking:.2f}"),
            ("pytest, whole", f"{cost.wall:.2f}"),
            ("pytest -n2, first request to end", f"{two:.2f}"),
            ("pytest / bare, parsed and kept", limited(wall / stored, 1.15)),
            ("asking / bare, parsed and kept", f"{asking / stored:.2f}"),
            ("pytest / ideal", f"{wall / ideal:.2f}"),
        ],
    )
    http_cpu(at, calls, *selection)
    if full:
        http_cpu(at, calls, preset=PRESET)


def http_cpu(at: StubServer, calls: int, *arguments: str, preset: str = "ci") -> None:
    """Print the CPU time per answer; the share of items and reports in it falls with the answers per case."""
    at.script(latency=0.0)
    _, bare_cpu = bare("aiohttp", at, calls)
    asked, cpu_per_answer = per_call("hosted_vllm/m", at, *arguments, "-p", "no:xdist", preset=preset)
    table(
        f"CPU of one answer of {asked:,}, no latency: milliseconds",
        [
            ("bare aiohttp", f"{1000 * bare_cpu / calls:.3f}"),
            ("pytest: prompt, call, read, store, score", f"{1000 * cpu_per_answer:.3f}"),
            ("ratio", limited(cpu_per_answer / (bare_cpu / calls), 2.5)),
        ],
    )


def litellm(at: StubServer) -> None:
    if find_spec("litellm") is None:
        print("\nlitellm is not installed: left out")
        return
    at.script()
    _, bare_cpu = bare("litellm", at, 1000)
    arguments = ("-m", "subjective and base", "-p", "no:xdist")
    _, cpu_per_answer = per_call("litellm:openai/m", at, *arguments)
    table(
        "through litellm, CPU of one answer: milliseconds",
        [
            ("bare litellm.acompletion", f"{bare_cpu:.3f}"),
            ("pytest", f"{1000 * cpu_per_answer:.3f}"),
            ("ratio", limited(1000 * cpu_per_answer / bare_cpu, 1.2)),
        ],
    )


def in_process() -> None:
    walls = {}
    for workers in ("-n0", "-n2"):
        walls[workers] = run("sim:stereotyped", f"--factorfair-preset={PRESET}", workers).wall
    table(
        f"sim:stereotyped, {PRESET} preset: seconds",
        [
            ("-n0", f"{walls['-n0']:.2f}"),
            ("-n2", f"{walls['-n2']:.2f}"),
            ("-n0 / -n2", at_least(walls["-n0"] / walls["-n2"], 1.5)),
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="10,944 calls, not 2,736")
    parser.add_argument("--only", choices=["http", "litellm", "sim"], help="one of the tables")
    options = parser.parse_args()
    with started() as at:
        if options.only in (None, "http"):
            http(at, full=options.full)
        if options.only in (None, "litellm"):
            litellm(at)
    if options.only in (None, "sim"):
        in_process()


if __name__ == "__main__":
    main()
