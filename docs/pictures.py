"""Makes the pictures of the pages with the project's own commands: ``python docs/pictures.py``."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

PICTURES = Path(__file__).parent / "pictures"
RESPONDENTS = {
    "fair": "sim:ideal",
    "stereotyped": "sim:stereotyped?strength=0.6",
    "falsifying": "sim:uniform?knowledge=0.4",
    "constant": "sim:constant?group=Female",
}
"""Names of pictures, and the respondents that they show."""


def main() -> None:
    """Run each respondent, and keep of its figures the plane of gender; the curves and the surface once."""
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as name:
        folder = Path(name)
        for picture, model in RESPONDENTS.items():
            _run(folder, "pytest", f"--factorfair-model={model}", f"--factorfair-report={picture}")
            _run(folder, "pytest_factorfair.cli", "export", "--figures", "figures", f"{picture}/report.json")
            _keep(folder, "plane-gender", picture)
        _keep(folder, "curves", "curves")
        _run(folder, "pytest_factorfair.cli", "export", "--figures", "figures",
             *(f"{picture}/report.json" for picture in RESPONDENTS))  # fmt: skip
        _keep(folder, "surface", "surface")


def _run(folder: Path, module: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", module, *arguments], cwd=folder, check=True)  # noqa: S603  # our own


def _keep(folder: Path, figure: str, picture: str) -> None:
    shutil.copy(folder / "figures" / f"fact-or-fair-{figure}.svg", PICTURES / f"{picture}.svg")


if __name__ == "__main__":
    main()
