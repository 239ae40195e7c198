"""Every way a run can end early or partly: gates are never green by omission, and exit codes are pytest's."""

from __future__ import annotations

import json
import subprocess
from collections import Counter

import pytest

from tests.project import CASES, Project

GATE = "--factorfair-gate=s_fact[objective,gender] >= 0.5"
NAME = "s_fact-objective-gender"
MODEL = """
import os

def respond(prompt):
    if os.path.exists("broken") and "Queue Rate" in prompt and "highest" in prompt:
        return "{}"
    return '{"answer": "A"}'
"""
OWN = "python:house:respond"


@pytest.fixture
def house(project: Project) -> Project:
    """A project with a model of its own, which cannot be read on one case while the file ``broken`` exists."""
    project.write("house.py", MODEL)
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    return project


def ini(project: Project, hook: str) -> None:
    project.write("conftest.py", f"import os, signal, time, pytest\n\n{hook}\n")


def test_exitfirst(house: Project, dist: tuple[str, ...]) -> None:
    house.write("broken", "")
    result = house.run(*dist, "-x", GATE, model=OWN)
    assert result.ret == (2 if dist == ("-n2",) else 1)
    assert house.verdicts() == {NAME: "not judged"}
    assert "of 14 cases" in house.report()["incomplete"]  # how many, workers decide


MISSING = "8 of 14 cases are missing: left out by -k 'objective'"


def test_keyword(house: Project) -> None:
    """Workers collect what the controller does not."""
    result = house.run("-n2", "-k", "objective", GATE, model=OWN)
    assert result.ret == 1
    result.assert_outcomes(
        passed=6, failed=1, skipped=1, deselected=0
    )  # a report on the release fails for all gates
    assert house.verdicts() == {NAME: "not judged"}
    assert house.report()["incomplete"] == MISSING
    result.stdout.fnmatch_lines(
        [
            "release: UNDECIDED: 0 of 1 gate passed, 1 not judged",
            f"Do not ship it yet: {MISSING}.",
            "Next: run them all, or set the gates aside with --factorfair-gate=none",
        ]
    )


def test_partial_runs_can_be_accepted(house: Project) -> None:
    house.write("pyproject.toml", "[tool.factorfair]\nundecided = 'warn'\n")
    result = house.run("-p", "no:xdist", "-k", "objective", GATE, model=OWN)
    assert result.ret == 0
    result.assert_outcomes(passed=6, skipped=1, deselected=8)
    result.stdout.fnmatch_lines(
        ["release: UNDECIDED: 0 of 1 gate passed, 1 not judged", 'Not decided, which undecided = "warn" accepts: *']
    )  # fmt: skip


DECLARED = "[tool.factorfair]\ngate = ['s_fact[objective,gender] >= 0.99']\n"


def test_gates_are_set_aside_for_a_look_at_single_questions(house: Project) -> None:
    house.write("pyproject.toml", DECLARED)
    result = house.run("-p", "no:xdist", "-k", "objective", "--factorfair-gate=none", model=OWN)
    assert result.ret == 0
    notice = "--factorfair-gate=none sets the gates of pyproject.toml aside"
    result.stdout.fnmatch_lines(
        [f"factorfair: note: {notice}: nothing is judged", "report: *", f"release: NOT JUDGED: {notice}"]
    )  # fmt: skip
    assert house.report()["gates"] == []
    assert house.report()["release"]["word"] == "NOT JUDGED"


def test_none_is_no_gate_among_others(house: Project) -> None:
    result = house.run(GATE, "--factorfair-gate=none", model=OWN)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: --factorfair-gate: 'none' stands alone, got 's_fact[[]objective,gender[]] >= 0.5; none'"]
    )


def test_tests_that_are_skipped_leave_their_cases_missing(house: Project) -> None:
    ini(house, "def pytest_runtest_setup(item):\n    if 'queue_rate' in item.name: pytest.skip('later')")
    result = house.run("-p", "no:xdist", GATE, model=OWN)
    assert result.ret == 1
    missing = "6 of 14 cases are missing: 6 recorded no answers: see the tests that failed or were skipped"
    assert house.report()["incomplete"] == missing


