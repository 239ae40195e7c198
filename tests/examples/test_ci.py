"""What the project's own CI runs; the commands are stand-ins that note how they are called."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

ROOT = Path(__file__).parents[2]
MAIN_JOB = "pytest --factorfair-model=sim:stereotyped --factorfair-gate=default"
OTHER_PYTHONS = [
    *["pytest -q -p no:cacheprovider tests/unit/engine"] * 3,
    "pytest -q -p no:cacheprovider tests/validators.py",
]
CHECKS = [
    MAIN_JOB,
    "skipped_tests: pytest -n auto --dist=worksteal",
    "skipped_tests: ruff check .",
    "skipped_tests: ruff format --check .",
    "skipped_tests: mypy",
    "fail: pytest -n auto --dist=worksteal @skipped_tests",
    "fail: pytest -n auto --dist=loadfile --no-loadscope-reorder -m slow",
    *OTHER_PYTHONS,
]
CHECK = re.compile("|".join(re.escape(check) for check in sorted(CHECKS, key=len, reverse=True)))
STAND_IN = """\
#!/usr/bin/env bash
command="${0##*/} $*"
echo "${SKIPPED_TESTS:+${SKIPPED_TESTS##*/}: }${command//$TMPDIR*\\//}" >> "$NOTES"
case $command in
  "python3 -m venv "*) mkdir -p "$3/bin" && for name in pip uv ruff mypy pytest; do cp "$0" "$3/bin/$name"; done ;;
  "uv venv "*) mkdir -p "${!#}/bin" && cp "$0" "${!#}/bin/pytest" ;;
  "uv build "*) cd "${command##*--out-dir=}" && mkdir source && tar czf source.tar.gz source ;;
  "pytest --factorfair"*) mkdir -p .factorfair/report && touch .factorfair/report/report.html; echo "$PRINTED"; exit "$STATUS" ;;
esac
[[ $command != *"$FAILS"* ]]
"""


class Done(NamedTuple):
    status: int
    printed: str
    commands: list[str]

    @property
    def checks(self) -> list[str]:
        """The main job, the checks beside it in turn, and the other Pythons at once, each with what becomes of
        skipped tests; of its arguments, those in CHECKS."""
        matches = [CHECK.match(command) for command in self.commands]
        checks = [check.group() for check in matches if check]
        in_turn = [check for check in checks if check not in OTHER_PYTHONS]
        at_once = [check for check in checks if check in OTHER_PYTHONS]
        return sorted(in_turn, key=lambda check: check != MAIN_JOB) + sorted(at_once)


def picture(readme: str) -> str:
    """What the README shows of the main job."""
    return readme.partition("<!-- picture -->\n```text\n")[2].partition("```")[0]


def run(
    folder: Path,
    fails: str = "nothing",
    *,
    script: str = ".ci/run",
    status: int = 1,
    printed: str | None = None,
) -> Done:
    """Run it in a folder; a command that contains the text fails, and the main job prints this and ends so."""
    (commands := folder / "commands").mkdir(exist_ok=True)
    (folder / ".ci").mkdir(exist_ok=True)
    shutil.copy(ROOT / ".ci/run", folder / ".ci")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (folder / "README.md").write_text(readme.replace("/tmp/factorfair", f"{folder}/main"))  # noqa: S108  # the README's
    for name in ("python3", "initdb", "chromium", "jq"):
        (commands / name).write_text(STAND_IN)
        (commands / name).chmod(0o755)
    notes = folder / "notes"
    variables = {"PRINTED": picture(readme) if printed is None else printed, "STATUS": str(status)}
    done = subprocess.run(
        ["bash", "-ec", script], cwd=folder, capture_output=True, text=True, check=False,
        env={"PATH": f"{commands}:{os.environ['PATH']}", "TMPDIR": str(folder), "NOTES": str(notes), "FAILS": fails}
        | variables,
    )  # fmt: skip
    return Done(done.returncode, done.stdout, notes.read_text().splitlines())


@pytest.mark.parametrize(
    ("fails", "named"),
    [
        *((check, check) for check in ("ruff check", "mypy", "-n auto --dist=worksteal", "@", "-m slow")),
        ("tests/unit/engine", "other Pythons: 3.12"),
        ("tests/validators.py", "other Pythons: validators"),
    ],
)
def test_after_a_failed_check_the_others_run_all_the_same(tmp_path: Path, fails: str, named: str) -> None:
    done = run(tmp_path, fails)
    assert done.status == 1, done
    assert named in done.printed.partition("failed: ")[2]
    assert done.checks == CHECKS


def test_slow_tests_have_the_mark_in_their_own_file() -> None:
    """The slow step looks for the files that name it."""
    helpers = [path for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("test_")]
    assert not [path for path in helpers if "mark.slow" in path.read_text(encoding="utf-8")]


def test_without_a_failure_it_succeeds(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.status == 0, done
    assert "failed: " not in done.printed
    assert done.checks == CHECKS


@pytest.mark.parametrize(
    ("status", "printed"), [(0, None), (4, None), (1, "release: FAIL: 3 of 50 gates failed")]
)
def test_the_main_job_ends_as_the_readme_shows(tmp_path: Path, status: int, printed: str | None) -> None:
    done = run(tmp_path, status=status, printed=printed)
    assert done.status == 1, done
    assert "failed: wait " in done.printed
    assert done.checks == CHECKS


def test_the_readmes_commands_find_nothing_that_was_installed(tmp_path: Path) -> None:
    """In a checkout that CI has run in before; and CI itself installs only after them."""
    for folder in ("main", ".venv"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "earlier").touch()
    done = run(tmp_path)
    assert not list(tmp_path.glob("*/earlier"))
    installed = [at for at, command in enumerate(done.commands) if re.search("pip .*install|venv", command)]
    assert done.commands[installed[4]].endswith("python3 -m venv .venv/extras")
    tested = next(at for at, command in enumerate(done.commands) if "pytest -n auto" in command)
    assert tested < installed[4]


def test_the_workflow_types_the_readmes_commands_and_has_all_pythons(tmp_path: Path) -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    readme = workflow["jobs"]["readme"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = [name.rpartition(" ")[2] for name in project["classifiers"] if " 3." in name]
    assert readme["strategy"]["matrix"]["python"] == versions
    main_job, tests = [step["run"] for step in readme["steps"] if "run" in step]
    assert [
        done.status for done in (run(tmp_path, script=main_job), run(tmp_path, script=main_job, status=0))
    ] == [0, 1]
    done = run(tmp_path, script=tests)
    assert (done.status, done.commands[-1]) == (0, "pytest -n auto --dist=worksteal")
    steps = [
        step["run"]
        for name in ("everything", "macos")
        for step in workflow["jobs"][name]["steps"]
        if "run" in step
    ]
    assert steps == [
        ".ci/run",
        "pip install -c tests/constraints.txt -e '.[dev]'",
        "pytest -n auto tests/unit",
    ]


@pytest.mark.parametrize(
    ("fails", "checks"), [("uv pip install", CHECKS[:2]), ("uv venv", CHECKS[: -len(OTHER_PYTHONS)])]
)
def test_a_failed_installation_ends_it(tmp_path: Path, fails: str, checks: list[str]) -> None:
    done = run(tmp_path, fails)
    assert done.status == 1
    assert done.checks == checks


def test_a_python_that_is_not_there_is_left_out(tmp_path: Path) -> None:
    done = run(tmp_path, "uv python find")
    assert done.status == 0, done
    assert done.checks == CHECKS[: -len(OTHER_PYTHONS)]
