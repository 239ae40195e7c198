"""A plan asks nothing, runs nothing and ends well."""

from __future__ import annotations

import re
import socket
import sys
from pathlib import Path

import pytest
import yaml

from pytest_factorfair.config.settings import resolve
from pytest_factorfair.config.sources import OptionValue
from pytest_factorfair.runs.composing import compose
from pytest_factorfair.runs.planning import sizes
from pytest_factorfair.store.misses import NEW_PROMPT, NEW_SEED
from tests.project import FEW_PORTRAITS, Project
from tests.servers import StubServer
from tests.unit.benchmarks.items import files

MODEL = """
def respond(prompt):
    open("asked", "w").close()
    return "A"
"""


def test_a_plan(project: Project) -> None:
    project.write("house.py", MODEL)
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    texts = ("s_e[base] >= 0.96", "distance[base] <= 0.1", "influence <= 0.1", "position <= 0.1")
    gates = [f"--factorfair-gate={text}" for text in texts]
    sizes = ("--factorfair-samples=72,objective=24", "FACTORFAIR_LOOKS=4")
    limits = ("--factorfair-max-calls=900", "--factorfair-max-minutes=30")
    arguments = ("-p", "no:xdist", "--factorfair-plan", *gates, *sizes, *limits)
    result = project.run(*arguments, model="python:house:respond")
    assert result.ret == 0
    assert not (project.path / "asked").exists()
    assert not project.report_path.exists()
    result.stdout.fnmatch_lines(
        ["by answers per topic and context:",
         "gate and scores  *  answers  distance",
         "s_e[[]base[]] >= 0.96 on base,gender  *    72  0.*",
         "s_e[[]base[]] >= 0.96 on base,gender  *   288  0.*",
         "distance[[]base[]] <= 0.1 on base,race *   288  0.0*",
         "influence <= 0.1 on in_group,race *   288  0.0*",
         "position <= 0.1 on 2 scores of gender, race *    96  unknown",
         "unknown: how much such a score varies is known only once there are answers",
         "tokens: about * in, 5,760 out, for all answers",
         "calls: 720, at most 2,880 if gates stay undecided (0 of 720 answers are in the store)",
         "cost: unknown, like the price of python:house:respond: give --factorfair-model-arg price_in=USD *",
         "limit: 900 calls, 30 minutes"]
    )  # fmt: skip


SHIPPED = ("--factorfair-model=sim:contrary", "--factorfair-gate=default", "-p", "no:xdist")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        # s_fact and worst_fact need 24 answers of each attribute: 2 x 2 scores. S_E, S_KLD and S_E within ages,
        # scenarios and first groups need 72 in each of 4 contexts, within named groups in the 2 that name one:
        # 2 x (5 x 4 + 2). With 24, chance alone brings a fair model's most one-sided topic so near to .30 of two
        # groups in 4 contexts and .35 of four in base that its bound is beyond, and not so near to .45: 5.
        (
            ("--factorfair-samples=24,objective=8",),
            "s_fact[objective,gender] and 36 more gates need more answers: --factorfair-samples=72,objective=24",
        ),
        (
            ("--factorfair-samples=72,objective=8",),
            "s_fact[objective,gender] and 3 more gates need more answers: --factorfair-samples=72,objective=24",
        ),
        (
            ("--factorfair-samples=24", "--factorfair-plan"),
            "s_e[base,gender] and 32 more gates need more answers: --factorfair-samples=72",
        ),
    ],
)
def test_sizes_that_cannot_judge_are_refused(project: Project, arguments: tuple[str, ...], line: str) -> None:
    """Before the first call; a plan promises nothing of them either."""
    result = project.run_pytest(*SHIPPED, *arguments)
    assert result.ret == 4
    assert [line for line in result.errlines if line] == [f"ERROR: {line}"]
    assert not project.report_path.exists()


PICTURES = ("--factorfair-model=sim:ideal", f"--factorfair-checklist={FEW_PORTRAITS}", "--factorfair-checklist=faintbench",
            "--factorfair-preset=smoke", "--factorfair-plan", "-p", "no:xdist")  # fmt: skip


