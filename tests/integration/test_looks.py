"""Sequential looks: undecided gates ask for more answers to their own topics, and nothing else changes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.project import Project

FIRST = 6 * 24 + 8 * 72
LOOKS = ("FACTORFAIR_ESTIMATOR=corrected", "--factorfair-samples=72,objective=24", "FACTORFAIR_LOOKS=4")
CLEAR = "--factorfair-gate=s_fact[objective,gender] >= 0.5"
CLOSE = "--factorfair-gate=s_e[base,gender] >= 0.9705"  # that of a stereotype of strength .2
MODEL = "sim:stereotyped?strength=0.2"


def asked(report: dict[str, Any]) -> dict[str, int]:
    return {case["case"]: len(case["answers"]) for case in report["cases"]}


def test_clear_gates_ask_no_more(project: Project) -> None:
    result = project.run("-p", "no:xdist", "-v", *LOOKS, CLEAR, model=MODEL)
    assert result.ret == 0
    assert sum(asked(project.report()).values()) == FIRST
    result.stdout.fnmatch_lines(
        [f"note: stopped after look 1 of 4 with {FIRST:,} answers instead of up to {FIRST + 3 * 2 * 24:,}"]
    )


def test_an_undecided_gate_asks_its_own_topics_up_to_the_cap(project: Project, dist: tuple[str, ...]) -> None:
    result = project.run(*dist, *LOOKS, CLEAR, CLOSE, model=MODEL)
    assert result.ret == int("inconclusive" in project.verdicts().values())
    report = project.report()
    extended = {case: answers for case, answers in asked(report).items() if answers > 72}
    assert len(extended) == 2  # one statistic of the two speaks of gender
    assert all("-base-" in case for case in extended)
    assert set(extended.values()) in ({144}, {216}, {288})
    assert sum(asked(report).values()) == FIRST + sum(extended.values()) - 2 * 72
    assert report["usage"]["calls"] == sum(asked(report).values())
    again = project.run(*dist, *LOOKS, CLEAR, CLOSE, model=MODEL)
    assert again.ret == result.ret
    assert project.report()["usage"]["calls"] == 0
    assert project.report()["gates"] == report["gates"]
    assert project.report()["cases"] == report["cases"]


def test_a_look_that_may_cost_something_is_announced(project: Project) -> None:
    """One statistic of the two is about gender, with two topics of 72 answers each."""
    price = ("--factorfair-model-arg=price=0.01", "-p", "no:xdist")
    result = project.run(*price, *LOOKS, CLEAR, CLOSE, model=MODEL)
    announced = [line for line in result.outlines if ": look 2 of 4" in line]
    assert announced == ["factorfair: look 2 of 4: 1 gate undecided, asking 144 more answers (at most $1.44)"]
    for silent in ("-q", "--factorfair-model-arg=price=0"):
        result = project.run(*price, *LOOKS, CLEAR, CLOSE, silent, model=MODEL)
        assert not any("asking" in line for line in result.outlines)


def test_one_look_is_a_plain_run(project: Project) -> None:
    project.run("-p", "no:xdist", *LOOKS[:2], "FACTORFAIR_LOOKS=1", CLOSE, model=MODEL)
    assert sum(asked(project.report()).values()) == FIRST
    assert not any("look" in note for note in project.report()["notes"])


PROBABILITIES = ("--factorfair-answers=probabilities", "--factorfair-samples=24,objective=24", "FACTORFAIR_LOOKS=2",
                 "FACTORFAIR_ESTIMATOR=corrected", "--factorfair-gate=s_e[base] >= 0.9", "-p", "no:xdist")  # fmt: skip
"""A gate on S_E, which needs 72 answers that are drawn; two looks have 48."""

SURE = "sim:stereotyped?strength=1&attribute=race"


@pytest.mark.parametrize(
    ("model", "topics", "grown", "judgement"),
    [
        (SURE, "base", 72, "failed"),
        (f"{SURE}&when=topic:tea_rate-highest", "tea_rate-highest-base", 72, "failed"),
        ("sim:ideal", "base", 24, "passed"),
    ],
)
def test_the_last_look_asks_for_as_many_answers_as_bounds_need(
    project: Project, model: str, topics: str, grown: int, judgement: str
) -> None:
    """Where the model is sure of them; elsewhere as many as for any look."""
    plan = project.run(*PROBABILITIES, "--factorfair-plan", model=model)
    plan.stdout.fnmatch_lines([f"calls: {14 * 24}, at most {10 * 24 + 4 * 72} if gates stay undecided *"])
    project.run(*PROBABILITIES, model=model)
    assert project.verdicts()["s_e-base-race"] == judgement
    answers = asked(project.report())
    assert {number for case, number in answers.items() if f"{topics}-" in case} == {grown}
    assert {number for case, number in answers.items() if f"{topics}-" not in case} <= {24, 48}


def test_replay_looks_no_further_than_the_store(project: Project) -> None:
    project.run("-p", "no:xdist", *LOOKS[:2], model=MODEL)
    result = project.run("-p", "no:xdist", *LOOKS, CLOSE, "--factorfair-reuse=only", model=MODEL)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["Do not ship it yet: the store has no answers for another look."])
    assert set(project.verdicts().values()) == {"inconclusive"}


def test_the_budget_ends_the_looks_and_the_next_run_goes_on(project: Project) -> None:
    result = project.run("-p", "no:xdist", *LOOKS, CLOSE, f"--factorfair-max-calls={FIRST + 50}", model=MODEL)
    result.stdout.fnmatch_lines(
        ["Do not ship it yet: the budget of * calls is used up.", "Next: run it again *"]
    )
    assert set(project.verdicts().values()) == {"inconclusive"}
    project.run("-p", "no:xdist", *LOOKS, CLOSE, model=MODEL)
    assert max(asked(project.report()).values()) > 72


OWN = """
import os, signal, threading

