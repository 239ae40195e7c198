"""Measure the size and structure of packages' code: `python -m benchmarks.code_shape [PACKAGE ...]`.

One row per installed package: modules, lines, median lines per module, lines of a function (median and 90th
percentile, without docstring), private functions used once (and their share of all functions), and class
names that several modules define. A private function's name begins with a single underscore; a use is its
name anywhere in its module except at its definition.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from statistics import median, quantiles

DEFAULT = ("pytest_factorfair", "xdist", "httpx", "pluggy", "_pytest")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def body_lines(function: Function) -> int:
    """The number of lines of a function, without its docstring."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function, clean=False) is not None:
        text = function.body[0]
        lines -= (text.end_lineno or text.lineno) - text.lineno + 1
    return lines


def uses(tree: ast.Module) -> Counter[str]:
    """How often a module reads each name, as a name or as an attribute."""
    names = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    attributes = (node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return Counter([*names, *attributes])


def row(package: str) -> str | None:
    """The package's row; None if it is not installed."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    files = sorted(Path(spec.submodule_search_locations[0]).rglob("*.py"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    lengths = [text.count("\n") for text in texts]
    sizes: list[int] = []
    once = private = 0
    classes: Counter[str] = Counter()
    for tree in map(ast.parse, texts):
        used = uses(tree)
        functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
        sizes += map(body_lines, functions)
        hidden = [
            function.name
            for function in functions
            if function.name.startswith("_") and not function.name.startswith("__")
        ]
        private += len(hidden)
        once += sum(used[name] == 1 for name in hidden)
        classes.update({node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)})
    repeated = sum(count > 1 for count in classes.values())
    return (
        f"{package:20}{len(files):8,}{sum(lengths):9,}{median(lengths):8.0f}"
        f"{median(sizes):8.0f} / {quantiles(sizes, n=10)[-1]:.0f}"
        f"{once:8,} of {private:,} ({once / len(sizes):.0%}){repeated:8}"
    )


def main() -> None:
    """Print the table."""
    print(
        "package              modules    lines  median  function   private, used once  class names repeated"
    )
    for package in sys.argv[1:] or DEFAULT:
        print(row(package) or f"{package:20} not installed")


if __name__ == "__main__":
    main()