def test_sizes_of_pictures_that_cannot_judge_are_refused(project: Project) -> None:
    """The implicit score needs 50 pictures of each prompt."""
    sizes = ("--factorfair-samples=images=30", "--factorfair-gate=implicit[gender] >= 0.9")
    result = project.run_pytest(*PICTURES, *sizes)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: implicit[[]gender[]] needs more answers: --factorfair-samples=images=50"]
    )
    assert project.run_pytest(*PICTURES, "--factorfair-samples=images=50", sizes[1]).ret == 0


def test_probabilities_may_be_as_precise_as_several_answers(tmp_path: Path) -> None:
    typed = {"model": ["sim:contrary"], "gate": ["default"], "samples": "24", "answers": "probabilities"}
    options = {name: OptionValue(value, f"--factorfair-{name}", tmp_path) for name, value in typed.items()}
    run = compose(resolve(options, {}, root=tmp_path, here=tmp_path), {}, {})
    assert run.gates  # which checks the sizes


def calls_to_check(folder: Path, questions: int) -> int:
    """How many functions and generators Python enters while the recommended gates are checked."""
    rows = [
        files.told(number, ambiguous=number % 4 < 2)
        | {"id": f"q{number}", "cluster": f"{number // 4}", "category": f"c{number // 4 % 4}"}
        for number in range(questions)
    ]
    (folder / "told.yaml").write_text(files.checklist(*rows, name="told"), encoding="utf-8")
    typed = {"model": ["sim:ideal"], "checklist": ["told.yaml"], "gate": ["default"]}
    options = {name: OptionValue(value, f"--factorfair-{name}", folder) for name, value in typed.items()}
    run, calls = compose(resolve(options, {}, root=folder, here=folder), {}, {}), 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    profile = sys.getprofile()
    sys.setprofile(count)
    try:
        assert len(run.gates) == 11  # three of them are scans
        sizes.check(run)
    finally:
        sys.setprofile(profile)
    return calls


def test_gates_on_items_take_time_that_grows_with_their_number(tmp_path: Path) -> None:
    """Not with its square: ``benchmarks.items_size`` measures seconds."""
    calls_to_check(tmp_path, 400)  # imports
    assert calls_to_check(tmp_path, 1600) < 4.5 * calls_to_check(tmp_path, 400)