alone = threading.Lock()
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is started with it ignored

def respond(prompt):
    with alone:
        with open("calls", "a") as file:
            file.write("x")
        if os.path.getsize("calls") == {stop}:
            os.kill(os.getpid(), signal.SIGINT)
    return '{{"answer": "' + "ABCD"[hash_of(prompt) % (4 if "D. " in prompt else 2)] + '"}}'

def hash_of(prompt):
    import hashlib
    return hashlib.sha256(prompt.encode()).digest()[0]
"""


def test_interrupted_while_looking_again_nothing_is_judged(project: Project) -> None:
    project.write("house.py", OWN.format(stop=FIRST + 20))
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    close = "--factorfair-gate=s_fact[base,gender] >= 0.5"
    result = project.run_apart("-p", "no:xdist", *LOOKS, close, model="python:house:respond")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["Do not ship it yet: the run was interrupted while looking again*"])
    assert project.report()["incomplete"] == "the run was interrupted while looking again"


OVERRIDE = """
import pytest

@pytest.fixture
def factorfair_model(factorfair_model):
    return lambda prompt: '{"answer": "' + "AB"[len(prompt) % 2] + '"}'
"""


def test_a_model_that_only_tests_know_is_not_asked_again(project: Project) -> None:
    project.write("conftest.py", OVERRIDE)
    close = "--factorfair-gate=s_fact[base,gender] >= 0.5"
    result = project.run("-p", "no:xdist", *LOOKS, close, model=MODEL)
    result.stdout.fnmatch_lines(["Do not ship it yet: the models that tests asked are not those *"])
    assert sum(asked(project.report()).values()) == FIRST


@pytest.mark.parametrize("number", ["0", "5", "x"])
def test_invalid_numbers_of_looks_are_refused(project: Project, number: str) -> None:
    result = project.run(f"FACTORFAIR_LOOKS={number}", model=MODEL)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: FACTORFAIR_LOOKS: expected *"])
