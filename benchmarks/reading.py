"""Measure how parsing time grows with a reply's length, by language: ``python -m benchmarks.reading``.

Each reply repeats a phrase. Four times the text may take nine times as long; sixteen times would be
quadratic. The exit code is 1 if a reply takes longer.
"""

from __future__ import annotations

import statistics
import sys
import time
from itertools import product

from pytest_factorfair.domain import Language, Response
from pytest_factorfair.languages import shipped
from pytest_factorfair.reading import read
from pytest_factorfair.reading.text import LONGEST
from tests.unit.reading.option_sets import RACE
from tests.unit.reading.test_limits import FRAMES, PARTS, flood

RUNS = 7
MOST = 9
MOMENT = 2.0
"""The time in milliseconds below which growth is not measured."""


def milliseconds(response: Response, language: Language) -> float:
    """The median CPU time of parsing the response."""
    times = []
    for _ in range(RUNS):
        began = time.process_time()
        read(response, RACE, "highest", language=language)
        times.append(time.process_time() - began)
    return 1000 * statistics.median(times)


def main() -> int:
    too_slow = 0
    for code, frame, part in product(shipped(), FRAMES, PARTS):
        language = Language(code)
        quarter = milliseconds(flood(frame, part, LONGEST // 4 - 25), language)
        whole = milliseconds(flood(frame, part, LONGEST - 100), language)
        growth = whole / max(quarter, MOMENT)
        too_slow += growth > MOST
        flooded = repr(frame.format(part))
        print(f"{code} {flooded:56}  {quarter:6.1f} ms  {whole:6.1f} ms  x {growth:4.1f}")
    return int(too_slow > 0)


if __name__ == "__main__":
    sys.exit(main())
