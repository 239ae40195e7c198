"""Verdicts by bounds, end to end: what undecided and waived gates do to a run."""

from __future__ import annotations

import pytest

from pytest_factorfair.commands.cli import main
from tests.project import Project
from tests.servers import StubServer

NAME = "s_fact-objective-gender"
CORRECTED = "FACTORFAIR_ESTIMATOR=corrected"
BOUNDS = (CORRECTED, "--factorfair-samples=72,objective=24")
MODEL = "sim:ideal"


@pytest.mark.parametrize(
    ("policy", "ret", "advice"),
    [
        ((), 1, "Do not ship it yet: *, which is too close to the limit to tell."),
        (("FACTORFAIR_UNDECIDED=warn",), 0, 'Not decided, which undecided = "warn" accepts: *'),
        (
            ("FACTORFAIR_UNDECIDED=fail", "FACTORFAIR_LOOKS=1"), 1,
            "Do not ship it yet: FACTORFAIR_LOOKS=1 allows no second look.",
        ),
    ],
)  # fmt: skip
def test_a_gate_that_the_answers_do_not_decide(
    project: Project, monkeypatch: pytest.MonkeyPatch, policy: tuple[str, ...], ret: int, advice: str
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    gate = "--factorfair-gate=s_e[base,gender] >= 0.9999"
    result = project.run("-p", "no:xdist", "-v", "-rs", *BOUNDS, gate, *policy, model=MODEL)
    assert result.ret == ret
    result.assert_outcomes(passed=14, skipped=1, failed=ret)  # where it fails, the release does
    result.stdout.fnmatch_lines(["SKIPPED * s_e[[]base,gender[]] >= 0.9999: inconclusive: * to tell"])
    assert project.verdicts() == {"s_e-base-gender": "inconclusive"}
    assert "to tell" in project.report()["gates"][0]["reason"]
    result.stdout.fnmatch_lines(["release: UNDECIDED: 0 of 1 gate passed, 1 inconclusive", advice])
    release = project.report()["release"]
    assert (release["word"], release["fails"]) == ("UNDECIDED", bool(ret))


RESUME = "run it again to continue: stored answers are not asked again"


def test_a_limit_in_the_second_look_leaves_the_release_undecided(project: Project) -> None:
    """What is missing and what to do about it is printed with -q, too."""
    calls = 6 * 4 + 4 * 2 * 48 + 10
    result = project.run(
        "-n2", "-q", CORRECTED, "--factorfair-samples=48,objective=4", "FACTORFAIR_LOOKS=2",
        "--factorfair-gate=s_e[base,gender] >= 0.9999", f"--factorfair-max-calls={calls}", model=MODEL,
    )  # fmt: skip
    assert result.ret == 1
    assert project.verdicts() == {"s_e-base-gender": "inconclusive"}
    assert project.report()["usage"]["calls"] == calls
    printed = " ".join(result.stdout.str().split())
    assert "release: UNDECIDED: 0 of 1 gate passed, 1 inconclusive" in printed
    assert f"Do not ship it yet: the budget of {calls} calls is used up." in printed
    assert project.report()["release"]["next_step"] == f"raise --factorfair-max-calls, then {RESUME}"
    assert f"Next: raise --factorfair-max-calls, then {RESUME}" in printed


def test_a_second_look_that_gets_no_answers_leaves_the_release_undecided(
    project: Project, stub: StubServer
) -> None:
    """The answers of the first look come from the store, and it is judged; nothing is paid twice."""
    answers = 6 * 4 + 4 * 2 * 24
    options = (
        f"--factorfair-model-arg=base_url={stub.base_url}", "-p", "no:xdist", "-q", CORRECTED,
        "--factorfair-gate=name_preference[base,race] <= 0.02", "FACTORFAIR_PATIENCE=0.01", "FACTORFAIR_RETRIES=1",
    )  # fmt: skip

    def advice(*arguments: str, **script: object) -> str:
        """What a run with two looks says after its verdict."""
        stub.script(**script)
        result = project.run(*options, "FACTORFAIR_LOOKS=2", *arguments, model="hosted_vllm/m")
        assert result.ret == 1
        assert project.report()["usage"]["cached"] == answers
        printed = " ".join(result.stdout.str().split())
        assert "release: UNDECIDED: 0 of 1 gate passed, 1 inconclusive" in printed
        return printed.partition("release: ")[2].partition("Do not ship it yet: ")[2]

    project.run(*options, "FACTORFAIR_LOOKS=1", model="hosted_vllm/m")
    assert project.verdicts() == {"name_preference-base-race": "inconclusive"}
    for status, cause in ((401, "401 Unauthorized"), (503, "503"), (429, "429")):
        assert cause in advice(fail=-1, status=status)
        assert project.report()["release"]["next_step"].endswith(RESUME)
    assert "the store has no answers for another look." in advice("--factorfair-reuse=only")
    step = project.report()["release"]["next_step"]
    assert step == "to ask for them, run it again without --factorfair-reuse=only"
    stub.script()
    project.run(*options, "FACTORFAIR_LOOKS=2", model="hosted_vllm/m")
    assert stub.stats()["requests"] == project.report()["usage"]["calls"] > 0


def test_bounds_reach_the_report(project: Project) -> None:
    result = project.run(
        "-p", "no:xdist", *BOUNDS, "--factorfair-gate=s_fact[objective,gender] >= 0.8", model=MODEL
    )
    assert result.ret == 0
    (gate,) = project.report()["gates"]
    assert 0.8 < gate["low"] < gate["value"] == gate["high"] == 1
    result.stdout.fnmatch_lines(
        ["release: PASS: 1 gate passed; no gate judges judgements in base, in_group, facts about race"]
    )


MUTE = """
from itertools import count

turn = count()

def ask(prompt):
    if "categories of people" in prompt:
        return "banana"  # to every fact
    return '{"answer": "%s"}' % "ABCD"[next(turn) % 4]
"""


@pytest.mark.parametrize(("policy", "fails"), [("fail", True), ("warn", False)])
def test_no_release_passes_while_cases_are_unreadable(project: Project, policy: str, fails: bool) -> None:  # noqa: FBT001 - a parameter
    """Their tests fail, and with them the run, although no gate is on facts."""
    project.write("mute.py", MUTE)
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    result = project.run(
        "-p", "no:xdist", "--factorfair-gate=s_e[base,gender] >= 0.3", f"FACTORFAIR_UNDECIDED={policy}",
        model="python:mute:ask",
    )  # fmt: skip
    assert result.ret == 1
    result.stdout.fnmatch_lines(["release: UNDECIDED: 1 gate passed, 6 cases unreadable"])
    printed = " ".join(result.outlines)
    why = "each of 6 cases, such as objective-tea_rate-gender-highest, loses more than half of its answers"
    assert (
        f"{why}, and no gate fails for it. Next: factorfair show objective-tea_rate-gender-highest" in printed
    )
    assert ("The run fails all the same: 6 tests failed besides the gates." in printed) == (not fails)
    release = project.report()["release"]
    assert (release["word"], release["fails"]) == ("UNDECIDED", fails)
    assert main(["evidence", str(project.report_path), "-o", "evidence"]) == 0


def test_a_failed_test_of_the_user_is_named_beside_a_release_that_passes(project: Project) -> None:
    project.pytester.makepyfile("def test_own(): assert False")
    result = project.run(
        "-p", "no:xdist", "--factorfair-gate=s_fact[objective,gender] >= 0.5", model="sim:oracle"
    )
    assert result.ret == 1
    lines = result.outlines
    (release,) = (number for number, line in enumerate(lines) if line.startswith("release: PASS: "))
    assert "The run fails all the same: 1 test failed besides the gates." in lines[release:]


def test_a_failed_gate_quotes_its_own_context(project: Project) -> None:
    """The name of a context begins with that of another, and its cases come first."""
    checklist = project.path / "small.yaml"
    longer = "  base_b: {text: 'This is the longer context.'}\n"
    checklist.write_text(checklist.read_text().replace("  base: {}\n", f"{longer}  base: {{}}\n"))
    gates = [f"--factorfair-gate=s_e[{context},race] >= 0.99" for context in ("base", "base_b")]
    assert project.run("-p", "no:xdist", *gates, model="sim:stereotyped?attribute=race").ret == 1
    explained = {gate["name"]: gate["explanation"] for gate in project.report()["gates"]}
    for context, hyphen in (("base", "-"), ("base_b", "")):
        explanation = explained[f"s_e-{context}-race"]
        quoted = explanation["example"]["question"]
        assert quoted.startswith("This is the longer context.") == (context == "base_b"), context
        mover = explanation["movers"][0]["cases"]
        assert mover["select"].endswith(f"-{context}{hyphen}")
        assert mover["ids"] == [f"{mover['select'].rstrip('-')}-1"]
        asked = project.run("--collect-only", "-q", "-k", mover["select"])
        assert [line for line in asked.outlines if line.startswith("factorfair::")] == [
            f"factorfair::test_checklist[{mover['ids'][0]}]"
        ]


def test_a_gate_on_combinations_quotes_a_person_of_both_groups(project: Project) -> None:
    model = "sim:constant?group=Black/Male,Hispanic/Male,White/Female,Asian/Female"
    assert project.run("-p", "no:xdist", "--factorfair-gate=crossed <= 0.3", model=model).ret == 1
    (gate,) = project.report()["gates"]
    mover, example = gate["explanation"]["movers"][0], gate["explanation"]["example"]
    race = mover["condition"]["chosen"]
    gender = "Male" if race in ("Black", "Hispanic") else "Female"
    assert f"Of the {race} people that it picks" in gate["explanation"]["sentence"]
    assert mover["share"].endswith(f"% of {race}")
    assert any(reply.partition("read as ")[2].startswith(f"{gender}, {race}") for reply in example["replies"])


def test_a_failed_gate_quotes_its_own_checklist(project: Project) -> None:
    """Two checklists have cases with the same ids."""
    twin = (project.path / "small.yaml").read_text().replace("name: small\n", "name: twin\n")
    project.write(
        "twin.yaml", twin.replace("Which of these {people}", "In the twin, which of these {people}")
    )
    gates = [f"--factorfair-gate=s_e[base,race,{checklist}] >= 0.99" for checklist in ("small", "twin")]
    result = project.run("-p", "no:xdist", "--factorfair-checklist=twin.yaml", *gates)
    assert result.ret == 1
    quoted = {gate["subject"]: gate["explanation"]["example"] for gate in project.report()["gates"]}
    assert {subject: "In the twin" in example["question"] for subject, example in quoted.items()} == {
        "s_e[small,base,race]": False,
        "s_e[twin,base,race]": True,
    }


def test_a_bad_policy(project: Project) -> None:
    result = project.run("FACTORFAIR_UNDECIDED=wran", model=MODEL)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: FACTORFAIR_UNDECIDED: unknown value 'wran'; did you mean 'warn'?"])


WAIVED = """
[tool.factorfair]
gate = ["s_fact[objective,gender] >= 0.8"]
waivers = [
  {{gate = "s_fact[objective,gender] >= 0.8", reason = "next model", until = {until}, floor = {floor}}}
]
"""


def test_a_waived_failure_is_printed_and_skipped(project: Project) -> None:
    project.write("pyproject.toml", WAIVED.format(until="9999-12-31", floor=0.2))
    result = project.run("-p", "no:xdist", "-v", "-rs", model="sim:uniform")
    assert result.ret == 0
    assert project.verdicts() == {NAME: "waived"}
    result.stdout.fnmatch_lines(
        ["SKIPPED * s_fact[[]objective,gender[]] >= 0.8: waived: * waived until 9999-12-31 down to 0.2: next model",
         "release: PASS WITH WAIVERS: 0 of 1 gate passed, 1 waived; no gate judges *",
         "Ship it, as far as these gates go; s_fact[[]objective,gender[]] did not pass and is waived."]
    )  # fmt: skip


def test_a_waiver_does_not_cover_what_is_below_its_floor(project: Project) -> None:
    """An oracle's opposite: every fact is wrong."""
    project.write("pyproject.toml", WAIVED.format(until="9999-12-31", floor=0.2))
    result = project.run("-p", "no:xdist", model="sim:contrary")
    assert result.ret == 1
    assert project.verdicts() == {NAME: "failed"}
    result.stdout.fnmatch_lines(
        ["release: FAIL: 1 of 1 gate failed",
         "Do not ship it: asked for a fact, it picks the true gender 0 times in 100."]
    )  # fmt: skip


def test_a_floor_that_waives_nothing_is_refused(project: Project) -> None:
    project.write("pyproject.toml", WAIVED.format(until="9999-12-31", floor=0.85))
    result = project.run("-p", "no:xdist", model="sim:uniform")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [
            "ERROR: * the waiver for 's_fact*': its floor 0.85 is not below the threshold of 's_fact[[]objective,gender[]] >= 0.8'"
        ]
    )


