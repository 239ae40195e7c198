"""Merged shards give the results of an undivided run, with calls counted at the server."""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair import run
from pytest_factorfair.commands.cli import main
from pytest_factorfair.store import Store
from tests import forkserver
from tests.project import CASES, FEW_PORTRAITS, PYTEST, Project, comparable
from tests.servers import StubServer

ANSWERS = 6 * 4 + 4 * 2 * 24
GATES = ("--factorfair-gate=s_e[base,gender] >= 0.6", "--factorfair-gate=s_fact[objective] >= 0.4")


@pytest.fixture(autouse=True)
def _in_project(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.path)


def shard(project: Project, number: int, count: int, *arguments: str, **settings: Any) -> pytest.RunResult:
    folder = f"shard{number}"
    return project.run(
        f"--factorfair-shard={number}/{count}", f"--factorfair-store=sqlite:///{folder}/responses.sqlite",
        f"--factorfair-report={folder}/report", *arguments, **settings,
    )  # fmt: skip


MERGED = "--factorfair-store=sqlite:///merged/responses.sqlite"


def judge(project: Project, *arguments: str, **settings: Any) -> pytest.RunResult:
    return project.run(MERGED, "--factorfair-reuse=only", *arguments, **settings)


def merged(*shards: int) -> int:
    return main(["merge", "merged", *(f"shard{number}" for number in shards)])


WITH_A_KEY = """
import os
from pytest_factorfair.errors import InputError
from pytest_factorfair.models import openai_http

def keyed(spec):
    if 'AWAY' in os.environ:
        raise InputError('no key here')
    return openai_http.build(spec)

def pytest_factorfair_models():
    return {'hosted_vllm/m': keyed}
"""


