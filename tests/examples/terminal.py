"""A shell in an empty folder, in which a reader types commands."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Self

from tests import forkserver
from tests.project import PYTEST

END = "end of the command"
PROGRAMS = {"pytest": PYTEST, "factorfair": ("-m", "pytest_factorfair.commands.cli"), "python": ()}


class Printed(NamedTuple):
    text: str
    status: int


class Terminal:
    """One bash for all commands, so that exports, the current folder and ``$?`` persist."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        programs = folder.parent / f"{folder.name}-bin"
        programs.mkdir()
        for name, command in PROGRAMS.items():
            script = programs / name
            script.write_text(f'#!/bin/sh\nexec {shlex.join((forkserver.python(), *command))} "$@"\n')
            script.chmod(0o755)
        self._bash = subprocess.Popen(
            ["bash"], cwd=folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "COLUMNS": "200", **environment},
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bash.communicate()

    def type(self, command: str) -> Printed:
        """Run a command, and wait for its end."""
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        self._bash.stdin.write(f"{command}\nended=$?; echo; echo {END} $ended; (exit $ended)\n")
        self._bash.stdin.flush()
        lines: list[str] = []
        for line in self._bash.stdout:
            if line.startswith(END):
                return Printed("".join(lines).removesuffix("\n"), int(line.split()[-1]))
            lines.append(line)
        raise AssertionError(f"the shell ended: {command}")
