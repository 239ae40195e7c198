"""Why cases were left out, determined from real pytest configurations."""

from __future__ import annotations

import pytest

from pytest_factorfair.plugin.collection import left_out

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
def test_reason(pytester: pytest.Pytester, arguments: list[str], addopts: str, reason: str) -> None:
    pytester.mkdir("tests")
    pytester.makeini(f"[pytest]\naddopts = {addopts}\ntestpaths = tests\n")
    assert left_out(pytester.parseconfig(*arguments)) == reason


def test_reason_from_the_environment(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-m 'not race'")
    assert left_out(pytester.parseconfig()) == "left out by -m 'not race' in PYTEST_ADDOPTS"