def test_markers(house: Project) -> None:
    # race is an attribute of all 14 cases but the two that ask about gender
    expected = {"objective": 6, "subjective": 8, "in_group": 4, "gender": 6, "race": 12, "factorfair": CASES}
    arguments = (*house.arguments(OWN), "-p", "no:xdist", "--collect-only", "--strict-markers")
    items, _ = house.pytester.inline_genitems(*arguments)
    counts = Counter(name for item in items for name in {mark.name for mark in item.iter_markers()})
    assert {name: counts[name] for name in expected} == expected
    result = house.run("-p", "no:xdist", "-m", "objective and gender", "--strict-markers", model=OWN)
    result.assert_outcomes(passed=2, deselected=CASES - 2)  # who drinks the most tea, and who the least
    result.stdout.no_fnmatch_line("Next: *")  # there is no gate to set aside, and nothing to judge


def test_nothing_selected(house: Project) -> None:
    result = house.run("-p", "no:xdist", "-m", "nothing", GATE, model=OWN)
    assert result.ret == 5
    assert not house.report_path.exists()


def test_gates_are_not_green_when_a_path_leaves_all_cases_out(house: Project, dist: tuple[str, ...]) -> None:
    house.write("test_own.py", "def test_own(): pass")
    result = house.run(*dist, "test_own.py", GATE, model=OWN)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "Do not ship it yet: 14 of 14 cases are missing: left out by the path test_own.py; --pyargs * adds the shipped checks.",
            "Next: run them all, or set the gates aside with --factorfair-gate=none",
        ]
    )


def test_without_gates_a_line_says_why_no_case_was_run(house: Project) -> None:
    house.write("test_own.py", "def test_own(): pass")
    result = house.run("-p", "no:xdist", "-k", "test_own", model=OWN)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["factorfair: no case was run: left out by -k 'test_own'"])
    assert not house.report_path.exists()


EXITS = {
    "def test_own(): pytest.exit('bye', returncode=0)": "test_own.py",
    "def pytest_sessionstart(): pytest.exit('bye', returncode=0)": "conftest.py",
    "def pytest_collection_modifyitems(): pytest.exit('bye', returncode=0)": "conftest.py",
    "@pytest.hookimpl(trylast=True)\ndef pytest_sessionfinish(): pytest.exit('bye', returncode=0)": "conftest.py",
}


@pytest.mark.parametrize("code", EXITS, ids=["test", "start", "collection", "finish"])
def test_an_exit_code_of_0_does_not_hide_that_gates_were_not_kept(house: Project, code: str) -> None:
    house.write(EXITS[code], f"import pytest\n\n{code}\n")
    missed = "--factorfair-gate=s_fact[objective,gender] >= 0.9"
    result = house.run("-p", "no:xdist", missed, model=OWN)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["factorfair: exit code 1, not 0: gates failed or were not judged"])


def test_an_interrupted_run_is_not_green_without_gates_either(house: Project) -> None:
    house.write("test_own.py", "import pytest\n\ndef test_own(): pytest.exit('bye', returncode=0)")
    result = house.run("-p", "no:xdist", model=OWN)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["factorfair: exit code 1, not 0: cases are missing"])


SMOKE = "--factorfair-preset=smoke"


def test_smoke_sets_the_projects_gates_aside_and_says_so_first_and_last(house: Project) -> None:
    house.write("pyproject.toml", DECLARED)
    arguments = ("--factorfair-model=sim:contrary", "--factorfair-checklist=small.yaml", "-p", "no:xdist")
    result = house.run_pytest(*arguments, SMOKE)
    assert result.ret == 0
    notice = "preset smoke sets the gates of pyproject.toml aside"
    result.stdout.fnmatch_lines(
        [
            f"factorfair: note: {notice}: nothing is judged",
            "collected *",
            f"release: NOT JUDGED: {notice}",
            "*14 passed*",
        ]
    )
    assert result.outlines.index(f"release: NOT JUDGED: {notice}") == len(result.outlines) - 2