def test_merged_shards_give_the_results_of_an_undivided_run(
    project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether workers ask or not, and without the model's key where they are judged."""
    project.write("conftest.py", WITH_A_KEY)
    options = (
        f"--factorfair-model-arg=base_url={stub.base_url}",
        "--factorfair-model-arg=price=0.01",
        "--factorfair-model-arg=temperature=0.5",
        *GATES,
    )
    model = "hosted_vllm/m"
    project.run("-n0", *options, model=model)
    whole, asked = comparable(project.report()), stub.stats()["requests"]
    for number, dist in enumerate((("-n2",), ("-p", "no:xdist"), ("-n0",)), 1):
        # With a warm-up and without: both ask the shard's cases and no others.
        result = shard(
            project,
            number,
            3,
            *options,
            *dist,
            *["FACTORFAIR_WARM=true"][: number % 2],
            model=model,
        )
        assert result.ret == 0
        result.stdout.fnmatch_lines([f"release: NOT JUDGED: left to the merge: shard {number} of 3"])
        report = json.loads(Path(f"shard{number}/report/report.json").read_text())
        assert {gate["verdict"] for gate in report["gates"]} == {"not judged"}
        assert report["usage"]["calls"] == ANSWERS // 3
    assert stub.stats()["requests"] == 2 * asked == 2 * ANSWERS
    assert merged(1, 2, 3) == 0
    monkeypatch.setenv("AWAY", "1")
    result = judge(project, "-n2", "-v", *GATES, model=model)
    assert result.ret == 1  # a gate fails, as in the undivided run
    assert stub.stats()["requests"] == 2 * ANSWERS
    assert comparable(project.report()) == whole
    result.stdout.fnmatch_lines([f"*{ANSWERS} calls in 3 shards, {ANSWERS} from the store, cost $2.16,*"])
    result = judge(project, "-n0", "--factorfair-model-arg=temperature=1", model=model)
    assert result.ret == 4
    assert [line for line in result.errlines if line] == [
        "ERROR: --factorfair-model-arg: temperature=1, and the shards in the store were asked with temperature=0.5"
    ]


def test_pictures_in_shards_need_neither_model_nor_detector_where_they_are_judged(project: Project) -> None:
    project.write("artist.py", "from pytest_factorfair import models\n\n\nclass Artist:\n    pass\n")
    project.write(
        "conftest.py",
        "from pytest_factorfair.detection import build\nfrom pytest_factorfair.models.simulated import painter\n"
        "from pytest_factorfair.errors import InputError\nfrom dataclasses import replace\nimport os\n\n"
        "def artist(spec):\n    if 'AWAY' in os.environ:\n        raise InputError('no weights here')\n"
        "    return painter.build(replace(spec, scheme='sim', target='stereotyped'))\n\n"
        "def reader(spec):\n    if 'AWAY' in os.environ:\n        raise InputError('no detector here')\n"
        "    return build('sim', custom={})\n\n"
        "def pytest_factorfair_models():\n    return {'artist': artist}\n\n"
        "def pytest_factorfair_detectors():\n    return {'reader': reader}\n",
    )
    options = (
        f"--factorfair-checklist={FEW_PORTRAITS}", "--factorfair-samples=images=2", "--factorfair-detector=reader",
        "-n0",
    )  # fmt: skip

    def go(*arguments: str) -> pytest.RunResult:
        return project.run_pytest("--factorfair-model=artist:x", *options, *arguments)

    assert go().ret == 0
    whole = comparable(project.report())
    for number in (1, 2):
        store = f"--factorfair-store=sqlite:///shard{number}/responses.sqlite"
        assert (
            go(store, f"--factorfair-shard={number}/2", f"--factorfair-report=shard{number}/report").ret == 0
        )
    assert merged(1, 2) == 0
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("AWAY", "1")
        assert go(MERGED, "--factorfair-reuse=only").ret == 0
        assert comparable(project.report()) == whole
        refused = go(MERGED)  # without a replay it would have to ask
        assert refused.ret == 4
        assert [line for line in refused.errlines if line] == ["ERROR: no weights here"]
        refused = go("--factorfair-reuse=only")  # a store that no shard has filled describes nothing
        assert refused.ret == 4


def test_a_shard_that_is_run_again_goes_on(project: Project, stub: StubServer) -> None:
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    for calls in (2, 50):  # in its first case, and later
        limit = f"--factorfair-max-calls={calls}"
        result = shard(project, 1, 2, "-n0", url, limit, model="hosted_vllm/m")
        assert result.ret == 2
    assert shard(project, 2, 2, "-n0", url, model="hosted_vllm/m").ret == 0
    assert merged(1, 2) == 1
    for number in (1, 2):  # the second was finished: it finds all its answers, and keeps what it has paid
        assert shard(project, number, 2, "-n0", url, model="hosted_vllm/m").ret == 0
    assert merged(1, 2) == 0
    assert judge(project, "-n0", url, model="hosted_vllm/m").ret == 0
    assert project.report()["usage"]["calls"] == ANSWERS == stub.stats()["requests"]


def test_calls_of_a_shard_that_was_killed_are_counted(
    project: Project, stub: StubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those under way count as made, in the shard that goes on and in a merge without it."""
    answered, under_way = 30, 4
    stub.script(held=answered)
    options = (
        "-n0", f"--factorfair-model-arg=base_url={stub.base_url}", f"--factorfair-max-connections={under_way}",
        "--factorfair-model-arg=price=0.01",
    )  # fmt: skip
    model = "hosted_vllm/m"
    store = ("--factorfair-shard=1/2", "--factorfair-store=sqlite:///shard1/responses.sqlite")
    with subprocess.Popen(
        [forkserver.python(), *PYTEST, *Project.arguments(model), *store, *options], stdout=subprocess.DEVNULL
    ) as process:
        while stub.stats()["requests"] < answered + under_way:
            assert process.poll() is None
            time.sleep(0.01)
        forkserver.kill(process)
    stub.release()
    assert main(["merge", "partial", "shard1", "--partial"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("partial: "))
    (calls,) = re.findall(r"^partial: (\d+) calls in 1 shard, cost at most \$0\.\d\d$", line)
    assert int(calls) == answered + under_way
    for number in (1, 2):
        assert shard(project, number, 2, *options, model=model).ret == 0
    assert merged(1, 2) == 0
    assert judge(project, *options, model=model).ret == 0
    usage = project.report()["usage"]
    assert usage["calls"] == stub.stats()["requests"]
    assert usage["cost"] == pytest.approx(0.01 * usage["calls"])


def test_a_partial_merge_is_never_green(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Scores are those of whole merges, and a merge is of shards of one checklist."""
    result = shard(project, 1, 3, "-n0")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "Scores are left to the merge.",
            "report: *",
            "* of 216 planned answers; * calls, cost *",
            "release: NOT JUDGED: left to the merge: shard 1 of 3",
        ],
        consecutive=True,
    )
    assert shard(project, 2, 3, "-n0").ret == 0
    assert main(["merge", "merged", "shard1", "shard2", "--partial"]) == 0
    result = judge(project, "-n0", "-v", *GATES)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["note: shard 3 of 3 is missing: answers may be missing from the store"])
    path = project.path / "small.yaml"
    path.write_text(path.read_text().replace("title:", "title: Other", 1))
    shard(project, 3, 3, "-n0")
    capsys.readouterr()
    assert main(["merge", "other", "shard1", "shard2", "shard3"]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("shard3: a shard of another run: checklists.small is ")


def test_the_run_that_judges_may_ask_further(project: Project) -> None:
    """The gate's threshold is the score of the model's stereotype."""
    options = (
        "-n0", "FACTORFAIR_ESTIMATOR=corrected", "--factorfair-samples=48,objective=4", "FACTORFAIR_LOOKS=2",
        "--factorfair-gate=s_e[base,gender] >= 0.9705",
    )  # fmt: skip
    model = "sim:stereotyped?strength=0.2"
    for number in (1, 2):
        shard(project, number, 2, *options, model=model)  # which looks once
    merged(1, 2)
    result = project.run("-v", MERGED, *options, model=model)
    first, further = 6 * 4 + 8 * 48, 2 * 48  # the two topics of the gate
    usage = project.report()["usage"]
    assert (usage["in_shards"], usage["shards"], usage["calls"]) == (first, 2, first + further)
    result.stdout.fnmatch_lines([f"*{first} calls in 2 shards and {further} here, {first} from the store*"])


def test_a_plan_of_a_shard(project: Project) -> None:
    result = project.run("--factorfair-shard=1/4", "--factorfair-plan")
    result.stdout.fnmatch_lines(
        [
            "factorfair: shard 1 of 4: 14 cases in all, judged once they are merged",
            "calls: 5? (0 of 5? answers*",
        ]
    )


def test_more_shards_than_cases(project: Project) -> None:
    result = project.run(f"--factorfair-shard=1/{CASES + 1}")
    assert result.ret == 4
    assert [line for line in result.errlines if line] == [
        f"ERROR: --factorfair-shard: there are {CASES} cases to ask; take {CASES} shards at most, not {CASES + 1}"
    ]


COMMON: dict[str, Any] = {"checklist": ["small.yaml"], "samples": "24,objective=4"}


def test_shards_from_python(project: Project) -> None:
    for number in (1, 2):
        url = f"sqlite:///{project.path}/shard{number}/responses.sqlite"
        summary = run("sim:stereotyped", shard=f"{number}/2", store=url, **COMMON).summary
        assert summary.incomplete == f"left to the merge: shard {number} of 2"
    assert merged(1, 2) == 0
    url = f"sqlite:///{project.path}/merged/responses.sqlite"
    summary = run("sim:stereotyped", reuse="only", store=url, **COMMON).summary
    assert (summary.incomplete, summary.usage.shards, summary.usage.calls) == (None, 2, ANSWERS)
    with Store.open(url, read_only=True) as store:
        assert [row.finished for row in store.shards()] == [True, True]