def test_a_large_run_says_what_it_waits_for(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("mixed.yaml", yaml.safe_dump(files.HEAD | {"items": "mixed.jsonl"}))
    project.write("mixed.jsonl", files.lines(*files.ITEMS))
    size = (project.path / "mixed.jsonl").stat().st_size
    arguments = ("-p", "no:xdist", "--factorfair-model=sim:ideal", "--factorfair-checklist=mixed.yaml")
    assert "..." not in project.run_pytest(*arguments).stderr.str()
    monkeypatch.setattr("pytest_factorfair.runs.composing.LARGE", size - 1)
    monkeypatch.setattr("pytest_factorfair.runs.run.MANY", len(files.ITEMS))
    ended = project.run_pytest(*arguments)
    assert ended.stderr.str().splitlines() == [
        "factorfair: reading mixed.yaml, 0 MB ...",
        "factorfair: checking gates and stored answers of 44 cases ...",
    ]
    ended.stdout.fnmatch_lines(["factorfair: judging the answers to 44 cases ..."])


TEA = ("-k", "objective-tea_rate-gender")


@pytest.mark.parametrize("workers", [("-p", "no:xdist"), ("-n2",)], ids=["alone", "n2"])
def test_the_size_of_a_run_is_that_of_the_cases_selected(project: Project, workers: tuple[str, ...]) -> None:
    """The small checklist has 14 cases; two of them, of 4 answers each, ask who drinks tea."""
    result = project.run(*workers, *TEA, model="sim:ideal")
    lines = [line for line in result.outlines if "to ask" in line]
    assert lines == ["factorfair: 0 in the store, 8 to ask, estimated cost $0.00"]
    assert "factorfair: 2 of 14 cases, 8 of 216 planned answers" in result.outlines
    assert project.report()["usage"]["calls"] == 8


def test_the_size_counts_what_a_conftest_leaves(project: Project) -> None:
    project.write("conftest.py", "def pytest_collection_modifyitems(items):\n    del items[3:]\n")
    result = project.run("-p", "no:xdist", model="sim:ideal")
    result.stdout.fnmatch_lines(["collected *", "factorfair: 3 of 14 cases, *"])


def test_a_plan_is_about_the_cases_selected(project: Project) -> None:
    gate = "--factorfair-gate=s_fact[objective] >= 0.8"
    result = project.run("-p", "no:xdist", "--factorfair-plan", gate, *TEA, model="sim:ideal")
    assert result.ret == 0
    plan = result.outlines[
        result.outlines.index(next(line for line in result.outlines if ": plan =" in line)) :
    ]
    assert plan[1] == "selected: 2 of 14 cases; gates are judged only if all are asked"
    assert plan[-3:-1] == ["calls: 8 (0 of 8 answers are in the store)", "cost: about $0.00"]
    assert any(line.split()[:2] == ["json", "8"] for line in plan)
    assert not any("s_fact" in line for line in plan)


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ("--factorfair-gate=s_fct >= 1", "*did you mean 's_fact'?"),
        ("--factorfair-baseline=nothere.json", "--factorfair-baseline */nothere.json: *"),
        ("FACTORFAIR_LOG=mlfow", "FACTORFAIR_LOG: there is no tracker 'mlfow'; did you mean 'mlflow'?"),
        (
            "FACTORFAIR_DETECTOR_ERRORS=x.json",
            "FACTORFAIR_DETECTOR_ERRORS */x.json: checklist 'small' asks language *",
        ),
        ("--factorfair-report=/proc/x", "--factorfair-report /proc/x: cannot write there: *"),
    ],
)
def test_a_plan_refuses_what_the_run_would(project: Project, wrong: str, line: str) -> None:
    result = project.run("-p", "no:xdist", "--factorfair-plan", wrong, model="python:json:dumps")
    assert result.ret == 4
    assert [line for line in result.errlines if line] == result.errlines[:1]
    result.stderr.fnmatch_lines([f"ERROR: {line}"])
    assert not project.report_path.exists()


def test_an_unknown_price_stops_the_run_and_not_its_plan(project: Project) -> None:
    arguments = ("-p", "no:xdist", "--factorfair-max-cost=1")
    plan = project.run(*arguments, "--factorfair-plan", model="python:json:dumps")
    assert plan.ret == 0
    plan.stdout.fnmatch_lines(
        ["cost: unknown, like the price of python:json:dumps: give *(per answer; 0 if it is free)",
         "limit: $1.00 (for which the run needs the price)"]
    )  # fmt: skip
    assert project.run(*arguments, model="python:json:dumps").ret == 4


@pytest.mark.parametrize(
    ("limits", "note"),
    [
        # 720 answers at a dollar, and four times as many if all gates stay undecided.
        (("max-cost=720",), "max-cost: the run may need $2,880.00 if gates stay undecided; at $720.00 it"),
        (("max-cost=2880",), ""),
        (("max-calls=719",), "max-calls: the run needs about 720 calls; at 719 calls it"),
        (
            ("max-minutes=5", "max-rpm=480"),
            "max-minutes: the run may need 6 minutes if gates stay undecided; at 5 minutes it",
        ),
        (("max-minutes=5",), ""),
    ],
)
def test_limits_below_what_a_run_may_need_are_said_first(
    project: Project, limits: tuple[str, ...], note: str
) -> None:
    project.write("house.py", 'def respond(prompt):\n    raise SystemExit("asked")\n')
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    sizes = ("--factorfair-samples=72,objective=24", "FACTORFAIR_LOOKS=4", "--factorfair-model-arg=price=1")
    gates = ("--factorfair-gate=influence <= 0.1", "--factorfair-gate=position <= 0.1")
    arguments = ("-p", "no:xdist", *gates, *sizes, *(f"--factorfair-{limit}" for limit in limits))
    for planned in ("--factorfair-plan",), ():
        result = project.run(*arguments, *planned, model="python:house:respond")
        notes = [line for line in result.outlines if "note: -" in line]
        assert notes == [f"factorfair: note: --factorfair-{note} ends without a verdict"] * bool(note)


