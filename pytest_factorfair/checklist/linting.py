"""Style of a checklist that is already valid."""

from __future__ import annotations

from pathlib import Path

from pytest_factorfair.checklist.loading import parse
from pytest_factorfair.checklist.problems import Problem
from pytest_factorfair.checklist.source import Node


def lint(name_or_path: str, *, base: Path) -> tuple[str, ...]:
    """Findings, each ``file:line: field: problem``, in the order of the file.

    Raises:
        InputError: as ``load``; only a valid checklist has a style.
    """
    files, root, file = parse(name_or_path, base=base)
    return tuple(text for _, text in sorted({_told(root, problem) for problem in files.lint(root, file)}))


def _told(root: Node, problem: Problem) -> tuple[tuple[str, int], str]:
    node, beyond = root.find(problem.steps)
    return node.place, str(node.error(problem.text, beyond=beyond))
