"""Names: no module outside ``benchmarks`` knows a benchmark by name, and local names say what they hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "pytest_factorfair"
NAMES = re.compile(
    r"fact[-_]or[-_]fair|faintbench|dofair|(?-i:FactOrFair)|topic_?cases?\b|prompt_?cases?\b", re.IGNORECASE
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
        if not name.startswith("benchmarks/") and NAMES.search(path.read_text(encoding="utf-8"))
    }
    assert naming == ALLOWED


# Pronouns, participles and numerals; what a variable holds has a name of its own.
EMPTY = re.compile(
    "one|each|found|some|own|mine|its|others?|known|kept|said|left|there|place|first|had|given|told|chosen|made|wanted|put|"
    "rest|beside|such|many|few|most|more|less|least|same|it|this|that|these|those|them|they|things?|something|what|which|"
    "who|whose|here|now|then"
)
MOST = 0.01  # of all bindings; peers are at 0 to 1 %


def bindings(path: Path) -> Iterator[ast.Name]:
    """The names bound in assignments, loops, comprehensions and ``with ... as``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node


@pytest.mark.parametrize("folder", ["pytest_factorfair", "tests", "benchmarks"])
def test_local_names_say_what_they_hold(folder: str) -> None:
    names = [(path, node) for path in sorted((ROOT / folder).rglob("*.py")) for node in bindings(path)]
    empty = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.id}"
        for path, node in names
        if EMPTY.fullmatch(node.id.strip("_"))
    ]
    assert len(empty) <= MOST * len(names), "\n".join(empty)
