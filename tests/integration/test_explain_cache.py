"""``--factorfair-explain-cache`` says why answers would be asked, and asks none."""

from __future__ import annotations

import pytest

from tests.project import Project
from tests.servers import StubServer

ANSWERS = 6 * 4 + 4 * 2 * 24
EXPLAIN = "--factorfair-explain-cache"


def run(project: Project, stub: StubServer, *arguments: str) -> pytest.RunResult:
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    return project.run(url, *arguments, model="hosted_vllm/m")


def test_what_changed_is_named_and_nothing_is_asked(project: Project, stub: StubServer) -> None:
    explained = run(project, stub, "-n2", EXPLAIN)
    assert explained.ret == 0
    explained.stdout.fnmatch_lines(
        [
            f"{ANSWERS} answers planned: 0 in the store, {ANSWERS} to ask",
            f"{ANSWERS}  hosted_vllm/m: the store is empty *",
        ]
    )
    assert stub.stats()["requests"] == 0
    run(project, stub, "-n0")
    asked = stub.stats()["requests"]
    whole = run(project, stub, "-n0", EXPLAIN)
    whole.stdout.fnmatch_lines([f"{ANSWERS} answers planned: {ANSWERS} in the store, 0 to ask"])
    warmer = run(project, stub, "-n0", EXPLAIN, "--factorfair-model-arg=temperature=0.5")
    warmer.stdout.fnmatch_lines(
        [f"{ANSWERS}  hosted_vllm/m: parameters.temperature is 0.5, stored with 0 (as in objective-*)"]
    )
    enlarged = run(project, stub, "-n0", EXPLAIN, "--factorfair-samples=48,objective=4")
    enlarged.stdout.fnmatch_lines(
        [
            f"{ANSWERS + 192} answers planned: {ANSWERS} in the store, 192 to ask",
            "192  *the prompt is not stored*",
        ]
    )
    assert stub.stats()["requests"] == asked == ANSWERS


def test_explain_cache_and_plan_exclude_each_other(project: Project) -> None:
    result = project.run(EXPLAIN, "--factorfair-plan")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: --factorfair-plan and --factorfair-explain-cache exclude each other: give one"]
    )
