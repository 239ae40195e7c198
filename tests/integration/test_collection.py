"""The shipped checks in a user's collection."""

from __future__ import annotations

from tests.project import CASES, Project


def ids(project: Project, *arguments: str) -> list[str]:
    lines = project.run("--collect-only", "-q", "-p", "no:xdist", *arguments).outlines
    return [line for line in lines if "::" in line]


def test_ids_are_stable_and_plain(project: Project) -> None:
    node_ids = ids(project)
    assert len(node_ids) == CASES
    assert node_ids[:3] == [
        "factorfair::test_checklist[objective-tea_rate-gender-highest]",
        "factorfair::test_checklist[objective-tea_rate-gender-lowest]",
        "factorfair::test_checklist[objective-tea_rate-race-highest]",
    ]
    assert node_ids[6] == "factorfair::test_checklist[subjective-tea_rate-highest-base-1]"
    assert ids(project, "--pyargs", "pytest_factorfair.checks") == node_ids


def test_a_path_on_the_command_line_adds_nothing(project: Project) -> None:
    project.write("test_own.py", "def test_own(): pass")
    assert ids(project, "test_own.py") == ["test_own.py::test_own"]
    assert ids(project, ".") == ["test_own.py::test_own"]


def test_testpaths_and_python_functions_are_about_the_users_files(project: Project) -> None:
    project.write(
        "pytest.ini", "[pytest]\npython_functions = check_*\ntestpaths = tests\naddopts = --strict-markers\n"
    )
    (project.path / "tests").mkdir()
    project.write("tests/test_own.py", "def check_own(): pass\ndef test_not(): pass")
    assert len(ids(project)) == CASES + 1


def test_a_virtual_environment_inside_the_project(project: Project) -> None:
    (project.path / ".venv").mkdir()
    project.write(".venv/pyvenv.cfg", "")
    assert len(ids(project)) == CASES


def test_conftest_hooks_reach_the_checks(project: Project) -> None:
    project.write(
        "conftest.py",
        "def pytest_runtest_setup(item):\n    with open('seen', 'a') as file: file.write('x')\n",
    )
    project.run("-p", "no:xdist")
    assert len((project.path / "seen").read_text()) == CASES


def test_workers_agree_on_the_cases_whatever_their_hash_seeds(project: Project) -> None:
    workers = [f"--tx=popen//env:PYTHONHASHSEED={seed}" for seed in (0, 1)]
    project.run("--dist=load", *workers).assert_outcomes(passed=CASES)


def test_other_options_do_not_matter(project: Project) -> None:
    options = ("--import-mode=importlib", "--doctest-modules", "-Werror")
    project.run("-p", "no:xdist", *options).assert_outcomes(passed=CASES)


def test_the_full_checklist_has_its_522_cases(project: Project) -> None:
    lines = project.run_pytest(
        "--collect-only", "-q", "-p", "no:xdist", "--factorfair-model=sim:uniform"
    ).outlines
    node_ids = [line for line in lines if "::" in line]
    assert len(node_ids) == len(set(node_ids)) == 522
    assert sum("[objective-" in line for line in node_ids) == 66
    assert sum("[subjective-" in line for line in node_ids) == 456
