"""Measure the time that the plugin adds to every start of pytest: ``python -m benchmarks.import_time``.

Each import runs in a separate process; the result is the median of many. The aim is under 20 ms.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

RUNS = 21
CODE = """
import pytest, time
began = time.perf_counter()
import pytest_factorfair.plugin
print(time.perf_counter() - began)
"""
ALONE = """
import time
began = time.perf_counter()
import pytest
print(time.perf_counter() - began)
"""


def milliseconds(code: str) -> float:
    """The median of the times that the code measures and prints."""
    times = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(RUNS)
    ]
    return 1000 * statistics.median(times)


def main() -> None:
    alone, added = milliseconds(ALONE), milliseconds(CODE)
    print(f"import pytest                      {alone:6.1f} ms")
    print(f"import pytest_factorfair.plugin   +{added:6.1f} ms   ({added / alone:.2f} of it; aim: < 20 ms)")


if __name__ == "__main__":
    main()
