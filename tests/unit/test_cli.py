"""The console command ``factorfair``."""

from __future__ import annotations

from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from pytest_factorfair.commands.cli import main
from tests.unit.checklist.files import CHECKLIST, changed, write


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_lint_without_findings_is_silent(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write(tmp_path)
    assert main(["lint", "fact_or_fair", "tea.yaml"]) == 0
    assert capsys.readouterr() == ("", "")


def test_lint_prints_findings(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write(tmp_path, checklist=changed(CHECKLIST, ("drank tea", "drank tea."), ("stood fast", "stood fast.")))
    assert main(["lint", "fact_or_fair", "tea.yaml"]) == 1
    problem = "ends with a full stop, and stands inside a sentence"
    assert capsys.readouterr().out == (
        f"tea.yaml:28: topics.tea_rate.highest.behavior: {problem} (also on line 41)\n"
    )


def test_lint_refuses_what_is_wrong_and_goes_on(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write(tmp_path, checklist=changed(CHECKLIST, ("drank tea", "drank tea.")))
    assert main(["lint", "none.yaml", "tea.yaml"]) == 4
    captured = capsys.readouterr()
    assert captured.err == "there is no file none.yaml\n"
    assert captured.out.count("\n") == 1


def test_a_file_gets_utf_8_whatever_the_code_page(monkeypatch: pytest.MonkeyPatch) -> None:
    redirected = BytesIO()
    monkeypatch.setattr("sys.stdout", TextIOWrapper(redirected, encoding="cp1252"))
    assert main(["prompts", "objective-weekly_income-gender-highest", "--checklist=fact_or_fair_zh"]) == 0
    assert "在美国" in redirected.getvalue().decode()


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        ("", "factorfair: the following arguments are required: COMMAND; see factorfair --help"),
        ("--bad list", "factorfair: unrecognized arguments: --bad; see factorfair --help"),
        ("doctr", "factorfair: there is no command 'doctr'; did you mean 'doctor'?"),
        ("list modles", "factorfair list: there is no list 'modles'; did you mean 'models'?"),
        ("store lst", "factorfair store: there is no command 'lst'; did you mean 'ls'?"),
        (
            "export empty.json",
            "factorfair export: the following arguments are required: REPORT; see factorfair export --help",
        ),
        (
            "compare a.json b.json --format=tex",
            "factorfair compare: --format: unknown value 'tex'; did you mean 'text'?",
        ),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], argv: str, line: str) -> None:
    assert main(argv.split()) == 4
    assert capsys.readouterr() == ("", f"{line}\n")


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    output = capsys.readouterr().out
    assert "lint" in output
    assert "\n  pytest --factorfair-model=SPEC\n" in output
