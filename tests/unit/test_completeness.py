"""Why cases were left out, determined from real pytest configurations."""

from __future__ import annotations

from unittest import mock

import pytest

from pytest_factorfair.plugin.collection import assignments_of, left_out
from pytest_factorfair.runs.run import Assignment, Run

PATH = "left out by the path tests{}; --pyargs pytest_factorfair.checks adds the shipped checks"


@pytest.mark.parametrize(
    ("arguments", "addopts", "reason"),
    [
        (["-k", "crime"], "", "left out by -k 'crime'"),
        (["-m", "race"], "-k crime", "left out by -k 'crime' in tox.ini and -m 'race'"),
        (["--deselect=factorfair::x"], "", "left out by --deselect"),
        (["--lf"], "", "left out by --last-failed"),
        (["--sw"], "", "left out by --stepwise"),
        ([], "", "left out by a conftest.py or a plugin"),
        (["--pyargs", "pytest_factorfair.checks", "-k", "crime"], "", "left out by -k 'crime'"),
        (["tests"], "", PATH.format("")),
        ([], "tests", PATH.format(" in tox.ini")),
    ],
)
def test_the_reason_for_left_out_cases_follows_from_the_arguments(
    pytester: pytest.Pytester, arguments: list[str], addopts: str, reason: str
) -> None:
    pytester.mkdir("tests")
    pytester.makeini(f"[pytest]\naddopts = {addopts}\ntestpaths = tests\n")
    assert left_out(pytester.parseconfig(*arguments)) == reason


def test_the_reason_for_left_out_cases_follows_from_the_environment(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-m 'not race'")
    assert left_out(pytester.parseconfig()) == "left out by -m 'not race' in PYTEST_ADDOPTS"


def test_the_case_of_an_item_is_the_longest_id_in_its_name() -> None:
    """Ids of other parameters may stand on either side, and one case's id may begin with another's."""
    run = mock.create_autospec(Run, instance=True)
    run.by_id = {
        id_: mock.create_autospec(Assignment, id=id_)
        for id_ in ("implicit-actor", "implicit-actor-tall", "actor-tall")
    }
    names = (
        "implicit-actor-tall",
        "implicit-actor-tall-short",
        "other-implicit-actor-tall",
        "implicit-actor-x",
    )
    expected = ["implicit-actor-tall", "implicit-actor-tall", "implicit-actor-tall", "implicit-actor"]
    assert [
        assignment.id for assignment in assignments_of([f"a.py::test[{name}]" for name in names], run)
    ] == expected
    assert list(assignments_of(["a.py::test", "a.py::test[x]", "a.py::test[implicit-actor"], run)) == []
