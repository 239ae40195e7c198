"""A plan asks nothing, runs nothing and ends well."""

from __future__ import annotations

from tests.project import Project

MODEL = """
def respond(prompt):
    open("asked", "w").close()
    return "A"
"""


def test_a_plan(project: Project, dist: tuple[str, ...]) -> None:
    project.write("house.py", MODEL)
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    texts = ("s_e[baseline] >= 0.96", "distance[baseline] <= 0.1", "influence <= 0.1", "position <= 0.1")
    gates = [f"--factorfair-gate={text}" for text in texts]
    sizes = ("--factorfair-samples=72,objective=24", "--factorfair-looks=4")
    result = project.run(*dist, "--factorfair-plan", *gates, *sizes, model="python:house:respond")
    assert result.ret == 0
    assert not (project.path / "asked").exists()
    assert not project.report_path.exists()
    result.stdout.fnmatch_lines(
        ["calls: 720, at most 2,880 if gates stay undecided (0 of 720 answers are in the store)",
         "tokens: about * in, 5,760 out, for all answers",
         "cost: unknown",
         "s_e[[]baseline[]] >= 0.96 on baseline,gender  *    72  0.*",
         "s_e[[]baseline[]] >= 0.96 on baseline,gender  *   288  0.*",
         "distance[[]baseline[]] <= 0.1 on baseline,race *   288  0.0*",
         "influence <= 0.1 on in_group,race *   288  0.0*",
         "position <= 0.1 on objective,gender *    96  not foreseen"]
    )  # fmt: skip


def test_a_plan_refuses_what_the_run_would(project: Project) -> None:
    result = project.run("--factorfair-plan", "--factorfair-gate=s_fct >= 1", model="sim:ideal")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: *did you mean 's_fact'?"])


def test_a_plan_for_pictures(project: Project) -> None:
    arguments = ("--factorfair-checklist=fact_or_fair_t2i", "--factorfair-gate=s_e[baseline] >= 0.9")
    result = project.pytester.runpytest_subprocess(
        "-p", "no:xdist", "--factorfair-plan", "--factorfair-model=sim:ideal", *arguments
    )
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["factorfair: 76 cases, 1,520 pictures: 0 in the store, 1,520 to ask, estimated cost $0.00",
         "calls: 1,520, at most 6,080 if gates stay undecided (0 of 1,520 answers are in the store)",
         "cost: about $0.00",
         "s_e[[]baseline[]] >= 0.9 on baseline,race *    20  0.*"]
    )  # fmt: skip
    result.stdout.no_fnmatch_line("tokens: *")
