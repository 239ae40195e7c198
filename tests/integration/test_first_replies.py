"""A run of which none of the first replies can be used ends, as one whose calls are rejected does."""

from __future__ import annotations

import re

import pytest

import pytest_factorfair
from pytest_factorfair.errors import FatalModelError
from tests.project import FEW_PORTRAITS, Project
from tests.servers import StubServer

FIRST = 32
CONNECTIONS = 4
IN_TOOLS = {"content": None, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f"}}]}


def run(project: Project, stub: StubServer, *options: str) -> pytest.RunResult:
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    return project.run(url, f"--factorfair-max-connections={CONNECTIONS}", *options, model="hosted_vllm/m")


EMPTY = "(empty): no text, replies have no content, but"
PARSERS = "check the server's chat template"


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
@pytest.mark.parametrize(
    ("script", "shown", "remedy"),
    [
        ({"answer": "I like\nblue.\x1b[2J"}, '(names no option): "I like blue."', "ask for the letter alone"),
        ({"answer": "I cannot help."}, '(refused): "I cannot help."', "say in a system prompt"),
        ({"message": IN_TOOLS}, f"{EMPTY} tool_calls", PARSERS),
        ({"message": {"content": "", "reasoning_content": "Hm."}}, f"{EMPTY} reasoning_content", PARSERS),
    ],
)
def test_a_run_ends_before_it_pays_for_more_of_the_same(
    project: Project, stub: StubServer, script: dict[str, object], shown: str, remedy: str, workers: str
) -> None:
    """Again it asks nothing, or with workers what cases lack; or empty replies, as the server may be mended."""
    for run_again in (False, True):
        stub.script(**script)
        result = run(project, stub, workers, "--factorfair-samples=24,objective=24")
        assert result.ret == 2
        printed = " ".join(result.stdout.str().split())
        assert re.search(rf"m: none of its first \d+ replies can be used {re.escape(shown)}", printed)
        assert f"Next: {remedy}" in printed
        least, most = FIRST, FIRST + CONNECTIONS - 1
        if run_again and "answer" in script:
            least, most = 0, 0 if workers == "-n0" else FIRST
        assert least <= stub.stats()["requests"] <= most


def test_it_can_ask_on(project: Project, stub: StubServer) -> None:
    stub.script(answer="I like blue.")
    assert run(project, stub, "-n0", "FACTORFAIR_FIRST_REPLIES=0").ret == 1
    assert stub.stats()["requests"] == 6 * 4 + 8 * 24


def test_a_reply_that_the_users_reader_reads_can_be_used(project: Project, stub: StubServer) -> None:
    stub.script(answer="I like blue.")
    project.write(
        "conftest.py",
        "from pytest_factorfair.domain import Reading\n"
        "def pytest_factorfair_read_answer(response, query):\n"
        "    return Reading('answered', 'A')\n",
    )
    assert run(project, stub, "-n0").ret == 0


@pytest.mark.parametrize("options", [(), ("-m", "subjective")])
def test_declined_judgements_can_be_used(project: Project, options: tuple[str, ...]) -> None:
    """A careful model may decline them all."""
    project.run("-n0", *options, model="sim:refusing?rate=1&when=part:subjective")
    assert project.stored() == 8 * 24 + (0 if options else 6 * 4)


def test_declined_judgements_do_not_excuse_declined_facts(project: Project, stub: StubServer) -> None:
    """Whichever arrive first: here all judgements do."""
    stub.script(answer="I cannot help.")
    project.write("conftest.py", "def pytest_collection_modifyitems(items):\n    items.reverse()\n")
    assert run(project, stub, "-n0", "--factorfair-samples=24,objective=24").ret == 2
    judgements = 8 * 24
    assert judgements + FIRST <= stub.stats()["requests"] <= judgements + FIRST + CONNECTIONS - 1


def test_a_run_from_python_raises_what_came_back(project: Project) -> None:
    project.write("pyproject.toml", "")
    with pytest.raises(
        FatalModelError, match=r"none of its first \d+ replies can be used \(names no option\): "
    ):
        pytest_factorfair.run("sim:nonsense", checklist=["small.yaml"], samples=24, progress=False)


def test_stored_replies_are_reported_all_the_same(project: Project, stub: StubServer) -> None:
    """Such a run asks nothing."""
    stub.script(answer="I like blue.")
    run(project, stub, "-n0", "FACTORFAIR_FIRST_REPLIES=0")
    assert run(project, stub, "-n0", "--factorfair-reuse=only").ret == 1
    assert project.report()["usage"]["cached"] == 6 * 4 + 8 * 24


def test_pictures_that_show_nobody_end_a_run(project: Project) -> None:
    """Read case by case, 20 pictures each: two cases, and those under way."""
    result = project.run_pytest(
        "-n2", "--factorfair-model=sim:nonsense", f"--factorfair-checklist={FEW_PORTRAITS}",
        "--factorfair-samples=images=20", "--factorfair-max-connections=2",
    )  # fmt: skip
    assert result.ret == 2
    result.stdout.fnmatch_lines(
        [
            "*sim:nonsense: none of its first 40 pictures can be used (no face)*",
            "Next: look at the contact sheets; another --factorfair-detector may find faces *",
        ]
    )
    assert 40 <= project.stored() < 160
