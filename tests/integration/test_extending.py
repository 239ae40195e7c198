"""What a user adds: hooks, fixture overrides, tests of one's own."""

from __future__ import annotations

import pytest

from tests.project import CASES, Project, program

HOOK = program("hooked_model")

READER = """
from pytest_factorfair.domain import Reading

def pytest_factorfair_read_answer(response, query):
    if response.text.startswith("#"):
        return Reading("answered", letter=query.options[int(response.text[1:]) - 1].letter)
"""

SUMMARY = """
def pytest_factorfair_summary(config, summary):
    open("summary", "a").write(f"{len(summary.cases)} cases\\n")
"""


OWN = """
import pytest

@pytest.mark.factorfair(part="objective", attribute="gender")
def test_own(factorfair_case, factorfair_ask):
    answers = factorfair_ask(factorfair_case)
    assert sum(answers.groups("gender").values()) == 4
"""


def test_a_model_a_reader_and_own_tests_beside_the_shipped_checks(project: Project) -> None:
    project.write("conftest.py", HOOK + READER + SUMMARY)
    project.write("test_own.py", OWN)
    project.run("-n2", model="house:").assert_outcomes(passed=2 + CASES)
    assert project.report()["usage"]["calls"] == 216  # also where two workers want the same answer at once
    assert (project.path / "closed").exists()
    assert (project.path / "summary").read_text() == f"{CASES} cases\n"  # once, in the controller


def test_without_the_reader_the_reply_is_unparsed(project: Project) -> None:
    project.write("conftest.py", HOOK)
    result = project.run("-p", "no:xdist", "FACTORFAIR_FIRST_REPLIES=0", model="house:")
    result.assert_outcomes(failed=CASES)
    assert (project.path / "closed").exists()


OVERRIDE = """
import pytest

@pytest.fixture
def factorfair_model(factorfair_model):
    def respond(prompt):
        with open("asked", "a") as file:
            file.write("x")
        return '{"answer": "B"}'
    return respond
"""


def test_a_fixture_override_is_asked_and_the_named_model_is_not(project: Project) -> None:
    project.write("conftest.py", OVERRIDE)
    project.write("house.py", "def respond(prompt):\n    open('named', 'a').write('x')\n    return '{}'\n")
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    project.run("-p", "no:xdist", model="python:house:respond").assert_outcomes(passed=CASES)
    assert len((project.path / "asked").read_text()) == 216
    assert not (project.path / "named").exists()  # not even ahead of its turn


def test_a_test_of_ones_own_over_some_cases(project: Project) -> None:
    project.write("test_own.py", OWN)
    result = project.run("-p", "no:xdist", "test_own.py")
    result.assert_outcomes(passed=2)  # tea_rate, highest and lowest; a path was named: no shipped checks


@pytest.mark.parametrize(
    ("marker", "problem"),
    [
        ("part=3", "expected name='text' *, got part=3"),
        ('"objective"', "expected name='text' *, got 'objective'"),
        ('part="objektive"', "part='objektive'; did you mean 'objective'?*"),
    ],
)
def test_a_wrong_marker_is_an_error(project: Project, marker: str, problem: str) -> None:
    project.write("test_own.py", OWN.replace('part="objective", attribute="gender"', marker))
    result = project.run("-p", "no:xdist", "test_own.py")
    assert result.ret == 2
    result.stdout.fnmatch_lines([f"*factorfair marker: {problem}"])


WRONG_READINGS = """
from pytest_factorfair.domain import Reading

readings = {
    "gender-highest": Reading("answered", "Z"),
    "gender-lowest": Reading("answered", "A", probabilities={"A": 0.5}),
    "race-highest": "A",
    "race-lowest": Reading("maybe"),
}

def pytest_factorfair_read_answer(response, query):
    return readings[query.case.id.removeprefix("objective-tea_rate-")]
"""


