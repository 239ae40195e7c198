"""The setting ``warm``: the controller asks, the workers read."""

from __future__ import annotations

import pytest

from tests.project import Project, comparable
from tests.servers import StubServer

ANSWERS = 6 * 4 + 4 * 2 * 24


def run(project: Project, stub: StubServer, *arguments: str) -> pytest.RunResult:
    return project.run(f"--factorfair-model-arg=base_url={stub.base_url}", *arguments, model="hosted_vllm/m")


SEEN = """
from http.client import HTTPConnection
import json

def pytest_runtest_protocol(item):
    connection = HTTPConnection("127.0.0.1", {port})
    connection.request("GET", "/stats")
    seen = json.loads(connection.getresponse().read())["requests"]
    connection.close()
    with open("seen", "a") as file:
        file.write(f"{{seen}} ")
"""


@pytest.mark.parametrize(
    ("dist", "selected", "answers"), [(("-n2",), (), ANSWERS), (("-p", "no:xdist"), ("-k", "objective"), 24)]
)
def test_all_that_is_selected_is_asked_before_the_first_test(
    project: Project, stub: StubServer, dist: tuple[str, ...], selected: tuple[str, ...], answers: int
) -> None:
    project.write("conftest.py", SEEN.format(port=stub.port))
    options = (*dist, *selected, "FACTORFAIR_UNDECIDED=warn")
    assert run(project, stub, *options, "FACTORFAIR_WARM=true").ret == 0
    assert set((project.path / "seen").read_text().split()) == {str(answers)}
    assert stub.stats()["requests"] == answers
    usage = project.report()["usage"]
    assert usage["calls"] == answers
    warm = comparable(project.report())
    run(project, stub, *options)
    assert stub.stats()["requests"] == answers
    assert comparable(project.report()) == warm


def test_a_refused_key_is_reported_once(project: Project, stub: StubServer) -> None:
    stub.script(fail=-1, status=401)
    result = run(project, stub, "-p", "no:xdist", "FACTORFAIR_WARM=true", "--factorfair-max-connections=1")
    assert result.ret == 2
    assert stub.stats()["requests"] == 1
    result.stdout.fnmatch_lines(["*401 Unauthorized*"])


def test_a_budget_ends_the_warming_and_the_run(project: Project, stub: StubServer) -> None:
    result = run(project, stub, "-n2", "FACTORFAIR_WARM=true", "--factorfair-max-calls=50")
    assert result.ret == 2
    assert stub.stats()["requests"] == 50
    assert project.report()["incomplete"].startswith("the budget of 50 calls is used up")
