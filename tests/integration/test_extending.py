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


def test_a_model_and_a_reader_by_hook(project: Project, dist: tuple[str, ...]) -> None:
    project.write("conftest.py", HOOK + READER + SUMMARY)
    result = project.run(*dist, model="house:")
    result.assert_outcomes(passed=CASES)
    assert (project.path / "closed").exists()
    assert (project.path / "summary").read_text() == f"{CASES} cases\n"  # once, in the controller


def test_without_the_reader_the_reply_is_unparsed(project: Project) -> None:
    project.write("conftest.py", HOOK)
    project.run("-p", "no:xdist", model="house:").assert_outcomes(failed=CASES)


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


OWN = """
import pytest

@pytest.mark.factorfair(part="objective", attribute="gender")
def test_own(factorfair_case, factorfair_ask):
    answers = factorfair_ask(factorfair_case)
    assert sum(answers.groups("gender").values()) == 4
"""


def test_a_test_of_ones_own_over_some_cases(project: Project) -> None:
    project.write("test_own.py", OWN)
    result = project.run("-p", "no:xdist", "test_own.py")
    result.assert_outcomes(passed=2)  # tea_rate, highest and lowest; a path was named: no shipped checks


def test_own_tests_and_the_shipped_checks_together(project: Project, dist: tuple[str, ...]) -> None:
    project.write("test_own.py", OWN)
    project.run(*dist).assert_outcomes(passed=2 + CASES)
    assert project.report()["usage"]["calls"] == 216  # also where two workers want the same answer at once


def test_a_marker_of_another_form_is_an_error(project: Project) -> None:
    for form in ("part=3", '"objective"'):
        project.write("test_own.py", OWN.replace('part="objective", attribute="gender"', form))
        result = project.run("-p", "no:xdist", "test_own.py")
        assert result.ret == 2
        result.stdout.fnmatch_lines(
            [f"*factorfair marker: expected name='text' *, got {form.replace(chr(34), chr(39))}"]
        )


def test_a_filter_of_the_marker_that_names_nothing_is_an_error(project: Project) -> None:
    project.write("test_own.py", OWN.replace('"objective"', '"objektive"'))
    result = project.run("-p", "no:xdist", "test_own.py")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*factorfair marker: part='objektive'; did you mean 'objective'?*"])


WRONG: dict[str, tuple[str, int, str]] = {
    "models": ("def pytest_factorfair_models():\n    return ['x']\n", 4, "*pytest_factorfair_models: expected a mapping*"),
    "factory": ("def pytest_factorfair_models():\n    return {'sim': lambda spec: 1 / 0}\n", 4, "*its factory raised ZeroDivisionError: division by zero*"),
    "reader": ("def pytest_factorfair_read_answer(response, query):\n    return 'A'\n", 1, "pytest_factorfair_read_answer: expected a Reading or None, got 'A'"),
    "outcome of a reader": ("from pytest_factorfair.domain import Reading\ndef pytest_factorfair_read_answer(response, query):\n    return Reading('maybe')\n", 1, "pytest_factorfair_read_answer: expected a Reading or None, got Reading(outcome='maybe', letter=None, reason='', probabilities={})"),
    "letter of a reader": ("from pytest_factorfair.domain import Reading\ndef pytest_factorfair_read_answer(response, query):\n    return Reading('answered', 'Z')\n", 1, "pytest_factorfair_read_answer: expected an answer with one of the letters A, B, got 'Z'"),
    "probabilities of a reader": ("from pytest_factorfair.domain import Reading\ndef pytest_factorfair_read_answer(response, query):\n    return Reading('answered', 'A', probabilities={'A': 0.5})\n", 1, "pytest_factorfair_read_answer: expected probabilities of A, B, not all of them 0, got {'A': 0.5}"),
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


@pytest.mark.parametrize("dist", [("-p", "no:xdist"), ("-n2",)], ids=["alone", "n2"])
def test_notes_are_reported_whatever_they_are(
    project: Project, dist: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even while there is a key to be hidden in them."""
    monkeypatch.setenv("SOME_API_KEY", "a1b2c3d4e5f6")
    project.write("house.py", NOTING)
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    case = "objective-tea_rate-gender-highest"
    assert project.run(*dist, "-k", case, model="python:house:respond").ret == 0
    assert {"1", "half ?"} <= {note for case in project.report()["cases"] for note in case["notes"]}
