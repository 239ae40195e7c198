"""Check that two reports have the same results: `python -m benchmarks.same_results BEFORE.json AFTER.json`.

Scores, verdicts, topics, answers and prompts must be equal; durations, the environment and the wording of
reasons and notes may differ. `--rename OLD=NEW` maps a word of the first report, as a key or as a whole word
of a value, to distinguish a change of vocabulary from a change of results.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from math import isclose
from pathlib import Path
from typing import Any

from pytest_factorfair.reports.json_report import whole_cases

PROSE = frozenset({"reason", "notes", "title"})
OF_THE_RUN = frozenset({"schema", "usage", "versions", "times"})
SHOWN = 20


def load(path: Path) -> Any:
    """Load a report, plain or gzipped."""
    data = path.read_bytes()
    report = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    if (people := report.pop("people", None)) is not None:  # answers of a report leave out what recurs
        report["cases"] = list(whole_cases(report["cases"], people))
    return report


def renamed(value: Any, words: Mapping[str, str]) -> Any:
    """Map words in a JSON value: keys, and whole words in texts."""
    if isinstance(value, dict):
        return {renamed(key, words): renamed(element, words) for key, element in value.items()}
    if isinstance(value, list):
        return [renamed(element, words) for element in value]
    if isinstance(value, str) and words:
        pattern = "|".join(map(re.escape, words))
        return re.sub(rf"(?<![a-z0-9])({pattern})(?![a-z0-9])", lambda match: words[match[1]], value)
    return value


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every plain value with its path, without wording, durations and the environment."""
    if isinstance(value, dict):
        for key, element in value.items():
            if key not in PROSE | OF_THE_RUN:
                yield from leaves(element, f"{path}.{key}")
    elif isinstance(value, list):
        yield f"{path}.length", len(value)
        for index, element in enumerate(value):
            yield from leaves(element, f"{path}[{index}]")
    else:
        yield path.removeprefix("."), value


def differences(before: Any, after: Any) -> Iterator[str]:
    """A line for every path at which the two reports differ, in order."""
    old_leaves, new_leaves = dict(leaves(before)), dict(leaves(after))
    for path in old_leaves | new_leaves:
        old, new = old_leaves.get(path, "nothing"), new_leaves.get(path, "nothing")
        close = (
            isinstance(old, float)
            and isinstance(new, float)
            and isclose(old, new, rel_tol=1e-9, abs_tol=1e-12)
        )
        if old != new and not close:
            yield f"{path}: {old!r} before, {new!r} after"


def main(arguments: list[str] | None = None) -> int:
    """Print the differences by section; return 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.same_results", description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--rename", action="append", default=[], metavar="OLD=NEW")
    options = parser.parse_args(arguments)
    words = dict(renaming.split("=", 1) for renaming in options.rename)
    before, after = renamed(load(options.before), words), load(options.after)
    lines = list(differences(before, after))
    sections = Counter(re.split(r"[.\[:]", line.lstrip("."))[0] for line in lines)
    for name in before:
        if name not in OF_THE_RUN:
            size = len(before[name]) if isinstance(before[name], list) else 1
            print(f"{name:16} {size:6} entries  {sections[name]:6} differences")
    print(*lines[:SHOWN], sep="\n")
    print("different" if lines else "equal")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
