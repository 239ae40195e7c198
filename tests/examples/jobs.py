"""Runs CI jobs locally: each step's shell in bash, as the service would, with stand-ins for the outside.

``gh`` and ``pip`` are programs that log their calls; cache and artifacts are folders.
"""

from __future__ import annotations

import glob
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests import forkserver
from tests.project import PYTEST

ROOT = Path(__file__).parents[2]
PROGRAMS = {
    "pip": '#!/bin/bash\nprintf "%s\\n" "$*" >> "$STAND_INS/pip.log"\n',
    "pytest": f'#!/bin/bash\nexec $PYTHON {shlex.join(PYTEST)} -p no:xdist "$@"\n',
    "factorfair": '#!/bin/bash\nexec $PYTHON -m pytest_factorfair.commands.cli "$@"\n',
    "gh": Path(__file__).with_name("gh.sh").read_text(encoding="utf-8"),
}


def programs(folder: Path) -> dict[str, str]:
    """The environment of a job: stand-ins before a plain PATH, and of the developer's variables Python's own."""
    for name, text in PROGRAMS.items():
        path = folder / "bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("$PYTHON", forkserver.python()))
        path.chmod(0o755)
    environment = {name: os.environ[name] for name in os.environ if name.startswith(forkserver.READ_AT_START)}
    return {
        "PATH": f"{folder / 'bin'}:/usr/bin:/bin",
        "HOME": str(folder),
        "STAND_INS": str(folder),
        **environment,
    }


def shell(script: str, folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder, env=dict(environment), text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


@dataclass
class Job:
    """One job that uses the action, in a checkout, by the rules of GitHub's composite actions."""

    checkout: Path
    outside: Path
    inputs: Mapping[str, str]
    github: Mapping[str, Any]
    environment: Mapping[str, str] = field(default_factory=dict)
    log: str = ""
    failed: bool = False
    steps: dict[str, Any] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)

    def run(self) -> Job:
        action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
        defaults = {
            name: self.value(str(declaration.get("default", "")))
            for name, declaration in action["inputs"].items()
        }
        self.inputs = {**defaults, **self.inputs}
        assert set(self.inputs) == set(defaults)
        for step in action["runs"]["steps"]:
            condition = step.get("if", "")
            if (not self.failed or "always()" in condition) and (not condition or self.holds(condition)):
                self.step(step)
        self.outputs = {name: self.value(output["value"]) for name, output in action["outputs"].items()}
        return self

    def step(self, step: Mapping[str, Any]) -> None:
        self.ran.append(step["name"])
        if "uses" in step:
            parts = {name: self.value(str(value)) for name, value in step["with"].items()}
            self.external(step["uses"].partition("@")[0], parts)
            return
        output = self.outside / "output"
        output.write_text("")
        (self.outside / "temp").mkdir(exist_ok=True)
        done = shell(step["run"], self.checkout / self.value(step.get("working-directory", ".")), {
            **programs(self.outside), **self.environment,
            "GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": str(output), "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_STEP_SUMMARY": str(self.outside / "summary.md"), "RUNNER_TEMP": str(self.outside / "temp"),
            "GITHUB_REPOSITORY": str(self.github["repository"]),
            **{name: self.value(value) for name, value in step.get("env", {}).items()},
        })  # fmt: skip
        self.log += done.stdout
        self.failed = self.failed or done.returncode != 0
        outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        outcome = "failure" if done.returncode else "success"
        self.steps[step.get("id", "")] = {"outputs": outputs, "outcome": outcome, "code": done.returncode}

    def value(self, text: str) -> str:
        """The text with its expressions replaced by their values."""
        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda match: str(self.looked_up(match[1])), text)

    def looked_up(self, name: str) -> object:
        context: Any = {"inputs": self.inputs, "github": self.github, "steps": self.steps}
        for part in name.split("."):
            context = context.get(part, "") if isinstance(context, Mapping) else ""
        return context

    def holds(self, condition: str) -> bool:
        """A condition consists of ``a.b == 'c'`` or ``!=``, and ``always()``, joined by ``&&``."""
        for part in condition.split(" && "):
            if part == "always()":
                continue
            comparison = re.fullmatch(r"([\w.-]+) (==|!=) '([\w]*)'", part)
            assert comparison is not None, part
            if (str(self.looked_up(comparison[1])) == comparison[3]) is not (comparison[2] == "=="):
                return False
        return True

    def external(self, action: str, parts: Mapping[str, str]) -> None:
        """Simulate other actions as far as the job's outcome depends on them."""
        if action == "actions/cache/restore":
            prefixes = (parts["key"], *parts["restore-keys"].split())
            names = [name for prefix in prefixes for name in self.caches if name.startswith(prefix)]
            if names:
                _copy(parts["path"], self.outside / "cache" / names[0], self.checkout)
        elif action == "actions/cache/save":
            cache = self.outside / "cache" / parts["key"]
            cache.mkdir(parents=True)  # GitHub never replaces one
            _copy(parts["path"], self.checkout, cache)
        elif action == "actions/upload-artifact":
            self.upload(parts)
        else:
            assert action == "actions/setup-python"

    def upload(self, parts: Mapping[str, str]) -> None:
        source = self.checkout / parts["path"]
        hidden = any(part.startswith(".") for part in Path(parts["path"]).parts if part != ".")
        assert not hidden or parts["include-hidden-files"] == "True"
        shutil.copytree(source, self.outside / "artefacts" / parts["name"], dirs_exist_ok=True)

    @property
    def caches(self) -> list[str]:
        """The keys of all caches, the latest first."""
        folders = (self.outside / "cache").glob("*")
        return [
            folder.name
            for folder in sorted(folders, key=lambda folder: folder.stat().st_ctime_ns, reverse=True)
        ]

    @property
    def kept(self) -> Path:
        """The store in the latest cache."""
        return self.outside / "cache" / self.caches[0] / ".factorfair/responses.sqlite"

    @property
    def comments(self) -> list[dict[str, Any]]:
        path = self.outside / "comments.json"
        comments: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
        return comments


def _copy(patterns: str, source: Path, target: Path) -> None:
    """Copy what matches the patterns to the same paths; folders with their contents."""
    for pattern in patterns.split():
        for path in map(Path, glob.glob(str(source / pattern))):  # noqa: PTH207  # "./" is in them
            destination = target / path.resolve().relative_to(source.resolve())
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(path, destination, dirs_exist_ok=True) if path.is_dir() else shutil.copy(
                path, destination
            )