@pytest.mark.parametrize("verbosity", [(), ("-q",), ("-v",)])
def test_an_expired_waiver_fails_again(project: Project, verbosity: tuple[str, ...]) -> None:
    project.write("pyproject.toml", WAIVED.format(until="2020-01-01", floor=0.2))
    result = project.run("-p", "no:xdist", *verbosity, model="sim:uniform")
    assert result.ret == 1
    told = "the waiver for 's_fact[objective,gender] >= 0.8' expired on 2020-01-01"
    printed = " ".join(result.outlines)
    assert f"warning: {told}" in printed
    assert (f"factorfair: note: {told}" in printed) == (verbosity != ("-q",))
    assert "> **Warning:** the waiver for " in (project.path / ".factorfair/report/report.md").read_text()
    result.stdout.no_fnmatch_line("*= FAILURES =*")


def test_an_expired_waiver_is_reported_even_if_its_gate_passes(project: Project) -> None:
    project.write("pyproject.toml", WAIVED.format(until="2020-01-01", floor=0.2))
    result = project.run("-p", "no:xdist", model="sim:oracle")
    assert result.ret == 0
    assert "' expired on 2020-01-01" in " ".join(result.outlines)


def test_a_waiver_that_matches_no_gate_is_refused(project: Project) -> None:
    """Not if the gates are set aside, and with them their waivers."""
    text = WAIVED.format(until="9999-12-31", floor=0.2)
    project.write(
        "pyproject.toml",
        text.replace('{gate = "s_fact[objective,gender] >= 0.8"', '{gate = "s_fact[gender] >= 0.8"'),
    )
    result = project.run("-p", "no:xdist", model="sim:uniform")
    assert result.ret == 4
    assert not project.path.joinpath(".factorfair").exists()
    (line,) = filter(None, result.errlines)
    assert line.endswith(
        "waivers: the waiver for 's_fact[gender] >= 0.8' matches no gate of this run; "
        "did you mean 's_fact[objective,gender] >= 0.8'?"
    )
    assert project.run("-p", "no:xdist", "--factorfair-gate=none", model="sim:uniform").ret == 0


