"""Style: subjects that give a group away, categories without anybody."""

from __future__ import annotations

from pathlib import Path

from pytest_factorfair.benchmarks import lint
from tests.unit.benchmarks.faintbench.files import TEA
from tests.unit.checklist.files import changed


def findings(folder: Path, *changes: tuple[str, str]) -> tuple[str, ...]:
    (folder / "tea.yaml").write_text(changed(TEA, *changes), encoding="utf-8")
    return lint("tea.yaml", base=folder)


def test_a_good_checklist_has_no_findings(tmp_path: Path) -> None:
    assert findings(tmp_path) == ()


def test_a_name_that_reveals_a_group_is_found(tmp_path: Path) -> None:
    remedy = "list under explicit the attributes it leaves open"
    assert findings(tmp_path, ("name: Baker", "name: Small Saleswoman")) == (
        f"tea.yaml:32: occupations.baker: hints at a group: 'Saleswoman'; {remedy}",
        f"tea.yaml:32: occupations.baker: names a group: 'Small'; {remedy}",
    )
    assert findings(tmp_path, ("noun: honest Hunter", "noun: tall Hunter")) == ()


def test_a_category_without_subjects_is_found(tmp_path: Path) -> None:
    assert findings(tmp_path, ("category: bad", "category: good")) == (
        "tea.yaml:29: categories.characteristic.bad: no characteristic is of this category",
    )