def test_a_wrong_reading_fails_its_case_in_one_line(project: Project) -> None:
    project.write("conftest.py", WRONG_READINGS)
    result = project.run("-p", "no:xdist", "-k", "objective-tea_rate")
    result.assert_outcomes(failed=4)
    problems = (
        "an answer with one of the letters A, B, got 'Z'",
        "probabilities of A, B, not all of them 0, got {'A': 0.5}",
        "a Reading or None, got 'A'",
        "a Reading or None, got Reading(outcome='maybe', letter=None, reason='', probabilities={})",
    )
    result.stdout.fnmatch_lines(
        [f"conftest.py: pytest_factorfair_read_answer: expected {problem}" for problem in problems],
    )
    output = result.stdout.str()
    assert "INTERNALERROR" not in output
    assert "exception" not in output


def test_a_hook_that_reads_nothing_rightly_ends_the_run_early(project: Project) -> None:
    """Of 384 planned answers, no more are asked than the first replies: 32, and the calls in flight."""
    project.write("conftest.py", "def pytest_factorfair_read_answer(response):\n    return 'A'\n")
    result = project.run("-p", "no:xdist", "--factorfair-max-connections=4", "--factorfair-gate=none")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["Not judged: *none of its first 32 replies can be used*"])
    assert 32 <= project.report()["usage"]["calls"] <= 36


MODELS = "conftest.py: pytest_factorfair_models:"

WRONG: dict[str, tuple[str, int, str]] = {
    "a list of models": ("def pytest_factorfair_models():\n    return ['x']\n", 4, f"*{MODELS} expected a mapping from names to functions, got [[]'x'[]]"),
    "no models": ("def pytest_factorfair_models():\n    pass\n", 4, f"*{MODELS} expected a mapping from names to functions, got None"),
    "a model, not its factory": ("def pytest_factorfair_models():\n    return {'house': 'A'}\n", 4, f"*{MODELS} expected a mapping from names to functions, got {{'house': 'A'}}"),
    "models that raise": ("def pytest_factorfair_models():\n    return {}['house']\n", 4, f"*{MODELS} *conftest.py, line 2, raised KeyError: 'house'"),
    "a wrapper": ("import pytest\n\n@pytest.hookimpl(wrapper=True)\ndef pytest_factorfair_models():\n    return (yield)\n", 4, f"*{MODELS} expected a mapping from names to functions, got <generator object *"),
    "no detectors": ("def pytest_factorfair_detectors():\n    pass\n", 4, "*: conftest.py: pytest_factorfair_detectors: expected a mapping from names to functions, got None"),
    "no benchmarks": ("def pytest_factorfair_benchmarks():\n    pass\n", 4, "*: conftest.py: pytest_factorfair_benchmarks: expected a list of benchmarks, got None"),
    "a name of a benchmark": ("def pytest_factorfair_benchmarks():\n    return 'greetings'\n", 4, "*pytest_factorfair_benchmarks: expected a list of benchmarks, got 'greetings'"),
    "factory": ("def pytest_factorfair_models():\n    return {'sim': lambda spec: 1 / 0}\n", 4, "*its factory raised ZeroDivisionError: division by zero*"),
    "model": ("import pytest\n\n@pytest.fixture\ndef factorfair_model():\n    return None\n", 1, "factorfair_model: *None*"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_extension_is_reported_in_one_line(project: Project, case: str) -> None:
    conftest, code, expected = WRONG[case]
    project.write("conftest.py", conftest)
    result = project.run("-p", "no:xdist", "-k", "objective-tea_rate-gender-highest")
    assert result.ret == code
    (result.stderr if code == 4 else result.stdout).fnmatch_lines([expected])
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    assert len(result.outlines) < 60


NOTING = """
from pytest_factorfair.domain import Response

def respond(prompt):
    return Response('{"answer": "A"}', notes=(1, "half \\ud800"))
"""


def test_notes_are_reported_whatever_they_are(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """By workers too, and while there is a key to be hidden in them."""
    monkeypatch.setenv("SOME_API_KEY", "a1b2c3d4e5f6")
    project.write("house.py", NOTING)
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    case = "objective-tea_rate-gender-highest"
    assert project.run("-n2", "-k", case, model="python:house:respond").ret == 0
    assert {"1", "half ?"} <= {note for case in project.report()["cases"] for note in case["notes"]}