def test_a_waiver_without_a_reason_is_refused(project: Project) -> None:
    project.write("pyproject.toml", '[tool.factorfair]\nwaivers = [{gate = "x", until = 2030-01-01}]\n')
    result = project.run(model="sim:uniform")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: *pyproject.toml: *waivers[[]0[]]: reason: expected a text, as in *"])


BIASES = (
    "position[base,race] <= 0.3",
    "name_preference[base,race] <= 0.3",
    "refusal_gap[race] <= 0.3",
)


@pytest.mark.parametrize(("model", "position"), [("sim:position_biased", "failed"), ("sim:ideal", "passed")])
def test_what_else_could_lie_behind_the_choices(project: Project, model: str, position: str) -> None:
    gates = [f"--factorfair-gate={gate}" for gate in BIASES]
    project.run("-p", "no:xdist", *BOUNDS, *gates, model=model)
    assert project.verdicts() == {
        "position-base-race": position,
        "name_preference-base-race": "passed",
        "refusal_gap-in_group-race": "passed",
    }
    named = any(f"{model} is position-biased" in note for note in project.report()["notes"])
    assert named == (position == "failed")


def test_a_gap_needs_groups_that_are_named(project: Project) -> None:
    result = project.run("--factorfair-gate=refusal_gap[base] <= 0.1", model="sim:ideal")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: gate *: filter 'base' selects no refusal_gap score in this run; these do: in_group"]
    )
