"""Makes the pictures of the pages with the project's own commands: ``python docs/pictures.py``.

Those of the report need playwright and Debian's Chromium.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import ViewportSize, sync_playwright

PICTURES = Path(__file__).parent / "pictures"
RESPONDENTS = {
    "fair": "sim:ideal",
    "stereotyped": "sim:stereotyped?strength=0.6",
    "falsifying": "sim:uniform?knowledge=0.4",
    "constant": "sim:constant?group=Female",
}
"""Names of pictures, and the respondents that they show."""

COMPARED = ("fair", "stereotyped", "refusing")
"""The reports that are compared; the last model refuses some answers."""

JUDGED = ("--factorfair-gate=default", "--factorfair-report=judged")
WINDOW = ViewportSize(width=1100, height=760)
CHARTS = 6
"""Charts of a comparison that are shown, two in a row."""


def main() -> None:
    """Run each respondent and keep its plane of gender; once the curves, the surface and the pages."""
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as name:
        folder = Path(name)
        for picture, model in RESPONDENTS.items():
            _run(folder, "pytest", f"--factorfair-model={model}", f"--factorfair-report={picture}")
            _run(
                folder,
                "pytest_factorfair.commands.cli",
                "export",
                "--figures",
                "figures",
                f"{picture}/report.json",
            )
            _keep(folder, "plane-gender", picture)
        _keep(folder, "curves", "curves")
        _run(folder, "pytest_factorfair.commands.cli", "export", "--figures", "figures",
             *(f"{picture}/report.json" for picture in RESPONDENTS))  # fmt: skip
        _keep(folder, "surface", "surface")
        model = f"--factorfair-model={RESPONDENTS['stereotyped']}"
        _run(folder, "pytest", model, *JUDGED, FACTORFAIR_LOOKS="1")
        refusing = "--factorfair-model=sim:refusing?rate=0.03"
        _run(folder, "pytest", refusing, "--factorfair-report=refusing")
        reports = (f"{name}/report.json" for name in COMPARED)
        _run(folder, "pytest_factorfair.commands.cli", "compare", *reports, "-o", "compare.html")
        _photograph(folder / "judged" / "report.html", folder / "compare.html")


def _run(folder: Path, module: str, *arguments: str, **variables: str) -> None:
    command, environment = [sys.executable, "-m", module, *arguments], os.environ | variables
    subprocess.run(command, cwd=folder, env=environment, check=False)  # our own


def _photograph(report: Path, comparison: Path) -> None:
    """The top of a report, its matrix, and the charts of a comparison."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport=WINDOW, color_scheme="light")
        page.goto(report.as_uri())
        page.wait_for_selector("#contexts-chart svg")
        page.screenshot(path=PICTURES / "report.png")
        page.locator("#matrix").screenshot(path=PICTURES / "matrix.png")
        page.goto(comparison.as_uri())
        heading = page.get_by_role("heading", name="fact_or_fair: gender", level=2)
        charts = page.locator("section", has=heading).locator(".charts")
        charts.locator("svg").nth(CHARTS).wait_for()
        charts.evaluate(
            "(charts, shown) => charts.replaceChildren(...[...charts.children].slice(0, shown))", CHARTS
        )
        charts.screenshot(path=PICTURES / "compare.png")
        browser.close()


def _keep(folder: Path, figure: str, picture: str) -> None:
    shutil.copy(folder / "figures" / f"fact-or-fair-{figure}.svg", PICTURES / f"{picture}.svg")


if __name__ == "__main__":
    main()
