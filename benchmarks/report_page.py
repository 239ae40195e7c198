"""Measure report.html of the largest text run: size, first paint, response times of filter and search.

``python -m benchmarks.report_page [--report FILE]``; without a file, it first runs the `paper` preset with a
simulated respondent: 522 cases, 45,600 answers. Aims: 3 MB, 2 s, 200 ms.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, sync_playwright

from benchmarks.harness import limited, measured, table

TIMES = 7
FILTERED = """async () => {
  const input = document.querySelector("#filters input");
  const started = performance.now();
  input.value = input.value ? "" : "rate";
  input.dispatchEvent(new Event("input", { bubbles: true }));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - started;
}"""
OPENED = """async () => {
  const started = performance.now();
  document.querySelector("#cells td a").click();
  const shown = () => document.querySelectorAll("#topic .chart svg").length > 1
    && document.querySelector("#topic .reply");
  while (!shown())
    await new Promise(requestAnimationFrame);
  const took = performance.now() - started;
  document.querySelector("#topic").close();
  return took;
}"""
SEARCHED = """async () => {
  const input = document.querySelector("#search"), found = document.querySelector("#found");
  const ask = async (text) => {
    const started = performance.now();
    input.value = text;
    input.dispatchEvent(new Event("input"));
    while (!found.textContent) await new Promise(requestAnimationFrame);
    return performance.now() - started;
  };
  await ask("answer"); // unpacks the replies, once
  input.value = found.textContent = "";
  return ask("refused");
}"""
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


class Times(NamedTuple):
    """The times of a page in milliseconds."""

    paint: float
    filter: float
    open: float
    search: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", type=Path, help="a report.html")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = arguments.report or _made(Path(folder))
        with sync_playwright() as playwright:
            path = shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
            rows = [_measured(browser, report) for _ in range(TIMES)]
            browser.close()
        table("report.html", [("megabytes", limited(report.stat().st_size / 1e6, 3)), *_times(rows)])


def _times(rows: Sequence[Times]) -> Iterator[tuple[str, str]]:
    for name, limit, times in zip(
        Times._fields, (2_000, 200, 500, 200), zip(*rows, strict=True), strict=True
    ):
        yield f"{name}, ms", f"{limited(statistics.median(times), limit)}, worst of {TIMES}: {max(times):.0f}"


def _made(folder: Path) -> Path:
    options = ("--factorfair-model=sim:stereotyped?refuse=0.01", "--factorfair-preset=paper")
    measured([sys.executable, "-m", "pytest", "-q", *options], cwd=folder)
    return folder / ".factorfair" / "report" / "report.html"


def _measured(browser: Browser, report: Path) -> Times:
    page = browser.new_page()
    page.goto(report.as_uri())
    page.wait_for_function("document.querySelectorAll('#planes svg').length > 1")
    painted, filtered = page.evaluate(PAINTED), page.evaluate(FILTERED)
    opened = page.evaluate(OPENED)
    searched = page.evaluate(SEARCHED)
    page.close()
    return Times(painted, filtered, opened, searched)


if __name__ == "__main__":
    main()