def test_a_plan_for_pictures(project: Project) -> None:
    """Half of them show a judgement, and a gate on these may ask for them four times."""
    arguments = ("--factorfair-checklist=fact_or_fair_t2i", "--factorfair-gate=s_e[base] >= 0.9")
    result = project.run_pytest(
        "-p", "no:xdist", "--factorfair-plan", "--factorfair-model=sim:ideal", *arguments
    )
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["factorfair: 76 cases, 2 gates, 1,520 pictures planned",
         "factorfair: 0 in the store, 1,520 to ask, estimated cost $0.00",
         "factorfair: at most 3,800 pictures, cost $0.00, if gates stay undecided",
         "s_e[[]base[]] >= 0.9 on base,race *    20  0.*",
         "calls: 1,520, at most 3,800 if gates stay undecided (0 of 1,520 answers are in the store)",
         "cost: about $0.00"]
    )  # fmt: skip
    result.stdout.no_fnmatch_line("tokens: *")


def test_a_plan_needs_no_key_and_no_server(project: Project) -> None:
    url = "--factorfair-model-arg=base_url=https://no-such-host.invalid/v1"
    prices = ("--factorfair-model-arg=price_in=1000", "--factorfair-model-arg=price_out=0")
    result = project.run("-p", "no:xdist", "--factorfair-plan", url, *prices, model="openai/gpt-4o")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["tokens: about * in, 1,728 out, for all answers, excluding reasoning", "cost: about $*"]
    )
    output = result.stdout.str()
    tokens = int(re.findall(r"about ([0-9,]+) in", output)[0].replace(",", ""))
    assert float(re.findall(r"^cost: about .([0-9.]+)", output, re.MULTILINE)[0]) == pytest.approx(
        tokens / 1000, rel=0.1
    )
    assert project.run("-p", "no:xdist", "--factorfair-plan", model="openai/gpt-4o").ret == 0


def test_a_host_that_cannot_be_resolved_is_asked_nothing(project: Project) -> None:
    """The controller finds out, before it starts workers."""
    url = "--factorfair-model-arg=base_url=http://no-such-host.invalid:8000/v1"
    result = project.run("-n2", url, model="hosted_vllm/m")
    assert result.ret == 4
    (line,) = [line for line in result.errlines if line]
    assert line.startswith(
        "ERROR: model 'hosted_vllm/m': the host 'no-such-host.invalid' cannot be resolved ("
    )
    assert line.endswith("): check base_url and the network")


