"""No module outside ``protocols`` knows a benchmark by name, in code or in prose."""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "pytest_factorfair"
NAMES = re.compile(
    r"fact[-_]or[-_]fair|faintbench|(?-i:FactOrFair)|topic_?cases?\b|prompt_?cases?\b", re.IGNORECASE
)
ALLOWED = {
    "config/options.py",  # the default checklists of options
    "scoring/__init__.py",  # the public names of the papers' formulas, for users who score their own counts
}


def test_only_protocols_name_a_benchmark() -> None:
    modules = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    naming = {
        name
        for name, path in modules.items()
        if not name.startswith("protocols/") and NAMES.search(path.read_text(encoding="utf-8"))
    }
    assert naming == ALLOWED
