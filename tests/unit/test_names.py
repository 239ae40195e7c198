"""No module outside ``protocols`` knows a benchmark by name, in code or in prose."""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "pytest_factorfair"
NAMES = re.compile(
    r"fact[-_]or[-_]fair|faintbench|(?-i:FactOrFair)|topic_?cases?\b|prompt_?cases?\b", re.IGNORECASE
)
ALLOWED = {"config/options.py"}  # the default of an option, in its help

REBUILT = ("scoring/", "gates/", "session/")
STILL = {
    "commands/common.py",
    "commands/compare.py",
    "commands/detector.py",
    "commands/human.py",
    "detection/deepface.py",
    "labelling/records.py",
    "labelling/sample.py",
    "models/diffusers_model.py",
    "pictures/classes.py",
    "plugin/__init__.py",
}


def test_only_protocols_name_a_benchmark() -> None:
    modules = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    naming = {
        name
        for name, path in modules.items()
        if not name.startswith(("protocols/", *REBUILT)) and NAMES.search(path.read_text(encoding="utf-8"))
    }
    assert naming - ALLOWED <= STILL
