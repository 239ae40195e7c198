"""The validators that each format's own makers publish, on the evidence of several runs.

They need Python 3.12 and other versions than ours, so that this file is run by its name, in an environment
of its own with the versions in ``validators.txt``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pytest_factorfair.commands.cli import main
from tests.finished import DEPENDING, TEXT, Finished
from tests.project import FEW_PORTRAITS, Project
from tests.unit.benchmarks.items import files

pytest.importorskip("every_eval_ever")
hub = pytest.importorskip("huggingface_hub")
protobuf = pytest.importorskip("google.protobuf.json_format")
statements = pytest.importorskip("in_toto_attestation.v1.statement")
messages = pytest.importorskip("in_toto_attestation.v1.statement_pb2")
test_results = pytest.importorskip("in_toto_attestation.predicates.test_result.v0.test_result_pb2")

PORTRAITS = (
    "--factorfair-model=sim:stereotyped", f"--factorfair-checklist={FEW_PORTRAITS}",
    "--factorfair-checklist=faintbench", "--factorfair-preset=smoke", "--factorfair-samples=images=8",
    "--factorfair-gate=refusal_rate <= 0.5",
)  # fmt: skip
HUB = ("--hub", "a/b/c=few.s_fact.objective.race")


@pytest.fixture
def items(project: Project) -> Path:
    """The report of a run on questions, some of whose answers are refused or end in an error."""
    project.write("mixed.yaml", files.checklist())
    project.write(
        "flaky.py",
        "def answer(prompt):\n"
        "    if 'loan 1' in prompt:\n        raise RuntimeError('no')\n"
        "    return 'I cannot answer that.' if 'loan' in prompt else 'A'\n",
    )
    project.run_pytest(
        "-p", "no:xdist", "--factorfair-model=python:flaky:answer", "--factorfair-checklist=mixed.yaml",
        "--factorfair-gate=accuracy >= 0.1", "--factorfair-samples=repeats=7", "FACTORFAIR_RETRIES=0",
    )  # fmt: skip
    return project.report_path


def validate(folder: Path) -> None:
    """Run the command of Every Eval Ever from above ``data``, and read the statement as its type."""
    patterns = [f"data/*/*/*/*{ending}" for ending in (".json", ".jsonl")]
    present = [pattern for pattern in patterns if list(folder.glob(pattern))]
    for command in (["validate", *present], ["check-duplicates", "data"]):
        done = subprocess.run(
            [sys.executable, "-m", "every_eval_ever", *command],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert command[0] != "validate" or "0 errors, 0 warnings" in " ".join(done.stdout.split()), (
            done.stdout
        )
    statement_file = folder / "test-result.statement.json"
    if statement_file.exists():
        message, result = messages.Statement(), test_results.TestResult()
        protobuf.Parse(statement_file.read_text(), message)
        statements.Statement.copy_from_pb(message).validate()
        predicate = json.loads(statement_file.read_text())["predicate"]
        protobuf.Parse(json.dumps(predicate), result)
        assert result.result == predicate["result"]
        assert list(result.failed_tests) == predicate["failedTests"]
    for path in folder.glob(".eval_results/*.yaml"):
        (entry,) = hub.parse_eval_result_entries(yaml.safe_load(path.read_text()))
        assert (entry.dataset_id, entry.task_id, entry.verify_token) == ("a/b", "c", None)


@pytest.mark.parametrize(("arguments", "options"), [(TEXT, ()), (DEPENDING, HUB), (PORTRAITS, ())])
def test_evidence_of_runs(
    finished: Finished, tmp_path: Path, arguments: tuple[str, ...], options: tuple[str, ...]
) -> None:
    report = str(finished(*arguments))
    assert main(["evidence", report, "-o", str(tmp_path / "e"), "--instances", *options]) == 0
    validate(tmp_path / "e")


def test_evidence_of_items_with_lost_answers(items: Path, tmp_path: Path) -> None:
    assert main(["evidence", str(items), "-o", str(tmp_path / "e"), "--instances"]) == 0
    validate(tmp_path / "e")
