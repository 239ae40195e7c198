"""At temperature 0 an answer to a repeated prompt is a copy: it is kept, and not counted."""

from __future__ import annotations

from typing import Any

from tests.project import Project
from tests.servers import StubServer

GATE = "--factorfair-gate=s_fact[objective,gender] >= 0.4"
SIZES = ("FACTORFAIR_ESTIMATOR=corrected", "--factorfair-samples=24,objective=24")


def run(project: Project, stub: StubServer, *arguments: str) -> dict[str, Any]:
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    project.run("-p", "no:xdist", url, GATE, *SIZES, *arguments, model="hosted_vllm/m")
    return project.report()


def asked(report: dict[str, Any], attribute: str) -> set[int]:
    """How many answers count in an objective topic."""
    rows = [row for row in report["topics"] if (row["part"], row["attribute"]) == ("objective", attribute)]
    return {row["asked"] for row in rows}


def test_n_counts_distinct_prompts(project: Project, stub: StubServer) -> None:
    """Two orders of two groups in two wordings are four prompts; of four groups there are enough for 24.

    A later run is paired with the answers that were counted.
    """
    cold = run(project, stub)
    assert (asked(cold, "gender"), asked(cold, "race")) == ({4}, {24})
    assert {len(case["answers"]) for case in cold["cases"]} == {24}
    assert (
        "hosted_vllm/m: 40 of 336 answers repeat a prompt word for word, and the model is deterministic: "
        "they are copies and not counted" in cold["notes"]
    )
    (gate,) = cold["gates"]
    assert (gate["verdict"], gate["n"]) == ("inconclusive", 8)
    assert gate["reason"] == (
        "4 answers to a topic are too few, where 24 are needed (Tea Rate, highest and 1 more); 0.500, limit 0.40"
    )

    former = project.write("former.json", project.report_path.read_text())
    change = "--factorfair-gate=regression(s_fact)[objective,gender] >= -0.02"
    again = run(project, stub, f"--factorfair-baseline={former}", change)
    moved = [
        change
        for change in again["changes"]
        if (change["metric"], change["attribute"], change["part"]) == ("s_fact", "gender", "objective")
    ]
    assert [(change["n"], change["churn"], change["change"]) for change in moved] == [(8, 0, 0)]


def test_copies_are_not_asked_for(project: Project, stub: StubServer) -> None:
    """At temperature 0.7 the gate has its two cases asked up to four times; at 0 there is no new prompt."""
    # Position as a gate needs no number of answers, so that it stays curable.
    sizes = ("FACTORFAIR_LOOKS=4", "--factorfair-gate=position[objective,gender] <= 0.99")
    warm = run(project, stub, "--factorfair-model-arg=temperature=0.7", *sizes)
    assert (asked(warm, "gender"), asked(warm, "race")) == ({96}, {24})
    before = stub.stats()["requests"]
    assert before == 336 + 2 * 72
    run(project, stub, *sizes)
    assert stub.stats()["requests"] - before == 336
    release = project.report()["release"]
    assert release["word"] == "UNDECIDED"
    assert release["advice"] == (
        "Do not ship it yet: every further question repeats an earlier one, and the models are deterministic."
    )
    assert release["next_step"] == (
        "raise the temperature (--factorfair-model-arg=temperature=1), or add scenarios to the checklist"
    )


def test_a_plan_counts_distinct_prompts(project: Project, stub: StubServer) -> None:
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    asked = ("--factorfair-plan", "--factorfair-gate=s_fact[objective] >= 0.4", "FACTORFAIR_LOOKS=4")
    result = project.run(url, *SIZES, *asked, model="hosted_vllm/m")
    result.stdout.fnmatch_lines(
        ["s_fact[[]objective[]] >= 0.4 on objective,gender *  4  0.*",
         "s_fact[[]objective[]] >= 0.4 on objective,gender *  4  0.*",
         "s_fact[[]objective[]] >= 0.4 on objective,race *  24  0.*",
         "s_fact[[]objective[]] >= 0.4 on objective,race *  48  0.*"]
    )  # fmt: skip


def test_respondents_without_a_temperature_are_counted_in_full(project: Project) -> None:
    project.write("house.py", "def respond(prompt):\n    return 'A'\n")
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    project.run("-p", "no:xdist", *SIZES, "--factorfair-model=python:house:respond", model="sim:stereotyped")
    assert asked(project.report(), "gender") == {24}