@pytest.mark.parametrize(
    ("typed", "table", "where"),
    [
        ((SMOKE, GATE), "", "--factorfair-gate and --factorfair-preset"),
        ((), "preset = 'smoke'\ngate = ['s_e >= 0.9']", "*gate and *pyproject.toml: [[]tool.factorfair[]] preset"),
        ((GATE,), "preset = 'smoke'", "--factorfair-gate and *pyproject.toml: [[]tool.factorfair[]] preset"),
    ],
    ids=["both typed", "both declared", "gate typed"],
)  # fmt: skip
def test_smoke_beside_gates_could_never_judge(
    house: Project, typed: tuple[str, ...], table: str, where: str
) -> None:
    house.write("pyproject.toml", f"[tool.factorfair]\n{table}\n")
    result = house.run_pytest("--factorfair-model=sim:ideal", "--factorfair-checklist=small.yaml", *typed)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [f"ERROR: {where}: preset smoke is too small to judge a gate; take preset ci, or leave the gates out"]
    )


@pytest.mark.parametrize("workers", [("-n1",), ()], ids=["n1", "alone"])
def test_an_empty_model_variable_is_refused_where_gates_are_declared(
    house: Project, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    """As an unset variable of a CI job is."""
    house.write("test_own.py", "def test_own(): pass")
    monkeypatch.setenv("FACTORFAIR_MODEL", "")
    assert house.run_pytest(*workers).ret == 0
    house.write("pyproject.toml", DECLARED)
    result = house.run_pytest(*workers)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [
            "ERROR: FACTORFAIR_MODEL is empty, and */pyproject.toml: [[]tool.factorfair[]] gate declares gates: *"
        ]
    )
    (house.path / "pyproject.toml").unlink()
    monkeypatch.setenv("FACTORFAIR_GATE", "default")
    assert house.run_pytest(*workers).ret == 4


def test_a_blank_model_is_refused(house: Project) -> None:
    result = house.run_pytest("--factorfair-model=  ")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: --factorfair-model: expected SPEC, got nothing: the model under test *"]
    )


def test_a_misspelt_table_is_named(house: Project) -> None:
    house.write("pyproject.toml", "[tool.factofair]\ngate = ['default']\n")
    result = house.run(model=OWN)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [
            "ERROR: */pyproject.toml: there is no table [[]tool.factofair[]]; did you mean [[]tool.factorfair[]]?"
        ]
    )


def test_a_partial_run_leaves_the_complete_report_and_git_sees_neither(house: Project) -> None:
    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=house.path, capture_output=True, text=True, check=True)
        return done.stdout

    git("init", "-q")
    part = ("-p", "no:xdist", "-k", "objective", GATE)
    house.run(*part, model=OWN)
    assert house.report()["incomplete"] == MISSING  # no other report is lost
    house.run("-p", "no:xdist", GATE, model=OWN)
    complete = house.report_path.read_text()
    result = house.run(*part, model=OWN)
    assert house.report_path.read_text() == complete
    assert json.loads(house.partial_path.read_text())["incomplete"]
    partial = "partial report (the complete one in .factorfair/report is kept)"
    result.stdout.fnmatch_lines([f"{partial}: .factorfair/report/partial/report.html"])
    assert git("status", "--porcelain", ".factorfair") == ""


@pytest.mark.parametrize("option", ["--setup-plan", "--setup-only", "--fixtures"])
def test_a_run_that_only_shows_asks_nothing(house: Project, option: str) -> None:
    house.write(
        "house.py",
        MODEL.replace("def respond(prompt):", "def respond(prompt):\n    open('asked', 'a').close()"),
    )
    assert house.run("-p", "no:xdist", option, GATE, model=OWN).ret == 0
    assert not (house.path / "asked").exists()
    assert not house.report_path.exists()


def test_lastfailed(house: Project) -> None:
    house.write("broken", "")
    assert house.run("-p", "no:xdist", GATE, model=OWN).ret == 1
    result = house.run("-p", "no:xdist", "--lf", GATE, model=OWN)
    assert result.ret == 1
    partial = json.loads(house.partial_path.read_text())
    assert partial["incomplete"] == "13 of 14 cases are missing: left out by --last-failed"


def test_lastfailed_runs_all_again_when_only_a_gate_failed(house: Project) -> None:
    missed = "--factorfair-gate=s_fact[objective,gender] >= 0.9"
    assert house.run("-p", "no:xdist", missed, "--lf", model=OWN).ret == 1
    result = house.run("-p", "no:xdist", missed, "--lf", model=OWN)
    assert result.ret == 1
    assert house.verdicts() == {NAME: "failed"}


