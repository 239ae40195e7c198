"""Sequential looks: undecided gates ask for more answers to their own topics, and nothing else changes."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from pytest_factorfair.commands.cli import main
from tests import forkserver
from tests.project import Project

LOOKS = ("FACTORFAIR_ESTIMATOR=corrected", "--factorfair-samples=72,objective=24", "FACTORFAIR_LOOKS=4")
CLEAR = "--factorfair-gate=s_fact[objective,gender] >= 0.5"
CLOSE = "--factorfair-gate=s_e[base,gender] >= 0.9705"  # that of a stereotype of strength .2
CLOSE_TO_CHANCE = "--factorfair-gate=s_fact[base,gender] >= 0.585"  # .6 in the long run
UNSURE = "--factorfair-gate=s_fact[base,gender] >= 0.5"  # that of a model that does not mind the group
MODEL = "sim:stereotyped?strength=0.2"

TEA = """
schema: factorfair.checklist/1
name: tea
extends: small.yaml
only: {statistics: tea_rate, contexts: base}
"""
FIRST, FURTHER = 4 * 24 + 2 * 72, 2 * 72
"""The answers of the first look at this part of the small checklist, and of a further one at its judgements."""


def arguments(project: Project, *options: str, model: str = MODEL) -> tuple[str, ...]:
    project.write("tea.yaml", TEA)
    return (
        "-p",
        "no:xdist",
        f"--factorfair-model={model}",
        "--factorfair-checklist=tea.yaml",
        *LOOKS,
        *options,
    )


def asked(report: dict[str, Any]) -> dict[str, int]:
    return {case["case"]: len(case["answers"]) for case in report["cases"]}


def test_clear_gates_ask_no_more(project: Project) -> None:
    result = project.run_pytest(*arguments(project, "-v", CLEAR))
    assert result.ret == 0
    assert sum(asked(project.report()).values()) == FIRST
    result.stdout.fnmatch_lines(
        [f"note: stopped after look 1 of 4 with {FIRST:,} answers instead of up to {FIRST + 3 * 2 * 24:,}"]
    )


def test_an_undecided_gate_asks_its_own_topics_up_to_the_cap(project: Project) -> None:
    """Each look is announced. A run from the store, without workers, looks as often."""
    options = (*LOOKS, CLEAR, CLOSE, "--factorfair-model-arg=price=0.01")
    result = project.run("-n2", *options, model=MODEL)
    assert result.ret == int("inconclusive" in project.verdicts().values())
    report = project.report()
    extended = {case: answers for case, answers in asked(report).items() if answers > 72}
    assert len(extended) == 2  # one statistic of the two speaks of gender
    assert all("-base-" in case for case in extended)
    assert set(extended.values()) in ({144}, {216}, {288})
    assert sum(asked(report).values()) == 6 * 24 + 6 * 72 + sum(extended.values())
    assert report["usage"]["calls"] == sum(asked(report).values())
    announced = [line for line in result.outlines if ": look 2 of 4" in line]
    assert announced == ["factorfair: look 2 of 4: 1 gate undecided, 144 more answers, at most $1.44"]
    again = project.run("-p", "no:xdist", "-q", *options, model=MODEL)
    assert again.ret == result.ret
    assert project.report()["usage"]["calls"] == 0
    assert project.report()["gates"] == report["gates"]
    assert project.report()["cases"] == report["cases"]
    assert not any("more answers" in line for line in again.outlines)  # it is quiet


def test_the_size_that_an_undecided_gate_advises_has_so_many_times_the_answers(project: Project) -> None:
    """Of the last look, whose answers are four times those of the first."""
    undecided = project.run_pytest(*arguments(project, CLOSE_TO_CHANCE))
    assert project.report()["release"]["word"] == "UNDECIDED"
    advice = re.search(
        r"Next: ask for about (\d+) times as many answers \((--factorfair-samples=(\d+),objective=24)\)",
        " ".join(undecided.stdout.str().split()),
    )
    assert advice is not None
    assert int(advice[3]) == int(advice[1]) * 4 * 72
    project.run_pytest(*arguments(project, CLOSE_TO_CHANCE, advice[2]))
    assert project.report()["fingerprint"]["samples"] == int(advice[3])


FAILING = "--factorfair-gate=s_e[base,gender] >= 0.9"  # for a stereotype of strength 0.9
HOPELESS = "sim:stereotyped?strength=0.9"
BY_CHANCE = "--factorfair-gate=s_fact[base,race] >= 0.25"  # what a model has that does not mind the race
AFTER_FAIL = "FACTORFAIR_LOOKS_AFTER_FAIL=true"
WAIVED = """
[tool.factorfair]
waivers = [{gate = "s_e[base,gender] >= 0.9", reason = "known", until = 2999-12-31, floor = 0.01}]
"""


@pytest.mark.parametrize(
    ("options", "pyproject", "answers", "words"),
    [
        ((), "", FIRST, "FAIL"),
        ((AFTER_FAIL,), "", FIRST + 3 * FURTHER, "FAIL"),
        ((), "[tool.factorfair]\nlooks_after_fail = true\n", FIRST + 3 * FURTHER, "FAIL"),
        ((), WAIVED, FIRST + 3 * FURTHER, "UNDECIDED"),
    ],
)
def test_a_failed_gate_ends_the_looks_unless_it_is_waived(
    project: Project, options: tuple[str, ...], pyproject: str, answers: int, words: str
) -> None:
    """The verdict is the same; the other gate says how to decide it."""
    project.write("pyproject.toml", pyproject)
    result = project.run_pytest(*arguments(project, "-v", FAILING, BY_CHANCE, *options, model=HOPELESS))
    assert result.ret == 1
    report = project.report()
    assert (report["usage"]["calls"], report["release"]["word"]) == (answers, words)
    assert project.verdicts()["s_fact-base-race"] == "inconclusive"
    advised = [line for line in result.outlines if "looks_after_fail = true" in line]
    assert len(advised) == (2 if answers == FIRST else 0)  # the gate, and a note


def test_an_undecided_gate_that_passes_the_floor_of_its_waiver_gets_no_further_look(project: Project) -> None:
    """Both gates do so by the second look. Each is shown with its reason and last day."""
    waived = '{gate = "s_fact[base,race]", reason = "by design", until = 2999-12-31, floor = 0.1}'
    project.write("pyproject.toml", WAIVED.replace("floor = 0.01}", f"floor = 0.01}}, {waived}"))
    result = project.run_pytest(*arguments(project, FAILING, BY_CHANCE, model=HOPELESS))
    assert result.ret == 0
    report = project.report()
    assert (report["usage"]["calls"], report["release"]["word"]) == (FIRST + FURTHER, "PASS WITH WAIVERS")
    printed = " ".join(result.stdout.str().split())
    for end in ("below 0.90; waived until 2999-12-31 down to 0.01: known",
                "too close to 0.25 to tell; waived until 2999-12-31 down to 0.1: by design"):  # fmt: skip
        assert end in printed
    assert "s_e[base,gender] and s_fact[base,race] did not pass and are waived." in printed
    assert main(["evidence", str(project.report_path.parent), "-o", str(project.path / "evidence")]) == 0


def test_each_of_several_models_is_judged_by_its_own_gates(project: Project) -> None:
    """One fails at once; the other is asked as if it were alone."""
    gates = FAILING, BY_CHANCE
    project.run_pytest(*arguments(project, *gates, model="sim:ideal"))
    alone = sum(asked(project.report()).values())
    assert alone > FIRST
    result = project.run_pytest(*arguments(project, "--factorfair-model=sim:ideal", *gates, model=HOPELESS))
    result.stdout.fnmatch_lines(["sim:ideal race *"])  # the last row of scores, in place of "1 more line"
    answers = Counter[str]()
    for case in project.report()["cases"]:
        answers[case["model"]] += len(case["answers"])
    assert answers == {HOPELESS: FIRST, "sim:ideal": alone}


UNREADABLE = "sim:ideal?nonsense=0.5"
LOSSES = "--factorfair-gate=unparsed_rate[objective,gender] <= 0.5"


@pytest.mark.parametrize(
    ("options", "answers"),
    [
        ((), FIRST),
        ((AFTER_FAIL,), FIRST + 3 * 2 * 24),
        (("FACTORFAIR_UNDECIDED=warn",), FIRST + 3 * 2 * 24),  # further answers may fail the run
    ],
)
def test_lost_answers_that_more_of_the_same_cannot_make_up_for_end_the_looks(
    project: Project, options: tuple[str, ...], answers: int
) -> None:
    project.run_pytest(
        *arguments(project, LOSSES, "--factorfair-gate=s_e[base,gender] >= 0.9", *options, model=UNREADABLE)
    )
    report = project.report()
    assert set(project.verdicts().values()) == {"inconclusive"}
    assert sum(asked(report).values()) == answers
    if not options:  # the release names the obstacle, though the other gate comes first
        assert "could not be parsed, so s_e[base,gender] is undecided" in report["release"]["advice"]


PROBABILITIES = ("--factorfair-answers=probabilities", "--factorfair-samples=24,objective=24", "FACTORFAIR_LOOKS=2",
                 "FACTORFAIR_ESTIMATOR=corrected", "--factorfair-gate=s_e[base] >= 0.9", "-p", "no:xdist")  # fmt: skip
"""A gate on S_E, which needs 72 answers that are drawn; two looks have 48."""

SURE = "sim:stereotyped?strength=1&attribute=race&when=topic:tea_rate-highest"


@pytest.mark.parametrize(
    ("model", "topics", "grown", "judgement"),
    [(SURE, "tea_rate-highest-base", 72, "failed"), ("sim:ideal", "base", 24, "passed")],
)
def test_the_last_look_asks_for_as_many_answers_as_bounds_need(
    project: Project, model: str, topics: str, grown: int, judgement: str
) -> None:
    """Where the model is sure of them; elsewhere as many as for any look."""
    project.run(*PROBABILITIES, model=model)
    assert project.verdicts()["s_e-base-race"] == judgement
    answers = asked(project.report())
    assert {number for case, number in answers.items() if f"{topics}-" in case} == {grown}
    assert {number for case, number in answers.items() if f"{topics}-" not in case} <= {24, 48}


def test_a_plan_has_as_many_answers_as_bounds_need(project: Project) -> None:
    plan = project.run(*PROBABILITIES, "--factorfair-plan", model=SURE)
    plan.stdout.fnmatch_lines([f"calls: {14 * 24}, at most {10 * 24 + 4 * 72} if gates stay undecided *"])


def test_one_look_is_a_plain_run_and_replay_looks_no_further(project: Project) -> None:
    project.run_pytest(*arguments(project, "FACTORFAIR_LOOKS=1", CLOSE))
    assert sum(asked(project.report()).values()) == FIRST
    assert not any("look" in note for note in project.report()["notes"])
    result = project.run_pytest(*arguments(project, CLOSE, "--factorfair-reuse=only"))
    assert result.ret == 1
    result.stdout.fnmatch_lines(["Do not ship it yet: the store has no answers for another look."])
    assert set(project.verdicts().values()) == {"inconclusive"}


def test_the_budget_ends_the_looks_and_the_next_run_goes_on(project: Project) -> None:
    """Looks are announced, whatever they cost."""
    result = project.run_pytest(*arguments(project, CLOSE, f"--factorfair-max-calls={FIRST + 50}"))
    result.stdout.fnmatch_lines(
        ["Do not ship it yet: the budget of * calls is used up.", "Next: raise --factorfair-max-calls, *"]
    )
    assert set(project.verdicts().values()) == {"inconclusive"}
    result = project.run_pytest(*arguments(project, CLOSE))
    assert project.report()["usage"]["cached"] == FIRST + 50
    assert sum(asked(project.report()).values()) >= FIRST + FURTHER
    announced = [line for line in result.outlines if ": look 2 of 4" in line]
    announcement = (
        "factorfair: look 2 of 4: 1 gate undecided, 144 more answers, 50 in the store, at most $0.00"
    )
    assert announced == [announcement]


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
    options = arguments(project, UNSURE, model="python:house:respond")
    result = project.run_process(forkserver.python(), *options)
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
    result = project.run_pytest(*arguments(project, UNSURE))
    result.stdout.fnmatch_lines(["Do not ship it yet: the models that tests asked are not those *"])
    assert sum(asked(project.report()).values()) == FIRST


@pytest.mark.parametrize("number", ["0", "5", "x"])
def test_invalid_numbers_of_looks_are_refused(project: Project, number: str) -> None:
    result = project.run(f"FACTORFAIR_LOOKS={number}", model=MODEL)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: FACTORFAIR_LOOKS: expected *"])
