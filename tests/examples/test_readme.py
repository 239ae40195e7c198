"""What the README shows is what happens."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import StubServer

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


SETUP = [line for block in blocks("console") for line in block.splitlines() if not line.startswith("$ ")]
COMMANDS = [
    line.removeprefix("$ ")
    for block in blocks("console")
    for line in block.splitlines()
    if line.startswith("$ ")
]


def run(arguments: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text("[pytest]\n")
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=environment or None,
    )


def test_there_are_exactly_two_commands_to_set_up() -> None:
    assert len(SETUP) == 2
    assert all(command.startswith("python3 -m venv ") for command in SETUP)


def test_ci_runs_the_second_one() -> None:
    """The test command cannot run itself; CI runs its parts on a clean checkout."""
    steps = (ROOT / ".ci" / "run").read_text()
    for part in SETUP[1].replace("python3 -m venv .venv && ", "").split(" && "):
        assert part in steps


def test_the_first_one_on_an_empty_machine(tmp_path: Path) -> None:
    """Builds the wheel, installs it in an empty environment, runs the main job in an empty folder."""
    command = SETUP[0].replace("/tmp/factorfair", str(tmp_path / "venv"))  # noqa: S108  # the README's folder
    command = command.replace('"$(mktemp -d)"', str(tmp_path))
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout[-3000:] + done.stderr[-3000:]
    assert "FAILED factorfair::gate[s_e-baseline-gender]" in done.stdout
    assert " answers: 0 refused, 0 unread, 0 errors" in done.stdout
    picture = blocks("text")[0].splitlines()
    assert len(picture) > 15
    assert "\n".join(picture[1:]) in "\n".join(line.rstrip() for line in done.stdout.splitlines())
    again = subprocess.run(
        [tmp_path / "venv/bin/pytest", "--factorfair-model=sim:stereotyped"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert again.returncode == 0
    assert "522 passed" in again.stdout


def test_the_commands(tmp_path: Path, stub: StubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """All commands in their order, in one folder, as a reader would type them."""
    stub.script(latency=0.001)
    monkeypatch.setenv("OPENAI_BASE_URL", stub.base_url)
    assert len(COMMANDS) >= 9
    for command in COMMANDS:
        program, *arguments = shlex.split(command)
        if program == "export":
            name, _, value = arguments[0].partition("=")
            monkeypatch.setenv(name, value)
            continue
        module = {"pytest": ["pytest"], "factorfair": ["pytest_factorfair.cli"]}[program]
        done = run([*module, *arguments], tmp_path)
        assert done.returncode == 0, (command, done.stdout[-3000:], done.stderr)


def test_the_settings_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(blocks("toml")[0])
    done = run(["pytest", "--collect-only", "-q", "--factorfair-model=sim:ideal"], tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_test_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(blocks("python")[0])
    done = run(["pytest", "test_own.py", "--factorfair-model=sim:oracle"], tmp_path)
    assert "4 passed" in done.stdout


def test_scores_without_pytest(tmp_path: Path) -> None:
    script = tmp_path / "scores.py"
    script.write_text(blocks("python")[1] + "\nimport sys\nassert 'pytest' not in sys.modules\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # by hand: 3 of 4 answers are right; H(.75, .25) / ln 2; (1/3) ** (1/2)
    assert [round(float(word), 4) for word in done.stdout.split()[:3]] == [0.75, 0.8113, 0.5774]