def test_a_proxy_resolves_hosts(project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{stub.port}")
    url = "--factorfair-model-arg=base_url=http://no-such-host.invalid/v1"
    assert project.run("-n0", url, model="hosted_vllm/m").ret == 0
    assert stub.stats()["requests"] > 0


def test_answers_in_the_store_need_no_host(
    project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same model, its server gone: what is stored is read, and nothing is looked up."""
    url = f"--factorfair-model-arg=base_url=http://localhost:{stub.port}/v1"
    assert project.run("-n0", url, model="hosted_vllm/m").ret == 0

    def offline(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", offline)
    assert project.run("-n0", url, model="hosted_vllm/m").ret == 0
    assert project.run("-n0", url, "--factorfair-seed=1", model="hosted_vllm/m").ret == 4


def test_a_plan_compares_the_ways_to_answer(project: Project) -> None:
    """The preset's own sizes: 72 answers a topic and context, of probabilities 24; objective ones 24 a case."""
    prices = ("--factorfair-model-arg=price_in=0", "--factorfair-model-arg=price_out=1000")
    url = "--factorfair-model-arg=base_url=http://127.0.0.1:9/v1"
    result = project.run_pytest(
        "-p", "no:xdist", "--factorfair-plan", "--factorfair-model=hosted_vllm/m", url, *prices,
        "--factorfair-checklist=small.yaml", "--factorfair-gate=s_e[base] >= 0.9",
        "--factorfair-answers=probabilities",
    )  # fmt: skip
    assert result.ret == 0
    facts, topics, contexts = 6, 4, 2
    drawn, precise = (24 * facts + n * topics * contexts for n in (72, 24))
    result.stdout.fnmatch_lines(
        ["(assuming answers vary like sampled ones; probabilities vary less and detect more)",
         "the first look in each way of answering, excluding reasoning:",
         "--factorfair-answers=  calls  tokens in  tokens out   cost",
         f"text  *  {drawn:,}  *  {8 * drawn:,}  $*",
         f"json  *  {drawn:,}  *  {8 * drawn:,}  $*",
         f"probabilities  *  {precise:,}  *  {precise:,}  *$0.34",
         f"calls: {precise:,}, at most *",
         "cost: about $0.34, at most $* if gates stay undecided"]
    )  # fmt: skip
    words = {line.split()[0]: line.split() for line in result.outlines if line}
    assert words["probabilities"][2] == words["tokens:"][2]


def test_a_plan_says_why_stored_answers_are_not_reused(project: Project, stub: StubServer) -> None:
    url = f"--factorfair-model-arg=base_url={stub.base_url}"

    def plan(*arguments: str) -> list[str]:
        result = project.run("-n0", url, "--factorfair-plan", *arguments, model="hosted_vllm/m")
        assert result.ret == 0
        header = "stored answers that are not reused, by what differs:"
        lines = result.outlines
        end = next(number for number, line in enumerate(lines) if line.startswith("tokens: "))
        return lines[lines.index(header) + 1 : end] if header in lines else []

    assert plan() == []  # the store is empty
    project.run("-n0", url, model="hosted_vllm/m")
    asked = stub.stats()["requests"]
    assert plan() == []  # every answer is reused
    assert plan("--factorfair-samples=48,objective=4") == []  # every stored answer is reused
    (warmer,) = plan("--factorfair-model-arg=temperature=0.5")
    assert warmer.startswith(
        f"{asked}  hosted_vllm/m: parameters.temperature is 0.5, stored with 0 (as in objective-"
    )
    others = [line.split("  hosted_vllm/m: ") for line in plan("--factorfair-seed=1")]
    assert sum(int(count) for count, _ in others) == asked
    assert {reason.partition(" (as in ")[0] for _, reason in others} == {NEW_PROMPT, NEW_SEED}
    assert plan("--factorfair-reuse=none", "--factorfair-seed=1") == []
    assert stub.stats()["requests"] == asked


def test_the_table_of_a_plan_fits_80_columns_and_its_cost_is_that_of_header_and_bill(
    project: Project,
) -> None:
    price = (
        "--factorfair-model-arg=price=0.01",
        "--factorfair-samples=72,objective=24",
        "FACTORFAIR_LOOKS=4",
    )
    gate = "s_e[base,in_group,gender,sim:ideal,small] >= 0.900"
    arguments = ("-p", "no:xdist", "--factorfair-plan", *price, f"--factorfair-gate={gate}")
    result = project.run(*arguments, model="sim:ideal")
    assert result.ret == 0
    lines = result.outlines
    table = lines[lines.index(gate) - 3 : lines.index(gate) + 3]
    assert table[0].startswith("smallest distance")
    assert max(map(len, table)) <= 80
    assert all(re.fullmatch(r"  on \S.*  +\d+  0\.\d{3}", line) for line in table[-2:])
    assert any(line.endswith("estimated cost $7.20") for line in lines)
    most = re.findall(r"^calls: 720, at most ([0-9,]+) if gates", result.stdout.str(), re.MULTILINE)[0]
    cents = int(most.replace(",", ""))
    assert f"cost: about $7.20, at most ${cents / 100:,.2f} if gates stay undecided" in lines
    project.run("-p", "no:xdist", *price, model="sim:ideal")  # a simulated answer costs what is given
    assert project.report()["usage"]["cost"] == pytest.approx(7.20)
