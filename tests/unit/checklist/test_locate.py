"""Finding a checklist's file by name or path, and the messages if there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_factorfair.benchmarks import load, shipped
from pytest_factorfair.checklist.locate import folder
from pytest_factorfair.errors import InputError
from tests.unit.checklist.files import write


def test_shipped_are_the_files_of_the_folder() -> None:
    assert "fact_or_fair" in shipped()
    assert all((folder() / f"{name}.yaml").is_file() for name in shipped())
    assert "us" not in shipped()


def test_path_is_relative_to_base(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    write(tmp_path / "deep")
    assert load("deep/tea.yaml", truth="audited", base=tmp_path).name == "tea"
    assert load(str(tmp_path / "deep/tea.yaml"), truth="audited", base=Path("/")).name == "tea"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (
            "fact_or_fiar",
            (
                "no shipped checklist is called 'fact_or_fiar'; did you mean 'fact_or_fair'? "
                "(a file of your own is named with its ending: own.yaml)"
            ),
        ),
        ("own.yaml", "there is no file own.yaml"),
        ("checks/own", "there is no file checks/own"),
        ("fact_or_fair.yml", "there is no file fact_or_fair.yml; did you mean the shipped 'fact_or_fair'?"),
    ],
)
def test_missing_files_are_refused_with_a_hint(tmp_path: Path, word: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        load(word, truth="audited", base=tmp_path)
    assert str(refused.value) == message


@pytest.mark.parametrize("word", ["", ".", "x" * 5000, "nul\0.yaml"])
def test_invalid_file_names_are_refused(tmp_path: Path, word: str) -> None:
    with pytest.raises(
        InputError, match=r"^(no shipped checklist is called|there is no file|\. is a folder)"
    ):
        load(word, truth="audited", base=tmp_path)