def test_stepwise(house: Project) -> None:
    house.write("broken", "")
    result = house.run("-p", "no:xdist", "--sw", GATE, model=OWN)
    assert result.ret == 2
    assert house.verdicts() == {NAME: "not judged"}


CRASH = """
def pytest_runtest_setup(item):
    if "queue_rate-race-highest" in item.name and not os.path.exists("crashed{n}"):
        open("crashed{n}", "w").close()
        os._exit(3)
"""


def test_a_crashed_worker_leaves_its_case_missing(house: Project) -> None:
    ini(house, CRASH.format(n=""))
    result = house.run("-n2", GATE, model=OWN)
    assert result.ret == 1
    assert house.verdicts() == {NAME: "not judged"}
    assert house.report()["incomplete"].startswith("1 of 14 cases is missing: 1 recorded no answers")


def test_the_restart_ceiling_leaves_cases_missing(house: Project) -> None:
    ini(house, "def pytest_runtest_setup(item):\n    if 'subjective' in item.name: os._exit(3)")
    result = house.run("-n2", "--max-worker-restart=1", GATE, model=OWN)
    assert result.ret == 1
    assert house.verdicts() == {NAME: "not judged"}


def test_a_collection_error_elsewhere(house: Project, dist: tuple[str, ...]) -> None:
    house.write("test_broken.py", "import nothing_of_that_name")
    result = house.run(*dist, GATE, model=OWN)
    workers = dist == ("-n2",)
    assert result.ret == (1 if workers else 2)
    line = "release: PASS: 1 gate passed*" if workers else "release: UNDECIDED: * 1 not judged"
    result.stdout.fnmatch_lines([line])
    assert house.report_path.exists() == workers  # an empty report would replace a good one


def test_a_failed_test_of_the_users_own_does_not_stop_the_judging(house: Project) -> None:
    house.write("test_own.py", "def test_own(): assert False")
    result = house.run("-p", "no:xdist", GATE, model=OWN)
    assert result.ret == 1
    assert house.verdicts() == {NAME: "passed"}


INTERRUPT = """
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is started with it ignored

def pytest_configure(config):
    os.environ.setdefault("CONTROLLER", str(os.getpid()))  # which its workers inherit

def pytest_keyboard_interrupt():
    open("interrupted", "w").close()

def pytest_runtest_setup(item):
    if "queue_rate-race-highest" in item.name:
        os.kill(int(os.environ["CONTROLLER"]), signal.SIGINT)
        while not os.path.exists("interrupted"):  # the controller, for which a worker waits
            time.sleep(0.01)
"""


def test_interrupt(house: Project, dist: tuple[str, ...]) -> None:
    assert house.run("-p", "no:xdist", GATE, model=OWN).ret == 0
    before = house.report_path.read_text()
    ini(house, INTERRUPT)
    result = house.run_apart(*dist, GATE, model=OWN)
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*Do not ship it yet: the run was interrupted*"])
    assert house.report_path.read_text() == before  # the last good report stays
    assert json.loads(house.partial_path.read_text())["incomplete"].startswith("the run was interrupted")


def test_collect_only(house: Project) -> None:
    result = house.run("-p", "no:xdist", "--collect-only", "-q", GATE, model=OWN)
    assert result.ret == 0
    assert not (house.path / ".factorfair").exists()


def test_a_rerun_case_counts_once(house: Project) -> None:
    ini(
        house,
        "seen = set()\n\n"
        "def pytest_runtest_teardown(item):\n    pass\n\n"
        "@pytest.fixture(autouse=True)\ndef flaky(request):\n    yield\n"
        "    if 'queue_rate-race-highest' in request.node.name and request.node.name not in seen:\n"
        "        seen.add(request.node.name)\n        raise RuntimeError('flaky')\n",
    )
    result = house.run("-p", "no:xdist", "--reruns=1", GATE, model=OWN)
    assert result.ret == 0
    assert house.verdicts() == {NAME: "passed"}
    assert len(house.report()["cases"]) == CASES
    asked = sum(len(case["answers"]) for case in house.report()["cases"])
    usage = house.report()["usage"]
    assert usage["calls"] == asked
    assert usage["cached"] > 0  # the rerun found its answers in the store
